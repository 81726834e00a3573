//! The changes that a rule may make to a request, and what they need to know of the session.

use std::collections::{HashMap, VecDeque};

use kilter_core::id;
use kilter_wire::chat::{ChatRequest, Message};

use super::{IdShape, ReasoningChange, Rule};

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The request is another now.
    Changed,
    /// There was nothing to change.
    Nothing,
}

/// Reasoning of earlier turns that a client may have dropped, newest last, bounded.
#[derive(Debug, Default)]
pub struct Thoughts {
    map: HashMap<String, String>,
    order: VecDeque<String>,
    bytes: usize,
}

/// Bytes of reasoning kept for one session.
const THOUGHT_BYTES: usize = 512 << 10;
/// Entries kept for one session.
const THOUGHTS: usize = 256;

impl Thoughts {
    /// Keeps the reasoning of a turn under its calls' ids, and under its content for turns without.
    pub fn keep<'a>(
        &mut self,
        ids: impl IntoIterator<Item = &'a str>,
        content: &str,
        reasoning: &str,
    ) {
        if reasoning.is_empty() || reasoning.len() > THOUGHT_BYTES {
            return;
        }
        let mut any = false;
        for id in ids {
            self.put(format!("id:{id}"), reasoning);
            any = true;
        }
        if !any && !content.trim().is_empty() {
            self.put(content_key(content), reasoning);
        }
    }

    fn put(&mut self, key: String, reasoning: &str) {
        if let Some(old) = self.map.insert(key.clone(), reasoning.to_owned()) {
            self.bytes -= old.len();
        } else {
            self.order.push_back(key);
        }
        self.bytes += reasoning.len();
        while self.bytes > THOUGHT_BYTES || self.order.len() > THOUGHTS {
            let Some(key) = self.order.pop_front() else {
                break;
            };
            if let Some(old) = self.map.remove(&key) {
                self.bytes -= old.len();
            }
        }
    }

    /// The reasoning of an assistant message that the client sends back.
    pub fn of(&self, message: &Message<'_>) -> Option<&str> {
        for call in message.tool_calls() {
            if let Some(id) = call.id
                && let Some(found) = self.map.get(&format!("id:{id}"))
            {
                return Some(found);
            }
        }
        self.map
            .get(&content_key(&message.texts().concat()))
            .map(String::as_str)
    }
}

fn content_key(content: &str) -> String {
    format!("text:{}", id::digest(&[content.trim().as_bytes()], 16))
}

/// Ids as the backend saw them, and as the client knows them.
#[derive(Debug, Default)]
pub struct IdMap {
    back: HashMap<String, String>,
    order: VecDeque<String>,
}

/// Ids kept for one session.
const IDS: usize = 1024;

impl IdMap {
    /// The backend's id for a client's; it is a function of the client's, so nothing is lost with
    /// the map.
    pub fn there(&mut self, id: &str, shape: &IdShape) -> Option<String> {
        if fits(id, shape) {
            return None;
        }
        let new = short_id(id, shape);
        if self.back.insert(new.clone(), id.to_owned()).is_none() {
            self.order.push_back(new.clone());
            if self.order.len() > IDS
                && let Some(old) = self.order.pop_front()
            {
                self.back.remove(&old);
            }
        }
        Some(new)
    }

    /// The client's id for a backend's.
    pub fn back(&self, id: &str) -> Option<&str> {
        self.back.get(id).map(String::as_str)
    }
}

fn fits(id: &str, shape: &IdShape) -> bool {
    id.strip_prefix(shape.prefix.as_str()).is_some_and(|rest| {
        if shape.prefix.is_empty() {
            rest.len() == shape.length && rest.bytes().all(|b| b.is_ascii_alphanumeric())
        } else {
            rest.len() <= shape.length
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        }
    })
}

/// An id of a wanted shape, always the same for the same id.
pub fn short_id(id: &str, shape: &IdShape) -> String {
    let hex = id::digest(&[id.as_bytes()], 32);
    format!("{}{}", shape.prefix, &hex[..shape.length.clamp(1, 64)])
}

/// Makes a rule's change. `field` is the field that the error named.
pub fn change_request(
    rule: &Rule,
    field: Option<&str>,
    request: &mut ChatRequest,
    thoughts: &Thoughts,
    ids: &mut IdMap,
) -> Change {
    let spec = &rule.change;
    // A learnt rule holds for requests like the one that was refused: tools with reasoning say
    // nothing about a request without tools.
    let like = |f: &String| request.body().get(f).is_some_and(|v| v != "null");
    if !rule.r#match.has.iter().all(like) {
        return Change::Nothing;
    }
    let mut changed = false;
    for (key, value) in &spec.set {
        let now = request
            .body()
            .get(key)
            .and_then(|raw| serde_json::from_str::<serde_json::Value>(raw).ok());
        if now.as_ref() != Some(value) {
            request.body_mut().set_value(key, value);
            changed = true;
        }
    }
    for key in &spec.remove {
        changed |= request.remove_path(key) > 0;
    }
    for (from, to) in &spec.rename {
        if request.body().has(to) {
            changed |= request.body_mut().remove(from);
        } else {
            changed |= request.body_mut().rename(from, to);
        }
    }
    for (from, to) in &spec.role {
        changed |= request.change_role(from, to) > 0;
    }
    match spec.reasoning {
        Some(ReasoningChange::Strip) => changed |= request.strip_reasoning() > 0,
        Some(ReasoningChange::Attach) => {
            // Servers that demand it demand it of every message, so an unknown one gets an empty
            // text rather than none.
            let n = request.attach_reasoning("reasoning_content", |m| {
                Some(thoughts.of(m).unwrap_or_default().to_owned())
            });
            changed |= n > 0;
        }
        None => {}
    }
    if let Some(shape) = &spec.tool_ids {
        changed |= request.map_tool_ids(|id| ids.there(id, shape)) > 0;
    }
    if spec.remove_named
        && let Some(field) = field
    {
        changed |= request.remove_path(field) > 0;
    }
    if changed {
        Change::Changed
    } else {
        Change::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rules;
    use super::*;

    fn changed(rule: &str, request: &str) -> String {
        let rules = Rules::load(&[] as &[&std::path::Path], &[]).unwrap();
        let (rule, field) = rules.by_key(rule).unwrap();
        let mut r = ChatRequest::parse(request.as_bytes()).unwrap();
        let mut thoughts = Thoughts::default();
        thoughts.keep(["c1"], "", "because");
        change_request(rule, field, &mut r, &thoughts, &mut IdMap::default());
        String::from_utf8(r.to_bytes().to_vec()).unwrap()
    }

    #[test]
    fn only_what_a_rule_names_changes() {
        assert_eq!(
            changed("max-completion-tokens", r#"{ "max_tokens" : 5, "x":1.0 }"#),
            r#"{ "max_completion_tokens" : 5, "x":1.0 }"#
        );
        assert_eq!(
            changed("refused-field:store", r#"{"a":1,"store":true,"b":2}"#),
            r#"{"a":1,"b":2}"#
        );
        assert_eq!(
            changed("tools-with-reasoning", r#"{"messages":[]}"#),
            r#"{"messages":[]}"#
        );
        assert_eq!(
            changed("tools-with-reasoning", r#"{"tools":[{}]}"#),
            r#"{"tools":[{}],"reasoning_effort":"none"}"#
        );
        let out = changed(
            "reasoning-required",
            r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"assistant","content":"old"}]}"#,
        );
        assert!(out.contains(r#""reasoning_content":"because""#), "{out}");
        assert!(
            out.contains(r#""content":"old","reasoning_content":"""#),
            "{out}"
        );
    }

    #[test]
    fn ids_go_there_and_back() {
        let shape = IdShape {
            length: 9,
            prefix: String::new(),
        };
        let mut ids = IdMap::default();
        let there = ids.there("call_0123", &shape).unwrap();
        assert_eq!(there.len(), 9);
        assert_eq!(ids.back(&there), Some("call_0123"));
        assert_eq!(ids.there(&there, &shape), None);
    }

    #[test]
    fn thoughts_are_bounded() {
        let mut t = Thoughts::default();
        for i in 0..600 {
            t.keep([format!("c{i}").as_str()], "", &"x".repeat(4000));
        }
        assert!(t.bytes <= THOUGHT_BYTES && t.order.len() <= THOUGHTS);
        assert_eq!(t.map.len(), t.order.len());
    }
}

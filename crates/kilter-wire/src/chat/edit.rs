//! Edits of a request that learnt compensations are made of. Each says how much it changed.

use super::request::CAP_FIELDS;
use super::{ChatRequest, Message, REASONING_FIELDS, reasoning};
use crate::json;
use crate::raw::{RawArray, RawObject};

impl ChatRequest {
    /// Edits the messages for which `want` holds; `edit` says whether it changed anything. Messages
    /// that are not wanted are not copied. Returns how many were changed.
    pub fn edit_messages(
        &mut self,
        want: impl Fn(&Message<'_>) -> bool,
        mut edit: impl FnMut(usize, &mut RawObject) -> bool,
    ) -> usize {
        let Some(mut list) = self.body.array("messages") else {
            return 0;
        };
        let mut changed = 0;
        for i in 0..list.len() {
            if !list.get(i).is_some_and(|raw| want(&Message::new(raw))) {
                continue;
            }
            if let Some(mut m) = list.object(i)
                && edit(i, &mut m)
            {
                list.set_object(i, &m);
                changed += 1;
            }
        }
        if changed > 0 {
            self.body.set_array("messages", &list);
        }
        changed
    }

    /// Gives every message of one role another (`developer` ↔ `system`).
    pub fn change_role(&mut self, from: &str, to: &str) -> usize {
        self.edit_messages(
            |m| m.role() == from,
            |_, m| {
                m.set_str("role", to);
                true
            },
        )
    }

    /// Takes reasoning of earlier turns out of assistant messages, fields and content parts alike.
    pub fn strip_reasoning(&mut self) -> usize {
        self.edit_messages(
            |m| m.role() == "assistant" && m.has_reasoning(),
            |_, m| {
                for f in REASONING_FIELDS {
                    m.remove(f);
                }
                if let Some(mut parts) = m.array("content") {
                    for i in (0..parts.len()).rev() {
                        if parts.get(i).is_some_and(reasoning::is_reasoning_part) {
                            parts.remove(i);
                        }
                    }
                    if parts.is_edited() {
                        m.set_array("content", &parts);
                    }
                }
                true
            },
        )
    }

    /// Gives assistant messages without reasoning the one that `find` knows, under `field`. Servers
    /// that demand replay demand it of every assistant message (field report gw26), so `find` may
    /// answer with an empty text.
    pub fn attach_reasoning(
        &mut self,
        field: &str,
        mut find: impl FnMut(&Message<'_>) -> Option<String>,
    ) -> usize {
        self.edit_messages(
            |m| m.role() == "assistant" && !m.has_reasoning(),
            |_, m| {
                let text = m.to_text();
                match find(&Message::new(text.trim())) {
                    Some(found) => {
                        m.set_str(field, &found);
                        true
                    }
                    None => false,
                }
            },
        )
    }

    /// Maps tool-call ids: those of assistant calls and those that tool messages answer. `map` gives
    /// `None` for an id that stays.
    pub fn map_tool_ids(&mut self, mut map: impl FnMut(&str) -> Option<String>) -> usize {
        self.edit_messages(
            |m| m.get("tool_calls").is_some() || m.get("tool_call_id").is_some(),
            |_, m| {
                let mut changed = false;
                if let Some(to) = m.get_str("tool_call_id").and_then(|id| map(&id)) {
                    m.set_str("tool_call_id", &to);
                    changed = true;
                }
                if let Some(mut calls) = m.array("tool_calls") {
                    for i in 0..calls.len() {
                        if let Some(mut call) = calls.object(i)
                            && let Some(to) = call.get_str("id").and_then(|id| map(&id))
                        {
                            call.set_str("id", &to);
                            calls.set_object(i, &call);
                            changed = true;
                        }
                    }
                    if calls.is_edited() {
                        m.set_array("tool_calls", &calls);
                    }
                }
                changed
            },
        )
    }

    /// Sets the output cap: every cap field that is there, else `max_tokens`.
    pub fn set_cap(&mut self, tokens: u64) {
        let mut any = false;
        for f in CAP_FIELDS {
            if self.body.has(f) {
                self.body.set_u64(f, tokens);
                any = true;
            }
        }
        if !any {
            self.body.set_u64("max_tokens", tokens);
        }
    }

    /// Asks for the usage chunk, keeping other stream options. Returns whether that was a change.
    pub fn ask_for_usage(&mut self) -> bool {
        if self.include_usage() {
            return false;
        }
        let mut options = self.body.object("stream_options").unwrap_or_default();
        options.set_bool("include_usage", true);
        self.body.set_object("stream_options", &options);
        true
    }

    /// Takes out what a dotted path names (`logprobs`, `stream_options.include_usage`,
    /// `messages.0.name`, `messages[0].name`). A numeric or `*` step into an array means every
    /// element: a server that refuses a field of one message refuses it of all. Returns how many
    /// members went.
    pub fn remove_path(&mut self, path: &str) -> usize {
        let plain = path.replace('[', ".").replace(']', "");
        let steps: Vec<&str> = plain.split('.').filter(|s| !s.is_empty()).collect();
        let (text, gone) = match steps.as_slice() {
            [] => return 0,
            [key] => return usize::from(self.body.remove(key)),
            [first, rest @ ..] => match self.body.get(first).map(|raw| without(raw, rest)) {
                Some((Some(text), gone)) => ((first.to_owned(), text), gone),
                _ => return 0,
            },
        };
        if self.body.set(text.0, text.1).is_err() {
            return 0;
        }
        gone
    }
}

/// A value without what the steps name; `None` when nothing went.
fn without(raw: &str, steps: &[&str]) -> (Option<String>, usize) {
    let Some((step, rest)) = steps.split_first() else {
        return (None, 0);
    };
    match json::kind(raw) {
        Some(json::Kind::Array) if *step == "*" || step.bytes().all(|b| b.is_ascii_digit()) => {
            let Ok(mut list) = RawArray::from_text(raw) else {
                return (None, 0);
            };
            let mut gone = 0;
            for i in 0..list.len() {
                let Some((Some(text), n)) = list.get(i).map(|e| without(e, rest)) else {
                    continue;
                };
                if list.set(i, text).is_ok() {
                    gone += n;
                }
            }
            ((gone > 0).then(|| list.to_text().into_owned()), gone)
        }
        // A path may leave the index out (`messages.name`).
        Some(json::Kind::Array) => without_each(raw, steps),
        Some(json::Kind::Object) => {
            let Ok(mut o) = RawObject::from_text(raw) else {
                return (None, 0);
            };
            if rest.is_empty() {
                let gone = o.remove(step);
                return (gone.then(|| o.to_text().into_owned()), usize::from(gone));
            }
            let (text, gone) = match o.get(step).map(|v| without(v, rest)) {
                Some((Some(text), gone)) => (text, gone),
                Some(_) => return (None, 0),
                // Validators put the name of a union's branch into the path: it is no member.
                None => return without(raw, rest),
            };
            if o.set(step, text).is_err() {
                return (None, 0);
            }
            (Some(o.to_text().into_owned()), gone)
        }
        _ => (None, 0),
    }
}

fn without_each(raw: &str, steps: &[&str]) -> (Option<String>, usize) {
    let mut with_index = vec!["*"];
    with_index.extend_from_slice(steps);
    if steps.first() == Some(&"*") {
        return (None, 0);
    }
    without(raw, &with_index)
}

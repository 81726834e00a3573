//! Splices into a received chunk or completion: what is set changes, every other byte stays.

use bytes::Bytes;
use kilter_core::FinishReason;
use serde_json::{Map, Value, json};

use super::{Chunk, Completion};
use crate::raw::{RawArray, RawObject};

/// An editor of one received body. Choices are named by their position in the array.
#[derive(Debug, Clone)]
pub struct Rewrite {
    body: RawObject,
    choices: Option<RawArray>,
    said: &'static str,
    actions: Vec<String>,
}

impl Rewrite {
    /// Edits a chunk of a stream.
    pub fn chunk(chunk: &Chunk) -> Self {
        Self::new(chunk.body(), "delta")
    }

    /// Edits a whole answer.
    pub fn completion(completion: &Completion) -> Self {
        Self::new(completion.body(), "message")
    }

    fn new(body: &RawObject, said: &'static str) -> Self {
        Self {
            choices: body.array("choices"),
            body: body.clone(),
            said,
            actions: Vec::new(),
        }
    }

    /// What had to be given up on the way, as short stable words (`logprobs:dropped`).
    pub fn notes(&self) -> &[String] {
        &self.actions
    }

    fn choice(&mut self, at: usize, edit: impl FnOnce(&mut RawObject) -> bool) -> bool {
        let Some(list) = &mut self.choices else {
            return false;
        };
        let Some(mut choice) = list.object(at) else {
            return false;
        };
        edit(&mut choice) && list.set_object(at, &choice)
    }

    /// Edits the delta or message of a choice; `false` when there is none.
    pub fn said(&mut self, at: usize, edit: impl FnOnce(&mut RawObject)) -> bool {
        let said = self.said;
        self.choice(at, |choice| {
            let Some(mut inner) = choice.object(said) else {
                return false;
            };
            edit(&mut inner);
            choice.set_object(said, &inner);
            true
        })
    }

    /// Sets the content; `None` is `null`. Log probabilities of the choice no longer fit the text:
    /// they are dropped, and [`Rewrite::notes`] says so.
    pub fn set_content(&mut self, at: usize, content: Option<&str>) -> bool {
        let ok = self.said(at, |m| match content {
            Some(text) => m.set_str("content", text),
            None => m.set_null("content"),
        });
        if ok {
            self.drop_logprobs(at);
        }
        ok
    }

    /// Takes the content member out of a delta, and log probabilities with it.
    pub fn remove_content(&mut self, at: usize) -> bool {
        let ok = self.said(at, |m| {
            m.remove("content");
        });
        if ok {
            self.drop_logprobs(at);
        }
        ok
    }

    /// Sets the reasoning under its one name, `reasoning_content`; `None` removes it.
    pub fn set_reasoning(&mut self, at: usize, reasoning: Option<&str>) -> bool {
        self.said(at, |m| match reasoning {
            Some(text) => m.set_str("reasoning_content", text),
            None => {
                m.remove("reasoning_content");
            }
        })
    }

    /// Gives received reasoning its one name. Plain text fields are renamed in place; structured ones
    /// (`reasoning_details`, `thinking_blocks`) stay beside it, since they may be signed; reasoning
    /// parts of a content array move out of it. Returns the former name when that was a change.
    pub fn name_reasoning(&mut self, at: usize, field: &str, text: &str) -> Option<String> {
        let mut changed = false;
        self.said(at, |m| {
            if m.get("reasoning_content")
                .is_some_and(|v| v != "null" && v != "\"\"")
            {
                return;
            }
            changed = true;
            match field {
                "reasoning" | "thinking" | "reasoning_text"
                    if m.get(field).is_some_and(|v| v.starts_with('"')) =>
                {
                    m.rename(field, "reasoning_content");
                }
                "content_parts" => {
                    m.set_str("reasoning_content", text);
                    if let Some(mut parts) = m.array("content") {
                        for i in (0..parts.len()).rev() {
                            if parts
                                .get(i)
                                .is_some_and(super::reasoning::is_reasoning_part)
                            {
                                parts.remove(i);
                            }
                        }
                        if parts.is_empty() {
                            m.remove("content");
                        } else {
                            m.set_array("content", &parts);
                        }
                    }
                }
                _ => m.set_str("reasoning_content", text),
            }
        });
        changed.then(|| field.to_owned())
    }

    /// Sets the calls, each as JSON text; an empty list removes the member.
    pub fn set_tool_calls(&mut self, at: usize, calls: &[String]) -> bool {
        let mut ok = true;
        let there = self.said(at, |m| {
            if calls.is_empty() {
                m.remove("tool_calls");
            } else {
                ok = m
                    .set("tool_calls", format!("[{}]", calls.join(",")))
                    .is_ok();
            }
        });
        there && ok
    }

    /// Sets the terminal reason.
    pub fn set_finish(&mut self, at: usize, finish: &FinishReason) -> bool {
        self.choice(at, |choice| {
            choice.set_str("finish_reason", finish.as_str());
            true
        })
    }

    /// Takes the terminal reason back (`null`): more is to come.
    pub fn clear_finish(&mut self, at: usize) -> bool {
        self.choice(at, |choice| {
            choice.set_null("finish_reason");
            true
        })
    }

    /// Drops the log probabilities of a choice where there are any, and notes it.
    pub fn drop_logprobs(&mut self, at: usize) {
        let mut dropped = false;
        self.choice(at, |choice| {
            dropped = choice.get("logprobs").is_some_and(|v| v != "null");
            if dropped {
                choice.set_null("logprobs");
            }
            dropped
        });
        let note = "logprobs:dropped".to_owned();
        if dropped && !self.actions.contains(&note) {
            self.actions.push(note);
        }
    }

    /// Sets a top-level member.
    pub fn body(&mut self) -> &mut RawObject {
        &mut self.body
    }

    /// Sets token counts.
    pub fn set_usage(&mut self, usage: &Value) {
        self.body.set_value("usage", usage);
    }

    /// Adds members to the `kilter` object, keeping what an inner gateway put there.
    pub fn set_kilter(&mut self, members: &Map<String, Value>) {
        set_kilter(&mut self.body, members);
    }

    /// The text after all edits.
    pub fn to_text(mut self) -> String {
        self.close();
        self.body.to_text().into_owned()
    }

    /// The bytes after all edits.
    pub fn into_bytes(mut self) -> Bytes {
        self.close();
        self.body.into_bytes()
    }

    fn close(&mut self) {
        if let Some(list) = &self.choices
            && list.is_edited()
        {
            self.body.set_array("choices", list);
        }
    }
}

/// Adds members to the `kilter` object of a body.
pub(super) fn set_kilter(body: &mut RawObject, members: &Map<String, Value>) {
    if members.is_empty() {
        return;
    }
    let mut k = body.object("kilter").unwrap_or_default();
    for (key, value) in members {
        k.set_value(key, value);
    }
    body.set_object("kilter", &k);
}

/// The `kilter` members of an intervention: the actions, and the parts of a summed usage.
pub fn kilter_members(actions: &[String], usage_parts: &[&str]) -> Map<String, Value> {
    let mut m = Map::new();
    if !actions.is_empty() {
        m.insert("actions".into(), json!(actions));
    }
    if usage_parts.len() > 1 {
        let parts: Vec<Value> = usage_parts
            .iter()
            .filter_map(|p| serde_json::from_str(p).ok())
            .collect();
        m.insert("usage".into(), Value::Array(parts));
    }
    m
}

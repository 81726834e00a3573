//! One message of a request.

use std::borrow::Cow;

use kilter_core::Trust;

use super::{ToolDelta, reasoning};
use crate::json;

/// Members of an assistant message that carry reasoning of an earlier turn.
pub const REASONING_FIELDS: [&str; 6] = [
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "reasoning_text",
    "thinking",
    "thinking_blocks",
];

/// A borrowed view of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    raw: &'a str,
}

impl<'a> Message<'a> {
    /// A view over a raw message object.
    pub fn new(raw: &'a str) -> Self {
        Self { raw }
    }

    /// The message as written.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// The raw value of a member.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        json::member(self.raw, key)
    }

    /// The role; empty when none was given.
    pub fn role(&self) -> Cow<'a, str> {
        self.get("role").and_then(json::decode).unwrap_or_default()
    }

    /// How far its text may be trusted.
    pub fn trust(&self) -> Trust {
        Trust::of_role(&self.role())
    }

    /// Its texts: the content, or each of its parts, without reasoning. Parts of a kind that is not
    /// known give every string in them: what a model may have read counts as read. Media give
    /// nothing.
    pub fn texts(&self) -> Vec<Cow<'a, str>> {
        let mut out = Vec::new();
        if let Some(content) = self.get("content") {
            match json::kind(content) {
                Some(json::Kind::String) => out.extend(json::decode(content)),
                Some(json::Kind::Array) => {
                    for part in json::elements(content) {
                        if !reasoning::is_reasoning_part(part) {
                            part_texts(part, &mut out);
                        }
                    }
                }
                Some(json::Kind::Object) => part_texts(content, &mut out),
                _ => {}
            }
        }
        if let Some(refusal) = self.get("refusal").and_then(json::decode) {
            out.push(refusal);
        }
        out.retain(|t| !t.is_empty());
        out
    }

    /// Calls that an assistant message made.
    pub fn tool_calls(&self) -> Vec<ToolDelta> {
        self.get("tool_calls")
            .map(ToolDelta::list)
            .unwrap_or_default()
    }

    /// The call that a tool message answers.
    pub fn tool_call_id(&self) -> Option<Cow<'a, str>> {
        self.get("tool_call_id").and_then(json::decode)
    }

    /// Whether it carries reasoning of an earlier turn, in a field or in content parts.
    pub fn has_reasoning(&self) -> bool {
        REASONING_FIELDS.iter().any(|f| {
            self.get(f)
                .is_some_and(|v| !matches!(v, "null" | "\"\"" | "[]"))
        }) || self
            .get("content")
            .is_some_and(|c| json::elements(c).any(reasoning::is_reasoning_part))
    }

    /// Its reasoning text.
    pub fn reasoning(&self) -> Option<String> {
        reasoning::texts(self.raw).reasoning.map(|r| r.text)
    }
}

/// Texts of one content part.
fn part_texts<'a>(part: &'a str, out: &mut Vec<Cow<'a, str>>) {
    if json::kind(part) == Some(json::Kind::String) {
        out.extend(json::decode(part));
        return;
    }
    let kind = json::member(part, "type")
        .and_then(json::decode)
        .unwrap_or_default();
    match kind.as_ref() {
        "image_url" | "input_image" | "image" | "input_audio" | "audio" | "video_url"
        | "input_video" => {}
        "text" | "input_text" | "output_text" => {
            out.extend(json::member(part, "text").and_then(json::decode));
        }
        "file" | "input_file" => {
            // The file's bytes are no text of ours; its name is.
            let name = json::member(part, "file").and_then(|f| json::member(f, "filename"));
            out.extend(name.and_then(json::decode));
        }
        _ => strings(part, out),
    }
}

/// Every string value inside a value, at any depth.
pub(super) fn strings<'a>(raw: &'a str, out: &mut Vec<Cow<'a, str>>) {
    match json::kind(raw) {
        Some(json::Kind::String) => out.extend(json::decode(raw)),
        Some(json::Kind::Array) => json::elements(raw).for_each(|e| strings(e, out)),
        Some(json::Kind::Object) => json::members(raw)
            .filter(|(k, _)| !json::key_is(k, "type"))
            .for_each(|(_, v)| strings(v, out)),
        _ => {}
    }
}

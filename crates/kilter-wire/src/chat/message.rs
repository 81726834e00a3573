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

/// A borrowed view of one message. Its members are found in one pass: messages carry images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    raw: &'a str,
    role: Option<&'a str>,
    content: Option<&'a str>,
    refusal: Option<&'a str>,
    tool_calls: Option<&'a str>,
    tool_call_id: Option<&'a str>,
    reasoning: bool,
}

impl<'a> Message<'a> {
    /// A view over a raw message object.
    pub fn new(raw: &'a str) -> Self {
        let mut m = Self {
            raw,
            role: None,
            content: None,
            refusal: None,
            tool_calls: None,
            tool_call_id: None,
            reasoning: false,
        };
        for (key, value) in json::members(raw) {
            let is = |name: &str| json::key_is(key, name);
            if is("role") {
                m.role = Some(value);
            } else if is("content") {
                m.content = Some(value);
            } else if is("refusal") {
                m.refusal = Some(value);
            } else if is("tool_calls") {
                m.tool_calls = Some(value);
            } else if is("tool_call_id") {
                m.tool_call_id = Some(value);
            } else if REASONING_FIELDS.iter().any(|f| is(f)) {
                m.reasoning |= !matches!(value, "null" | "\"\"" | "[]");
            }
        }
        m
    }

    /// The message as written.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// The raw value of a member.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        match key {
            "role" => self.role,
            "content" => self.content,
            "refusal" => self.refusal,
            "tool_calls" => self.tool_calls,
            "tool_call_id" => self.tool_call_id,
            _ => json::member(self.raw, key),
        }
    }

    /// The role; empty when none was given.
    pub fn role(&self) -> Cow<'a, str> {
        self.role.and_then(json::decode).unwrap_or_default()
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
        if let Some(content) = self.content {
            match json::kind(content) {
                Some(json::Kind::String) => out.extend(json::decode(content)),
                Some(json::Kind::Array) => {
                    json::elements(content).for_each(|part| part_texts(part, &mut out));
                }
                Some(json::Kind::Object) => part_texts(content, &mut out),
                _ => {}
            }
        }
        out.extend(self.refusal.and_then(json::decode));
        out.retain(|t| !t.is_empty());
        out
    }

    /// Calls that an assistant message made.
    pub fn tool_calls(&self) -> Vec<ToolDelta> {
        self.tool_calls.map(ToolDelta::list).unwrap_or_default()
    }

    /// The call that a tool message answers.
    pub fn tool_call_id(&self) -> Option<Cow<'a, str>> {
        self.tool_call_id.and_then(json::decode)
    }

    /// Whether it carries reasoning of an earlier turn, in a field or in content parts.
    pub fn has_reasoning(&self) -> bool {
        self.reasoning
            || self
                .content
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
    let (mut kind, mut text, mut file) = (None, None, None);
    for (key, value) in json::members(part) {
        if json::key_is(key, "type") {
            kind = json::decode(value);
        } else if json::key_is(key, "text") {
            text = Some(value);
        } else if json::key_is(key, "file") {
            file = Some(value);
        }
    }
    let kind = kind.unwrap_or_default();
    match kind.as_ref() {
        "image_url" | "input_image" | "image" | "input_audio" | "audio" | "video_url"
        | "input_video" => {}
        "text" | "input_text" | "output_text" => out.extend(text.and_then(json::decode)),
        "file" | "input_file" => {
            // The file's bytes are no text of ours; its name is.
            let name = file.and_then(|f| json::member(f, "filename"));
            out.extend(name.and_then(json::decode));
        }
        k if k.starts_with("thinking") || k.starts_with("reasoning") => {}
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

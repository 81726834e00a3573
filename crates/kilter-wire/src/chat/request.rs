//! The request view: what rules need to know, read from the bytes that will be sent on.

use std::borrow::Cow;

use bytes::Bytes;
use kilter_core::{Expect, ReasoningRequest, RequestFacts, ToolSpec, Trust};

use super::{Message, SessionMarks};
use crate::json::{self, Kind};
use crate::raw::{RawError, RawObject};

/// Fields that cap the output, in the order in which servers prefer them.
pub(super) const CAP_FIELDS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// A chat completions request. Unedited, it leaves byte for byte as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRequest {
    pub(super) body: RawObject,
}

impl ChatRequest {
    /// Reads a body. Fails only when it is not a JSON object: what is in it is the backend's to judge.
    pub fn parse(bytes: &[u8]) -> Result<Self, RawError> {
        Ok(Self {
            body: RawObject::parse(bytes)?,
        })
    }

    /// Reads a body without a copy: for bodies of many megabytes.
    pub fn from_vec(bytes: Vec<u8>) -> Result<Self, RawError> {
        Ok(Self {
            body: RawObject::from_vec(bytes)?,
        })
    }

    /// The body.
    pub fn body(&self) -> &RawObject {
        &self.body
    }

    /// The body, to edit.
    pub fn body_mut(&mut self) -> &mut RawObject {
        &mut self.body
    }

    /// The bytes to send.
    pub fn to_bytes(&self) -> Bytes {
        self.body.to_bytes()
    }

    /// The bytes to send, without a copy where nothing was changed.
    pub fn into_bytes(self) -> Bytes {
        self.body.into_bytes()
    }

    /// The `model` field.
    pub fn model(&self) -> Option<Cow<'_, str>> {
        self.body.get_str("model")
    }

    /// Whether a stream was asked for.
    pub fn stream(&self) -> bool {
        self.body.get_bool("stream").unwrap_or(false)
    }

    /// Whether the client asked for the usage chunk.
    pub fn include_usage(&self) -> bool {
        self.body
            .get("stream_options")
            .and_then(|o| json::member(o, "include_usage"))
            .and_then(json::as_bool)
            .unwrap_or(false)
    }

    /// The raw `tools` array.
    pub fn tools_raw(&self) -> Option<&str> {
        self.body
            .get("tools")
            .filter(|t| json::kind(t) == Some(Kind::Array))
    }

    /// The functions offered, those of the legacy `functions` field included.
    pub fn tools(&self) -> Vec<ToolSpec> {
        let mut out = Vec::new();
        for key in ["tools", "functions"] {
            if let Some(raw) = self.body.get(key) {
                out.extend(
                    json::elements(raw)
                        .filter_map(|e| serde_json::from_str(e).ok())
                        .filter_map(|v| ToolSpec::from_wire(&v)),
                );
            }
        }
        out
    }

    /// Names that `tool_choice` narrows the offer to; `None` when it does not.
    pub fn allowed_names(&self) -> Option<Vec<String>> {
        let choice = self.body.get("tool_choice")?;
        let name = |v: &str| {
            json::member(json::member(v, "function").unwrap_or(v), "name")
                .and_then(json::decode)
                .map(|n| n.into_owned())
        };
        if let Some(list) = json::member(allowed(choice), "tools") {
            return Some(json::elements(list).filter_map(name).collect());
        }
        name(choice).map(|n| vec![n])
    }

    /// The functions that an answer may call: those offered, narrowed by `tool_choice`.
    pub fn callable_tools(&self) -> Vec<ToolSpec> {
        let mut tools = self.tools();
        if let Some(names) = self.allowed_names() {
            tools.retain(|t| names.contains(&t.name));
        }
        tools
    }

    /// Whether a call is optional, required or off.
    pub fn expect(&self) -> Expect {
        let Some(choice) = self
            .body
            .get("tool_choice")
            .or_else(|| self.body.get("function_call"))
        else {
            return Expect::Auto;
        };
        let word = |raw: &str| match json::decode(raw).as_deref() {
            Some("none") => Expect::None,
            Some("required" | "any") => Expect::Required,
            _ => Expect::Auto,
        };
        match json::kind(choice) {
            Some(Kind::String) => word(choice),
            Some(Kind::Object) => match json::member(allowed(choice), "mode") {
                Some(mode) => word(mode),
                None => match json::member(choice, "type")
                    .and_then(json::decode)
                    .as_deref()
                {
                    Some("auto") => Expect::Auto,
                    Some("none") => Expect::None,
                    _ => Expect::Required,
                },
            },
            _ => Expect::Auto,
        }
    }

    /// The field that caps the output, where one is set to a number.
    pub fn cap_field(&self) -> Option<&'static str> {
        CAP_FIELDS
            .into_iter()
            .find(|f| self.body.get_u64(f).is_some())
    }

    /// The output cap in tokens.
    pub fn output_cap(&self) -> Option<u64> {
        self.body.get_u64(self.cap_field()?)
    }

    /// The sampling temperature.
    pub fn temperature(&self) -> Option<f64> {
        self.body.get("temperature")?.parse().ok()
    }

    /// The `reasoning_effort` field, unknown words included.
    pub fn reasoning_effort(&self) -> Option<Cow<'_, str>> {
        self.body.get_str("reasoning_effort")
    }

    /// What the request asked about reasoning, by any of the switches that servers know.
    pub fn reasoning_request(&self) -> ReasoningRequest {
        let judge = |raw: &str| match json::kind(raw) {
            Some(Kind::Bool) if raw == "false" => Some(ReasoningRequest::Off),
            Some(Kind::Bool) => Some(ReasoningRequest::On),
            Some(Kind::String) => match json::decode(raw).as_deref() {
                Some("none" | "disabled" | "off") => Some(ReasoningRequest::Off),
                _ => Some(ReasoningRequest::On),
            },
            Some(Kind::Number) if raw == "0" => Some(ReasoningRequest::Off),
            Some(Kind::Number) => Some(ReasoningRequest::On),
            _ => None,
        };
        let at =
            |outer: &str, inner: &str| self.body.get(outer).and_then(|o| json::member(o, inner));
        [
            self.body.get("reasoning_effort"),
            at("reasoning", "effort"),
            at("reasoning", "enabled"),
            at("thinking", "type"),
            at("chat_template_kwargs", "enable_thinking"),
            at("chat_template_kwargs", "thinking"),
            self.body.get("enable_thinking"),
            self.body.get("think"),
            self.body.get("thinking_budget"),
        ]
        .into_iter()
        .flatten()
        .find_map(judge)
        .unwrap_or_default()
    }

    /// How many choices were asked for.
    pub fn n(&self) -> u64 {
        self.body.get_u64("n").unwrap_or(1)
    }

    /// The messages in order.
    pub fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        json::elements(self.body.get("messages").unwrap_or("[]")).map(Message::new)
    }

    /// The texts of the transcript, each with the trust of its region. Retrieved `documents` beside
    /// the messages are untrusted.
    pub fn regions(&self) -> Vec<(Trust, Cow<'_, str>)> {
        let mut out = Vec::new();
        for m in self.messages() {
            let trust = m.trust();
            out.extend(m.texts().into_iter().map(|t| (trust, t)));
        }
        if let Some(docs) = self.body.get("documents") {
            let mut texts = Vec::new();
            super::message::strings(docs, &mut texts);
            out.extend(texts.into_iter().map(|t| (Trust::Untrusted, t)));
        }
        out
    }

    /// The texts that nobody may call from.
    pub fn untrusted(&self) -> Vec<Cow<'_, str>> {
        self.regions()
            .into_iter()
            .filter(|(trust, _)| *trust == Trust::Untrusted)
            .map(|(_, text)| text)
            .collect()
    }

    /// Characters of the `tools` array as sent.
    pub fn tools_chars(&self) -> u64 {
        self.tools_raw().map_or(0, |t| t.chars().count() as u64)
    }

    /// Characters of the prompt: texts, calls of earlier turns, tools. Media do not count.
    pub fn prompt_chars(&self) -> u64 {
        self.tools_chars() + self.messages().map(|m| chars_of(&m)).sum::<u64>()
    }

    /// Text of the first system or developer message.
    pub fn instructions(&self) -> Option<String> {
        self.messages()
            .find(|m| m.trust() == Trust::Trusted)
            .map(|m| m.texts().concat())
    }

    /// The marks of its session.
    pub fn session_marks(&self) -> SessionMarks {
        SessionMarks::of(self)
    }

    /// Whether reasoning of earlier turns is sent along.
    pub fn replays_reasoning(&self) -> bool {
        self.messages()
            .any(|m| m.trust() == Trust::Assistant && m.has_reasoning())
    }

    /// The facts that give a turn its meaning. The messages are walked once.
    pub fn facts(&self) -> RequestFacts {
        let tools_chars = self.tools_chars();
        let mut prompt_chars = tools_chars;
        let mut replayed_reasoning = false;
        for m in self.messages() {
            prompt_chars += chars_of(&m);
            replayed_reasoning |= m.trust() == Trust::Assistant && m.has_reasoning();
        }
        RequestFacts {
            tools: self.tools().len(),
            expect: self.expect(),
            output_cap: self.output_cap(),
            reasoning: self.reasoning_request(),
            streaming: self.stream(),
            prompt_chars,
            tools_chars,
            replayed_reasoning,
        }
    }
}

/// Characters of one message's texts and calls.
fn chars_of(m: &Message<'_>) -> u64 {
    let texts: u64 = m.texts().iter().map(|t| t.chars().count() as u64).sum();
    texts + m.get("tool_calls").map_or(0, |c| c.chars().count() as u64)
}

/// The object that holds `mode` and `tools` of an `allowed_tools` choice: nested in the chat API,
/// flat in the Responses API.
fn allowed(choice: &str) -> &str {
    json::member(choice, "allowed_tools").unwrap_or(choice)
}

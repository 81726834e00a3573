//! Chunks of our own: they carry the identity of the stream that they go into.

use kilter_core::{FinishReason, ToolCall};
use serde_json::{Map, Value};

use super::Chunk;
use super::rewrite::set_kilter;
use crate::json::encode;
use crate::raw::RawObject;

/// Members of a received chunk that identify the answer and go into every chunk of ours.
const IDENTITY: [&str; 7] = [
    "id",
    "object",
    "created",
    "model",
    "system_fingerprint",
    "service_tier",
    "provider",
];

/// Writes chunks into one answer. Texts are JSON; [`crate::sse::encode_data`] makes events of them.
#[derive(Debug, Clone)]
pub struct ChunkWriter {
    envelope: RawObject,
}

impl ChunkWriter {
    /// A writer for an answer of our own.
    pub fn new(id: &str, model: &str, created: u64) -> Self {
        let mut envelope = RawObject::new();
        envelope.set_str("id", id);
        envelope.set_str("object", "chat.completion.chunk");
        envelope.set_u64("created", created);
        envelope.set_str("model", model);
        Self { envelope }
    }

    /// A writer that continues the answer that a chunk belongs to.
    pub fn like(chunk: &Chunk) -> Self {
        let mut envelope = RawObject::new();
        for key in IDENTITY {
            if let Some(v) = chunk.body().get(key) {
                // The value was scanned when the chunk was parsed.
                let _ = envelope.set(key, v);
            }
        }
        Self { envelope }
    }

    fn with(&self, choices: &str) -> String {
        let mut o = self.envelope.clone();
        let _ = o.set("choices", choices);
        o.to_text().into_owned()
    }

    /// A chunk with one delta, given as JSON text.
    pub fn delta(&self, choice: u64, delta: &str) -> String {
        self.with(&format!(
            r#"[{{"index":{choice},"delta":{delta},"finish_reason":null}}]"#
        ))
    }

    /// The role chunk.
    pub fn role(&self, choice: u64) -> String {
        self.delta(choice, r#"{"role":"assistant","content":""}"#)
    }

    /// A piece of content.
    pub fn content(&self, choice: u64, text: &str) -> String {
        self.delta(choice, &format!(r#"{{"content":{}}}"#, encode(text)))
    }

    /// A piece of reasoning.
    pub fn reasoning(&self, choice: u64, text: &str) -> String {
        self.delta(
            choice,
            &format!(r#"{{"reasoning_content":{}}}"#, encode(text)),
        )
    }

    /// A call: its opening fragment, then its arguments. `index` is its place among the calls of the
    /// answer, `id` the one to use when the call has none.
    pub fn call(&self, choice: u64, index: usize, id: &str, call: &ToolCall) -> [String; 2] {
        call_fragments(index, id, call)
            .map(|f| self.delta(choice, &format!(r#"{{"tool_calls":[{f}]}}"#)))
    }

    /// Fragments that were normalised or held.
    pub fn fragments(&self, choice: u64, fragments: &[super::Fragment]) -> String {
        let list: Vec<&str> = fragments.iter().map(|f| f.json.as_str()).collect();
        self.delta(choice, &format!(r#"{{"tool_calls":[{}]}}"#, list.join(",")))
    }

    /// The finish chunk, with `kilter` members where there were interventions.
    pub fn finish(
        &self,
        choice: u64,
        reason: &FinishReason,
        kilter: &Map<String, Value>,
    ) -> String {
        let mut o = self.envelope.clone();
        let _ = o.set(
            "choices",
            format!(
                r#"[{{"index":{choice},"delta":{{}},"finish_reason":{}}}]"#,
                encode(reason.as_str())
            ),
        );
        set_kilter(&mut o, kilter);
        o.to_text().into_owned()
    }

    /// The usage chunk: no choices, token counts, and `kilter` members.
    pub fn usage(&self, usage: &Value, kilter: &Map<String, Value>) -> String {
        let mut o = self.envelope.clone();
        let _ = o.set("choices", "[]");
        o.set_value("usage", usage);
        set_kilter(&mut o, kilter);
        o.to_text().into_owned()
    }
}

/// The two fragments of a call in normal form.
pub fn call_fragments(index: usize, id: &str, call: &ToolCall) -> [String; 2] {
    let id = call.id.as_deref().unwrap_or(id);
    [
        format!(
            r#"{{"index":{index},"id":{},"type":"function","function":{{"name":{},"arguments":""}}}}"#,
            encode(id),
            encode(&call.name)
        ),
        format!(
            r#"{{"index":{index},"function":{{"arguments":{}}}}}"#,
            encode(&call.arguments)
        ),
    ]
}

/// A call as an element of a whole message's `tool_calls`.
pub fn call_json(id: &str, call: &ToolCall) -> String {
    format!(
        r#"{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}"#,
        encode(call.id.as_deref().unwrap_or(id)),
        encode(&call.name),
        encode(&call.arguments)
    )
}

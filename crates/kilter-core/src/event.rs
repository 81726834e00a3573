//! The observability contract: every judgement and every intervention is one of these events.
//!
//! One JSON object a line. An outside evaluator can split artefact from weakness with these alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::Usage;
use crate::tool::{Origin, RejectReason, Strength};

/// One line of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceEvent {
    /// RFC 3339, UTC, milliseconds.
    pub time: String,
    /// Session key.
    pub session: String,
    /// Backend name.
    pub backend: String,
    /// The request's model field: a partition key, never an identity.
    pub slot: String,
    /// Digest of the weights, where the operator gave one; never guessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_digest: Option<String>,
    /// Id of the request.
    pub request: String,
    /// Id of the raw capture, where one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    /// `true` when the gateway only recorded what it would have done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed_only: bool,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A turn ended.
    ChatCompletionFinish {
        /// The terminal reason as sent to the client.
        finish_reason: Option<String>,
        /// The reason as the upstream gave it, when it was another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upstream_finish_reason: Option<String>,
        /// Calls of the structured channel.
        native_calls: u32,
        /// Calls read from text.
        recovered_calls: u32,
        /// Characters of visible content.
        content_chars: u64,
        /// Characters of reasoning.
        reasoning_chars: u64,
        /// Token counts.
        usage: Usage,
        /// Whether it was streamed.
        streaming: bool,
        /// Milliseconds from request to first body byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_byte_ms: Option<u64>,
        /// Milliseconds from request to end.
        total_ms: u64,
    },
    /// The budget signature: the cap was spent in reasoning.
    ReasoningOverflow {
        /// Reasoning tokens, where the server counted them.
        reasoning_tokens: Option<u64>,
        /// The output cap.
        cap: Option<u64>,
        /// Whether one continue was made.
        continued: bool,
    },
    /// A call was read from text.
    RecoveredToolCall {
        /// The dialect.
        dialect: String,
        /// Strength of its markers.
        strength: Strength,
        /// As written or coerced.
        origin: Origin,
        /// The tool.
        name: String,
    },
    /// A candidate did not become a call.
    RejectedToolCall {
        /// The dialect.
        dialect: String,
        /// The name as written, where one was read.
        name: Option<String>,
        /// Why.
        reason: RejectReason,
        /// The nearest declared name, as a hint only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nearest: Option<String>,
    },
    /// Tools were offered and wanted, call syntax was there, and nothing could be read.
    NoParseableToolCall {
        /// Dialects whose openers were seen.
        openers: Vec<String>,
    },
    /// The turn holds no attempt at the task: empty, or overflow that one continue did not mend.
    NonAttempt {
        /// `empty`, `overflow`, `finish_without_calls`.
        cause: String,
    },
    /// A typed refusal by the provider.
    ModelError {
        /// HTTP status.
        status: u16,
        /// Type or code.
        #[serde(rename = "type")]
        kind: String,
        /// Its words, cut to 400 characters and redacted.
        message: String,
    },
    /// A learnt or tried change of the request.
    Compensation {
        /// The rule's name, as in `compensations/*.toml`.
        rule: String,
        /// `tried`, `learnt`, `applied`, `failed`, `expired`.
        outcome: String,
    },
    /// An axis of the profile moved.
    Behavior {
        /// The axis.
        axis: String,
        /// Its former value.
        from: String,
        /// Its new value.
        to: String,
        /// What held it up, in words.
        evidence: String,
    },
}

impl EventKind {
    /// The word of the `event` field.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ChatCompletionFinish { .. } => "chat_completion_finish",
            Self::ReasoningOverflow { .. } => "reasoning_overflow",
            Self::RecoveredToolCall { .. } => "recovered_tool_call",
            Self::RejectedToolCall { .. } => "rejected_tool_call",
            Self::NoParseableToolCall { .. } => "no_parseable_tool_call",
            Self::NonAttempt { .. } => "non_attempt",
            Self::ModelError { .. } => "model_error",
            Self::Compensation { .. } => "compensation",
            Self::Behavior { .. } => "behavior",
        }
    }
}

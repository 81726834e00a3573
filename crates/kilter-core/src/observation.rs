//! One assistant turn as emitted: the only thing that a profile learns from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The terminal reason of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model ended its turn.
    Stop,
    /// The output cap was hit.
    Length,
    /// The model called tools.
    ToolCalls,
    /// The server's filter ended it.
    ContentFilter,
    /// Any other word of the wire.
    #[serde(untagged)]
    Other(String),
}

impl FinishReason {
    /// Reads the word of the wire.
    pub fn from_wire(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The word of the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        }
    }
}

/// Token counts of a turn; each is `None` when the server did not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u64>,
    /// Tokens produced, reasoning included.
    pub completion_tokens: Option<u64>,
    /// Tokens of reasoning among them.
    pub reasoning_tokens: Option<u64>,
}

/// Where reasoning stood on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningPlace {
    /// In a field beside the content (`reasoning_content`, `reasoning`, `thinking`, …): its name.
    Field(String),
    /// An opener at the very start of the content; the closer was seen or not.
    InlineStart {
        /// The opening marker as written, `<think>` for one.
        opener: String,
        /// Whether the block was closed.
        closed: bool,
    },
    /// A bare closer near the start of the content with no opener before it.
    LoneCloser {
        /// The closing marker as written.
        closer: String,
        /// Its byte offset in the content.
        at: usize,
    },
    /// In a channel header of the dialect (`analysis`, `thought`).
    ChannelHeader,
}

/// A call in the structured channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeCall {
    /// The server's id, where it gave one.
    pub id: Option<String>,
    /// The name as emitted.
    pub name: String,
    /// Arguments as JSON text, possibly cut.
    pub arguments: String,
}

/// A typed failure of the request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TransportError {
    /// HTTP status, or 0 when no answer came.
    pub status: u16,
    /// The provider's type or code, or one of ours (`stall`, `cut`, `bad_body`).
    pub kind: String,
    /// The parameter that it names.
    pub param: Option<String>,
    /// Its words.
    pub message: String,
}

/// What the request asked about reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningRequest {
    /// It said nothing.
    #[default]
    Unsaid,
    /// It asked for some.
    On,
    /// It switched it off (`reasoning_effort: "none"`).
    Off,
}

/// Facts of the request that give a turn its meaning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RequestFacts {
    /// How many functions were offered.
    pub tools: usize,
    /// Whether a call was optional, required or off.
    pub expect: crate::tool::Expect,
    /// The output cap in tokens, where the request set one.
    pub output_cap: Option<u64>,
    /// What it asked about reasoning.
    pub reasoning: ReasoningRequest,
    /// Whether the answer was streamed.
    pub streaming: bool,
    /// Characters of the prompt's text, tools included: the base of the window estimate. Images
    /// and other encoded data do not count: a server does not count them by the character.
    pub prompt_chars: u64,
    /// Characters of the `tools` array alone.
    pub tools_chars: u64,
    /// Whether reasoning of earlier turns was sent along.
    pub replayed_reasoning: bool,
}

/// One assistant turn as emitted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Observation {
    /// Visible text with reasoning and calls taken out.
    pub content: String,
    /// Reasoning text, wherever it stood.
    pub reasoning: Option<String>,
    /// Where it stood; `None` when there was none.
    pub reasoning_place: Option<ReasoningPlace>,
    /// Calls of the structured channel.
    pub native_calls: Vec<NativeCall>,
    /// Calls that were read from text and passed the boundary.
    pub recovered: Vec<crate::tool::ToolCall>,
    /// Candidates that did not pass: dialect and reason, in order.
    pub rejected: Vec<(String, crate::tool::RejectReason)>,
    /// Dialects whose openers were seen, whether or not anything came of it.
    #[serde(default)]
    pub openers: Vec<String>,
    /// The terminal reason.
    pub finish: Option<FinishReason>,
    /// Token counts.
    pub usage: Usage,
    /// The typed failure, if the turn failed.
    pub error: Option<TransportError>,
    /// Facts of the request.
    pub request: RequestFacts,
    /// Habits of the stream seen in this turn, as short stable words (`index:missing`, `id:none`).
    pub stream_habits: Vec<String>,
}

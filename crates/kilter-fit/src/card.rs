//! The behaviour card: what was seen of a model, with the counts that hold it up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` field of every card of this version.
pub const CARD_SCHEMA: &str = "kilter.behavior-card/1";

/// What a model did, and what the harness should make of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BehaviorCard {
    /// `kilter.behavior-card/1`.
    pub schema: String,
    /// Version of kilter that wrote it.
    pub kilter: String,
    /// When it was finished, RFC 3339.
    pub time: String,
    /// What was probed.
    pub target: Target,
    /// What it took.
    pub effort: Effort,
    /// Where reasoning stands.
    pub reasoning: ReasoningLine,
    /// How tool calls are written.
    pub tool_calls: ToolLine,
    /// What happens at the output cap.
    pub budget: BudgetLine,
    /// How much prompt is served.
    pub window: WindowLine,
    /// Whether reasoning may be sent back in the history.
    pub history: HistoryLine,
    /// What the endpoint refused, and what helped.
    pub constraints: Vec<ConstraintLine>,
    /// Habits of the wire that clients trip over.
    pub wire: WireLine,
    /// The capability exam; `null` where none was sat.
    pub exam: Option<serde_json::Value>,
    /// What the harness should do.
    pub fits: Fits,
    /// The axes of the profile with the observations that hold each up.
    pub profile: serde_json::Value,
    /// Every probe in order.
    pub probes: Vec<ProbeRecord>,
}

/// What was probed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Base URL.
    pub endpoint: String,
    /// Name of the backend.
    pub backend: String,
    /// The model field of the requests.
    pub slot: String,
    /// Models that the server lists.
    pub listed: Vec<String>,
    /// `true` for a demonstration model: a script, not a model.
    pub script: bool,
}

/// What the card took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effort {
    /// Requests sent, retries included.
    pub requests: u32,
    /// Assistant turns that came back.
    pub turns: u32,
    /// Milliseconds from first request to last answer.
    pub elapsed_ms: u64,
    /// Prompt tokens a second, where a long prompt could be timed.
    pub prompt_tokens_per_second: Option<f64>,
    /// Output tokens a second, by the median turn.
    pub output_tokens_per_second: Option<f64>,
    /// Why the card is not whole; `null` when it is.
    pub partial: Option<String>,
}

/// Where reasoning stands.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningWord {
    /// Not enough was seen.
    #[default]
    Unknown,
    /// A field of its own.
    ServerSplit,
    /// A block at the start of the content.
    InlineThink,
    /// A closer near the start of the content with no opener.
    LeadingCloser,
    /// Counted by the server, shown nowhere.
    Hidden,
    /// None in any form.
    None,
}

/// The reasoning line of the card.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningLine {
    /// The learnt value.
    pub channel: ReasoningWord,
    /// Field name, or the marker as written.
    pub marker: Option<String>,
    /// Turns that showed this.
    pub seen: u32,
    /// Turns that could have.
    pub of: u32,
    /// The same as a sentence.
    pub evidence: String,
}

/// How tool calls are written.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ToolWord {
    /// Not enough was seen.
    #[default]
    Unknown,
    /// The structured array of the API.
    Structured,
    /// Text in the content, in a dialect.
    InContent,
    /// The server's template does not show the tools to the model.
    TemplateDropsTools,
    /// Tools were shown and no call came.
    NoneEmitted,
    /// The endpoint refuses requests with tools.
    Refused,
}

/// The tool line of the card.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolLine {
    /// The learnt value.
    pub channel: ToolWord,
    /// The dialect, for calls in the content.
    pub dialect: Option<String>,
    /// Turns with a readable call of that kind.
    pub seen: u32,
    /// Turns in which a call was asked for.
    pub of: u32,
    /// Turns with a native call.
    pub native: u32,
    /// Turns by dialect in which a call was read from text.
    pub recovered: Vec<Count>,
    /// Candidates that did not pass, by reason.
    pub rejected: Vec<Count>,
    /// Whether two calls came in one turn when two were asked for; `null` when not tried.
    pub parallel: Option<bool>,
    /// Calls where none was asked for: turns, and turns tried.
    pub uncalled_for: u32,
    /// Turns in which no tool was of use.
    pub uncalled_for_of: u32,
    /// The same as a sentence.
    pub evidence: String,
}

/// A count under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// What was counted.
    pub name: String,
    /// How often.
    pub count: u32,
}

/// What happens at the output cap.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BudgetWord {
    /// Not enough was seen.
    #[default]
    Unknown,
    /// Answers fit.
    Healthy,
    /// The cap is spent in reasoning and the answer is empty.
    Overflows,
}

/// The budget line of the card.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetLine {
    /// The learnt value.
    pub signature: BudgetWord,
    /// The cap at which an answer was empty, in tokens.
    pub empty_at: Option<u64>,
    /// The cap at which the same question was answered.
    pub answers_at: Option<u64>,
    /// Turns that overflowed.
    pub seen: u32,
    /// The same as a sentence.
    pub evidence: String,
}

/// How much prompt is served.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WindowWord {
    /// Not enough was seen.
    #[default]
    Unknown,
    /// At least this many tokens.
    AtLeast,
    /// About this many tokens; longer prompts are refused.
    Refuses,
    /// About this many tokens; longer prompts are cut without a word.
    Cuts,
}

/// The window line of the card.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowLine {
    /// What is known.
    pub kind: WindowWord,
    /// Tokens.
    pub tokens: Option<u64>,
    /// What the server declares, where it does.
    pub declared: Option<u64>,
    /// The same as a sentence.
    pub evidence: String,
}

/// Whether reasoning may be sent back.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HistoryWord {
    /// Not tried, or undecided.
    #[default]
    Unknown,
    /// Must be sent.
    Requires,
    /// May be sent.
    Accepts,
    /// Must not be sent.
    Rejects,
}

/// The history line of the card.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryLine {
    /// What is known.
    pub reasoning: HistoryWord,
    /// The same as a sentence.
    pub evidence: String,
}

/// Something that the endpoint refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConstraintLine {
    /// The compensation rule, as in `compensations/*.toml`; `null` where none helped.
    pub rule: Option<String>,
    /// Whether the changed request succeeded.
    pub learnt: bool,
    /// The refusal as the endpoint worded it, cut.
    pub refusal: String,
    /// How often it was met.
    pub seen: u32,
    /// The same as a sentence.
    pub evidence: String,
}

/// Habits of the wire.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WireLine {
    /// Habits by turns.
    pub habits: Vec<Count>,
    /// Turns that were streamed.
    pub streamed: u32,
    /// Failed requests by kind (`429`, `503`, `cut`).
    pub failures: Vec<Count>,
    /// The same as a sentence.
    pub evidence: String,
}

/// What the harness should do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fits {
    /// `on`, where anything deviates; `observe` where nothing did.
    pub adapt: String,
    /// Output cap that leaves room for an answer; `null` where any did.
    pub max_output_tokens: Option<u64>,
    /// `current_user_turn` or `never`, where it was learnt.
    pub reasoning_replay: Option<String>,
    /// What a person should know besides.
    pub notes: Vec<String>,
}

/// One probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRecord {
    /// Its name in the plan.
    pub name: String,
    /// Streamed or not.
    pub streaming: bool,
    /// HTTP status; 0 when no answer came.
    pub status: u16,
    /// Milliseconds.
    pub ms: u64,
    /// Prompt tokens, where the server counted.
    pub prompt_tokens: Option<u64>,
    /// Output tokens, where the server counted.
    pub completion_tokens: Option<u64>,
    /// Finish word of the wire.
    pub finish: Option<String>,
    /// What was made of it, in a few words.
    pub outcome: String,
}

/// The JSON Schema of the card.
pub fn schema() -> serde_json::Value {
    serde_json::to_value(schemars::schema_for!(BehaviorCard)).unwrap_or_default()
}

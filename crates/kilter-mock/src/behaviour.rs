//! What a scripted model does in one turn: the sections that are about the model itself.

use serde::Deserialize;
use toml::Table;

use crate::fault::Fault;
use crate::habits::{Habits, UsageHabits};
use crate::overlay::{OneOrMany, section};
use crate::refuse::Refusal;

section! {
    /// `[reply]`: what is said.
    Reply {
        /// The text. Several texts are taken in turn. `«user»`, `«tool_result»` and `«turn»` are filled in.
        /// Unset: a sensible answer is made up from the request by the seed.
        text: OneOrMany,
        /// Length in tokens of a made-up answer.
        tokens: u64,
        /// Put before the text.
        before: String,
        /// Put after the text.
        after: String,
        /// A whole body says `"content": null` instead of `""` when there is no text.
        null_content: bool,
        /// The terminal reason, whatever the truth is.
        finish: String,
        /// Output tokens before the model stops by itself when the request sets no cap.
        default_cap: u64,
    }
}

/// Where reasoning stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningChannel {
    /// Nowhere: the model does not reason.
    #[default]
    None,
    /// In a field beside the content.
    Field,
    /// Between markers at the start of the content.
    Inline,
    /// At the start of the content, closed by a closer that nothing opened.
    LoneCloser,
    /// Nowhere on the wire; only `usage` counts it.
    Hidden,
}

/// The field that carries reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningField {
    /// `reasoning_content`.
    ReasoningContent,
    /// `reasoning`.
    Reasoning,
    /// `thinking`.
    Thinking,
    /// `reasoning_details: [{"type":"reasoning.text","text":…}]`.
    ReasoningDetails,
    /// Content as an array of parts of which one is `{"type":"thinking",…}`.
    ContentParts,
}

section! {
    /// `[reasoning]`: what is thought, and where it stands.
    Reasoning {
        /// Where it stands.
        channel: ReasoningChannel,
        /// The field, for `channel = "field"`. Default `reasoning_content`.
        field: ReasoningField,
        /// A second field that carries the same text.
        also_field: ReasoningField,
        /// A named pair of markers of `markers.toml`, for `inline` and `lone_closer`. Default `think`.
        markers: String,
        /// The opening marker as written; overrides `markers`.
        open: String,
        /// The closing marker as written; overrides `markers`.
        close: String,
        /// The text. Unset: prose of `tokens` tokens.
        text: String,
        /// Its length in tokens. Default 24.
        tokens: u64,
        /// Spend the whole output cap on reasoning while the cap is below this many tokens.
        overflow_below: u64,
        /// The block is never closed: all that follows looks like reasoning.
        unclosed: bool,
        /// Stop after reasoning, with no content and no call.
        only: bool,
        /// Calls written in content stand inside the reasoning block.
        calls_inside: bool,
        /// `usage.completion_tokens_details.reasoning_tokens` is reported. Default: for `field` and `hidden`.
        counted: bool,
        /// A request that switches reasoning off is obeyed. Default true.
        obeys_off: bool,
        /// Reasons only when asked to.
        only_when_asked: bool,
    }
}

/// Where calls are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallChannel {
    /// In `tool_calls`.
    #[default]
    Native,
    /// As text of the content, in a dialect.
    Content,
    /// Never.
    None,
    /// In the old `function_call` field.
    FunctionCall,
}

/// When a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// When the request requires one, or the user's words point to a declared tool and no result
    /// has come yet.
    #[default]
    Apt,
    /// Whenever tools are declared, allowed, and the last message is no tool result.
    Eager,
    /// Whenever `literal` or a declared tool gives one, tool results and `tool_choice` notwithstanding.
    Always,
    /// Never.
    Never,
}

/// The shape of a call's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdStyle {
    /// `call_` and 24 hex digits.
    #[default]
    Call,
    /// Nine alphanumerics.
    Nine,
    /// `functions.NAME:N`.
    Functions,
    /// A version-4-shaped UUID.
    Uuid,
    /// The empty string.
    Empty,
    /// JSON null.
    Null,
    /// No key at all.
    Missing,
    /// The same id for every call.
    Same,
}

/// One call written out in the script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiteralCall {
    /// The name, declared or not.
    pub name: String,
    /// The arguments, written in the order of their keys; `raw` keeps any order.
    #[serde(default)]
    pub arguments: Table,
    /// The arguments as raw text; wins over `arguments`.
    pub raw: Option<String>,
}

section! {
    /// `[calls]`: what is called, and how it is written.
    Calls {
        /// Where calls are written. Default `native`.
        channel: CallChannel,
        /// The dialect of `channel = "content"`: a name of `dialects.toml`.
        dialect: String,
        /// When a call is made.
        policy: Policy,
        /// The tool: `request` (by the user's words), `first`, `last`, or a name. Default `request`.
        pick: String,
        /// How many calls. Unset: one, or as many as the user asks for: two for "both", one for each
        /// tool that is named.
        count: u64,
        /// Calls written out, instead of picked ones.
        literal: Vec<LiteralCall>,
        /// Text before the calls.
        before: String,
        /// Text after the calls.
        after: String,
        /// Keep only this many bytes of each native `arguments`, or of the written call text.
        cut: u64,
        /// The shape of ids.
        ids: IdStyle,
        /// Native `arguments` are an object instead of JSON text.
        as_object: bool,
        /// No-argument calls say `""` instead of `"{}"`.
        empty_arguments: bool,
        /// Also copy the call into the content, in `dialect`.
        also_in_content: bool,
        /// Honours `response_format` of type `json_schema` by a call-shaped or schema-shaped object.
        honours_schema: bool,
    }
}

/// What a full window does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowMode {
    /// A typed 400.
    #[default]
    Refuse,
    /// The prompt is cut without a word; `prompt_tokens` stops growing.
    Truncate,
}

/// The shape of a window refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowError {
    /// `exceed_context_size_error` with `n_prompt_tokens` and `n_ctx`.
    #[default]
    ExceedContextSize,
    /// `context_length_exceeded` with both numbers in the message.
    ContextLength,
}

section! {
    /// `[window]`: the served window.
    Window {
        /// Its size in tokens; unset: unbounded.
        tokens: u64,
        /// What a full window does. Default `refuse`.
        mode: WindowMode,
        /// The window that `/v1/models` claims (`max_model_len`).
        declared: u64,
        /// The shape of the refusal.
        error: WindowError,
        /// The cap counts towards the window, as some servers have it.
        counts_cap: bool,
    }
}

section! {
    /// `[template]`: what the prompt template does with the request.
    Template {
        /// Tools never reach the model: no call is made and `prompt_tokens` does not count them.
        drops_tools: bool,
        /// System messages never reach the model.
        drops_system: bool,
        /// `/props` answers, with the served window and whether the template takes tools.
        props: bool,
    }
}

/// All sections together: what a model does.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "each field is documented at its section")]
pub struct Behaviour {
    pub reply: Reply,
    pub reasoning: Reasoning,
    pub calls: Calls,
    pub stream: Habits,
    pub usage: UsageHabits,
    pub window: Window,
    pub template: Template,
    pub refuse: Option<Vec<Refusal>>,
    pub faults: Option<Vec<Fault>>,
}

impl Behaviour {
    /// Lays `over` on top: a key that it sets wins; a list that it gives replaces the one below.
    pub fn overlay(&mut self, over: &Self) {
        self.reply.overlay(&over.reply);
        self.reasoning.overlay(&over.reasoning);
        self.calls.overlay(&over.calls);
        self.stream.overlay(&over.stream);
        self.usage.overlay(&over.usage);
        self.window.overlay(&over.window);
        self.template.overlay(&over.template);
        if over.refuse.is_some() {
            self.refuse.clone_from(&over.refuse);
        }
        if over.faults.is_some() {
            self.faults.clone_from(&over.faults);
        }
    }
}

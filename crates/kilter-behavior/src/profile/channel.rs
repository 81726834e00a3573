//! Where reasoning and calls appear, and what of a turn is evidence of it.

use std::fmt;

use kilter_core::{
    Observation, Provenance, ReasoningPlace, ReasoningRequest, RejectReason, Strength,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::axis::{AxisValue, short};
use super::config::ProfileConfig;

/// Longest name of a field or dialect that is kept.
const NAME_BYTES: usize = 64;

/// Where reasoning appears.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReasoningChannel {
    /// Nothing was learnt.
    #[default]
    Unknown,
    /// In a field beside the content.
    ServerSplit {
        /// The field's name.
        field: String,
    },
    /// In a block that opens the content.
    InlineThink,
    /// At the start of the content, ended by a closer that has no opener.
    LeadingCloser,
    /// Nowhere to be read; counted in `reasoning_tokens` only.
    Hidden,
    /// There is none.
    None,
}

impl ReasoningChannel {
    /// Whether learning this value arms a filter on content.
    pub fn arms(&self) -> bool {
        matches!(self, Self::InlineThink | Self::LeadingCloser)
    }
}

impl AxisValue for ReasoningChannel {
    fn label(&self) -> String {
        match self {
            Self::Unknown => "unknown".into(),
            Self::ServerSplit { field } => format!("server_split:{field}"),
            Self::InlineThink => "inline_think".into(),
            Self::LeadingCloser => "leading_closer".into(),
            Self::Hidden => "hidden".into(),
            Self::None => "none".into(),
        }
    }
}

impl fmt::Display for ReasoningChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::ServerSplit { field } => write!(f, "in its own field, `{field}`"),
            Self::InlineThink => f.write_str("inline think"),
            Self::LeadingCloser => f.write_str("leading closer"),
            Self::Hidden => f.write_str("hidden"),
            Self::None => f.write_str("none"),
        }
    }
}

/// Where tool calls appear.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolChannel {
    /// Nothing was learnt.
    #[default]
    Unknown,
    /// In the structured channel.
    Structured,
    /// In the content, in a dialect.
    TaggedInContent {
        /// The dialect's name.
        dialect: String,
    },
    /// In the content, as JSON without any marker.
    BareJson,
}

impl AxisValue for ToolChannel {
    fn label(&self) -> String {
        match self {
            Self::Unknown => "unknown".into(),
            Self::Structured => "structured".into(),
            Self::TaggedInContent { dialect } => format!("tagged_in_content:{dialect}"),
            Self::BareJson => "bare_json".into(),
        }
    }
}

impl fmt::Display for ToolChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::Structured => f.write_str("structured"),
            Self::TaggedInContent { dialect } => write!(f, "in content, {dialect}"),
            Self::BareJson => f.write_str("in content, bare JSON"),
        }
    }
}

/// What a turn says about the reasoning channel.
pub(crate) enum ReasoningSeen {
    /// Positive evidence of a value, in words.
    Value(ReasoningChannel, String),
    /// Ordinary content without reasoning in any form, and reasoning was not switched off.
    Plain,
    /// Nothing.
    Nothing,
}

/// Whether a text holds anything but white space.
pub(crate) fn filled(text: &str) -> bool {
    !text.trim().is_empty()
}

pub(crate) fn reasoning_seen(obs: &Observation, cfg: &ProfileConfig) -> ReasoningSeen {
    use ReasoningSeen::{Nothing, Plain, Value};
    let text = obs.reasoning.as_deref().filter(|r| filled(r));
    match (&obs.reasoning_place, text) {
        (Some(ReasoningPlace::Field(name)), Some(text)) => {
            let field = short(name, NAME_BYTES).to_owned();
            let words = format!(
                "{} characters of reasoning in the field `{field}`",
                text.chars().count()
            );
            return Value(ReasoningChannel::ServerSplit { field }, words);
        }
        (Some(ReasoningPlace::InlineStart { opener, closed }), _) => {
            let end = if *closed { "" } else { " and did not close it" };
            let words = format!("content opened with `{}`{end}", short(opener, NAME_BYTES));
            return Value(ReasoningChannel::InlineThink, words);
        }
        (Some(ReasoningPlace::ChannelHeader), _) => {
            let words = "content opened with the header of a reasoning channel".to_owned();
            return Value(ReasoningChannel::InlineThink, words);
        }
        (Some(ReasoningPlace::LoneCloser { closer, at }), _) => {
            if *at > cfg.closer_within {
                return Nothing;
            }
            let words = format!(
                "`{}` at byte {at} of the content with no opener before it",
                short(closer, NAME_BYTES)
            );
            return Value(ReasoningChannel::LeadingCloser, words);
        }
        // Reasoning that nobody can place is no evidence of a place.
        (None, Some(_)) => return Nothing,
        // A reasoning field that came empty says no more than one that did not come.
        (Some(ReasoningPlace::Field(_)) | None, None) => {}
    }
    match obs.usage.reasoning_tokens {
        Some(n) if n > 0 => Value(
            ReasoningChannel::Hidden,
            format!("{n} reasoning tokens counted and none to be read"),
        ),
        _ if filled(&obs.content) && obs.request.reasoning != ReasoningRequest::Off => Plain,
        _ => Nothing,
    }
}

/// What a turn says about the tool channel: where a call that was actionable actually appeared.
pub(crate) fn tools_seen(obs: &Observation) -> Option<(ToolChannel, String)> {
    let native = obs
        .native_calls
        .iter()
        .filter(|c| filled(&c.name) && complete_json(&c.arguments))
        .count();
    if native > 0 {
        let calls = if native == 1 { "call" } else { "calls" };
        let words = format!("{native} {calls} in the structured channel");
        return Some((ToolChannel::Structured, words));
    }
    if !obs.native_calls.is_empty() {
        // The native path was taken, if badly: whatever else stood in the turn decides nothing.
        return None;
    }
    for call in &obs.recovered {
        if let Provenance::Recovered {
            dialect, strength, ..
        } = &call.provenance
        {
            let dialect = short(dialect, NAME_BYTES);
            let words = format!("a call to `{}` in {dialect}", short(&call.name, NAME_BYTES));
            return Some((channel_of(dialect, Some(*strength)), words));
        }
    }
    // The guard alone stood in its way: it was a call, and its channel was seen.
    let (dialect, _) = obs
        .rejected
        .iter()
        .find(|(_, reason)| *reason == RejectReason::Guard)?;
    let dialect = short(dialect, NAME_BYTES);
    let words = format!("a call in {dialect} that only the guard held back");
    Some((channel_of(dialect, None), words))
}

/// The channel of a dialect. Bare JSON is known by what it is called in the dialect files: the one
/// grammar that has no marker and is JSON.
fn channel_of(dialect: &str, strength: Option<Strength>) -> ToolChannel {
    let bare = matches!(dialect, "bare-json" | "bare_json" | "json");
    if bare && strength.is_none_or(|s| s == Strength::Weak) {
        ToolChannel::BareJson
    } else {
        ToolChannel::TaggedInContent {
            dialect: dialect.to_owned(),
        }
    }
}

/// Whether a native call's arguments are whole; none at all are `{}`.
pub(crate) fn complete_json(text: &str) -> bool {
    !filled(text) || serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether JSON text ends before its value does.
pub(crate) fn open_json(text: &str) -> bool {
    filled(text) && serde_json::from_str::<IgnoredAny>(text).is_err_and(|e| e.is_eof())
}

//! What a backend does with reasoning that is sent back in the history.

use std::fmt;

use kilter_core::{Observation, TransportError};
use serde::{Deserialize, Serialize};

use super::axis::AxisValue;

/// What a backend does with reasoning in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningHistory {
    /// Nothing was learnt.
    #[default]
    Unknown,
    /// It refuses a history without it.
    Requires,
    /// It takes it.
    Accepts,
    /// It refuses a history with it.
    Rejects,
}

impl ReasoningHistory {
    /// Whether reasoning may be sent back.
    pub fn may_replay(self) -> bool {
        matches!(self, Self::Requires | Self::Accepts)
    }
}

impl AxisValue for ReasoningHistory {
    fn label(&self) -> String {
        match self {
            Self::Unknown => "unknown",
            Self::Requires => "requires",
            Self::Accepts => "accepts",
            Self::Rejects => "rejects",
        }
        .into()
    }
}

impl fmt::Display for ReasoningHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

/// Names under which reasoning stands in a message. A parameter *about* reasoning
/// (`reasoning_effort`) is not one of them.
const FIELDS: [&str; 8] = [
    "reasoning_content",
    "reasoning_details",
    "'reasoning'",
    "`reasoning`",
    "\"reasoning\"",
    ".reasoning",
    "thinking block",
    "`thinking`",
];
const DEMANDS: [&str; 6] = [
    "must be passed back",
    "must be provided",
    "must be included",
    "must start with",
    "is required",
    "is missing",
];
const REFUSALS: [&str; 10] = [
    "unsupported",
    "not supported",
    "unknown",
    "unrecognized",
    "unexpected",
    "extra inputs",
    "extra_forbidden",
    "not permitted",
    "not allowed",
    "does not exist",
];

/// What a typed refusal says about it. `replayed`: the request carried reasoning of earlier turns.
pub(crate) fn history_told(
    error: &TransportError,
    replayed: bool,
) -> Option<(ReasoningHistory, String)> {
    if !(400..500).contains(&error.status) {
        return None;
    }
    let mut said = error.message.to_lowercase();
    if let Some(param) = &error.param {
        said.push_str("\n.");
        said.push_str(&param.to_lowercase());
    }
    said.push('\n');
    said.push_str(&error.kind.to_lowercase());
    if said.contains("reasoning_effort") || !FIELDS.iter().any(|f| said.contains(f)) {
        return None;
    }
    let status = error.status;
    if DEMANDS.iter().any(|d| said.contains(d)) {
        let words = format!("status {status}: reasoning of earlier turns is demanded");
        return Some((ReasoningHistory::Requires, words));
    }
    if replayed && REFUSALS.iter().any(|r| said.contains(r)) {
        let words = format!("status {status}: reasoning of earlier turns is refused");
        return Some((ReasoningHistory::Rejects, words));
    }
    None
}

/// What an answered turn says about it: a history with reasoning was taken. Where it is known to be
/// demanded, being taken agrees with that.
pub(crate) fn history_seen(
    obs: &Observation,
    held: ReasoningHistory,
) -> Option<(ReasoningHistory, String)> {
    if !obs.request.replayed_reasoning {
        return None;
    }
    let value = match held {
        ReasoningHistory::Requires => ReasoningHistory::Requires,
        _ => ReasoningHistory::Accepts,
    };
    let words = "answered a history that held reasoning".to_owned();
    Some((value, words))
}

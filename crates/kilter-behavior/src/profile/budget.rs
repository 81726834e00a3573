//! How the output budget is spent, and the one signature that counts as overflow.

use std::fmt;

use kilter_core::{FinishReason, Observation};
use serde::{Deserialize, Serialize};

use super::axis::AxisValue;
use super::channel::filled;
use super::config::ProfileConfig;

/// How the output budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetSignature {
    /// Nothing was learnt.
    #[default]
    Unknown,
    /// Turns end with something said or called.
    Healthy,
    /// The cap is spent in reasoning and nothing is said.
    ExhaustsInReasoning,
}

impl AxisValue for BudgetSignature {
    fn label(&self) -> String {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::ExhaustsInReasoning => "exhausts_in_reasoning",
        }
        .into()
    }
}

impl fmt::Display for BudgetSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::ExhaustsInReasoning => "exhausts in reasoning",
        })
    }
}

/// The full budget signature of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// Tokens of reasoning, where the server counted them.
    pub reasoning_tokens: Option<u64>,
    /// The request's output cap.
    pub cap: Option<u64>,
    /// The reasoning could not be read; only its count is known.
    pub hidden: bool,
    /// Whether the output cap can have been what ended the turn. `false` when the server counted
    /// clearly fewer tokens than the cap allowed: something else ended it (the window, a limit of
    /// the server), and a higher cap would change nothing.
    pub by_cap: bool,
}

/// Whether a turn carries the **full** budget signature: `finish = length`, empty content, no calls
/// of either kind, and reasoning that is either there to be read or hidden and about as long as the
/// cap. Anything less is `None`: a `stop` with reasoning alone is healthy, and a `length` with text
/// is an ordinary cut.
///
/// `hidden_share` is the share of the cap that hidden reasoning must have spent (the design: 0.9).
pub fn overflow(obs: &Observation, hidden_share: f64) -> Option<Overflow> {
    if obs.error.is_some()
        || obs.finish != Some(FinishReason::Length)
        || filled(&obs.content)
        || !obs.native_calls.is_empty()
        || !obs.recovered.is_empty()
    {
        return None;
    }
    let cap = obs.request.output_cap.filter(|c| *c > 0);
    let near = |tokens: u64, cap: u64| tokens as f64 >= hidden_share * cap as f64;
    let readable = obs.reasoning.as_deref().is_some_and(filled);
    let tokens = obs.usage.reasoning_tokens;
    if !readable {
        // Hidden: without both figures nothing says that reasoning took the budget.
        let (tokens, cap) = (tokens?, cap?);
        if !near(tokens, cap) {
            return None;
        }
    }
    let by_cap = match (obs.usage.completion_tokens, cap) {
        (Some(spent), Some(cap)) => near(spent.max(tokens.unwrap_or(0)), cap),
        _ => true,
    };
    Some(Overflow {
        reasoning_tokens: tokens,
        cap,
        hidden: !readable,
        by_cap,
    })
}

/// What a turn says about the budget.
pub(crate) fn budget_seen(
    obs: &Observation,
    cfg: &ProfileConfig,
) -> Option<(BudgetSignature, String)> {
    if let Some(o) = overflow(obs, cfg.hidden_overflow) {
        let spent = match (o.reasoning_tokens, o.cap) {
            (Some(t), Some(c)) => format!("{t} reasoning tokens of a cap of {c}"),
            (Some(t), None) => format!("{t} reasoning tokens"),
            (None, Some(c)) => format!("a cap of {c} tokens"),
            (None, None) => "the server's own cap".to_owned(),
        };
        let words = format!("nothing said, cut by length: {spent}");
        return Some((BudgetSignature::ExhaustsInReasoning, words));
    }
    let calls = obs.native_calls.len() + obs.recovered.len();
    let ended = matches!(
        obs.finish,
        Some(FinishReason::Stop | FinishReason::ToolCalls)
    );
    if !ended || (calls == 0 && !filled(&obs.content)) {
        return None;
    }
    let words = match calls {
        0 => "ended by itself with something said".to_owned(),
        1 => "ended by itself with a call".to_owned(),
        n => format!("ended by itself with {n} calls"),
    };
    Some((BudgetSignature::Healthy, words))
}

//! What another session learnt: a warm start that decides nothing.
//!
//! A prior comes from a behaviour card or from the (endpoint, digest) cache. It may only pre-set
//! *what is watched*: a primed profile reports in [`explain`](crate::BehaviorProfile::explain) what
//! it expects on each axis, and a caller may log whether the first turns agree. No code path of
//! `split`, `guarded`, an axis accessor or the ladder reads it, and a property test holds that: for
//! any prior and any observations, a primed profile decides as an unprimed one does.
//!
//! Where two sessions left different values the axis is left out: priors only tighten toward the
//! default. Without a digest there is no key and so no prior.

use std::collections::BTreeMap;

use kilter_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::profile::{
    BudgetSignature, ReasoningChannel, ReasoningHistory, ServedWindow, ToolChannel, ToolsInPrompt,
};

/// Where a prior belongs: an endpoint and the digest of the weights that the operator pinned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PriorKey {
    /// Base URL of the backend.
    pub endpoint: String,
    /// Digest of the weights: the operator's, never guessed.
    pub digest: String,
}

/// What to watch for, axis by axis; `None` where nothing is expected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Prior {
    /// Where reasoning is expected.
    pub reasoning: Option<ReasoningChannel>,
    /// Where calls are expected.
    pub tools: Option<ToolChannel>,
    /// How the budget is expected to be spent.
    pub budget: Option<BudgetSignature>,
    /// The window that is expected.
    pub window: Option<ServedWindow>,
    /// Whether tools are expected to reach the prompt.
    pub tools_in_prompt: Option<ToolsInPrompt>,
    /// What the backend is expected to do with reasoning in the history.
    pub reasoning_history: Option<ReasoningHistory>,
    /// Habits of the stream, by kind.
    pub habits: BTreeMap<String, String>,
    /// Compensations that were needed. They are not applied: the error teaches them again.
    pub constraints: Vec<String>,
    /// Turns behind it.
    pub turns: u64,
    /// When the session that left it was last seen.
    pub at: Timestamp,
}

impl Prior {
    /// Whether nothing is expected at all.
    pub fn is_empty(&self) -> bool {
        *self
            == Self {
                turns: self.turns,
                at: self.at,
                ..Self::default()
            }
    }

    /// Takes in what another session left. An axis on which both speak and disagree is left out.
    pub fn merge(&mut self, other: &Self) {
        agree(&mut self.reasoning, &other.reasoning);
        agree(&mut self.tools, &other.tools);
        agree(&mut self.budget, &other.budget);
        agree(&mut self.window, &other.window);
        agree(&mut self.tools_in_prompt, &other.tools_in_prompt);
        agree(&mut self.reasoning_history, &other.reasoning_history);
        for (kind, value) in &other.habits {
            match self.habits.get(kind) {
                Some(held) if held != value => {
                    self.habits.remove(kind);
                }
                Some(_) => {}
                None if self.habits.len() < MAX_HABITS => {
                    self.habits.insert(kind.clone(), value.clone());
                }
                None => {}
            }
        }
        for rule in &other.constraints {
            if !self.constraints.contains(rule) && self.constraints.len() < MAX_RULES {
                self.constraints.push(rule.clone());
            }
        }
        self.constraints.sort_unstable();
        self.turns = self.turns.saturating_add(other.turns);
        self.at = self.at.max(other.at);
    }
}

impl Prior {
    /// What many sessions left, latest first: an axis is in it where all that speak of it agree.
    /// [`Prior::merge`], done one by one, forgets that two disagreed and lets a third fill the gap.
    /// `None` when there is nothing.
    pub fn agreed(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let all: Vec<Self> = all.into_iter().collect();
        let mut out = Self::default();
        for p in &all {
            out.merge(p);
        }
        out.reasoning = common(&all, |p| &p.reasoning);
        out.tools = common(&all, |p| &p.tools);
        out.budget = common(&all, |p| &p.budget);
        out.window = common(&all, |p| &p.window);
        out.tools_in_prompt = common(&all, |p| &p.tools_in_prompt);
        out.reasoning_history = common(&all, |p| &p.reasoning_history);
        out.habits.retain(|kind, value| {
            all.iter()
                .all(|p| p.habits.get(kind).is_none_or(|other| other == value))
        });
        (!out.is_empty()).then_some(out)
    }
}

fn common<T: PartialEq + Clone>(all: &[Prior], axis: impl Fn(&Prior) -> &Option<T>) -> Option<T> {
    let mut said = all.iter().filter_map(|p| axis(p).as_ref());
    let first = said.next()?;
    said.all(|v| v == first).then(|| first.clone())
}

/// Bounds of a merged prior; a profile holds no more of either.
const MAX_HABITS: usize = 12;
const MAX_RULES: usize = 32;

fn agree<T: PartialEq + Clone>(mine: &mut Option<T>, theirs: &Option<T>) {
    match (&*mine, theirs) {
        (Some(a), Some(b)) if a != b => *mine = None,
        (None, Some(b)) => *mine = Some(b.clone()),
        _ => {}
    }
}

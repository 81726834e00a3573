//! What was learnt of one slot in one session, and how it is learnt.
//!
//! A [`BehaviorProfile`] takes in one [`Observation`] per turn and answers three questions of the
//! next turn: where reasoning is looked for ([`split`](BehaviorProfile::split)), whether recovery is
//! restricted to read-only tools ([`guarded`](BehaviorProfile::guarded)), and which compensations
//! are applied ([`constraints`](BehaviorProfile::constraints)). Time is passed in; there is no I/O,
//! no clock, no randomness, and no name of a model.
//!
//! # Evidence
//! | axis | what is positive evidence |
//! |---|---|
//! | reasoning | a filled reasoning field; an opener at the start of content; a bare closer near the start; reasoning tokens with nothing to read; ordinary content with none of these (only for `none`) |
//! | tools | a call that could be acted on: native, recovered, or held back by the guard alone |
//! | budget | the full signature ([`overflow`]); a turn that ended by itself with something said or called |
//! | window | a typed overflow; `prompt_tokens` far below the estimate or no longer growing; tokens served |
//! | tools in prompt | `prompt_tokens` with tools as without; a declared tool that was called |
//! | reasoning history | a typed refusal in either direction; an answer to a history that held it |
//! | constraints | a typed error, then success of the compensated request |
//! | stream shape | the habits of the stream |
//!
//! # Rules
//! - Only positive evidence counts. Evidence of a *different* value is a contradiction; N of them in
//!   a row (default 2) move the axis. Absence is decay, never contradiction: a turn without thinking
//!   says nothing against a thinking model, and ordinary content fills or supports `none` only where
//!   nothing else is held or half seen.
//! - Evidence halves every 20 turns or 24 hours without support, whichever comes first; at zero the
//!   axis goes back to rest.
//! - Ambiguity goes back to rest too: N contradictions in a row that do not agree, or a value that
//!   is contradicted as often as it is supported. The proven structured channel is the exception to
//!   the second: it restricts, and an alternation must not lift it.
//! - What the server *states* (a window, a refusal of a field) is taken at once from rest, since
//!   nothing is contradicted there; against a learnt value it needs N like everything else.
//! - The two values that arm a filter on content (`inline_think`, `leading_closer`) need N
//!   *consecutive answered turns* of start-of-content evidence; any other answered turn starts the
//!   count over. Failed requests are no turns.
//!
//! # Merging
//! Beside its state, each axis counts observations by value. These counters only go up, so two
//! replicas that saw different turns of one slot merge by adding; see
//! [`counters`](BehaviorProfile::counters). The state itself (streaks, decay) is order-dependent and
//! is not merged: losing it costs N turns.

mod axis;
mod book;
mod budget;
mod channel;
mod config;
mod constraint;
mod explain;
mod figures;
mod history;
mod report;
mod stream;
mod window;

pub use book::{ProfileBook, ProfileKey};
pub use budget::{BudgetSignature, Overflow, overflow};
pub use channel::{ReasoningChannel, ToolChannel};
pub use config::ProfileConfig;
pub use constraint::{Constraint, Constraints};
pub use explain::{AxisExplanation, AxisName, Change, Evidence, Explanation};
pub use history::ReasoningHistory;
pub use report::Counter;
pub use window::{ServedWindow, ToolsInPrompt};

use kilter_core::{Observation, Timestamp, TokenEstimate};
use serde::{Deserialize, Serialize};

use crate::prior::Prior;
use crate::splitter::Split;
use axis::{Ambiguity, Axis, Stamp};
use channel::ReasoningSeen;
pub(crate) use channel::{filled, open_json};
use stream::StreamShape;
use window::WindowSense;

/// What was learnt of one (session, backend, slot).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BehaviorProfile {
    cfg: ProfileConfig,
    turns: u64,
    seen_at: Timestamp,
    reasoning: Axis<ReasoningChannel>,
    /// Content was seen since the reasoning channel became unknown: the first turn is over.
    opened: bool,
    tools: Axis<ToolChannel>,
    /// The operator confirmed a recovery since the structured channel was proven.
    confirmed: bool,
    budget: Axis<BudgetSignature>,
    window: WindowSense,
    history: Axis<ReasoningHistory>,
    constraints: Constraints,
    shape: StreamShape,
    expected: Prior,
}

impl Default for BehaviorProfile {
    fn default() -> Self {
        Self::new(ProfileConfig::default())
    }
}

impl BehaviorProfile {
    /// A profile that has seen nothing.
    pub fn new(cfg: ProfileConfig) -> Self {
        let cfg = cfg.sane();
        let n = cfg.needed;
        Self {
            turns: 0,
            seen_at: Timestamp(0),
            reasoning: Axis::new(ReasoningChannel::Unknown, Ambiguity::Ratchet, n),
            opened: false,
            tools: Axis::new(ToolChannel::Unknown, Ambiguity::InARow, n),
            confirmed: false,
            budget: Axis::new(BudgetSignature::Unknown, Ambiguity::Ratchet, n),
            window: WindowSense::new(&cfg),
            history: Axis::new(ReasoningHistory::Unknown, Ambiguity::Ratchet, n),
            constraints: Constraints::default(),
            shape: StreamShape::default(),
            expected: Prior::default(),
            cfg,
        }
    }

    /// Takes over other numbers, for a profile that was stored under older ones. What was learnt
    /// stays.
    pub fn set_config(&mut self, cfg: ProfileConfig) {
        self.cfg = cfg.sane();
        let n = self.cfg.needed;
        self.reasoning.set_needed(n);
        self.tools.set_needed(n);
        self.budget.set_needed(n);
        self.window.set_needed(n);
        self.history.set_needed(n);
        self.shape.set_needed(n);
    }

    /// Takes in one turn as emitted and returns the axes that moved. A turn with an error is no
    /// turn: only what the error states is learnt.
    pub fn observe(&mut self, obs: &Observation, now: Timestamp) -> Vec<Change> {
        if obs.error.is_none() {
            self.turns = self.turns.saturating_add(1);
        }
        self.seen_at = now;
        let stamp = self.stamp(now);
        let mut changes = self.decay(stamp);
        let cfg = &self.cfg;
        if let Some(error) = &obs.error {
            self.window.refused(obs, stamp, cfg, &mut changes);
            let told = history::history_told(error, obs.request.replayed_reasoning);
            if let Some((value, words)) = told {
                let moved = self.history.told(value, &words, stamp, cfg);
                changes.extend(moved.map(|m| m.named(AxisName::ReasoningHistory)));
            }
            return changes;
        }
        self.observe_reasoning(obs, stamp, &mut changes);
        let cfg = &self.cfg;
        if let Some((value, words)) = channel::tools_seen(obs)
            && let Some(m) = self.tools.see(value, &words, stamp, cfg)
        {
            self.confirmed = false;
            changes.push(m.named(AxisName::Tools));
        }
        if let Some((value, words)) = budget::budget_seen(obs, cfg) {
            let moved = self.budget.see(value, &words, stamp, cfg);
            changes.extend(moved.map(|m| m.named(AxisName::Budget)));
        }
        self.window.answered(obs, stamp, cfg, &mut changes);
        if let Some((value, words)) = history::history_seen(obs, *self.history.value()) {
            let moved = self.history.see(value, &words, stamp, cfg);
            changes.extend(moved.map(|m| m.named(AxisName::ReasoningHistory)));
        }
        self.shape.observe(obs, stamp, cfg, &mut changes);
        changes
    }

    fn observe_reasoning(&mut self, obs: &Observation, now: Stamp, changes: &mut Vec<Change>) {
        let cfg = &self.cfg;
        let pending = self.reasoning.pending().map(|(v, _)| v.clone());
        let seen = channel::reasoning_seen(obs, cfg);
        let moved = match seen {
            ReasoningSeen::Value(value, words) => self.reasoning.see(value, &words, now, cfg),
            ReasoningSeen::Plain | ReasoningSeen::Nothing => {
                // A value that arms a filter needs consecutive turns.
                let half_armed = pending.as_ref().is_some_and(ReasoningChannel::arms);
                if half_armed {
                    self.reasoning.interrupt();
                }
                let free = matches!(
                    self.reasoning.value(),
                    ReasoningChannel::Unknown | ReasoningChannel::None
                ) && matches!(
                    self.reasoning.pending(),
                    None | Some((ReasoningChannel::None, _))
                );
                if free && matches!(seen, ReasoningSeen::Plain) {
                    let words = "ordinary content, no reasoning in any form";
                    self.reasoning.see(ReasoningChannel::None, words, now, cfg)
                } else {
                    None
                }
            }
        };
        if filled(&obs.content) {
            self.opened = true;
        }
        self.note_reasoning(moved, changes);
    }

    /// The first turn of an unknown profile begins anew when the channel becomes unknown.
    fn note_reasoning(&mut self, moved: Option<axis::Moved>, changes: &mut Vec<Change>) {
        let Some(m) = moved else { return };
        if self.reasoning.at_rest() {
            self.opened = false;
        }
        changes.push(m.named(AxisName::Reasoning));
    }

    /// Applies the decay of time alone, for a profile that is taken up again after a pause.
    pub fn tick(&mut self, now: Timestamp) -> Vec<Change> {
        let stamp = self.stamp(now);
        self.decay(stamp)
    }

    fn stamp(&self, at: Timestamp) -> Stamp {
        Stamp {
            turn: self.turns,
            at,
        }
    }

    fn decay(&mut self, now: Stamp) -> Vec<Change> {
        let mut changes = Vec::new();
        let moved = self.reasoning.tick(now, &self.cfg);
        self.note_reasoning(moved, &mut changes);
        let cfg = &self.cfg;
        if let Some(m) = self.tools.tick(now, cfg) {
            self.confirmed = false;
            changes.push(m.named(AxisName::Tools));
        }
        let moved = self.budget.tick(now, cfg);
        changes.extend(moved.map(|m| m.named(AxisName::Budget)));
        self.window.tick(now, cfg, &mut changes);
        let moved = self.history.tick(now, cfg);
        changes.extend(moved.map(|m| m.named(AxisName::ReasoningHistory)));
        self.shape.tick(now, cfg, &mut changes);
        changes
    }

    /// How the reasoning splitter is armed for the next turn.
    ///
    /// | the channel is | split |
    /// |---|---|
    /// | `ServerSplit` | `Suppressed`: tags in content are text |
    /// | `InlineThink`, `LeadingCloser` | armed for that form alone |
    /// | `Unknown`, before the first content or with a lone closer half learnt | `Unlearnt`: the bounded hold-back |
    /// | anything else | armed for nothing: no filter, no hold-back |
    pub fn split(&self) -> Split {
        let armed = |inline, leading_closer| Split::Armed {
            inline,
            leading_closer,
        };
        match self.reasoning.value() {
            ReasoningChannel::ServerSplit { .. } => Split::Suppressed,
            ReasoningChannel::InlineThink => armed(true, false),
            ReasoningChannel::LeadingCloser => armed(false, true),
            ReasoningChannel::Unknown => match self.reasoning.pending() {
                Some((ReasoningChannel::LeadingCloser, _)) => Split::Unlearnt,
                _ if !self.opened => Split::Unlearnt,
                _ => armed(false, false),
            },
            ReasoningChannel::Hidden | ReasoningChannel::None => armed(false, false),
        }
    }

    /// Whether only read-only tools may be recovered: the structured channel is proven and the
    /// operator has not confirmed a recovery since.
    pub fn guarded(&self) -> bool {
        *self.tools.value() == ToolChannel::Structured && !self.confirmed
    }

    /// The operator confirmed a recovery: the guard asks once, until the structured channel is
    /// proven anew.
    pub fn operator_confirmed(&mut self) {
        self.confirmed = *self.tools.value() == ToolChannel::Structured;
    }

    /// Where reasoning appears.
    pub fn reasoning(&self) -> &ReasoningChannel {
        self.reasoning.value()
    }

    /// Where calls appear.
    pub fn tools(&self) -> &ToolChannel {
        self.tools.value()
    }

    /// How the output budget is spent.
    pub fn budget(&self) -> BudgetSignature {
        *self.budget.value()
    }

    /// How many tokens are really served.
    pub fn window(&self) -> ServedWindow {
        *self.window.window.value()
    }

    /// Whether the declared tools reach the prompt.
    pub fn tools_in_prompt(&self) -> ToolsInPrompt {
        *self.window.tools.value()
    }

    /// What the backend does with reasoning in the history.
    pub fn reasoning_history(&self) -> ReasoningHistory {
        *self.history.value()
    }

    /// Characters per token of this slot, as its server counts.
    pub fn token_estimate(&self) -> &TokenEstimate {
        self.window.estimate()
    }

    /// The learnt compensations.
    pub fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// The learnt compensations, to learn, count, confirm and drop.
    pub fn constraints_mut(&mut self) -> &mut Constraints {
        &mut self.constraints
    }

    /// Whether the next request should be sent without a learnt compensation, to see whether it is
    /// still needed.
    pub fn recheck_due(&self, rule: &str, now: Timestamp) -> bool {
        self.constraints.recheck_due(rule, now, &self.cfg)
    }

    /// Habits of the stream that hold: kind and value.
    pub fn habits(&self) -> impl Iterator<Item = (&str, &str)> {
        self.shape.held()
    }

    /// Answered turns that were observed.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// When it last observed anything.
    pub fn seen_at(&self) -> Timestamp {
        self.seen_at
    }

    /// Its numbers.
    pub fn config(&self) -> &ProfileConfig {
        &self.cfg
    }
}

//! The state of one client turn: one counter for all rungs, and the only authority to nudge.

use kilter_core::Budget;
use serde::{Deserialize, Serialize};

/// What the operator lets the ladder do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LadderPolicy {
    /// Rung 1 may continue an overflow once.
    pub continue_overflow: bool,
    /// The raised cap is at most this many times the former one.
    pub raise_factor: u32,
    /// The cap that is assumed where neither the request nor the usage says what it was.
    pub assumed_cap: u64,
    /// The most output tokens that the backend takes; `None` when nobody said.
    pub output_ceiling: Option<u64>,
    /// Tokens kept free of a known window.
    pub window_margin: u64,
    /// Calls that were announced and lost may be asked for once more, without streaming.
    pub re_ask_lost_calls: bool,
    /// Rung 2c: a required call that did not come may be asked for once more under a schema.
    pub constrained_re_ask: bool,
    /// The backend was seen to honour `json_schema`; without it rung 2c stays off.
    pub schema_honoured: bool,
}

impl Default for LadderPolicy {
    fn default() -> Self {
        Self {
            continue_overflow: true,
            raise_factor: 4,
            assumed_cap: 2048,
            output_ceiling: None,
            window_margin: 64,
            re_ask_lost_calls: false,
            constrained_re_ask: false,
            schema_honoured: false,
        }
    }
}

/// What can take a round of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Rung 1: the continue of an overflow.
    Continue,
    /// The re-ask of lost calls.
    ReAsk,
    /// Rung 2c.
    ConstrainedReAsk,
    /// Rung 3: a nudge of the agent's tenacity.
    Nudge,
}

/// Everything that was done for one client turn.
///
/// Every further request takes one round, whichever rung asks, and no rung asks twice: a turn that
/// has been continued is never continued again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnState {
    rounds: Budget,
    taken: Vec<Rung>,
}

impl TurnState {
    /// A turn that may take `rounds` further requests in all: the round limit of whoever runs it.
    pub fn new(rounds: u32) -> Self {
        Self {
            rounds: Budget::new(rounds),
            taken: Vec::new(),
        }
    }

    /// Asks for a round. `false` when this rung had one, or when none is left.
    pub fn take(&mut self, rung: Rung) -> bool {
        if self.taken.contains(&rung) || !self.rounds.take() {
            return false;
        }
        self.taken.push(rung);
        true
    }

    /// Whether the turn was continued.
    pub fn continued(&self) -> bool {
        self.taken.contains(&Rung::Continue)
    }

    /// The rungs that took a round, in order.
    pub fn taken(&self) -> &[Rung] {
        &self.taken
    }

    /// Rounds left.
    pub fn rounds_left(&self) -> u32 {
        self.rounds.left()
    }
}

//! The numbers of the behaviour profile; the defaults are the design's.

use serde::{Deserialize, Serialize};

/// One day in milliseconds.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// What a profile needs to see, and how long it believes it.
///
/// Out-of-range values are read as the nearest sensible one, never refused: a profile has no place
/// to report to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileConfig {
    /// Contradictions in a row before an axis moves (N); 0 is read as 1.
    pub needed: u32,
    /// Turns without support after which evidence halves.
    pub halve_turns: u64,
    /// Milliseconds without support after which evidence halves.
    pub halve_ms: u64,
    /// Uses after which a learnt compensation is tried without.
    pub recheck_uses: u32,
    /// Milliseconds after which a learnt compensation is tried without.
    pub recheck_ms: u64,
    /// Share of the output cap that hidden reasoning must have spent to count as overflow.
    pub hidden_overflow: f64,
    /// How far into the content, in bytes, a bare closer may stand to be evidence of a leading
    /// closer. Far wider than the hold-back window of a first turn: real thinking is long, and what
    /// comes after the window is learnt from although it is not split.
    pub closer_within: usize,
    /// Observations kept per axis for `explain()`.
    pub evidence_kept: usize,
}

impl Default for ProfileConfig {
    fn default() -> Self {
        Self {
            needed: 2,
            halve_turns: 20,
            halve_ms: DAY_MS,
            recheck_uses: 200,
            recheck_ms: DAY_MS,
            hidden_overflow: 0.9,
            closer_within: 32 * 1024,
            evidence_kept: 8,
        }
    }
}

impl ProfileConfig {
    /// The same numbers, each within its range.
    pub(crate) fn sane(mut self) -> Self {
        self.needed = self.needed.clamp(1, 16);
        self.halve_turns = self.halve_turns.max(1);
        self.halve_ms = self.halve_ms.max(1);
        self.recheck_uses = self.recheck_uses.max(1);
        self.recheck_ms = self.recheck_ms.max(1);
        self.hidden_overflow = if self.hidden_overflow.is_finite() {
            self.hidden_overflow.clamp(0.5, 1.0)
        } else {
            0.9
        };
        self.evidence_kept = self.evidence_kept.clamp(1, 32);
        self
    }
}

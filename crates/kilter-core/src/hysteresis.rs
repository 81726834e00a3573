//! Change only after N consecutive contradictions.

use serde::{Deserialize, Serialize};

/// Holds a value until a *different* one was seen `needed` times in a row.
///
/// Absence is not an observation: simply do not call [`Hysteresis::observe`]. One mechanism for
/// the behaviour profile and for rolling competence.
///
/// ```
/// use kilter_core::Hysteresis;
/// let mut h = Hysteresis::new("a", 2);
/// assert_eq!(h.observe("b"), None);
/// assert_eq!(h.observe("b"), Some("a")); // moved, and this is what it was
/// assert_eq!(*h.value(), "b");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hysteresis<T> {
    value: T,
    needed: u32,
    candidate: Option<T>,
    streak: u32,
    moves: u32,
}

impl<T: PartialEq + Clone> Hysteresis<T> {
    /// Starts at `value`; `needed` is at least 1 (0 is read as 1).
    pub fn new(value: T, needed: u32) -> Self {
        Self {
            value,
            needed: needed.max(1),
            candidate: None,
            streak: 0,
            moves: 0,
        }
    }

    /// The value that holds now.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The contradicting value and how often in a row it was seen.
    pub fn pending(&self) -> Option<(&T, u32)> {
        self.candidate.as_ref().map(|c| (c, self.streak))
    }

    /// How often the value changed: its oscillation count.
    pub fn moves(&self) -> u32 {
        self.moves
    }

    /// Takes in one positive observation. Returns the former value when this one moved it.
    pub fn observe(&mut self, seen: T) -> Option<T> {
        if seen == self.value {
            self.candidate = None;
            self.streak = 0;
            return None;
        }
        if self.candidate.as_ref() == Some(&seen) {
            self.streak += 1;
        } else {
            self.candidate = Some(seen.clone());
            self.streak = 1;
        }
        if self.streak < self.needed {
            return None;
        }
        self.candidate = None;
        self.streak = 0;
        self.moves += 1;
        Some(std::mem::replace(&mut self.value, seen))
    }

    /// Sets how many contradictions in a row are needed from now on (0 is read as 1).
    pub fn set_needed(&mut self, needed: u32) {
        self.needed = needed.max(1);
    }

    /// Replaces the value by a more exact form of itself (a measured figure, say). No move, and the
    /// streak against it stays.
    pub fn refine(&mut self, value: T) {
        self.value = value;
    }

    /// Forgets the streak and keeps the value: the next contradiction counts from one again. For
    /// values that must be seen on *consecutive* occasions, when an occasion passed without it.
    pub fn interrupt(&mut self) {
        self.candidate = None;
        self.streak = 0;
    }

    /// Puts the value back to `default` and forgets the streak: what ambiguity and decay do.
    pub fn reset(&mut self, default: T) {
        if self.value != default {
            self.moves += 1;
        }
        self.value = default;
        self.candidate = None;
        self.streak = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_streak_starts_over() {
        let mut h = Hysteresis::new(0, 3);
        assert_eq!(h.observe(1), None);
        assert_eq!(h.observe(1), None);
        assert_eq!(h.observe(0), None);
        assert_eq!(h.observe(1), None);
        assert_eq!(h.observe(1), None);
        assert_eq!(h.observe(1), Some(0));
        assert_eq!(h.moves(), 1);
    }

    #[test]
    fn an_interruption_keeps_the_value_and_forgets_the_streak() {
        let mut h = Hysteresis::new(0, 2);
        assert_eq!(h.observe(1), None);
        h.interrupt();
        assert_eq!(h.pending(), None);
        assert_eq!(h.observe(1), None);
        assert_eq!(h.observe(1), Some(0));
    }

    #[test]
    fn two_different_contradictions_do_not_add_up() {
        let mut h = Hysteresis::new(0, 2);
        assert_eq!(h.observe(1), None);
        assert_eq!(h.observe(2), None);
        assert_eq!(h.pending(), Some((&2, 1)));
    }
}

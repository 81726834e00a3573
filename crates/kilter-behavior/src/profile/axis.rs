//! One axis: a value held by positive evidence, moved by repeated contradiction, let go by decay.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use kilter_core::{Hysteresis, Timestamp};
use serde::{Deserialize, Serialize};

use super::config::ProfileConfig;
use super::explain::{AxisName, Change, Evidence};

/// Evidence beyond this adds nothing: a value held for a thousand turns is let go as soon as one
/// held for sixty-four (after seven halvings).
const MAX_WEIGHT: u32 = 64;
/// Different values counted apart on one axis; the rest are counted together.
const MAX_TALLY: usize = 16;
/// Contradictions among twice as many observations that make a held value contested, at the least.
const CONTESTED: u32 = 4;

/// What an axis can hold.
pub(crate) trait AxisValue: Clone + PartialEq + fmt::Display {
    /// The word of events: stable, machine-readable.
    fn label(&self) -> String;
    /// The word under which observations are counted; without figures.
    fn kind(&self) -> String {
        self.label()
    }
}

/// What contradictory evidence does when it does not agree with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ambiguity {
    /// N contradictions in a row that disagree, or a value contradicted as often as supported,
    /// lead back to rest.
    Ratchet,
    /// Only N contradictions in a row lead back to rest. For a value that *restricts* (the proven
    /// structured channel), which must not be lifted by an alternation.
    InARow,
}

/// When something was seen: the turn's number and the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) turn: u64,
    pub(crate) at: Timestamp,
}

impl Stamp {
    /// How often evidence of this time has halved by `now`, and the time from which to count on.
    fn halvings(self, now: Self, cfg: &ProfileConfig) -> (u32, Self) {
        let turns = now.turn.saturating_sub(self.turn) / cfg.halve_turns;
        let elapsed = now.at.0.saturating_sub(self.at.0) / cfg.halve_ms;
        let n = turns.max(elapsed).min(u64::from(u32::MAX)) as u32;
        if n == 0 {
            // A clock that was set back must not stop decay until it has caught up.
            let at = self.at.min(now.at);
            return (0, Self { at, ..self });
        }
        let turn = if turns > 0 {
            self.turn + turns * cfg.halve_turns
        } else {
            now.turn
        };
        let at = if elapsed > 0 {
            Timestamp(self.at.0 + elapsed * cfg.halve_ms)
        } else {
            now.at
        };
        (n, Self { turn, at })
    }
}

/// A move of an axis, not yet named.
#[derive(Debug)]
pub(crate) struct Moved {
    from: String,
    to: String,
    words: String,
}

impl Moved {
    pub(crate) fn named(self, axis: AxisName) -> Change {
        Change {
            axis,
            from: self.from,
            to: self.to,
            evidence: self.words,
        }
    }
}

/// A value, what holds it up, and what speaks against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Axis<T> {
    held: Hysteresis<T>,
    /// Where decay and ambiguity lead back to.
    rest: T,
    ambiguity: Ambiguity,
    /// Supporting observations, halved by decay; 0 at rest.
    weight: u32,
    /// Contradictions in a row, whatever each said.
    strikes: u32,
    /// The last observations, newest in bit 0; 1 is a contradiction.
    recent: u32,
    supported: Stamp,
    contradicted: Stamp,
    since: Stamp,
    ring: VecDeque<Evidence>,
    /// Observations by kind over the whole life of the profile: only ever counted up, so that two
    /// profiles of one slot merge by adding (see [`super::BehaviorProfile::counters`]).
    tally: BTreeMap<String, u32>,
}

impl<T: AxisValue> Axis<T> {
    pub(crate) fn new(rest: T, ambiguity: Ambiguity, needed: u32) -> Self {
        Self {
            held: Hysteresis::new(rest.clone(), needed),
            rest,
            ambiguity,
            weight: 0,
            strikes: 0,
            recent: 0,
            supported: Stamp::default(),
            contradicted: Stamp::default(),
            since: Stamp::default(),
            ring: VecDeque::new(),
            tally: BTreeMap::new(),
        }
    }

    pub(crate) fn value(&self) -> &T {
        self.held.value()
    }

    pub(crate) fn pending(&self) -> Option<(&T, u32)> {
        self.held.pending()
    }

    pub(crate) fn at_rest(&self) -> bool {
        *self.held.value() == self.rest
    }

    pub(crate) fn weight(&self) -> u32 {
        self.weight
    }

    pub(crate) fn moves(&self) -> u32 {
        self.held.moves()
    }

    pub(crate) fn since(&self) -> Stamp {
        self.since
    }

    pub(crate) fn ring(&self) -> impl Iterator<Item = &Evidence> {
        self.ring.iter()
    }

    pub(crate) fn tally(&self) -> &BTreeMap<String, u32> {
        &self.tally
    }

    /// Takes in one positive observation.
    pub(crate) fn see(
        &mut self,
        value: T,
        words: &str,
        now: Stamp,
        cfg: &ProfileConfig,
    ) -> Option<Moved> {
        self.record(&value, words, now, cfg);
        if value == *self.held.value() {
            self.held.observe(value);
            self.weight = (self.weight + 1).min(MAX_WEIGHT);
            self.supported = now;
            self.strikes = 0;
            self.recent <<= 1;
            return None;
        }
        let was_at_rest = self.at_rest();
        self.contradicted = now;
        if let Some(former) = self.held.observe(value.clone()) {
            let words = if cfg.needed > 1 {
                format!("{} in a row: {words}", cfg.needed)
            } else {
                words.to_owned()
            };
            return Some(self.arrived(&former, cfg.needed, words, now));
        }
        if was_at_rest {
            return None;
        }
        self.strikes += 1;
        self.recent = (self.recent << 1) | 1;
        let doubt = self.doubt(cfg)?;
        let moved = self.let_go(doubt, now);
        // What was seen last is the first observation of whatever comes next.
        self.held.observe(value);
        self.contradicted = now;
        moved
    }

    /// Takes in a statement of the server itself: taken at once from rest, where nothing is
    /// contradicted, and as any other observation where another value was learnt.
    pub(crate) fn told(
        &mut self,
        value: T,
        words: &str,
        now: Stamp,
        cfg: &ProfileConfig,
    ) -> Option<Moved> {
        if self.at_rest() && value != self.rest {
            self.force(value, words, now, cfg)
        } else {
            self.see(value, words, now, cfg)
        }
    }

    /// Moves at once.
    pub(crate) fn force(
        &mut self,
        value: T,
        words: &str,
        now: Stamp,
        cfg: &ProfileConfig,
    ) -> Option<Moved> {
        self.record(&value, words, now, cfg);
        let former = self.held.value().clone();
        for _ in 0..cfg.needed {
            self.held.observe(value.clone());
        }
        (*self.held.value() != former)
            .then(|| self.arrived(&former, cfg.needed, words.to_owned(), now))
    }

    /// Makes the held value more exact; no move, since it stays the same value.
    pub(crate) fn refine(&mut self, value: T) {
        self.held.refine(value);
    }

    pub(crate) fn set_needed(&mut self, needed: u32) {
        self.held.set_needed(needed);
    }

    /// Ends a streak that must be consecutive.
    pub(crate) fn interrupt(&mut self) {
        self.held.interrupt();
        self.strikes = 0;
    }

    /// Lets go of what has had no support for long enough.
    pub(crate) fn tick(&mut self, now: Stamp, cfg: &ProfileConfig) -> Option<Moved> {
        if self.held.pending().is_some() {
            let (n, mark) = self.contradicted.halvings(now, cfg);
            self.contradicted = mark;
            if n > 0 {
                self.interrupt();
            }
        }
        if self.at_rest() {
            return None;
        }
        let (n, mark) = self.supported.halvings(now, cfg);
        self.supported = mark;
        self.weight = self.weight.checked_shr(n).unwrap_or(0);
        if self.weight > 0 {
            return None;
        }
        let words = format!(
            "nothing supported `{}` for too long",
            self.held.value().label()
        );
        self.let_go(words, now)
    }

    fn arrived(&mut self, former: &T, weight: u32, words: String, now: Stamp) -> Moved {
        self.weight = weight.min(MAX_WEIGHT);
        self.supported = now;
        self.since = now;
        self.strikes = 0;
        self.recent = 0;
        Moved {
            from: former.label(),
            to: self.held.value().label(),
            words,
        }
    }

    fn let_go(&mut self, words: String, now: Stamp) -> Option<Moved> {
        let former = self.held.value().clone();
        self.held.reset(self.rest.clone());
        (former != self.rest).then(|| {
            let moved = self.arrived(&former, 0, words, now);
            self.weight = 0;
            moved
        })
    }

    /// Why the held value can no longer be told from another, if so.
    fn doubt(&self, cfg: &ProfileConfig) -> Option<String> {
        if self.strikes >= cfg.needed {
            return Some(format!(
                "{} contradictions in a row that do not agree with each other",
                self.strikes
            ));
        }
        let enough = cfg.needed.max(CONTESTED);
        let window = u32::MAX.checked_shr(32 - (2 * enough).min(32)).unwrap_or(0);
        let against = (self.recent & window).count_ones();
        (self.ambiguity == Ambiguity::Ratchet && against >= enough).then(|| {
            format!(
                "contradicted by {against} of the last {} observations",
                2 * enough
            )
        })
    }

    fn record(&mut self, value: &T, words: &str, now: Stamp, cfg: &ProfileConfig) {
        let kind = value.kind();
        while self.ring.len() >= cfg.evidence_kept {
            self.ring.pop_front();
        }
        self.ring.push_back(Evidence {
            turn: now.turn,
            at: now.at,
            value: kind.clone(),
            words: short(words, 160).to_owned(),
        });
        let key = if self.tally.len() < MAX_TALLY || self.tally.contains_key(&kind) {
            kind
        } else {
            "other".to_owned()
        };
        let count = self.tally.entry(key).or_default();
        *count = count.saturating_add(1);
    }
}

/// At most `max` bytes of a text that the wire decides, cut at a character.
pub(crate) fn short(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut at = max;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

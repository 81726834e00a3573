//! Learnt compensations: a typed error, a rewrite, a success; re-checked after a while.

use std::collections::BTreeMap;

use kilter_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::axis::short;
use super::config::ProfileConfig;
use super::explain::{AxisName, Change};

/// Rules that one profile can hold; the longest unused goes first.
const MAX_RULES: usize = 32;

/// One learnt compensation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// When it was learnt.
    pub learnt_at: Timestamp,
    /// When it was last confirmed by a re-check; the time of learning before that.
    pub checked_at: Timestamp,
    /// How often it was applied in all.
    pub uses: u32,
    /// How often it was applied since it was last confirmed.
    pub uses_since_check: u32,
    /// When it was last applied.
    pub used_at: Timestamp,
    /// What it was learnt from, in words.
    pub evidence: String,
}

/// The compensations of one profile, by the rule's name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Constraints {
    rules: BTreeMap<String, Constraint>,
}

impl Constraints {
    /// A request was refused with a typed error and succeeded under `rule`. Learning a rule again
    /// confirms it. Returns the move when it is new.
    pub fn learn(&mut self, rule: &str, evidence: &str, now: Timestamp) -> Option<Change> {
        let rule = short(rule, 64);
        if self.confirmed(rule, now) {
            return None;
        }
        if self.rules.len() >= MAX_RULES {
            let oldest = self
                .rules
                .iter()
                .min_by_key(|(_, c)| c.used_at)
                .map(|(k, _)| k.clone());
            if let Some(k) = oldest {
                self.rules.remove(&k);
            }
        }
        let evidence = short(evidence, 160).to_owned();
        self.rules.insert(
            rule.to_owned(),
            Constraint {
                learnt_at: now,
                checked_at: now,
                uses: 0,
                uses_since_check: 0,
                used_at: now,
                evidence: evidence.clone(),
            },
        );
        Some(change(rule, "none", "learnt", evidence))
    }

    /// Whether a rule is learnt and so applied before the error comes.
    pub fn applies(&self, rule: &str) -> bool {
        self.rules.contains_key(short(rule, 64))
    }

    /// The learnt rules in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Constraint)> {
        self.rules.iter().map(|(k, c)| (k.as_str(), c))
    }

    /// Counts one request that was sent under `rule`.
    pub fn used(&mut self, rule: &str, now: Timestamp) {
        if let Some(c) = self.rules.get_mut(short(rule, 64)) {
            c.uses = c.uses.saturating_add(1);
            c.uses_since_check = c.uses_since_check.saturating_add(1);
            c.used_at = now;
        }
    }

    /// Whether the next request should be sent *without* `rule`, to see whether it is still needed:
    /// after 200 uses or 24 hours. What comes of it is told to [`Self::confirmed`] (the error came
    /// back) or [`Self::expire`] (it did not).
    pub fn recheck_due(&self, rule: &str, now: Timestamp, cfg: &ProfileConfig) -> bool {
        self.rules.get(short(rule, 64)).is_some_and(|c| {
            c.uses_since_check >= cfg.recheck_uses
                || now.since(c.checked_at).as_millis() >= u128::from(cfg.recheck_ms)
        })
    }

    /// The re-check met the same error: the rule holds for another round. `false` when it is not
    /// learnt.
    pub fn confirmed(&mut self, rule: &str, now: Timestamp) -> bool {
        let Some(c) = self.rules.get_mut(short(rule, 64)) else {
            return false;
        };
        c.checked_at = now;
        c.uses_since_check = 0;
        true
    }

    /// The re-check was answered: the rule is no longer needed.
    pub fn expire(&mut self, rule: &str) -> Option<Change> {
        self.drop_rule(rule, "expired", "answered without it")
    }

    /// The request failed although the rule was applied: it does not help here.
    pub fn failed(&mut self, rule: &str) -> Option<Change> {
        self.drop_rule(rule, "failed", "refused although it was applied")
    }

    fn drop_rule(&mut self, rule: &str, to: &str, words: &str) -> Option<Change> {
        let rule = short(rule, 64);
        self.rules
            .remove(rule)
            .map(|_| change(rule, "learnt", to, words.to_owned()))
    }
}

fn change(rule: &str, from: &str, to: &str, words: String) -> Change {
    Change {
        axis: AxisName::Constraint,
        from: format!("{rule}:{from}"),
        to: format!("{rule}:{to}"),
        evidence: words,
    }
}

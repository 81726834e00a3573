//! Habits of the stream, as seen: index, id, usage and finish.

use std::collections::BTreeMap;

use kilter_core::Observation;
use serde::{Deserialize, Serialize};

use super::axis::{Ambiguity, Axis, AxisValue, Stamp, short};
use super::config::ProfileConfig;
use super::explain::{AxisName, Change};

/// Kinds of habit that are followed; further ones are not.
const MAX_KINDS: usize = 12;

/// A habit's value; empty while nothing was learnt.
impl AxisValue for String {
    fn label(&self) -> String {
        if self.is_empty() {
            "unseen".to_owned()
        } else {
            self.clone()
        }
    }
}

/// The shape of a stream: for each kind of habit (`index`, `id`, `usage`, `finish`, …) its value.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct StreamShape {
    habits: BTreeMap<String, Axis<String>>,
}

impl StreamShape {
    /// The habits that hold, as `kind` and value.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&str, &str)> {
        self.habits
            .iter()
            .filter(|(_, a)| !a.at_rest())
            .map(|(k, a)| (k.as_str(), a.value().as_str()))
    }

    pub(crate) fn axes(&self) -> impl Iterator<Item = (&String, &Axis<String>)> {
        self.habits.iter()
    }

    pub(crate) fn set_needed(&mut self, needed: u32) {
        for axis in self.habits.values_mut() {
            axis.set_needed(needed);
        }
    }

    pub(crate) fn observe(
        &mut self,
        obs: &Observation,
        now: Stamp,
        cfg: &ProfileConfig,
        changes: &mut Vec<Change>,
    ) {
        let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for habit in &obs.stream_habits {
            let (kind, value) = habit.split_once(':').unwrap_or((habit, "yes"));
            let (kind, value) = (short(kind.trim(), 24), short(value.trim(), 40));
            if kind.is_empty() || value.is_empty() {
                continue;
            }
            let values = seen.entry(kind).or_default();
            if values.len() < 4 && !values.contains(&value) {
                values.push(value);
            }
        }
        for (kind, mut values) in seen {
            values.sort_unstable();
            let value = values.join("+");
            if !self.habits.contains_key(kind) && self.habits.len() >= MAX_KINDS {
                continue;
            }
            let axis = self
                .habits
                .entry(kind.to_owned())
                .or_insert_with(|| Axis::new(String::new(), Ambiguity::Ratchet, cfg.needed));
            let words = format!("{kind}: {value}");
            if let Some(m) = axis.see(value, &words, now, cfg) {
                changes.push(m.named(AxisName::StreamShape));
            }
        }
    }

    pub(crate) fn tick(&mut self, now: Stamp, cfg: &ProfileConfig, changes: &mut Vec<Change>) {
        for axis in self.habits.values_mut() {
            if let Some(m) = axis.tick(now, cfg) {
                changes.push(m.named(AxisName::StreamShape));
            }
        }
    }
}

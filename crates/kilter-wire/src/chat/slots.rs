//! Which call a fragment belongs to, and what the calls are so far.
//!
//! The key of a call is its index while that is consistent, else a change of id, else a new name
//! after complete arguments (gateways reference, wire fact 8).

use kilter_core::NativeCall;

use super::ToolDelta;
use crate::json::{Progress, Tracker};

/// One call being assembled.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    wire: Option<u64>,
    /// The id as received.
    pub(super) id: Option<String>,
    /// The id as sent, where it was made or changed.
    pub(super) sent_id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
    tracker: Tracker,
    /// Its name came once more after complete arguments, alone: a repetition, unless arguments follow.
    again: bool,
}

impl Slot {
    pub(super) fn progress(&self) -> Progress {
        self.tracker.progress()
    }

    /// Whether nothing was said in it: an element like `null` or `{}`.
    pub(super) fn is_empty(&self) -> bool {
        self.name.is_empty() && self.arguments.is_empty()
    }

    fn blank(&self) -> bool {
        self.progress() == Progress::Blank
    }
}

/// The declared name in front of leaked control tokens (field report gw29), else the name.
pub(super) fn clean_name(declared: &[String], name: &str) -> String {
    let is = |n: &str| declared.iter().any(|d| d == n);
    match name.split_once("<|") {
        Some((head, _)) if !is(name) && is(head) => head.to_owned(),
        _ => name.to_owned(),
    }
}

/// What a name field meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NameStep {
    /// There was none, or it repeated what is known.
    Nothing,
    /// The first piece.
    First,
    /// This text was added behind.
    Added(String),
}

/// Where a fragment went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) slot: usize,
    pub(super) name: NameStep,
    /// Whether its arguments were taken in (a repeated whole value is not).
    pub(super) arguments: bool,
}

/// The calls of one choice, in order of appearance.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    pub(super) list: Vec<Slot>,
    declared: Vec<String>,
    habits: Vec<&'static str>,
    /// The name of the call that is about to open, when an earlier fragment carried it.
    carry: Option<String>,
}

impl Slots {
    pub(super) fn new(declared: Vec<String>) -> Self {
        Self {
            declared,
            ..Self::default()
        }
    }

    pub(super) fn habit(&mut self, word: &'static str) {
        if !self.habits.contains(&word) {
            self.habits.push(word);
        }
    }

    pub(super) fn habits(&self) -> &[&'static str] {
        &self.habits
    }

    pub(super) fn is_declared(&self, name: &str) -> bool {
        self.declared.iter().any(|d| d == name)
    }

    /// Whether a name is only the first piece of one: it begins a declared name and is none itself.
    /// (Where `get` and `get_weather` are both declared, `get` counts as whole: holding it back would
    /// delay healthy servers for a habit that is rare.)
    pub(super) fn must_grow(&self, name: &str) -> bool {
        !self.is_declared(name) && self.declared.iter().any(|d| d.starts_with(name))
    }

    pub(super) fn clean_name(&self, name: &str) -> String {
        clean_name(&self.declared, name)
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> Vec<NativeCall> {
        self.list
            .iter()
            .filter(|s| !s.is_empty())
            .map(|s| NativeCall {
                id: s.sent_id.clone().or_else(|| s.id.clone()),
                name: self.clean_name(&s.name),
                arguments: s.arguments.clone(),
            })
            .collect()
    }

    /// Takes in the fragments of one chunk.
    pub(super) fn take(&mut self, deltas: &[ToolDelta]) -> Vec<Placed> {
        let mut out: Vec<Placed> = Vec::with_capacity(deltas.len());
        for (position, d) in deltas.iter().enumerate() {
            self.note(d);
            let before: Vec<usize> = out.iter().map(|p| p.slot).collect();
            let slot = match self.find(d, deltas, position, &before) {
                Some(slot) => slot,
                None => {
                    let name = self.carry.take().unwrap_or_default();
                    self.list.push(Slot {
                        wire: d.index,
                        name,
                        ..Slot::default()
                    });
                    self.list.len() - 1
                }
            };
            out.push(self.fill(slot, d));
        }
        out
    }

    fn note(&mut self, d: &ToolDelta) {
        if d.index.is_none() {
            self.habit("index:missing");
        }
        if d.arguments_is_value {
            self.habit("arguments:object");
        }
        if d.id_blank {
            self.habit("id:empty");
        }
    }

    /// The slot that a fragment continues; `None` when it opens a call.
    fn find(
        &mut self,
        d: &ToolDelta,
        deltas: &[ToolDelta],
        position: usize,
        before: &[usize],
    ) -> Option<usize> {
        let last = self.list.len().checked_sub(1)?;
        let starts = d.arguments.as_deref().is_some_and(|a| !a.trim().is_empty());
        if let Some(known) = self.by_id(d) {
            // Servers that give every call the same id: whole arguments behind whole arguments.
            if d.name.is_some() && starts && self.list[known].progress() == Progress::Complete {
                self.habit("id:same");
                return None;
            }
            self.habit("id:repeated");
            return Some(known);
        }
        let here = match d.index {
            Some(i) => match self.list.iter().rposition(|s| s.wire == Some(i)) {
                Some(s) => s,
                // A new index with neither id nor name cannot open a call.
                None if d.id.is_none() && d.name.is_none() => {
                    self.habit("index:gap");
                    return Some(last);
                }
                None => return None,
            },
            None if d.id.is_none() && d.name.is_none() && deltas.len() == self.list.len() => {
                position
            }
            None => last,
        };
        if before.contains(&here) && d.name.is_some() && d.arguments.is_some() {
            self.habit("index:duplicate");
            return None;
        }
        let slot = &self.list[here];
        let text = d.arguments.as_deref().unwrap_or("").trim_start();
        let restarts = d.arguments_is_value || text.starts_with('{');
        let opens = match (&d.id, &slot.id, &d.name) {
            // Another id: another call, unless it is only a fresh id on a continuation.
            (Some(_), Some(_), None) => match slot.progress() {
                Progress::Complete => !text.is_empty(),
                _ => false,
            },
            (Some(_), Some(_), Some(_)) => match slot.progress() {
                Progress::Open => text.is_empty() || restarts,
                _ => true,
            },
            (_, _, Some(name)) if !slot.name.is_empty() => match slot.progress() {
                Progress::Complete => *name != slot.name || !text.is_empty(),
                Progress::Open => *name != slot.name && restarts,
                Progress::Blank => {
                    *name != slot.name
                        && self.is_declared(&slot.name)
                        && self.is_declared(name)
                        && !self.is_declared(&format!("{}{name}", slot.name))
                        && !name.starts_with(&slot.name)
                }
                Progress::Broken => *name != slot.name,
            },
            _ => false,
        };
        let follows = !text.is_empty() && slot.again && d.name.is_none();
        let opens = opens || follows;
        if follows {
            self.carry = Some(slot.name.clone());
        }
        if opens {
            if d.index.is_some() {
                self.habit("index:same");
            }
            return None;
        }
        if d.id.is_some() && slot.id.is_some() {
            self.habit("id:changing");
        }
        Some(here)
    }

    /// The slot that a fragment's id settles. The index must not say otherwise, unless it is new and
    /// the fragment has no name to open a call with.
    fn by_id(&self, d: &ToolDelta) -> Option<usize> {
        let id = d.id.as_ref()?;
        let has = |s: &Slot| s.id.as_ref() == Some(id);
        let exact = self
            .list
            .iter()
            .rposition(|s| has(s) && (d.index.is_none() || s.wire == d.index));
        if exact.is_some() {
            return exact;
        }
        let new_index = !self.list.iter().any(|s| s.wire == d.index);
        (d.name.is_none() && new_index)
            .then(|| self.list.iter().rposition(has))
            .flatten()
    }

    fn fill(&mut self, at: usize, d: &ToolDelta) -> Placed {
        let mut name = NameStep::Nothing;
        let mut words: [Option<&'static str>; 2] = [None, None];
        let grown = d.name.as_deref().map(|n| {
            let slot = &self.list[at];
            self.grow(slot, n)
        });
        let Some(slot) = self.list.get_mut(at) else {
            return Placed {
                slot: at,
                name,
                arguments: false,
            };
        };
        if slot.id.is_none() {
            slot.id.clone_from(&d.id);
        }
        if let Some(step) = grown {
            slot.again = step == NameStep::Nothing && slot.progress() == Progress::Complete;
            match &step {
                NameStep::First => {
                    slot.name
                        .clone_from(d.name.as_ref().unwrap_or(&String::new()));
                }
                NameStep::Added(more) => {
                    slot.name.push_str(more);
                    words[0] = Some("name:pieces");
                }
                NameStep::Nothing => words[0] = Some("name:repeated"),
            }
            name = step;
        }
        let mut taken = true;
        if let Some(text) = &d.arguments {
            if d.arguments_is_value && !slot.blank() {
                taken = false;
                words[1] = Some("arguments:repeated");
            } else {
                slot.arguments.push_str(text);
                slot.tracker.push(text);
            }
        }
        for w in words.into_iter().flatten() {
            self.habit(w);
        }
        Placed {
            slot: at,
            name,
            arguments: taken,
        }
    }

    /// What a name field adds to the name of a slot.
    fn grow(&self, slot: &Slot, piece: &str) -> NameStep {
        if slot.name.is_empty() {
            return NameStep::First;
        }
        let joined = format!("{}{piece}", slot.name);
        if !slot.blank() || (self.is_declared(&slot.name) && piece.starts_with("<|")) {
            return NameStep::Nothing;
        }
        if self.is_declared(&joined) && !self.is_declared(piece) {
            return NameStep::Added(piece.to_owned());
        }
        if piece == slot.name {
            return NameStep::Nothing;
        }
        match piece.strip_prefix(slot.name.as_str()) {
            Some(more) => NameStep::Added(more.to_owned()),
            None => NameStep::Added(piece.to_owned()),
        }
    }

    /// Says that the stream is over: calls without arguments get `{}`, unless the answer was `cut`.
    /// Returns the slots that got it.
    pub(super) fn close(&mut self, cut: bool) -> Vec<usize> {
        let mut out = Vec::new();
        if cut {
            return out;
        }
        for (i, s) in self.list.iter_mut().enumerate() {
            if s.blank() && !s.name.is_empty() {
                s.arguments.push_str("{}");
                s.tracker.push("{}");
                out.push(i);
            }
        }
        if !out.is_empty() {
            self.habit("arguments:empty");
        }
        out
    }
}

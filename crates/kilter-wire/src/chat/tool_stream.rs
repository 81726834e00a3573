//! Tool fragments to normal form: indexes 0, 1, …; the first fragment of a call has id, type and the
//! whole name; later ones have arguments only; arguments are strings and `{}` when there are none.
//!
//! A fragment that is in normal form already is passed on byte for byte.

use kilter_core::{FinishReason, NativeCall};

use super::ToolDelta;
use super::slots::{NameStep, Placed, Slots};
use crate::raw::RawObject;

/// One element of an outgoing `tool_calls` array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The call that it belongs to, from 0.
    pub index: usize,
    /// The element as JSON text.
    pub json: String,
    /// Whether it differs from what was received.
    pub changed: bool,
}

/// What to send for one received array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pushed {
    /// The elements to send, in order.
    pub fragments: Vec<Fragment>,
    /// `false` when the received array may be relayed as it is.
    pub changed: bool,
}

#[derive(Debug, Clone, Default)]
struct Out {
    opened: bool,
    held: Option<RawObject>,
}

/// Normaliser of the tool fragments of one choice.
#[derive(Debug, Clone, Default)]
pub struct ToolStream {
    turn: String,
    slots: Slots,
    out: Vec<Out>,
    actions: Vec<&'static str>,
}

impl ToolStream {
    /// `turn` is any stable mark of the turn, for derived ids; `declared` are the offered names, by
    /// which a name in pieces is told from a whole one. Without names, every first piece counts as
    /// whole.
    pub fn new(turn: impl Into<String>, declared: Vec<String>) -> Self {
        Self {
            turn: turn.into(),
            slots: Slots::new(declared),
            ..Self::default()
        }
    }

    /// Takes in the `tool_calls` of one chunk.
    pub fn push(&mut self, deltas: &[ToolDelta]) -> Pushed {
        let placed = self.slots.take(deltas);
        self.out.resize_with(self.slots.list.len(), Out::default);
        let mut pushed = Pushed::default();
        for (d, p) in deltas.iter().zip(&placed) {
            let fragment = if self.out[p.slot].opened {
                self.later(d, p)
            } else {
                self.first(d, p.slot)
            };
            match fragment {
                Some(f) => {
                    pushed.changed |= f.changed;
                    pushed.fragments.push(f);
                }
                None => pushed.changed = true,
            }
        }
        pushed
    }

    /// Says that the choice ended. Gives what still has to be sent before the finish chunk: held
    /// names, and `{}` for calls without arguments (not when the answer was cut or filtered: a call
    /// is never completed for the model).
    pub fn finish(&mut self, finish: Option<&FinishReason>) -> Vec<Fragment> {
        let cut = matches!(
            finish,
            None | Some(FinishReason::Length | FinishReason::ContentFilter)
        );
        let empty = self.slots.close(cut);
        if !empty.is_empty() {
            self.act("arguments:empty");
        }
        let mut out = Vec::new();
        for at in 0..self.slots.list.len() {
            if !self.out[at].opened {
                if let Some(base) = self.out[at].held.take()
                    && !self.slots.list[at].is_empty()
                {
                    out.push(self.open(base, at, true));
                }
            } else if empty.contains(&at) {
                out.push(Fragment {
                    index: at,
                    json: format!(r#"{{"index":{at},"function":{{"arguments":"{{}}"}}}}"#),
                    changed: true,
                });
            }
        }
        out
    }

    /// The calls so far, as assembled. Missing ids are filled in.
    pub fn calls(&self) -> Vec<NativeCall> {
        self.slots.calls()
    }

    /// What was seen, as short stable words.
    pub fn habits(&self) -> &[&'static str] {
        self.slots.habits()
    }

    /// What was changed, as short stable words; empty when everything passed as received.
    pub fn actions(&self) -> &[&'static str] {
        &self.actions
    }

    /// Whether any call was seen.
    pub fn any(&self) -> bool {
        !self.slots.list.is_empty()
    }

    fn act(&mut self, word: &'static str) {
        if !self.actions.contains(&word) {
            self.actions.push(word);
        }
    }

    fn first(&mut self, d: &ToolDelta, at: usize) -> Option<Fragment> {
        let held = self.out[at].held.take();
        let was_held = held.is_some();
        let base = match held {
            Some(base) => base,
            None => RawObject::from_text(d.raw.as_str()).unwrap_or_default(),
        };
        let name = &self.slots.list[at].name;
        let arguments = !self.slots.list[at].arguments.is_empty();
        let wait = name.is_empty() || (self.slots.must_grow(name) && !arguments);
        if wait {
            self.out[at].held = Some(base);
            self.act("name:held");
            return None;
        }
        Some(self.open(base, at, was_held))
    }

    /// Sends the first fragment of a call with everything that is known by now.
    fn open(&mut self, mut base: RawObject, at: usize, was_held: bool) -> Fragment {
        self.out[at].opened = true;
        let slot = &self.slots.list[at];
        let name = self.slots.clean_name(&slot.name);
        let (id, arguments) = (slot.id.clone(), slot.arguments.clone());
        let mut acts: Vec<&'static str> = Vec::new();
        if base.get_u64("index") != Some(at as u64) {
            base.set_u64("index", at as u64);
            acts.push("index");
        }
        let taken = |id: &String| {
            let before = self.slots.list.iter().take(at);
            before
                .filter_map(|s| s.sent_id.as_ref())
                .any(|other| other == id)
        };
        // Each id is answered by one tool message, so two calls cannot share one.
        let id = id.filter(|id| !taken(id)).unwrap_or_else(|| {
            acts.push("id");
            kilter_core::id::call_id(&self.turn, at, &name, "")
        });
        if base.get_str("id").as_deref() != Some(id.as_str()) {
            base.set_str("id", &id);
        }
        if base.get_str("type").is_none_or(|t| t.is_empty()) {
            base.set_str("type", "function");
            acts.push("type");
        }
        let mut function = self.function(&mut base, &mut acts);
        if function.get_str("name").as_deref() != Some(name.as_str()) {
            function.set_str("name", &name);
            acts.push("name");
        }
        let sent = function.get_str("arguments").map(|a| a.into_owned());
        if sent.as_deref() != Some(arguments.as_str()) && !(sent.is_none() && arguments.is_empty())
        {
            function.set_str("arguments", &arguments);
            acts.push(if was_held { "name" } else { "arguments:object" });
        } else if function.get("arguments") == Some("null") {
            function.set_str("arguments", "");
            acts.push("arguments:null");
        }
        if function.is_edited() {
            base.set_object("function", &function);
        }
        self.slots.list[at].sent_id = Some(id);
        for a in acts {
            self.act(a);
        }
        Fragment {
            index: at,
            json: base.to_text().into_owned(),
            changed: base.is_edited() || was_held,
        }
    }

    fn later(&mut self, d: &ToolDelta, p: &Placed) -> Option<Fragment> {
        let at = p.slot;
        if d.index == Some(at as u64)
            && d.id.is_none()
            && d.name.is_none()
            && !d.arguments_is_value
            && !d.flat
        {
            return Some(Fragment {
                index: at,
                json: d.raw.clone(),
                changed: false,
            });
        }
        let mut base = RawObject::from_text(d.raw.as_str()).unwrap_or_default();
        let mut acts: Vec<&'static str> = Vec::new();
        if d.index != Some(at as u64) {
            base.set_u64("index", at as u64);
            acts.push("index");
        }
        // Clients add up the pieces of every string: a repeated id would double.
        if d.id.is_some() {
            base.remove("id");
            acts.push("id:repeated");
        }
        let mut function = self.function(&mut base, &mut acts);
        if d.name.is_some() {
            match &p.name {
                NameStep::Added(more) => {
                    if d.name.as_deref() != Some(more.as_str()) {
                        function.set_str("name", more);
                        acts.push("name:repeated");
                    }
                }
                _ => {
                    function.remove("name");
                    acts.push("name:repeated");
                }
            }
        }
        if d.arguments_is_value {
            match &d.arguments {
                Some(text) if p.arguments => function.set_str("arguments", text),
                _ => {
                    function.remove("arguments");
                }
            }
            acts.push("arguments:object");
        }
        if function.is_edited() {
            base.set_object("function", &function);
        }
        for a in acts {
            self.act(a);
        }
        let says = |o: &RawObject, key: &str| o.get_str(key).is_some_and(|t| !t.is_empty());
        let known = ["index", "id", "type", "function"];
        let bare = base
            .members()
            .all(|(k, _)| known.iter().any(|n| crate::json::key_is(k, n)));
        if base.is_edited() && bare && !says(&function, "arguments") && !says(&function, "name") {
            return None;
        }
        Some(Fragment {
            index: at,
            json: base.to_text().into_owned(),
            changed: base.is_edited(),
        })
    }

    /// The `function` object of a fragment; a flat fragment's name and arguments are moved into one.
    fn function(&self, base: &mut RawObject, acts: &mut Vec<&'static str>) -> RawObject {
        if let Some(f) = base.object("function") {
            return f;
        }
        let mut f = RawObject::new();
        for key in ["name", "arguments"] {
            if let Some(v) = base.get(key).map(str::to_owned) {
                base.remove(key);
                if f.set(key, v).is_ok() {
                    acts.push("function:flat");
                }
            }
        }
        f
    }
}

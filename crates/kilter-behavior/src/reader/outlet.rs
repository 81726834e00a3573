//! Events on their way out, and what holds them back.

use kilter_core::{RejectReason, Strength, ToolCall};

use super::Sink;
use crate::boundary::Rejected;
use crate::tail::TAIL_BYTES;

/// One event, not yet delivered.
#[derive(Debug, Clone)]
pub(crate) enum Ev {
    Text(String),
    Think(String),
    Call {
        call: Box<ToolCall>,
        raw: String,
        /// Its dialect allows calls inside reasoning.
        inside: bool,
        weak: bool,
        strong: bool,
        dialect: String,
    },
    Removed(String),
    Rejected(Rejected),
    /// A quoted closer of reasoning: whether it was one is not known yet.
    Quoted(String),
}

/// What makes two calls the same one.
pub(crate) fn mark(call: &ToolCall) -> (String, String) {
    (
        call.name.clone(),
        call.arguments.split_whitespace().collect(),
    )
}

/// The queue in front of the sink.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    queue: Vec<Ev>,
    bytes: usize,
    /// The leading text may still turn out to be reasoning.
    pub(crate) lead: bool,
    /// Markerless calls from here on wait for the end of the reply.
    weak_at: Option<usize>,
    /// Calls inside reasoning from here on wait for its end.
    inside_at: Option<usize>,
    quoted: bool,
    calls: usize,
    turn_id: String,
    /// Last bytes of reasoning delivered or queued.
    pub(crate) think_tail: String,
    /// Whether visible text other than white space was delivered.
    pub(crate) has_content: bool,
    pub(crate) has_reasoning: bool,
    pub(crate) fired: bool,
}

impl Outlet {
    pub(crate) fn new(turn_id: String) -> Self {
        Self {
            turn_id,
            ..Self::default()
        }
    }

    fn held(&self) -> bool {
        self.lead || self.weak_at.is_some() || self.inside_at.is_some() || self.quoted
    }

    pub(crate) fn is_holding(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(crate) fn text(&mut self, s: &str, think: bool, sink: &mut dyn Sink) {
        if s.is_empty() {
            return;
        }
        if !self.held() {
            self.deliver_text(s, think, sink);
            return;
        }
        self.bytes += s.len();
        match (self.queue.last_mut(), think) {
            (Some(Ev::Text(t)), false) | (Some(Ev::Think(t)), true) => t.push_str(s),
            (_, false) => self.queue.push(Ev::Text(s.to_owned())),
            (_, true) => self.queue.push(Ev::Think(s.to_owned())),
        }
    }

    pub(crate) fn put(&mut self, ev: Ev, sink: &mut dyn Sink) {
        if self.held() {
            self.bytes += match &ev {
                Ev::Text(s) | Ev::Think(s) | Ev::Removed(s) | Ev::Quoted(s) => s.len(),
                Ev::Call { raw, .. } => raw.len(),
                Ev::Rejected(_) => 0,
            };
            self.queue.push(ev);
        } else {
            self.deliver(ev, sink);
        }
    }

    fn deliver_text(&mut self, s: &str, think: bool, sink: &mut dyn Sink) {
        if think {
            self.has_reasoning = true;
            self.fired = true;
            self.think_tail.push_str(s);
            // White space at the end is no part of the tail, so it must not push the tail out.
            let filled = self.think_tail.trim_end().len();
            if filled > 2 * TAIL_BYTES {
                let mut cut = filled - TAIL_BYTES;
                while !self.think_tail.is_char_boundary(cut) {
                    cut += 1;
                }
                self.think_tail.drain(..cut);
            }
            sink.reasoning(s);
        } else {
            self.has_content |= !s.bytes().all(|b| b.is_ascii_whitespace());
            sink.content(s);
        }
    }

    fn deliver(&mut self, ev: Ev, sink: &mut dyn Sink) {
        match ev {
            Ev::Text(s) => self.deliver_text(&s, false, sink),
            Ev::Think(s) => self.deliver_text(&s, true, sink),
            Ev::Call { mut call, raw, .. } => {
                self.fired = true;
                if call.id.is_none() && !self.turn_id.is_empty() {
                    call.id = Some(kilter_core::id::call_id(
                        &self.turn_id,
                        self.calls,
                        &call.name,
                        &call.arguments,
                    ));
                }
                self.calls += 1;
                sink.call(*call, &raw);
            }
            Ev::Removed(s) | Ev::Quoted(s) => {
                self.fired = true;
                sink.removed(&s);
            }
            Ev::Rejected(r) => sink.rejected(r),
        }
    }

    /// Delivers what nothing holds any more.
    fn pump(&mut self, sink: &mut dyn Sink) {
        let n = if self.lead {
            0
        } else {
            let holds = [
                self.weak_at,
                self.inside_at,
                self.quoted
                    .then(|| self.queue.iter().position(|e| matches!(e, Ev::Quoted(_))))
                    .flatten(),
            ];
            holds
                .into_iter()
                .flatten()
                .min()
                .unwrap_or(self.queue.len())
        };
        if n == 0 {
            return;
        }
        for h in [&mut self.weak_at, &mut self.inside_at]
            .into_iter()
            .flatten()
        {
            *h = h.saturating_sub(n);
        }
        let out: Vec<Ev> = self.queue.drain(..n).collect();
        for e in out {
            self.bytes = self.bytes.saturating_sub(match &e {
                Ev::Text(s) | Ev::Think(s) | Ev::Removed(s) | Ev::Quoted(s) => s.len(),
                Ev::Call { raw, .. } => raw.len(),
                Ev::Rejected(_) => 0,
            });
            self.deliver(e, sink);
        }
    }

    /// What comes next waits until the end of the reply is known.
    pub(crate) fn hold_weak(&mut self) {
        let n = self.queue.len();
        self.weak_at.get_or_insert(n);
    }

    pub(crate) fn weak_pending(&self) -> bool {
        self.weak_at.is_some()
    }

    /// The markerless calls that wait for the end of the reply: name and arguments.
    pub(crate) fn pending_calls(&self) -> Vec<(String, String)> {
        let from = self.weak_at.unwrap_or(self.queue.len());
        self.queue[from..]
            .iter()
            .filter_map(|e| match e {
                Ev::Call {
                    call, weak: true, ..
                } => Some(mark(call)),
                _ => None,
            })
            .collect()
    }

    /// Text follows: markerless calls were only shown.
    pub(crate) fn reject_weak(&mut self, sink: &mut dyn Sink) {
        if let Some(at) = self.weak_at.take() {
            self.revert(at, false, |weak, _, _| weak, false);
        }
        self.pump(sink);
    }

    /// The next events wait for the end of reasoning.
    pub(crate) fn hold_inside(&mut self) {
        let n = self.queue.len();
        self.inside_at.get_or_insert(n);
    }

    pub(crate) fn inside_pending(&self) -> bool {
        self.inside_at.is_some()
    }

    /// Reasoning ended at the calls.
    pub(crate) fn accept_inside(&mut self, sink: &mut dyn Sink) {
        self.inside_at = None;
        self.pump(sink);
    }

    /// Reasoning went on after the calls: calls behind text tags were drafts.
    pub(crate) fn reject_inside(&mut self, sink: &mut dyn Sink) {
        if let Some(at) = self.inside_at.take() {
            self.revert(at, true, |_, strong, _| !strong, true);
            self.weak_at = None;
        }
        self.pump(sink);
    }

    /// The leading text was reasoning.
    pub(crate) fn lead_was_reasoning(&mut self, sink: &mut dyn Sink) {
        self.lead = false;
        self.weak_at = None;
        self.revert(0, true, |weak, _, inside| weak || !inside, true);
        self.pump(sink);
    }

    /// The leading text was content.
    pub(crate) fn lead_was_content(&mut self, sink: &mut dyn Sink) {
        self.lead = false;
        self.pump(sink);
    }

    pub(crate) fn quote_closer(&mut self, raw: &str, sink: &mut dyn Sink) {
        if self.quoted {
            self.text(raw, true, sink);
            return;
        }
        self.quoted = true;
        self.bytes += raw.len();
        self.queue.push(Ev::Quoted(raw.to_owned()));
    }

    pub(crate) fn quote_pending(&self) -> bool {
        self.quoted
    }

    /// A bare closer came (or none did): the quoted one was text (or the end).
    pub(crate) fn settle_quote(&mut self, was_text: bool, sink: &mut dyn Sink) {
        if !std::mem::take(&mut self.quoted) {
            return;
        }
        let mut after = false;
        for e in &mut self.queue {
            match e {
                Ev::Quoted(s) => {
                    let s = std::mem::take(s);
                    after = true;
                    *e = if was_text {
                        Ev::Think(s)
                    } else {
                        Ev::Removed(s)
                    };
                }
                Ev::Think(s) if after && !was_text => *e = Ev::Text(std::mem::take(s)),
                _ => {}
            }
        }
        self.pump(sink);
    }

    /// Turns events from `at` on back into text: calls that `drop` names and what was removed.
    fn revert(
        &mut self,
        at: usize,
        think: bool,
        drop: impl Fn(bool, bool, bool) -> bool,
        texts: bool,
    ) {
        let old = std::mem::take(&mut self.queue);
        let keeps = |e: &Ev| match e {
            Ev::Call {
                inside,
                weak,
                strong,
                ..
            } => Some(!drop(*weak, *strong, *inside)),
            _ => None,
        };
        // What was removed goes with the call that it stands beside.
        let beside = |i: usize| {
            let near = |mut it: Box<dyn Iterator<Item = &Ev> + '_>| {
                it.find(|e| !matches!(e, Ev::Removed(_) | Ev::Rejected(_)))
                    .and_then(keeps)
            };
            let next = near(Box::new(old[i + 1..].iter()));
            let prev = near(Box::new(old[at..i].iter().rev()));
            next == Some(true) || prev == Some(true) || (next.is_none() && prev.is_none())
        };
        let stays: Vec<bool> = (0..old.len()).map(|i| i < at || beside(i)).collect();
        let as_text = |s: String| if think { Ev::Think(s) } else { Ev::Text(s) };
        for (i, e) in old.into_iter().enumerate() {
            if i < at {
                self.queue.push(e);
                continue;
            }
            match e {
                Ev::Call {
                    call,
                    raw,
                    inside,
                    weak,
                    strong,
                    dialect,
                } => {
                    if drop(weak, strong, inside) {
                        self.queue.push(Ev::Rejected(Rejected {
                            dialect,
                            name: Some(call.name.clone()),
                            reason: RejectReason::Position,
                            nearest: None,
                            strength: match (weak, strong) {
                                (true, _) => Strength::Weak,
                                (_, true) => Strength::Strong,
                                _ => Strength::Medium,
                            },
                        }));
                        self.queue.push(as_text(raw));
                    } else {
                        self.queue.push(Ev::Call {
                            call,
                            raw,
                            inside,
                            weak,
                            strong,
                            dialect,
                        });
                    }
                }
                // The guard refused what turns out to be a draft inside reasoning.
                Ev::Rejected(mut r)
                    if texts
                        && r.reason == RejectReason::Guard
                        && r.strength != Strength::Strong =>
                {
                    r.reason = RejectReason::Position;
                    self.queue.push(Ev::Rejected(r));
                }
                Ev::Removed(s) if !stays[i] => self.queue.push(as_text(s)),
                Ev::Text(s) if texts => self.queue.push(as_text(s)),
                e => self.queue.push(e),
            }
        }
    }

    /// Delivers everything.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) {
        self.lead = false;
        self.weak_at = None;
        self.inside_at = None;
        self.settle_quote(false, sink);
        self.pump(sink);
    }
}

//! A candidate: the dialects at work on it, and what becomes of it.

use kilter_core::{Expect, ReasoningPlace, RejectReason, Strength, ToolCall};

use super::Sink;
use super::line::{Fence, Line, closing_mark};
use super::machine::{After, Machine, Next, Place, SPAN_MAX};
use super::outlet::{Ev, mark};
use super::scan::Here;
use crate::boundary::{Rejected, judge};
use crate::dialect::{Mark, Registry, Walk};
use crate::grammar::header::Role;
use crate::grammar::track::{Track, Verdict};
use crate::grammar::{NAME_MAX, RawCall, Why, name_end, skip_ws};
use crate::splitter::Split;
use crate::tools::ToolSet;

/// A call and the dialect that read it.
type Read = (u16, RawCall);

/// The text from here on may be a call; the buffer starts with it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    tracks: Vec<Track>,
    current: usize,
    /// A reading whose names were not all declared.
    best: Option<(u16, Vec<RawCall>, usize)>,
    why: Why,
    blame: u16,
    cursor: usize,
    /// The line in front of it.
    line: Line,
    /// It stands in a quotation.
    quoted: bool,
    weak: bool,
    pub(crate) fence: Option<Fence>,
    /// In a fence: what was read, and where the next thing is looked for.
    so_far: Vec<Read>,
    between: Option<usize>,
    done: Option<Outcome>,
}

#[derive(Debug, Clone)]
enum Outcome {
    Pending,
    Calls(Vec<Read>, usize),
    Header(u16, Role, usize),
    Failed(Why),
}

impl Candidate {
    pub(crate) fn marked(dialects: &[u16], line: Line, quoted: bool) -> Self {
        Self::new(
            dialects.iter().map(|d| Track::marked(*d, 0)).collect(),
            line,
            quoted,
            false,
        )
    }

    pub(crate) fn markerless(dialects: &[u16], reg: &Registry, inline: bool) -> Self {
        let mut line = Line::START;
        line.blank = !inline;
        Self::new(
            dialects
                .iter()
                .map(|d| Track::markerless(*d, 0, reg))
                .collect(),
            line,
            false,
            true,
        )
    }

    fn new(tracks: Vec<Track>, line: Line, quoted: bool, weak: bool) -> Self {
        Self {
            blame: tracks.first().map_or(0, |t| t.dialect),
            tracks,
            current: 0,
            best: None,
            why: Why::Other,
            cursor: 0,
            line,
            quoted,
            weak,
            fence: None,
            so_far: Vec::new(),
            between: None,
            done: None,
        }
    }

    fn step(&mut self, w: &str, eof: bool, m: &Machine) -> Outcome {
        let reg = &m.cfg.registry;
        let tools = &m.cfg.tools;
        if let Some(d) = &self.done {
            return d.clone();
        }
        loop {
            if let Some(from) = self.between {
                match self.behind(w, from, eof, m) {
                    Some(o) => {
                        if !matches!(o, Outcome::Pending) {
                            self.done = Some(o.clone());
                        }
                        return o;
                    }
                    None => self.between = None,
                }
            }
            let o = self.tracks_step(w, eof, reg, tools);
            match o {
                Outcome::Calls(calls, end) if self.fence.is_some() => {
                    self.so_far.extend(calls);
                    self.between = Some(end);
                }
                Outcome::Pending => return Outcome::Pending,
                o => {
                    self.done = Some(o.clone());
                    return o;
                }
            }
        }
    }

    fn tracks_step(&mut self, w: &str, eof: bool, reg: &Registry, tools: &ToolSet) -> Outcome {
        while let Some(t) = self.tracks.get_mut(self.current) {
            let d = t.dialect;
            let Some(v) = t.advance(w, eof, reg, tools) else {
                return Outcome::Pending;
            };
            match v {
                Verdict::Header(role, end) => return Outcome::Header(d, *role, *end),
                Verdict::Calls(calls, end) => {
                    let known = !tools.is_declared_rule_on()
                        || calls.iter().all(|c| tools.resolve(&c.name).is_some());
                    if known {
                        return Outcome::Calls(
                            calls.iter().map(|c| (d, c.clone())).collect(),
                            *end,
                        );
                    }
                    if self.best.is_none() {
                        self.best = Some((d, calls.clone(), *end));
                    }
                }
                Verdict::Fail(why) => {
                    let better = match (&self.why, why) {
                        (_, Why::Other) => false,
                        (Why::Other, _) => true,
                        (Why::Cut(None), Why::Cut(Some(_))) => true,
                        _ => false,
                    };
                    if better {
                        self.why = why.clone();
                        self.blame = d;
                    }
                }
            }
            self.cursor = self.cursor.max(t.cursor());
            self.current += 1;
        }
        match self.best.take() {
            Some((d, calls, end)) => {
                Outcome::Calls(calls.into_iter().map(|c| (d, c)).collect(), end)
            }
            None => Outcome::Failed(self.why.clone()),
        }
    }

    /// Behind a payload in a fence: its end, or another payload (then `None`).
    fn behind(&mut self, w: &str, from: usize, eof: bool, m: &Machine) -> Option<Outcome> {
        let b = w.as_bytes();
        let mut i = skip_ws(w, from);
        if matches!(b.get(i), Some(b',' | b';')) {
            i = skip_ws(w, i + 1);
        }
        if i >= b.len() {
            return Some(if eof {
                Outcome::Calls(std::mem::take(&mut self.so_far), from)
            } else {
                Outcome::Pending
            });
        }
        let f = self.fence?;
        if b[i] == f.byte {
            let run = b[i..].iter().take_while(|c| **c == f.byte).count();
            if i + run >= b.len() && !eof {
                return Some(Outcome::Pending);
            }
            return Some(if run >= f.len {
                Outcome::Calls(std::mem::take(&mut self.so_far), i + run)
            } else {
                Outcome::Failed(Why::Other)
            });
        }
        match m.fence_body(w, i, m.any_text, eof) {
            Here::Wait => Some(Outcome::Pending),
            Here::Start(c) => {
                self.tracks = c.tracks;
                self.current = 0;
                self.best = None;
                None
            }
            _ => Some(Outcome::Failed(Why::Other)),
        }
    }
}

impl Machine {
    /// What may be a call at offset `i` inside a fence that starts at the text's start.
    pub(crate) fn fence_body(&self, t: &str, i: usize, text_before: bool, eof: bool) -> Here {
        let b = t.as_bytes();
        let c = b[i];
        if c == b'<' || c == b'[' {
            match self.cfg.registry.trie.walk(b, i, eof) {
                Walk::Partial => return Here::Wait,
                Walk::No => {}
                Walk::Hit(_, set) => {
                    // A marked call in a fence is one only when the fence is the whole reply.
                    let whole = !text_before || self.cfg.expect == Expect::Required;
                    let tracks: Vec<Track> = self
                        .cfg
                        .registry
                        .trie
                        .marks(set)
                        .iter()
                        .filter_map(|m| match m {
                            Mark::Start(d) => Some(Track::marked(*d, i)),
                            _ => None,
                        })
                        .collect();
                    if tracks.is_empty() || !whole {
                        return Here::Plain(i);
                    }
                    return Here::Start(Candidate::new(tracks, Line::START, false, true));
                }
            }
        }
        let mut named = false;
        if self.cfg.tools.begins(c) {
            let e = name_end(t, i);
            if e >= b.len() && !eof && e - i <= NAME_MAX {
                return Here::Wait;
            } else {
                named = self.callable(&t[i..e]);
            }
        }
        let ds = self.weak_dialects(t, i, named, true);
        if ds.is_empty() {
            return Here::Plain(i);
        }
        let tracks = ds
            .iter()
            .map(|d| Track::markerless(*d, i, &self.cfg.registry))
            .collect();
        Here::Start(Candidate::new(tracks, Line::START, false, true))
    }

    /// Moves the candidate on.
    pub(crate) fn advance(&mut self, w: &str, eof: bool, sink: &mut dyn Sink) -> (usize, Next) {
        let Some(mut c) = self.cand.take() else {
            return (0, Next::Again);
        };
        let o = c.step(w, eof, self);
        match o {
            Outcome::Pending if w.len() > SPAN_MAX => self.failed(&c, Why::Other, w, eof, sink),
            Outcome::Pending => {
                self.cand = Some(c);
                (0, Next::Wait)
            }
            Outcome::Failed(why) => self.failed(&c, why, w, eof, sink),
            Outcome::Header(d, role, end) => self.header(&c, d, role, w, end, sink),
            Outcome::Calls(_, end) if end > SPAN_MAX => self.failed(&c, Why::Other, w, eof, sink),
            Outcome::Calls(calls, end) => self.conclude(c, calls, w, end, eof, sink),
        }
    }

    fn failed(
        &mut self,
        c: &Candidate,
        why: Why,
        w: &str,
        eof: bool,
        sink: &mut dyn Sink,
    ) -> (usize, Next) {
        let read = c
            .cursor
            .max(c.tracks.iter().map(Track::cursor).max().unwrap_or(0));
        self.spent += read.min(SPAN_MAX);
        let d = &self.cfg.registry.dialects[c.blame as usize];
        let report = |name: Option<String>, reason, nearest| Rejected {
            dialect: d.spec.name.clone(),
            name,
            reason,
            nearest,
            strength: if c.weak { Strength::Weak } else { d.strength() },
        };
        let mut swallow = 0;
        if !c.quoted {
            match why {
                Why::Cut(name) if eof => {
                    let known = name
                        .as_deref()
                        .is_some_and(|n| self.cfg.tools.resolve(n).is_some());
                    if (known || !c.weak) && w.len() > 1 {
                        let r = report(name, RejectReason::Truncated, None);
                        self.truncated = true;
                        self.out.put(Ev::Rejected(r), sink);
                        if !c.weak {
                            swallow = w.len();
                        }
                    }
                }
                Why::Undeclared(name) => {
                    let nearest = self.cfg.tools.nearest(&name);
                    let r = report(Some(name), RejectReason::Undeclared, nearest);
                    self.out.put(Ev::Rejected(r), sink);
                }
                _ => {}
            }
        }
        if swallow > 0 {
            self.emit(w, sink);
            return (swallow, Next::Again);
        }
        if c.fence.is_some() {
            // The fence line is text, and what it opens a quotation.
            let n = memchr::memchr(b'\n', w.as_bytes()).map_or(w.len(), |n| n + 1);
            self.fence_line(&w[..n], sink);
            return (n, Next::Again);
        }
        self.skip = w.chars().next().map_or(0, char::len_utf8);
        (0, Next::Again)
    }

    fn header(
        &mut self,
        c: &Candidate,
        d: u16,
        role: Role,
        w: &str,
        end: usize,
        sink: &mut dyn Sink,
    ) -> (usize, Next) {
        let raw = &w[..end];
        let plain = c.quoted
            || self.cfg.split == Split::Suppressed
            || matches!(self.place, Place::Think { .. });
        let marker = self.cfg.registry.dialects[d as usize]
            .spec
            .channel
            .as_ref()
            .and_then(|c| self.cfg.registry.reasoning_index(&c.marker));
        match (role, marker) {
            (Role::Reasoning, Some(_))
                if self.cfg.split == Split::Suppressed
                    && !c.quoted
                    && self.place == Place::Content =>
            {
                // Nothing is taken out, but the profile must see that the server no longer splits.
                self.note_start(ReasoningPlace::ChannelHeader);
                self.emit(raw, sink);
            }
            (Role::Reasoning, Some(i)) if !plain => {
                self.open_think(i, raw, end, true, sink);
            }
            (Role::Content, _) if !plain && self.inline_armed() => {
                if self.out.lead {
                    self.out.lead_was_content(sink);
                }
                self.take(raw, After::Framing, sink);
                self.framed = Some(d);
            }
            _ => self.emit(raw, sink),
        }
        (end, Next::Again)
    }

    /// A complete candidate: position, boundary, delivery.
    fn conclude(
        &mut self,
        c: Candidate,
        calls: Vec<Read>,
        w: &str,
        end: usize,
        eof: bool,
        sink: &mut dyn Sink,
    ) -> (usize, Next) {
        let span = &w[..end];
        let first = calls.first().map_or(c.blame, |x| x.0);
        let ends_reply = self.cfg.registry.dialects[first as usize].spec.ends_reply;
        let strength = if c.weak {
            Strength::Weak
        } else {
            self.cfg.registry.dialects[first as usize].strength()
        };
        let rest = &w[end..];
        let mut shown = c.quoted;
        if !shown && !c.line.blank && !c.weak {
            if rest.is_empty() && !eof {
                self.cand = Some(c);
                return (0, Next::Wait);
            }
            shown = c.line.after_quote_mark() && rest.starts_with(closing_mark);
            if !shown && strength == Strength::Medium {
                // Text on both sides, on one line: the tag is spoken of.
                let k = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                let tail = &rest[k..];
                if tail.is_empty() && !eof {
                    self.cand = Some(c);
                    return (0, Next::Wait);
                }
                if !tail.is_empty() && !tail.starts_with(['\n', '\r']) {
                    match self.cfg.registry.trie.walk(rest.as_bytes(), k, eof) {
                        Walk::Partial => {
                            self.cand = Some(c);
                            return (0, Next::Wait);
                        }
                        Walk::Hit(..) => {}
                        Walk::No => shown = true,
                    }
                }
            }
        }
        if calls.is_empty() {
            // "No call", said with the markers of one.
            if c.weak || shown {
                self.emit(span, sink);
            } else {
                self.take(span, After::Call { weak: false }, sink);
            }
            return (end, Next::Again);
        }
        if shown {
            for (d, call) in &calls {
                let r = Rejected {
                    dialect: self.cfg.registry.dialects[*d as usize].spec.name.clone(),
                    name: Some(call.name.clone()),
                    reason: RejectReason::Position,
                    nearest: None,
                    strength,
                };
                self.out.put(Ev::Rejected(r), sink);
            }
            self.emit(span, sink);
            return (end, Next::Again);
        }
        self.deliver(&calls, span, strength, c.weak || ends_reply, sink);
        (end, Next::Again)
    }

    /// Prose stands between markerless calls that were made already and the same ones again.
    fn repeats(&mut self, judged: &[(u16, &RawCall, Result<ToolCall, Rejected>)]) -> bool {
        let marks: Vec<(String, String)> = judged
            .iter()
            .filter_map(|j| j.2.as_ref().ok())
            .map(mark)
            .collect();
        let again = self.text_since_call
            && !marks.is_empty()
            && marks.iter().all(|m| self.made.contains(m));
        if !again {
            self.made.extend(marks);
            self.text_since_call = false;
        }
        again
    }

    fn deliver(
        &mut self,
        calls: &[Read],
        span: &str,
        strength: Strength,
        weak: bool,
        sink: &mut dyn Sink,
    ) {
        let reg = std::sync::Arc::clone(&self.cfg.registry);
        let name = |d: u16| reg.dialects[d as usize].spec.name.as_str();
        let judged: Vec<_> = calls
            .iter()
            .map(|(d, c)| (*d, c, judge(&self.cfg, c, span, name(*d), strength)))
            .collect();
        if weak && self.cfg.expect == Expect::Required && self.repeats(&judged) {
            for (d, c, _) in &judged {
                let r = Rejected {
                    dialect: name(*d).to_owned(),
                    name: Some(c.name.clone()),
                    reason: RejectReason::Position,
                    nearest: None,
                    strength,
                };
                self.out.put(Ev::Rejected(r), sink);
            }
            self.emit(span, sink);
            return;
        }
        let good = judged.iter().filter(|j| j.2.is_ok()).count();
        if good == 0 || (weak && good < judged.len()) {
            // What text may still unmask as shown is no evidence before the end of the reply.
            let waits = match self.place {
                Place::Content => weak && self.cfg.expect != Expect::Required,
                Place::Think { shown, .. } => !shown && strength != Strength::Strong,
            };
            let (mut mine, rest): (Vec<_>, Vec<_>) = judged
                .into_iter()
                .filter_map(|j| j.2.err())
                .partition(|r| waits && r.reason == RejectReason::Guard);
            let mut held = std::mem::take(&mut self.held_back);
            if mine.is_empty() {
                self.held_back = std::mem::take(&mut held);
            }
            for r in rest {
                self.out.put(Ev::Rejected(r), sink);
            }
            self.emit(span, sink);
            if !mine.is_empty() {
                held.append(&mut mine);
                self.held_back = held;
                self.trail.clear();
            }
            return;
        }
        if weak && self.cfg.expect != Expect::Required {
            self.out.hold_weak();
        }
        if let Place::Think { shown, .. } = self.place {
            if !shown {
                self.out.settle_quote(true, sink);
                self.remove_ws(sink);
                self.out.hold_inside();
            }
            self.unclosed = false;
        }
        self.remove_ws(sink);
        self.place = Place::Content;
        self.any_call = true;
        let mut at = 0;
        let last = judged.len() - 1;
        for (i, (d, c, j)) in judged.into_iter().enumerate() {
            let to = if c.span.start >= at { c.span.end } else { at };
            match j {
                Ok(call) => {
                    let to = if i == last { span.len() } else { to };
                    let spec = &reg.dialects[d as usize].spec;
                    self.out.put(
                        Ev::Call {
                            call: Box::new(call),
                            raw: span[at..to].to_owned(),
                            inside: spec.in_reasoning && !weak,
                            weak,
                            strong: strength == Strength::Strong,
                            dialect: spec.name.clone(),
                        },
                        sink,
                    );
                    at = to;
                }
                Err(r) => {
                    self.out.put(Ev::Rejected(r), sink);
                    if to > at {
                        self.out
                            .put(Ev::Removed(span[at..c.span.start].to_owned()), sink);
                        self.out.text(&span[c.span.start..to], false, sink);
                        self.any_text = true;
                        at = to;
                    }
                }
            }
        }
        if at < span.len() {
            self.out.put(Ev::Removed(span[at..].to_owned()), sink);
        }
        self.removed(After::Call { weak });
    }
}

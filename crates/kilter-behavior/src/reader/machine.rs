//! The state of a turn and the loop over it.

use std::collections::BTreeSet;

use kilter_core::{Expect, ReasoningPlace, RejectReason};

use super::candidate::Candidate;
use super::line::{Fence, Line};
use super::outlet::{Ev, Outlet};
use super::{ReaderConfig, Sink, TurnSummary};
use crate::boundary::Rejected;
use crate::dialect::{Mark, Walk};
use crate::splitter::Split;
use crate::tail::reasoning_tail;

/// A lone closer is looked for in this many bytes of a first turn.
pub(crate) const WINDOW: usize = 512;
/// A span or a leading text that is withheld is at most this long.
pub(crate) const SPAN_MAX: usize = 1 << 20;
/// A longer run of white space is text, never framing.
pub(crate) const GAP_MAX: usize = 4096;

/// Where the text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Content,
    /// Inside reasoning; `None` when the opener was never seen.
    Think {
        marker: Option<u16>,
        /// The block is delivered as content: the splitter is not armed.
        shown: bool,
    },
}

/// What was removed just before the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Call { weak: bool },
    Think,
    Framing,
}

/// What to do next.
pub(crate) enum Next {
    /// More text is needed.
    Wait,
    /// Look again at the rest.
    Again,
}

/// Everything but the buffer.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) cfg: ReaderConfig,
    pub(crate) out: Outlet,
    pub(crate) place: Place,
    pub(crate) cand: Option<Candidate>,
    pub(crate) line: Line,
    pub(crate) fence: Option<Fence>,
    /// White space (and separators) held at the position.
    pub(crate) ws: String,
    /// The held white space follows a removed span.
    pub(crate) gap: bool,
    /// What to look for right here.
    pub(crate) after: Option<After>,
    /// No visible content since the start or since the last removed span.
    pub(crate) fresh: bool,
    /// Any text at all was seen as content.
    pub(crate) any_text: bool,
    /// A call was taken out.
    pub(crate) any_call: bool,
    /// Candidates that the guard alone refused and that text may still follow: then they were only
    /// shown.
    pub(crate) held_back: Vec<Rejected>,
    /// What came behind them, as long as it may be tokens that trail a reply.
    pub(crate) trail: String,
    /// Bytes of the rest that are plain text whatever they look like.
    pub(crate) skip: usize,
    /// Offset of the position in the raw text.
    pub(crate) pos: usize,
    /// Bytes read by candidates that came to nothing.
    pub(crate) spent: usize,
    /// Recovery is off.
    pub(crate) off: bool,
    /// An answer wrapper is open.
    pub(crate) answer: bool,
    /// A content message with a header is open.
    pub(crate) framed: Option<u16>,
    /// Markerless calls that were made, and whether text came since the last.
    pub(crate) made: Vec<(String, String)>,
    pub(crate) text_since_call: bool,
    /// Markerless calls that prose followed: name and arguments.
    shown: Vec<(String, String)>,
    /// An opener stood in the text: a closer behind it is no lone one.
    pub(crate) no_lone: bool,
    pub(crate) reasoning_place: Option<ReasoningPlace>,
    pub(crate) truncated: bool,
    pub(crate) openers: BTreeSet<u16>,
    pub(crate) unclosed: bool,
}

impl Machine {
    pub(crate) fn new(cfg: ReaderConfig) -> Self {
        let mut out = Outlet::new(cfg.turn_id.clone());
        let place = if cfg.reasoning_open {
            Place::Think {
                marker: None,
                shown: false,
            }
        } else {
            out.lead = match cfg.split {
                Split::Suppressed => false,
                Split::Unlearnt => true,
                Split::Armed { leading_closer, .. } => leading_closer,
            };
            Place::Content
        };
        Self {
            out,
            place,
            cand: None,
            line: Line::START,
            fence: None,
            ws: String::new(),
            gap: false,
            after: None,
            fresh: true,
            any_text: false,
            any_call: false,
            held_back: Vec::new(),
            trail: String::new(),
            skip: 0,
            pos: 0,
            spent: 0,
            off: cfg.expect == Expect::None,
            answer: false,
            framed: None,
            made: Vec::new(),
            text_since_call: false,
            shown: Vec::new(),
            no_lone: false,
            reasoning_place: None,
            truncated: false,
            openers: BTreeSet::new(),
            unclosed: cfg.reasoning_open,
            cfg,
        }
    }

    /// Whether blocks that open the content are split off.
    pub(crate) fn inline_armed(&self) -> bool {
        matches!(self.cfg.split, Split::Armed { inline: true, .. })
    }

    /// Where a lone closer may stand at the latest.
    pub(crate) fn lead_limit(&self) -> usize {
        if self.cfg.split == Split::Unlearnt {
            WINDOW
        } else {
            SPAN_MAX
        }
    }

    pub(crate) fn thinking(&self) -> bool {
        matches!(self.place, Place::Think { shown: false, .. })
    }

    /// Reads as much of `w` as can be decided; how much that is.
    pub(crate) fn run(&mut self, w: &str, eof: bool, sink: &mut dyn Sink) -> usize {
        let mut used = 0;
        loop {
            let rest = &w[used..];
            let (n, next) = if self.cand.is_some() {
                self.advance(rest, eof, sink)
            } else if self.after.is_some() && self.skip == 0 {
                self.edge(rest, eof, sink)
            } else {
                self.scan(rest, eof, sink)
            };
            used += n;
            self.pos += n;
            if self.out.lead && self.pos > self.lead_limit() {
                self.out.lead_was_content(sink);
            }
            match next {
                Next::Wait => return used,
                Next::Again => {}
            }
        }
    }

    /// Text of the present place; trailing white space is held.
    pub(crate) fn emit(&mut self, s: &str, sink: &mut dyn Sink) {
        if s.is_empty() {
            return;
        }
        self.line.advance(s);
        let lead = s.len()
            - s.trim_start_matches(|c: char| c.is_ascii_whitespace())
                .len();
        self.ws.push_str(&s[..lead]);
        let s = &s[lead..];
        let body = s.trim_end_matches(|c: char| c.is_ascii_whitespace());
        if body.is_empty() {
            return;
        }
        if !self.held_back.is_empty() {
            self.trail.push_str(body);
            if !self.only_stops(false) {
                self.were_shown(sink);
            }
        }
        self.text_follows(sink);
        let think = self.thinking();
        if self.ws.is_empty() {
            self.out.text(body, think, sink);
        } else {
            self.flush_ws(sink);
            self.out.text(body, think, sink);
        }
        self.ws.push_str(&s[body.len()..]);
        self.gap = false;
    }

    /// Notes where reasoning stands, if it opens the content: only that is evidence of a channel.
    pub(crate) fn note_start(&mut self, place: ReasoningPlace) {
        if self.reasoning_place.is_none() && !self.any_text && !self.any_call {
            self.reasoning_place = Some(place);
        }
    }

    /// Whether nothing but tokens that may trail a reply came behind what is held back.
    fn only_stops(&self, eof: bool) -> bool {
        let trie = &self.cfg.registry.trie;
        let mut rest = self.trail.trim_start();
        while !rest.is_empty() {
            match trie.walk(rest.as_bytes(), 0, eof) {
                Walk::Hit(end, set) if trie.marks(set).contains(&Mark::Stop) => {
                    rest = rest[end..].trim_start();
                }
                Walk::Partial => return true,
                _ => return false,
            }
        }
        true
    }

    /// Text follows what the guard alone had refused: it was shown, and is no evidence of anything.
    pub(crate) fn were_shown(&mut self, sink: &mut dyn Sink) {
        self.trail.clear();
        for mut r in std::mem::take(&mut self.held_back) {
            r.reason = RejectReason::Position;
            self.out.put(Ev::Rejected(r), sink);
        }
    }

    /// Visible text stands here: what waited for the end of the reply waits no longer.
    fn text_follows(&mut self, sink: &mut dyn Sink) {
        if self.place == Place::Content {
            if self.out.weak_pending() {
                self.shown.extend(self.out.pending_calls());
                self.out.reject_weak(sink);
                // What was taken out is back: the white space behind it is text.
                self.gap = false;
            }
            self.any_text = true;
            self.text_since_call = true;
        }
        self.fresh = false;
        self.after = None;
    }

    /// Held white space in front of text.
    fn flush_ws(&mut self, sink: &mut dyn Sink) {
        let ws = std::mem::take(&mut self.ws);
        let framing = self.gap && ws.contains('\n') && ws.len() <= GAP_MAX && blank(&ws);
        if framing {
            self.out.put(Ev::Removed(ws), sink);
        } else {
            let think = self.thinking();
            self.out.text(&ws, think, sink);
            self.ws = {
                let mut w = ws;
                w.clear();
                w
            };
        }
    }

    /// Held white space in front of a span that is taken out. With `start` nothing else stands
    /// before it.
    pub(crate) fn remove_ws(&mut self, sink: &mut dyn Sink) {
        if self.ws.is_empty() {
            self.gap = false;
            return;
        }
        let ws = std::mem::take(&mut self.ws);
        let start = !self.any_text && self.fresh && self.place == Place::Content;
        if ws.len() <= GAP_MAX && (ws.contains('\n') || self.gap || start) {
            self.out.put(Ev::Removed(ws), sink);
        } else {
            let think = self.thinking();
            self.out.text(&ws, think, sink);
        }
        self.gap = false;
    }

    /// A span was taken out: what follows starts anew.
    pub(crate) fn removed(&mut self, after: After) {
        self.after = Some(after);
        self.gap = true;
        self.fresh = true;
        self.line = Line::START;
        self.fence = None;
    }

    pub(crate) fn deadline(&mut self, sink: &mut dyn Sink) {
        if self.cfg.split == Split::Unlearnt && self.out.lead {
            self.out.lead_was_content(sink);
        }
    }

    pub(crate) fn is_holding(&self) -> bool {
        !self.ws.is_empty() || self.out.is_holding()
    }

    pub(crate) fn native(&mut self, sink: &mut dyn Sink) {
        self.off = true;
        self.cand = None;
        self.out.reject_weak(sink);
        self.out.accept_inside(sink);
        if self.out.lead {
            self.out.lead_was_content(sink);
        }
    }

    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) -> TurnSummary {
        // Where markerless calls were shown, the ones at the end are meant only if they are all of
        // them again: to make the last of several alone would be half of what was said.
        if self.out.weak_pending() && !self.shown.is_empty() {
            let last = self.out.pending_calls();
            if !self.shown.iter().all(|s| last.contains(s)) {
                self.out.reject_weak(sink);
                self.gap = false;
            }
        }
        // The last white space: framing behind a span, else text.
        let ws = std::mem::take(&mut self.ws);
        if !ws.is_empty() {
            if self.gap && ws.len() <= GAP_MAX {
                self.out.put(Ev::Removed(ws), sink);
            } else {
                let think = self.thinking();
                self.out.text(&ws, think, sink);
            }
        }
        if !self.only_stops(true) {
            self.were_shown(sink);
        }
        for r in std::mem::take(&mut self.held_back) {
            self.out.put(Ev::Rejected(r), sink);
        }
        let open = self.thinking() && !self.out.quote_pending();
        self.out.finish(sink);
        let tail = reasoning_tail(&self.out.think_tail);
        let content_candidate =
            (open && !self.out.has_content && !tail.is_empty()).then(|| tail.to_owned());
        if self.cfg.reasoning_open && self.reasoning_place.is_none() && self.out.has_reasoning {
            self.reasoning_place = Some(ReasoningPlace::InlineStart {
                opener: String::new(),
                closed: !self.unclosed,
            });
        }
        if let Some(ReasoningPlace::InlineStart { closed, .. }) = &mut self.reasoning_place {
            *closed = !self.unclosed;
        }
        TurnSummary {
            reasoning_place: self.reasoning_place.take(),
            truncated: self.truncated,
            openers: self
                .openers
                .iter()
                .map(|i| self.cfg.registry.dialects[*i as usize].spec.name.clone())
                .collect(),
            content_candidate,
            fired: self.out.fired,
        }
    }
}

/// Only white space, no separators among it.
fn blank(ws: &str) -> bool {
    ws.bytes().all(|b| b.is_ascii_whitespace())
}

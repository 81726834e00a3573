//! The position right behind something that was taken out: closers, stop tokens, wrappers,
//! separators, and white space.

use kilter_core::ReasoningPlace;

use super::Sink;
use super::machine::{After, Machine, Next, Place};
use super::outlet::Ev;
use crate::dialect::{Mark, Walk};
use crate::grammar::skip_ws;

impl Machine {
    /// Looks for framing behind a removed span.
    pub(crate) fn edge(&mut self, w: &str, eof: bool, sink: &mut dyn Sink) -> (usize, Next) {
        let Some(after) = self.after else {
            return (0, Next::Again);
        };
        let k = skip_ws(w, 0);
        if k > 0 {
            self.ws.push_str(&w[..k]);
            self.line.advance(&w[..k]);
            return (k, Next::Again);
        }
        if w.is_empty() {
            return (0, Next::Wait);
        }
        match self.cfg.registry.trie.walk(w.as_bytes(), 0, eof) {
            Walk::Partial => return (0, Next::Wait),
            Walk::No => {}
            Walk::Hit(end, set) => {
                let marks: Vec<Mark> = self.cfg.registry.trie.marks(set).to_vec();
                let closer = marks.iter().find_map(|m| match m {
                    Mark::Unthink(i) => Some(*i),
                    _ => None,
                });
                let start = marks.iter().any(|m| matches!(m, Mark::Start(_)));
                if let Some(i) = closer
                    && self.place == Place::Content
                {
                    if self.out.lead && self.cfg.registry.reasoning[i as usize].lone {
                        self.lone(&w[..end], sink);
                        return (end, Next::Again);
                    }
                    if after != After::Framing || self.out.inside_pending() {
                        self.take(&w[..end], After::Think, sink);
                        if self.out.inside_pending() {
                            self.unclosed = false;
                            self.out.accept_inside(sink);
                        }
                        return (end, Next::Again);
                    }
                }
                let frame = marks.contains(&Mark::Frame) && self.inline_armed()
                    || marks.contains(&Mark::Answer) && after == After::Think;
                if !start && frame && self.place == Place::Content {
                    self.answer = true;
                    self.take(&w[..end], After::Framing, sink);
                    return (end, Next::Again);
                }
                if marks.contains(&Mark::Unanswer)
                    && self.answer
                    && self.place == Place::Content
                    && !start
                {
                    self.answer = false;
                    self.take(&w[..end], After::Framing, sink);
                    return (end, Next::Again);
                }
                let tail = marks.iter().any(|m| matches!(m, Mark::Tail | Mark::Stop));
                if tail && !start && matches!(after, After::Call { .. } | After::Framing) {
                    self.take(&w[..end], after, sink);
                    return (end, Next::Again);
                }
            }
        }
        // Separators between markerless calls.
        let b = w.as_bytes();
        if let After::Call { weak: true } = after
            && matches!(b[0], b';' | b',')
            && !self.ws.contains([';', ','])
        {
            let k = skip_ws(w, 1);
            if k >= w.len() && !eof {
                return (0, Next::Wait);
            }
            if k >= w.len() || self.may_be_weak(&w[k..]) {
                self.ws.push_str(&w[..1]);
                self.after = Some(after);
                return (1, Next::Again);
            }
        }
        self.after = None;
        (0, Next::Again)
    }

    /// Takes a marker out; white space before it by the rule.
    pub(crate) fn take(&mut self, raw: &str, after: After, sink: &mut dyn Sink) {
        self.remove_ws(sink);
        self.out.put(Ev::Removed(raw.to_owned()), sink);
        self.removed(after);
    }

    /// A closer with no opener before it: the text so far was reasoning.
    pub(crate) fn lone(&mut self, raw: &str, sink: &mut dyn Sink) {
        if self.reasoning_place.is_none() {
            self.reasoning_place = Some(ReasoningPlace::LoneCloser {
                closer: raw.to_owned(),
                at: self.pos,
            });
        }
        self.were_shown(sink);
        // White space in front belongs to the marker.
        self.remove_ws(sink);
        self.out.lead_was_reasoning(sink);
        self.out.put(Ev::Removed(raw.to_owned()), sink);
        self.removed(After::Think);
        self.any_text = false;
    }
}

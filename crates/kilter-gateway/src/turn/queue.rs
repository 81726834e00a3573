//! Events that wait until the reader has decided about their text.
//!
//! The reader speaks in lengths of the raw text. As long as all of an event's text comes back as
//! content, the event goes out as the bytes that came in; only where something was taken out or
//! moved is it written anew.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use kilter_behavior::{Rejected, Sink};
use kilter_core::ToolCall;
use kilter_wire::chat::{Chunk, Pushed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Content,
    Reasoning,
    Cut,
}

/// What the reader has decided, in order and not yet matched with events.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    spans: VecDeque<(Kind, usize)>,
    /// Bytes that went out before they were decided.
    ahead: usize,
    /// Calls read from text.
    pub(crate) calls: Vec<ToolCall>,
    /// The raw text of those calls.
    pub(crate) call_text: String,
    /// Candidates that did not pass.
    pub(crate) rejected: Vec<Rejected>,
}

impl Decided {
    fn push(&mut self, kind: Kind, len: usize) {
        let early = self.ahead.min(len);
        self.ahead -= early;
        let len = len - early;
        if len == 0 {
            return;
        }
        match self.spans.back_mut() {
            Some((k, n)) if *k == kind => *n += len,
            _ => self.spans.push_back((kind, len)),
        }
    }
}

impl Sink for Decided {
    fn content(&mut self, text: &str) {
        self.push(Kind::Content, text.len());
    }
    fn reasoning(&mut self, text: &str) {
        self.push(Kind::Reasoning, text.len());
    }
    fn call(&mut self, call: ToolCall, raw: &str) {
        self.calls.push(call);
        self.call_text.push_str(raw);
        self.push(Kind::Cut, raw.len());
    }
    fn rejected(&mut self, rejected: Rejected) {
        self.rejected.push(rejected);
    }
    fn removed(&mut self, raw: &str) {
        self.push(Kind::Cut, raw.len());
    }
}

/// One event on its way to the client.
#[derive(Debug)]
pub(crate) struct Item {
    /// Its bytes as received.
    pub(crate) raw: Bytes,
    /// Its chunk; `None` for anything that is no chunk.
    pub(crate) chunk: Option<Box<Chunk>>,
    /// The content that the reader got of it.
    pub(crate) text: String,
    /// How much of the text is decided.
    at: usize,
    /// Decided content that was not sent yet.
    pub(crate) content: String,
    /// Decided reasoning that was not sent yet.
    pub(crate) reasoning: String,
    /// Something of the text did not stay content.
    pub(crate) cut: bool,
    /// A first part of it was sent.
    pub(crate) split: bool,
    /// Tool fragments in normal form, where they differ from those received.
    pub(crate) tools: Option<Pushed>,
    /// When it came, in time since the request.
    pub(crate) since: Duration,
}

impl Item {
    /// An event without text to wait for.
    pub(crate) fn new(raw: Bytes, chunk: Option<Chunk>) -> Self {
        Self {
            raw,
            chunk: chunk.map(Box::new),
            text: String::new(),
            at: 0,
            content: String::new(),
            reasoning: String::new(),
            cut: false,
            split: false,
            tools: None,
            since: Duration::ZERO,
        }
    }

    /// Takes what is decided of its text; `true` when that is all of it.
    pub(crate) fn fill(&mut self, decided: &mut Decided) -> bool {
        while self.at < self.text.len() {
            let Some((kind, len)) = decided.spans.front_mut() else {
                return false;
            };
            let n = (*len).min(self.text.len() - self.at);
            let piece = self.text.get(self.at..self.at + n).unwrap_or_default();
            match kind {
                Kind::Content => self.content.push_str(piece),
                Kind::Reasoning => {
                    self.reasoning.push_str(piece);
                    self.cut = true;
                }
                Kind::Cut => self.cut = true,
            }
            self.at += n;
            *len -= n;
            if *len == 0 {
                decided.spans.pop_front();
            }
        }
        true
    }

    /// Sends spaces ahead of their decision: plain spaces next to a removed span stay, so they are
    /// content in every case, and a token that ends in one is not delayed by the next. `true` when
    /// that was all that was missing.
    pub(crate) fn run_ahead(&mut self, decided: &mut Decided) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let spaces = !rest.is_empty() && rest.bytes().all(|b| b == b' ');
        if self.cut || !self.has_part() || !spaces {
            return false;
        }
        decided.ahead += rest.len();
        self.give_up();
        true
    }

    /// The reader gave nothing for the rest: it is content.
    pub(crate) fn give_up(&mut self) {
        self.content
            .push_str(self.text.get(self.at..).unwrap_or_default());
        self.at = self.text.len();
    }

    /// Whether some of it could be sent before the rest is decided.
    fn has_part(&self) -> bool {
        !self.content.is_empty() || !self.reasoning.is_empty()
    }

    /// Whether sending a part of it now shows the client something that it may be waiting for.
    pub(crate) fn shows_part(&self) -> bool {
        !self.content.trim().is_empty() || !self.reasoning.is_empty()
    }

    /// Whether it is written anew in any case, so that a part sent early costs nothing.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.cut || self.split
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_in_its_events() {
        let mut d = Decided::default();
        d.content("héllo ");
        d.content("w");
        d.removed("<x>");
        d.reasoning("why");
        let mut a = Item::new(Bytes::new(), None);
        a.text = "héllo".into();
        assert!(a.fill(&mut d));
        assert_eq!((a.content.as_str(), a.cut), ("héllo", false));
        let mut b = Item::new(Bytes::new(), None);
        b.text = " w<x>whynot".into();
        assert!(!b.fill(&mut d));
        assert_eq!(
            (b.content.as_str(), b.reasoning.as_str(), b.cut),
            (" w", "why", true)
        );
        d.content("not");
        assert!(b.fill(&mut d));
        assert_eq!(b.content, " wnot");
    }
}

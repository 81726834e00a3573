//! Text in, content, reasoning and calls out, at any chunking.

mod candidate;
mod edge;
mod line;
mod machine;
mod marker;
mod outlet;
mod scan;
mod weak;

use std::sync::Arc;

use kilter_core::{Expect, ReasoningPlace, ToolCall};

use crate::boundary::{EchoIndex, Rejected, WeakMarkers};
use crate::dialect::Registry;
use crate::splitter::Split;
use crate::tools::ToolSet;

use machine::Machine;

/// What a reader must know of the turn.
#[derive(Debug, Clone)]
pub struct ReaderConfig {
    /// Dialects and reasoning markers.
    pub registry: Arc<Registry>,
    /// Declared tools.
    pub tools: Arc<ToolSet>,
    /// Text that nobody may call from.
    pub untrusted: Arc<EchoIndex>,
    /// Whether the request asked for a call.
    pub expect: Expect,
    /// Echo, declared set and schema rules; off only for `kilter parse --no-boundary`.
    pub boundary: bool,
    /// What markerless forms may do.
    pub weak: WeakMarkers,
    /// The structured channel is proven: only read-only tools may be recovered.
    pub guarded: bool,
    /// How the reasoning splitter is armed.
    pub split: Split,
    /// The template had already opened the reasoning block.
    pub reasoning_open: bool,
    /// Any stable mark of the turn, for derived ids; empty to derive none.
    pub turn_id: String,
}

impl ReaderConfig {
    /// A fully learnt reader over the shipped dialects with no tools declared.
    pub fn new() -> Self {
        Self {
            registry: Registry::builtin(),
            tools: Arc::new(ToolSet::undeclared()),
            untrusted: Arc::new(EchoIndex::empty()),
            expect: Expect::Auto,
            boundary: true,
            weak: WeakMarkers::Allow,
            guarded: false,
            split: Split::Armed {
                inline: true,
                leading_closer: true,
            },
            reasoning_open: false,
            turn_id: String::new(),
        }
    }
}

impl Default for ReaderConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes what the reader decides, in the order of the raw text.
///
/// Content, reasoning and the raw text of calls and removed spans, concatenated in order, are the
/// raw text byte for byte. Where one span holds several calls, its text comes with them piece by
/// piece.
pub trait Sink {
    /// Visible text.
    fn content(&mut self, text: &str);
    /// Reasoning text.
    fn reasoning(&mut self, text: &str);
    /// A call, with the raw text that it stood in.
    fn call(&mut self, call: ToolCall, raw: &str);
    /// A candidate that did not pass: a report, its text comes as content or reasoning.
    fn rejected(&mut self, rejected: Rejected);
    /// Markers and framing that are neither content nor reasoning.
    fn removed(&mut self, raw: &str);
}

/// What is known at the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnSummary {
    /// Where reasoning stood.
    pub reasoning_place: Option<ReasoningPlace>,
    /// A call was cut before its end.
    pub truncated: bool,
    /// Dialects whose openers were seen.
    pub openers: Vec<String>,
    /// The tail of an unclosed reasoning block when there is no content.
    pub content_candidate: Option<String>,
    /// Whether anything was split, recovered or removed.
    pub fired: bool,
}

/// The incremental reader: linear in bytes, bounded hold-back.
#[derive(Debug)]
pub struct TurnReader {
    buf: String,
    machine: Machine,
}

impl TurnReader {
    /// A reader for one turn.
    pub fn new(cfg: ReaderConfig) -> Self {
        Self {
            buf: String::new(),
            machine: Machine::new(cfg),
        }
    }

    /// Takes the next piece of text.
    pub fn push(&mut self, delta: &str, sink: &mut dyn Sink) {
        if delta.is_empty() {
            return;
        }
        if self.buf.is_empty() {
            let used = self.machine.run(delta, false, sink);
            self.buf.push_str(&delta[used..]);
        } else {
            self.buf.push_str(delta);
            self.again(false, sink);
        }
    }

    fn again(&mut self, eof: bool, sink: &mut dyn Sink) {
        let mut buf = std::mem::take(&mut self.buf);
        let used = self.machine.run(&buf, eof, sink);
        if used == buf.len() {
            buf.clear();
        } else if used > 0 {
            buf.drain(..used);
        }
        self.buf = buf;
    }

    /// The first-turn window's time is over: what it holds is committed.
    pub fn deadline_passed(&mut self, sink: &mut dyn Sink) {
        self.machine.deadline(sink);
    }

    /// Whether any text is held back.
    pub fn is_holding(&self) -> bool {
        !self.buf.is_empty() || self.machine.is_holding()
    }

    /// Structured calls arrived: recovery is off for this turn and held text is released.
    pub fn native_seen(&mut self, sink: &mut dyn Sink) {
        self.machine.native(sink);
        self.again(false, sink);
    }

    /// The end of the turn.
    pub fn finish(mut self, sink: &mut dyn Sink) -> TurnSummary {
        self.again(true, sink);
        self.machine.finish(sink)
    }
}

/// A whole text, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Visible text.
    pub content: String,
    /// Reasoning; `None` when there was none.
    pub reasoning: Option<String>,
    /// Calls in order.
    pub calls: Vec<ToolCall>,
    /// Candidates that did not pass, in order.
    pub rejected: Vec<Rejected>,
    /// A call was cut before its end.
    pub truncated: bool,
    /// What else is known.
    pub summary: TurnSummary,
    /// Whether anything was split, recovered or removed.
    pub fired: bool,
}

impl Sink for Reading {
    fn content(&mut self, text: &str) {
        self.content.push_str(text);
    }
    fn reasoning(&mut self, text: &str) {
        self.reasoning.get_or_insert_default().push_str(text);
    }
    fn call(&mut self, call: ToolCall, _raw: &str) {
        self.calls.push(call);
    }
    fn rejected(&mut self, rejected: Rejected) {
        self.rejected.push(rejected);
    }
    fn removed(&mut self, _raw: &str) {}
}

/// Reads a whole text at once; the same result as any chunking through [`TurnReader`].
pub fn read(cfg: ReaderConfig, raw: &str) -> Reading {
    let mut out = Reading::default();
    let mut reader = TurnReader::new(cfg);
    reader.push(raw, &mut out);
    let summary = reader.finish(&mut out);
    out.truncated = summary.truncated;
    out.fired = summary.fired;
    out.summary = summary;
    out
}

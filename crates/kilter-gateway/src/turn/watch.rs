//! The engine that reads a stream while it passes: events in, events out, an observation at the end.
//!
//! It does no I/O and holds no clock: the driver tells it the time. For an answer that may not be
//! touched it runs on a copy and what it would send is thrown away.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use kilter_behavior::{TurnReader, TurnSummary};
use kilter_core::{EventKind, FinishReason, Observation, ToolCall, id};
use kilter_wire::ApiError;
use kilter_wire::chat::{
    Accumulator, Chunk, ChunkWriter, Pushed, Rewrite, ToolDelta, ToolStream, true_finish,
};
use kilter_wire::sse::{self, Event, SseError};

use super::Turn;
use super::queue::{Decided, Item};
use crate::error::TurnError;

/// An event after its edits, held because it may be the last one.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) raw: Bytes,
    pub(super) edit: Option<Rewrite>,
    pub(super) chunk: Option<Box<Chunk>>,
}

/// The engine of one client turn, over all answers that it takes.
pub(crate) struct Watch {
    pub(super) reader: Option<TurnReader>,
    pub(super) read: bool,
    pub(super) summary: TurnSummary,
    pub(super) decided: Decided,
    pub(super) queue: VecDeque<Item>,
    pub(super) acc: Accumulator,
    pub(super) tools: ToolStream,
    pub(super) writer: Option<ChunkWriter>,
    pub(super) answer_id: Option<String>,
    pub(super) out: Vec<Bytes>,
    pub(super) tail: Vec<Held>,
    pub(super) hold_tail: bool,
    pub(super) native: bool,
    pub(super) content: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) finish: Option<FinishReason>,
    pub(super) done: Option<Bytes>,
    pub(super) tidy: bool,
    /// Nothing more is read of this stream.
    pub(super) over: bool,
    pub(super) failure: Option<ApiError>,
    pub(super) part: usize,
    pub(super) usage: Vec<String>,
    pub(super) role_sent: bool,
    pub(super) window: Option<Duration>,
    pub(super) deferred: Option<Duration>,
    pub(super) waiting: Option<Duration>,
}

impl Watch {
    /// An engine for a turn.
    pub(crate) fn new(turn: &Turn) -> Self {
        Self {
            reader: None,
            read: false,
            summary: TurnSummary::default(),
            decided: Decided::default(),
            queue: VecDeque::new(),
            acc: Accumulator::with_tools(turn.offer.names.clone()),
            tools: ToolStream::new(turn.id.clone(), turn.offer.names.clone()),
            writer: None,
            answer_id: None,
            out: Vec::new(),
            tail: Vec::new(),
            hold_tail: false,
            native: false,
            content: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            finish: None,
            done: None,
            tidy: false,
            over: false,
            failure: None,
            part: 0,
            usage: Vec::new(),
            role_sent: false,
            window: None,
            deferred: None,
            waiting: None,
        }
    }

    /// Whether the stream said its last word.
    pub(crate) fn is_over(&self) -> bool {
        self.over || self.done.is_some()
    }

    /// Whether the stream failed.
    pub(crate) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// What may go out now.
    pub(crate) fn take(&mut self) -> Option<Bytes> {
        match self.out.len() {
            0 => None,
            1 => self.out.pop(),
            _ => Some(Bytes::from(std::mem::take(&mut self.out).concat())),
        }
    }

    /// When [`Watch::tick`] is due, in time since the request.
    pub(crate) fn deadline(&self, hold_back: Duration) -> Option<Duration> {
        let first = match (self.window, self.deferred) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        Some(first + hold_back)
    }

    /// The time that text may be held back is over.
    pub(crate) fn tick(&mut self, turn: &mut Turn, now: Duration) {
        if self.window.take().is_some()
            && let Some(r) = &mut self.reader
        {
            r.deadline_passed(&mut self.decided);
        }
        self.settle(turn, true, now);
    }

    /// Takes in one event.
    pub(crate) fn event(&mut self, turn: &mut Turn, event: Result<Event, SseError>, now: Duration) {
        if self.is_over() {
            return;
        }
        let e = match event {
            Err(SseError::TooLong { limit, .. }) => {
                let e = TurnError::Endless {
                    backend: turn.backend().to_owned(),
                    limit: limit as u64,
                    unit: "bytes",
                    what: "event",
                    key: "event_bytes",
                };
                return self.fail(turn, &e, now);
            }
            Err(SseError::NotUtf8 { raw, .. }) => {
                // Not ours to mend: a client that reads bytes loosely still gets them.
                return self.pass(turn, Item::new(raw, None), now);
            }
            Ok(e) => e,
        };
        if e.id.is_some() || e.retry.is_some() {
            // With these fields, a comment alone is an event with empty data to some clients.
            self.tidy = true;
            turn.actions.add("sse", "tidied");
        }
        if e.comment_only {
            if !self.tidy {
                self.pass(turn, Item::new(e.raw, None), now);
            }
            return;
        }
        if e.is_done() {
            self.acc.done();
            self.done = Some(if self.tidy {
                Bytes::from_static(sse::DONE)
            } else {
                e.raw
            });
            return;
        }
        match Chunk::parse(e.data) {
            Ok(chunk) => self.chunk(turn, e.raw, chunk, now),
            Err(_) => self.pass(turn, Item::new(e.raw, None), now),
        }
    }

    fn pass(&mut self, turn: &mut Turn, mut item: Item, now: Duration) {
        item.since = now;
        self.queue.push_back(item);
        self.settle(turn, false, now);
    }

    fn chunk(&mut self, turn: &mut Turn, raw: Bytes, chunk: Chunk, now: Duration) {
        self.acc.push(&chunk);
        if let Some(error) = &chunk.error {
            let error = error.clone();
            self.flush(turn, now);
            self.release_tail();
            let plain = chunk
                .body()
                .get("error")
                .is_some_and(|e| kilter_wire::json::member(e, "message").is_some());
            self.out.push(if plain && !self.tidy {
                raw
            } else {
                error.to_event()
            });
            turn.events.push(EventKind::ModelError {
                status: error.status,
                kind: error.kind.clone(),
                message: error.message.chars().take(400).collect(),
            });
            self.failure = Some(error);
            self.over = true;
            return;
        }
        if self.writer.is_none() {
            self.writer = Some(ChunkWriter::like(&chunk));
            self.answer_id = chunk.id().map(|i| i.into_owned());
        }
        let (text, finish, pushed) = match &chunk.choices[..] {
            [c] if c.index == 0 => {
                let pushed = self.native_calls(turn, &c.tool_calls, now);
                (c.content.clone(), c.finish.clone(), pushed)
            }
            _ => return self.pass(turn, Item::new(raw, Some(chunk)), now),
        };
        let mut item = Item::new(raw, Some(chunk));
        item.tools = pushed;
        if let Some(text) = text.filter(|t| !t.is_empty())
            && !self.read
        {
            if self.reader.is_none() {
                let cfg = turn.reader(self.answer_id.as_deref());
                if matches!(cfg.split, kilter_behavior::Split::Unlearnt) {
                    self.window = Some(now);
                }
                let mut r = TurnReader::new(cfg);
                if self.native {
                    r.native_seen(&mut self.decided);
                }
                self.reader = Some(r);
            }
            if let Some(r) = &mut self.reader {
                r.push(&text, &mut self.decided);
            }
            item.text = text;
        }
        let Some(finish) = finish else {
            return self.pass(turn, item, now);
        };
        self.finish = Some(finish.clone());
        self.end_reader(turn);
        self.settle(turn, true, now);
        for mut left in std::mem::take(&mut self.queue) {
            left.give_up();
            self.emit(turn, left);
        }
        if !item.fill(&mut self.decided) {
            item.give_up();
        }
        let fragments = self.tools.finish(Some(&finish));
        if !fragments.is_empty()
            && let Some(w) = &self.writer
        {
            self.out.push(sse::encode_data(&w.fragments(0, &fragments)));
        }
        for a in self.tools.actions() {
            turn.actions.add("tool_calls", a);
        }
        self.hold_tail = self.must_hold(turn, &item, &finish);
        self.emit(turn, item);
        self.note_wait(turn, now);
    }

    /// Takes in fragments of the native channel; what they became, where that differs.
    fn native_calls(
        &mut self,
        turn: &mut Turn,
        fragments: &[ToolDelta],
        now: Duration,
    ) -> Option<Pushed> {
        if fragments.is_empty() {
            return None;
        }
        if !self.native {
            self.native = true;
            if let Some(r) = &mut self.reader {
                r.native_seen(&mut self.decided);
            }
            self.settle(turn, true, now);
            self.give_back_calls(turn);
        }
        Some(self.tools.push(fragments)).filter(|p| p.changed)
    }

    /// Whether the last events must wait for the end of the stream, because they may have to say
    /// something else.
    fn must_hold(&self, turn: &Turn, item: &Item, finish: &FinishReason) -> bool {
        let nothing_said = self.content.trim().is_empty() && item.content.trim().is_empty();
        let calls = self.tools.calls();
        self.part > 0
            || !turn.actions.is_empty()
            || !self.calls.is_empty()
            || (nothing_said && !self.native)
            || (*finish == FinishReason::ToolCalls && !self.native)
            || true_finish(Some(finish), &calls, None, None).as_ref() != Some(finish)
    }

    fn end_reader(&mut self, turn: &mut Turn) {
        if self.read {
            return;
        }
        self.read = true;
        self.window = None;
        if let Some(r) = self.reader.take() {
            self.summary = r.finish(&mut self.decided);
        }
        let mark = self.answer_id.clone().unwrap_or_else(|| turn.id.clone());
        if self.native {
            self.give_back_calls(turn);
        }
        for (i, mut call) in std::mem::take(&mut self.decided.calls)
            .into_iter()
            .enumerate()
        {
            if call.id.is_none() {
                call.id = Some(id::call_id(&mark, i, &call.name, &call.arguments));
            }
            turn.recovered(&call);
            self.calls.push(call);
        }
        for r in &self.decided.rejected {
            turn.rejected(r);
        }
    }

    /// Native calls came after calls were read from text: the text is given back.
    fn give_back_calls(&mut self, turn: &mut Turn) {
        let text = std::mem::take(&mut self.decided.call_text);
        self.decided.calls.clear();
        if text.is_empty() {
            return;
        }
        turn.actions.add("released", "native");
        self.content.push_str(&text);
        if let Some(w) = &self.writer {
            self.out.push(sse::encode_data(&w.content(0, &text)));
        }
    }

    /// Sends every event whose text is decided. An event of which a part is decided waits for its
    /// rest, so that it can go out as the bytes that came; when it is `late`, the part is sent alone.
    fn settle(&mut self, turn: &mut Turn, late: bool, now: Duration) {
        while let Some(mut item) = self.queue.pop_front() {
            if item.fill(&mut self.decided) || item.run_ahead(&mut self.decided) {
                self.emit(turn, item);
                continue;
            }
            let free = item.is_rewritten() && !self.queue.is_empty();
            if (late || free) && item.shows_part() {
                self.emit_part(turn, &mut item);
            }
            self.queue.push_front(item);
            break;
        }
        let front = self.queue.front().filter(|i| i.shows_part());
        self.deferred = front.map(|i| i.since);
        self.note_wait(turn, now);
    }

    fn note_wait(&mut self, turn: &mut Turn, now: Duration) {
        if self.queue.is_empty() {
            if let Some(since) = self.waiting.take() {
                turn.held += now.saturating_sub(since);
            }
        } else if self.waiting.is_none() {
            self.waiting = Some(now);
        }
    }

    /// Everything that waits goes out as it is.
    fn flush(&mut self, turn: &mut Turn, now: Duration) {
        self.end_reader(turn);
        self.settle(turn, true, now);
        for mut left in std::mem::take(&mut self.queue) {
            left.give_up();
            self.emit(turn, left);
        }
        self.note_wait(turn, now);
    }

    /// A failure of ours or of the transport: the client is told, and nothing follows.
    pub(crate) fn fail(&mut self, turn: &mut Turn, e: &TurnError, now: Duration) {
        turn.lost(e);
        turn.failed = true;
        self.flush(turn, now);
        // A finish that waits for its end would look like success.
        self.tail.clear();
        let error = ApiError::new(e.status().as_u16(), e.kind(), e.to_string()).with_code(e.code());
        self.out.push(error.to_event());
        self.failure = Some(error);
        self.over = true;
    }

    /// The upstream's bytes ended. `None` when there is nothing to decide any more.
    pub(crate) fn end(&mut self, turn: &mut Turn, now: Duration) -> Observation {
        if self.failure.is_none() {
            if self.finish.is_none() && self.done.is_none() {
                let e = TurnError::Cut {
                    backend: turn.backend().to_owned(),
                    why: "the stream ended without a `finish_reason` and without `[DONE]`".into(),
                };
                self.fail(turn, &e, now);
            } else {
                self.flush(turn, now);
            }
        }
        let acc = std::mem::replace(
            &mut self.acc,
            Accumulator::with_tools(turn.offer.names.clone()),
        );
        let whole = acc.finish().into_iter().next().unwrap_or_default();
        let mut obs = whole.observation(turn.facts.clone());
        obs.content.clone_from(&self.content);
        if !self.reasoning.is_empty() {
            obs.reasoning
                .get_or_insert_default()
                .push_str(&self.reasoning);
        }
        obs.reasoning_place = obs
            .reasoning_place
            .or_else(|| self.summary.reasoning_place.clone());
        obs.recovered.clone_from(&self.calls);
        obs.rejected = self
            .decided
            .rejected
            .iter()
            .map(|r| (r.dialect.clone(), r.reason))
            .collect();
        obs.openers.clone_from(&self.summary.openers);
        if let Some(e) = &self.failure {
            obs.error = Some(e.to_transport());
        }
        if let Some(u) = whole.usage {
            self.usage.push(u.raw);
        }
        obs
    }

    /// The turn goes on with another answer: what waited for the end of the first is dropped.
    pub(crate) fn next_part(&mut self, turn: &Turn) {
        self.part += 1;
        self.tail.clear();
        self.hold_tail = false;
        self.finish = None;
        self.done = None;
        self.read = false;
        self.reader = None;
        self.summary = TurnSummary::default();
        self.decided = Decided::default();
        self.tools = ToolStream::new(turn.id.clone(), turn.offer.names.clone());
        self.native = false;
        self.content.clear();
        self.reasoning.clear();
    }
}

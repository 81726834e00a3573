//! A streamed answer that may be touched.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use http_body::Frame;
use http_body_util::StreamBody;
use kilter_behavior::{Action, Decision, decide};
use kilter_core::{EventKind, Observation};
use kilter_wire::sse::Framer;

use super::close::Ending;
use super::watch::Watch;
use super::{Turn, is_event_stream};
use crate::alarm::Alarm;
use crate::config::Adapt;
use crate::error::TurnError;
use crate::ladder_exec;
use crate::upstream::{Answer, AnswerBody, answered};

/// Longest wait for the end of an answer behind its `[DONE]`: the client has it all by then.
const DRAIN: Duration = Duration::from_millis(100);

/// First pieces that do not wait for company: the role and the first word. Behind them, pieces that are there at the
/// same time leave in one write.
const PROMPT: u8 = 2;

/// What happens next in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Reading,
    Trailers,
    Over,
}

struct Driver {
    turn: Turn,
    body: AnswerBody,
    alarm: Alarm,
    framer: Framer,
    watch: Watch,
    /// Pieces that each must be on the wire before the next is read.
    prompt: u8,
    flush: bool,
    phase: Phase,
}

/// Answers with the stream.
pub(crate) fn respond(turn: Turn, answer: Answer) -> Response {
    let mut headers = answered(&answer.headers);
    stream_headers(&mut headers);
    turn.sign(&mut headers);
    if turn.client_trailers {
        headers.insert(
            header::TRAILER,
            HeaderValue::from_static("x-kilter-actions"),
        );
    }
    let status = answer.status;
    let driver = Box::new(Driver {
        framer: Framer::with_limit(turn.live.config.gateway.limits.event_bytes),
        watch: Watch::new(&turn),
        body: answer.body,
        alarm: Alarm::default(),
        prompt: PROMPT,
        flush: false,
        phase: Phase::Reading,
        turn,
    });
    let frames = stream::unfold(driver, |mut d| async move {
        let frame = d.next().await?;
        Some((Ok::<_, Infallible>(frame), d))
    });
    let mut r = Response::new(Body::new(StreamBody::new(frames)));
    *r.status_mut() = status;
    *r.headers_mut() = headers;
    r
}

/// Headers that keep a stream a stream on its way.
pub(crate) fn stream_headers(headers: &mut HeaderMap) {
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache"));
    headers
        .entry("x-accel-buffering")
        .or_insert(HeaderValue::from_static("no"));
}

impl Driver {
    async fn next(&mut self) -> Option<Frame<Bytes>> {
        loop {
            if std::mem::take(&mut self.flush) {
                // The server writes out what it has when nothing more is ready.
                tokio::task::yield_now().await;
            }
            if let Some(bytes) = self.watch.take() {
                self.flush = self.prompt > 0;
                self.prompt = self.prompt.saturating_sub(1);
                return Some(Frame::data(bytes));
            }
            match self.phase {
                Phase::Reading => self.read().await,
                Phase::Trailers => {
                    self.phase = Phase::Over;
                    if !self.watch.failed() {
                        self.body.drain(DRAIN).await;
                    }
                    if self.turn.client_trailers && !self.turn.actions.is_empty() {
                        let mut t = HeaderMap::new();
                        t.insert("x-kilter-actions", self.turn.actions.header());
                        return Some(Frame::trailers(t));
                    }
                }
                Phase::Over => return None,
            }
        }
    }

    /// Reads one piece, or ends.
    async fn read(&mut self) {
        let now = self.turn.took();
        let longest: Duration = self.turn.live.config.gateway.limits.answer.into();
        let Some(left) = longest.checked_sub(now) else {
            let e = TurnError::Endless {
                backend: self.turn.backend().to_owned(),
                limit: longest.as_secs(),
                unit: "seconds",
                what: "answer",
                key: "answer",
            };
            self.watch.fail(&mut self.turn, &e, now);
            return self.end().await;
        };
        let hold = self.turn.live.config.gateway.hold_back.into();
        let due = self.watch.deadline(hold);
        let wait = due.map_or(left, |d| d.saturating_sub(now).min(left));
        // A piece that is there already never touches the timer.
        let piece = match self.alarm.within(wait, self.body.next()).await {
            None => {
                if due.is_some() {
                    let now = self.turn.took().max(now + wait);
                    self.watch.tick(&mut self.turn, now);
                }
                return;
            }
            Some(piece) => piece,
        };
        let now = self.turn.took();
        match piece {
            Some(Ok(bytes)) => {
                self.turn.seen(&bytes);
                self.framer.push(&bytes);
                while let Some(event) = self.framer.next_event() {
                    self.watch.event(&mut self.turn, event, now);
                }
                if due.is_some_and(|d| now >= d) {
                    self.watch.tick(&mut self.turn, now);
                }
                if self.watch.is_over() {
                    self.end().await;
                }
            }
            Some(Err(e)) => {
                self.watch.fail(&mut self.turn, &e, now);
                self.end().await;
            }
            None => {
                self.framer.finish();
                while let Some(event) = self.framer.next_event() {
                    self.watch.event(&mut self.turn, event, now);
                }
                self.end().await;
            }
        }
    }

    /// The answer is at its end: learn, decide, do.
    async fn end(&mut self) {
        let now = self.turn.took();
        let obs = self.watch.end(&mut self.turn, now);
        let mut decision = self.turn.decide(&obs);
        if let Action::Continue(c) = &decision.action
            && !self.watch.failed()
        {
            let request = ladder_exec::continued(&self.turn.request, c, &obs);
            if let Some(answer) = self.turn.again(&request, is_event_stream).await {
                self.turn.request = request;
                self.turn.facts.output_cap = Some(c.cap);
                self.turn.actions.add("continued", "1");
                self.watch.next_part(&self.turn);
                self.framer = Framer::with_limit(self.turn.live.config.gateway.limits.event_bytes);
                self.body = answer.body;
                return;
            }
            decision = self.turn.not_continued(decision);
        }
        let sent = self.watch.conclude(&mut self.turn, &decision, &obs);
        self.turn.failed |= self.watch.failed();
        self.turn.close(Some(Ending { sent, obs }));
        self.phase = Phase::Trailers;
    }
}

impl Turn {
    /// Learns from an observation and asks the ladder.
    pub(crate) fn decide(&mut self, obs: &Observation) -> Decision {
        let policy = self.policy();
        let session = self.session.clone();
        let decision = {
            let s = session.lock();
            decide(obs, &s.profile, &mut self.ladder, &policy)
        };
        self.learn(obs);
        self.events.extend(decision.events.iter().cloned());
        decision
    }

    /// Sends another request for the same turn. `None` when it brought no usable answer.
    pub(crate) async fn again(
        &mut self,
        request: &kilter_wire::chat::ChatRequest,
        fits: fn(&HeaderMap) -> bool,
    ) -> Option<Answer> {
        if self.adapt != Adapt::On {
            return None;
        }
        let answer = self.ask_once(request.to_bytes()).await.ok()?;
        (answer.status.is_success() && fits(&answer.headers)).then_some(answer)
    }

    /// A continue that could not be made is a non-attempt.
    pub(crate) fn not_continued(&mut self, mut decision: Decision) -> Decision {
        let cause = kilter_behavior::ladder::NonAttempt::Overflow;
        for e in &mut self.events {
            if let EventKind::ReasoningOverflow { continued, .. } = e {
                *continued = false;
            }
        }
        self.events.push(EventKind::NonAttempt {
            cause: cause.as_str().to_owned(),
        });
        decision.action = Action::NonAttempt(cause);
        decision
    }

    /// Notes a call that was read from text.
    pub(crate) fn recovered(&mut self, call: &kilter_core::ToolCall) {
        if let kilter_core::Provenance::Recovered {
            dialect,
            strength,
            origin,
            ..
        } = &call.provenance
        {
            self.actions.add("recovered", dialect);
            self.events.push(EventKind::RecoveredToolCall {
                dialect: dialect.clone(),
                strength: *strength,
                origin: *origin,
                name: call.name.clone(),
            });
        }
    }

    /// Notes a candidate that did not pass.
    pub(crate) fn rejected(&mut self, r: &kilter_behavior::Rejected) {
        self.events.push(EventKind::RejectedToolCall {
            dialect: r.dialect.clone(),
            name: r.name.clone(),
            reason: r.reason,
            nearest: r.nearest.clone(),
        });
    }

    /// Notes that reasoning was taken out of the content.
    pub(crate) fn split(&mut self, _summary: &kilter_behavior::TurnSummary) {
        self.actions.add("reasoning_split", "content");
    }
}

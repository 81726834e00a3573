//! An answer that may not be touched: its bytes pass as they come. Under `observe` the engine reads
//! a copy.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http_body::Frame;
use http_body_util::StreamBody;
use kilter_wire::sse::Framer;

use super::close::Ending;
use super::plain;
use super::stream::stream_headers;
use super::tally::Tally;
use super::watch::Watch;
use super::{Turn, is_event_stream};
use crate::alarm::Alarm;
use crate::config::Adapt;
use crate::error::TurnError;
use crate::upstream::{Answer, AnswerBody, answered};

enum Copy {
    Not,
    /// Nothing reads along: what passed is told in the turn's finish event, no more.
    Tally(Box<Tally>),
    Events(Box<(Framer, Watch)>),
    Whole(BytesMut),
}

struct Driver {
    turn: Turn,
    body: AnswerBody,
    alarm: Alarm,
    copy: Copy,
    over: bool,
    events: bool,
}

/// Answers with the upstream's bytes.
pub(crate) fn respond(turn: Turn, answer: Answer) -> Response {
    let events = is_event_stream(&answer.headers);
    let mut headers = answered(&answer.headers);
    if events {
        stream_headers(&mut headers);
    } else if let Some(n) = answer.headers.get(http::header::CONTENT_LENGTH) {
        headers.insert(http::header::CONTENT_LENGTH, n.clone());
    }
    if let Ok(v) = http::HeaderValue::from_str(&turn.id) {
        headers.insert("x-kilter-request", v);
    }
    let copy = if turn.adapt != Adapt::Observe || !turn.is_single() {
        if turn.state.tracer.is_on() {
            Copy::Tally(Box::new(Tally::new(&turn, events)))
        } else {
            Copy::Not
        }
    } else if events {
        let limit = turn.live.config.gateway.limits.event_bytes;
        Copy::Events(Box::new((Framer::with_limit(limit), Watch::new(&turn))))
    } else {
        Copy::Whole(BytesMut::new())
    };
    let status = answer.status;
    let driver = Box::new(Driver {
        turn,
        body: answer.body,
        alarm: Alarm::default(),
        copy,
        over: false,
        events,
    });
    let frames = stream::unfold(driver, |mut d| async move {
        let piece = d.next().await?;
        Some((piece.map(Frame::data), d))
    });
    let mut r = Response::new(Body::new(StreamBody::new(frames)));
    *r.status_mut() = status;
    *r.headers_mut() = headers;
    r
}

impl Driver {
    async fn next(&mut self) -> Option<Result<Bytes, TurnError>> {
        if self.over {
            return None;
        }
        let longest: Duration = self.turn.live.config.gateway.limits.answer.into();
        let left = longest.saturating_sub(self.turn.took());
        let piece = match self.alarm.within(left, self.body.next()).await {
            Some(piece) => piece,
            None => Some(Err(TurnError::Endless {
                backend: self.turn.backend().to_owned(),
                limit: longest.as_secs(),
                unit: "seconds",
                what: "answer",
                key: "answer",
            })),
        };
        match piece {
            Some(Ok(bytes)) => {
                self.turn.seen(&bytes);
                // The record is written before the client sees the end.
                if self.copy(&bytes) || self.body.is_end() {
                    self.end();
                }
                Some(Ok(bytes))
            }
            Some(Err(e)) => {
                self.over = true;
                self.turn.lost(&e);
                self.turn.failed = true;
                self.end();
                if self.events {
                    // The headers are gone: the failure is an event, and no end mark follows.
                    let error =
                        kilter_wire::ApiError::new(e.status().as_u16(), e.kind(), e.to_string())
                            .with_code(e.code());
                    return Some(Ok(error.to_event()));
                }
                // A whole body that was cut is cut for the client, too.
                Some(Err(e))
            }
            None => {
                self.over = true;
                self.end();
                None
            }
        }
    }

    /// Reads along; `true` when the copy said its last word.
    fn copy(&mut self, bytes: &Bytes) -> bool {
        let now = self.turn.took();
        match &mut self.copy {
            Copy::Not => {}
            Copy::Tally(tally) => return tally.push(&mut self.turn, bytes),
            Copy::Whole(all) => {
                all.extend_from_slice(bytes);
            }
            Copy::Events(both) => {
                let (framer, watch) = &mut **both;
                framer.push(bytes);
                while let Some(event) = framer.next_event() {
                    watch.event(&mut self.turn, event, now);
                }
                watch.take();
                return watch.is_over();
            }
        }
        false
    }

    fn end(&mut self) {
        let ending = match std::mem::replace(&mut self.copy, Copy::Not) {
            Copy::Not => None,
            Copy::Tally(tally) => Some(tally.ending(&mut self.turn)),
            Copy::Whole(all) => plain::observe(&mut self.turn, &all),
            Copy::Events(mut both) => {
                let (framer, watch) = &mut *both;
                let now = self.turn.took();
                framer.finish();
                while let Some(event) = framer.next_event() {
                    watch.event(&mut self.turn, event, now);
                }
                let obs = watch.end(&mut self.turn, now);
                let decision = self.turn.decide(&obs);
                let sent = obs.finish.clone();
                watch.conclude(&mut self.turn, &decision, &obs);
                Some(Ending { sent, obs })
            }
        };
        self.turn.close(ending);
    }
}

/// Lets a `TurnError` end a body.
impl From<Infallible> for TurnError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

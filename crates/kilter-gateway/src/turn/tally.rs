//! What passed through untouched, counted for the turn's finish event: nothing is read into it.

use bytes::{Bytes, BytesMut};
use kilter_core::{EventKind, Observation};
use kilter_wire::chat::{Accumulator, Chunk, Completion, Turn as Said};
use kilter_wire::sse::Framer;

use super::Turn;
use super::close::Ending;

/// An answer as it passes.
#[expect(clippy::large_enum_variant, reason = "it is kept in a box")]
pub(super) enum Tally {
    /// A stream.
    Events(Framer, Accumulator),
    /// A whole body.
    Whole(BytesMut),
}

impl Tally {
    /// Of a stream, or of a whole body.
    pub(super) fn new(turn: &Turn, events: bool) -> Self {
        if events {
            let limit = turn.live.config.gateway.limits.event_bytes;
            Self::Events(
                Framer::with_limit(limit),
                Accumulator::with_tools(turn.offer.names.clone()),
            )
        } else {
            Self::Whole(BytesMut::new())
        }
    }

    /// Takes in a piece; `true` when a stream said its last word.
    pub(super) fn push(&mut self, turn: &mut Turn, bytes: &Bytes) -> bool {
        match self {
            Self::Whole(all) => {
                all.extend_from_slice(bytes);
                false
            }
            Self::Events(framer, acc) => {
                framer.push(bytes);
                read(turn, framer, acc);
                acc.is_done()
            }
        }
    }

    /// The turn as it was emitted.
    pub(super) fn ending(self, turn: &mut Turn) -> Ending {
        let said = match self {
            Self::Events(mut framer, mut acc) => {
                framer.finish();
                read(turn, &mut framer, &mut acc);
                acc.finish()
            }
            Self::Whole(all) => match Completion::parse(&all) {
                Ok(c) => {
                    if let Some(e) = &c.error {
                        failed(turn, e);
                    }
                    c.turns()
                }
                Err(_) => Vec::new(),
            },
        };
        let obs = together(said, turn);
        Ending {
            sent: obs.finish.clone(),
            obs,
        }
    }
}

fn read(turn: &mut Turn, framer: &mut Framer, acc: &mut Accumulator) {
    while let Some(event) = framer.next_event() {
        let Ok(event) = event else { continue };
        if event.is_done() {
            acc.done();
        } else if !event.comment_only
            && let Ok(chunk) = Chunk::parse(event.data)
        {
            if let Some(e) = &chunk.error {
                failed(turn, e);
            }
            acc.push(&chunk);
        }
    }
}

fn failed(turn: &mut Turn, e: &kilter_wire::ApiError) {
    turn.events.push(EventKind::ModelError {
        status: e.status,
        kind: e.kind.clone(),
        message: e.message.chars().take(400).collect(),
    });
}

/// All choices as one: the first one's reason, everybody's words and calls.
fn together(said: Vec<Said>, turn: &Turn) -> Observation {
    let mut said = said.into_iter();
    let first = said.next().unwrap_or_default();
    let mut obs = first.observation(turn.facts.clone());
    for other in said {
        obs.content.push_str(&other.content);
        obs.native_calls.extend(other.calls);
        if let Some(r) = other.reasoning {
            obs.reasoning.get_or_insert_default().push_str(&r.text);
        }
    }
    obs
}

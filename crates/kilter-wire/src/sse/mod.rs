//! Server-sent events, framed on bytes.
//!
//! [`Framer`] cuts a byte stream into [`Event`]s that keep their raw bytes, so that an event can be
//! relayed untouched; the concatenation of all raw pieces is the stream. Text is decoded on whole
//! events only, so a character cut by a packet is never seen.

mod encode;
mod framer;

pub use encode::{DONE, KEEPALIVE, encode_comment, encode_data, encode_event};
pub use framer::{Framer, MAX_EVENT_BYTES, SseError};

use bytes::Bytes;

/// One event as received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// Its bytes, line ends and the blank line included.
    pub raw: Bytes,
    /// The `event:` field.
    pub event: Option<String>,
    /// The `data:` lines joined by `\n`.
    pub data: String,
    /// The `id:` field.
    pub id: Option<String>,
    /// The `retry:` field, in milliseconds.
    pub retry: Option<u64>,
    /// `true` when the block holds no `data:` line at all: comments, blank lines, lone fields.
    pub comment_only: bool,
}

impl Event {
    /// Whether this is the end mark of a chat stream.
    pub fn is_done(&self) -> bool {
        !self.comment_only && self.data.trim() == "[DONE]"
    }
}

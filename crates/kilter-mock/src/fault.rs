//! Failures of the provider and of the line.

use serde::Deserialize;

use crate::refuse::ErrorShape;
use crate::when::When;

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// An error status (`status`, default 500) in the shape `shape`.
    Status,
    /// The headers never come.
    StallHeaders,
    /// The headers come after `ms`.
    SlowHeaders,
    /// The body stops after `after` events (or bytes of a whole body) and the connection stays open.
    Stall,
    /// The connection is closed after `after` events (or bytes of a whole body).
    Cut,
    /// The connection is reset after `after` events (or bytes of a whole body).
    Reset,
    /// The connection is closed before any answer.
    Refuse,
    /// Bytes that are not UTF-8 stand in the text.
    BadUtf8,
    /// Status 200 and a body that is not JSON.
    NotJson,
    /// An HTML page with `status`, default 502.
    Html,
    /// An empty body with status 200.
    EmptyBody,
    /// The stream never ends: text goes on and on.
    Endless,
    /// An error event stands in the stream after `after` events, then it ends.
    ErrorEvent,
    /// One event of `bytes` bytes, default 2 MiB.
    Oversized,
    /// A chunk that is not JSON stands in the stream after `after` events.
    BadChunk,
}

/// `[[faults]]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What fails.
    pub kind: FaultKind,
    /// Only requests that meet this.
    #[serde(default)]
    pub when: When,
    /// How many requests it hits before it is over; unset: all.
    pub times: Option<u64>,
    /// Requests that pass before it starts.
    #[serde(default)]
    pub skip: u64,
    /// The HTTP status.
    pub status: Option<u16>,
    /// Events, or bytes of a whole body, that pass first.
    #[serde(default)]
    pub after: u64,
    /// Size of an oversized event.
    pub bytes: Option<usize>,
    /// `retry-after` header, as written.
    pub retry_after: Option<String>,
    /// `retry-after-ms` header.
    pub retry_after_ms: Option<u64>,
    /// Milliseconds, for `slow_headers`.
    pub ms: Option<u64>,
    /// Milliseconds between events of an endless stream. Default 1.
    pub gap_ms: Option<u64>,
    /// The shape of an error body.
    #[serde(default)]
    pub shape: ErrorShape,
    /// Its words.
    pub message: Option<String>,
    /// Its type.
    pub r#type: Option<String>,
    /// Whether `[DONE]` follows an error event.
    #[serde(default)]
    pub then_done: bool,
}

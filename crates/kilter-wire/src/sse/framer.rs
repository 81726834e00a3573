//! The byte framer: LF, CRLF or CR, in any mixture and at any chunking.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;
use thiserror::Error;

use super::Event;

/// Largest event accepted by default (gateways reference, wire fact 6).
pub const MAX_EVENT_BYTES: usize = 1 << 20;

/// Why bytes could not become an event. The bytes are kept: nothing is lost.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SseError {
    /// An event outgrew the bound; the framer reads no further.
    #[error(
        "stream event is larger than {limit} bytes; hint: the upstream sends no blank line between events, or raise the event limit"
    )]
    TooLong {
        /// The bound in bytes.
        limit: usize,
        /// What was held so far.
        raw: Bytes,
    },
    /// An event is not UTF-8; the next one may be.
    #[error(
        "stream event is not UTF-8 at byte {at}; hint: the upstream cuts characters, look at its tokenizer or proxy"
    )]
    NotUtf8 {
        /// First wrong byte, from the start of the event.
        at: usize,
        /// The whole event.
        raw: Bytes,
    },
}

impl SseError {
    /// The bytes that did not become an event.
    pub fn raw(&self) -> &Bytes {
        match self {
            Self::TooLong { raw, .. } | Self::NotUtf8 { raw, .. } => raw,
        }
    }
}

/// How the line before ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Term {
    None,
    Lf,
    Cr,
    CrLf,
}

/// Cuts a stream of bytes into events.
///
/// ```
/// use kilter_wire::sse::Framer;
/// let mut f = Framer::new();
/// f.push(b"data: a\r\n\r\ndata: b");
/// let first = f.next_event().and_then(Result::ok);
/// assert_eq!(first.map(|e| e.data).as_deref(), Some("a"));
/// assert!(f.next_event().is_none());
/// f.finish(); // the end of the stream ends the last event
/// assert_eq!(f.next_event().and_then(Result::ok).map(|e| e.data).as_deref(), Some("b"));
/// ```
///
/// An event ends with its blank line. Where lines end in CR alone, the blank line's CR ends the
/// event at once (waiting for a possible LF would delay every event until the next); where they end
/// in CRLF or LF, a CR waits for its LF. So the cut does not depend on chunking.
#[derive(Debug)]
pub struct Framer {
    buf: BytesMut,
    limit: usize,
    /// Start of the current line, and where scanning goes on; offsets into `buf`.
    line: usize,
    pos: usize,
    term: Term,
    /// The byte before `pos` is a CR whose LF may still come; `true` when it ended a blank line.
    cr: Option<bool>,
    /// The event before ended in a lone CR: an LF right behind it is part of that line end.
    skip_lf: bool,
    started: bool,
    finished: bool,
    dead: bool,
}

impl Default for Framer {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl Framer {
    /// A framer with the default bound.
    pub fn new() -> Self {
        Self::default()
    }

    /// A framer that accepts events of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buf: BytesMut::new(),
            limit,
            line: 0,
            pos: 0,
            term: Term::None,
            cr: None,
            skip_lf: false,
            started: false,
            finished: false,
            dead: false,
        }
    }

    /// Takes in bytes. Take the events out with [`Framer::next_event`] before pushing more, so that
    /// the framer never holds more than one event and one chunk.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.dead && !self.finished {
            self.buf.extend_from_slice(bytes);
        }
    }

    /// Says that the stream ended: what is held becomes the last event.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Bytes held that are no event yet.
    pub fn held(&self) -> usize {
        self.buf.len()
    }

    /// The events that are whole now.
    pub fn events(&mut self) -> impl Iterator<Item = Result<Event, SseError>> + '_ {
        std::iter::from_fn(|| self.next_event())
    }

    /// The next whole event; `None` when more bytes are needed or the stream is over.
    pub fn next_event(&mut self) -> Option<Result<Event, SseError>> {
        if self.dead {
            return None;
        }
        let end = self.scan();
        match end {
            Some(end) if end <= self.limit => Some(self.cut(end)),
            None if self.buf.len() <= self.limit => {
                if self.finished && !self.buf.is_empty() {
                    let all = self.buf.len();
                    return Some(self.cut(all));
                }
                None
            }
            _ => {
                self.dead = true;
                Some(Err(SseError::TooLong {
                    limit: self.limit,
                    raw: self.buf.split().freeze(),
                }))
            }
        }
    }

    /// Where the current event ends, if its blank line is there.
    fn scan(&mut self) -> Option<usize> {
        loop {
            if let Some(blank) = self.cr {
                let next = *self.buf.get(self.pos)?;
                self.cr = None;
                self.term = Term::Cr;
                if next == b'\n' {
                    self.pos += 1;
                    self.line = self.pos;
                    self.term = Term::CrLf;
                }
                if blank {
                    return Some(self.pos);
                }
            }
            if self.skip_lf {
                if *self.buf.get(self.pos)? == b'\n' {
                    self.pos += 1;
                    self.line = self.pos;
                }
                self.skip_lf = false;
            }
            if self.pos == 0 && !self.started {
                // A BOM may open the stream; it is no part of the first line.
                let bom = b"\xef\xbb\xbf";
                let n = self.buf.len().min(3);
                if self.buf[..n] == bom[..n] {
                    if n < 3 {
                        return None;
                    }
                    self.pos = 3;
                    self.line = 3;
                }
                self.started = n > 0;
            }
            let rest = self.buf.get(self.pos..)?;
            let Some(n) = memchr2(b'\n', b'\r', rest) else {
                self.pos = self.buf.len();
                return None;
            };
            let at = self.pos + n;
            let blank = at == self.line;
            let lone_before = self.term == Term::Cr;
            let byte = self.buf[at];
            self.pos = at + 1;
            self.line = at + 1;
            if byte == b'\n' {
                self.term = Term::Lf;
                if blank {
                    return Some(self.pos);
                }
            } else if blank && lone_before {
                self.skip_lf = true;
                return Some(self.pos);
            } else {
                self.cr = Some(blank);
            }
        }
    }

    fn cut(&mut self, end: usize) -> Result<Event, SseError> {
        let raw = self.buf.split_to(end).freeze();
        self.line = 0;
        self.pos = 0;
        self.term = Term::None;
        self.cr = None;
        read(raw)
    }
}

/// Reads the fields of one whole event.
fn read(raw: Bytes) -> Result<Event, SseError> {
    let text = match std::str::from_utf8(&raw) {
        Ok(text) => text,
        Err(e) => {
            return Err(SseError::NotUtf8 {
                at: e.valid_up_to(),
                raw,
            });
        }
    };
    let mut event = Event {
        comment_only: true,
        ..Event::default()
    };
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while !rest.is_empty() {
        let end = memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or("");
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if !event.comment_only {
                    event.data.push('\n');
                }
                event.data.push_str(value);
                event.comment_only = false;
            }
            "event" => event.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => event.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                event.retry = value.parse().ok();
            }
            // A line with an empty field name is a comment; unknown fields are ignored alike.
            _ => {}
        }
    }
    event.raw = raw;
    Ok(event)
}

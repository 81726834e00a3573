//! Ordered splice editors over original JSON text.
//!
//! Parsing records spans and builds no tree. Untouched text comes back byte for byte; an edit
//! changes the member it names and no other byte.

mod array;
mod object;

pub use array::RawArray;
pub use object::RawObject;

use thiserror::Error;

/// Why a text could not be read or edited as JSON. Offsets are bytes from the start of the text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RawError {
    /// The bytes are not UTF-8.
    #[error("body is not UTF-8 at byte {at}; hint: send JSON as UTF-8")]
    NotUtf8 {
        /// First wrong byte.
        at: usize,
    },
    /// Something else was needed here.
    #[error(
        "body is not JSON at byte {at}: expected {expected}; hint: check the body with a JSON parser"
    )]
    Syntax {
        /// Where.
        at: usize,
        /// What was needed.
        expected: &'static str,
    },
    /// The text ends inside a value.
    #[error(
        "body ends inside a JSON value; hint: it was cut on the way, or its content-length is wrong"
    )]
    Cut,
    /// Containers nest too deeply.
    #[error("body nests deeper than {limit} levels at byte {at}; hint: flatten it", limit = crate::json::MAX_DEPTH)]
    TooDeep {
        /// Where.
        at: usize,
    },
    /// A value is there, and of another kind.
    #[error("JSON value is not {expected}; hint: this place takes {expected} only")]
    Kind {
        /// The kind that was needed, with its article.
        expected: &'static str,
    },
}

impl RawError {
    pub(crate) fn syntax(at: usize, expected: &'static str) -> Self {
        Self::Syntax { at, expected }
    }
}

/// Takes bytes as text, without a copy.
fn utf8(bytes: Vec<u8>) -> Result<String, RawError> {
    String::from_utf8(bytes).map_err(|e| RawError::NotUtf8 {
        at: e.utf8_error().valid_up_to(),
    })
}

/// Checks that a text is exactly one value, white space aside.
fn one_value(json: &str) -> Result<(), RawError> {
    let b = json.as_bytes();
    let end = crate::json::value_end(b, crate::json::skip_ws(b, 0))?;
    trailing(b, end)
}

/// A value without the white space around it, so that its first byte tells its kind.
fn trimmed(json: String) -> String {
    let inner = json.trim_matches([' ', '\n', '\r', '\t']);
    if inner.len() == json.len() {
        json
    } else {
        inner.to_owned()
    }
}

fn trailing(b: &[u8], end: usize) -> Result<(), RawError> {
    let rest = crate::json::skip_ws(b, end);
    if rest == b.len() {
        Ok(())
    } else {
        Err(RawError::syntax(rest, "the end of the text"))
    }
}

/// A stretch of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Span(usize, usize);

impl Span {
    fn text(self, src: &str) -> &str {
        src.get(self.0..self.1).unwrap_or("")
    }
}

/// A stretch of the source, or text of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Src(Span),
    New(String),
}

impl Piece {
    fn text<'a>(&'a self, src: &'a str) -> &'a str {
        match self {
            Self::Src(span) => span.text(src),
            Self::New(text) => text,
        }
    }
}

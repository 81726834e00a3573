//! JSON text by spans: find members and elements, read scalars, tell whether a text is complete.
//!
//! The scanner checks structure (brackets, commas, keys, numbers, literals) and leaves the inside of
//! strings alone: raw control characters pass, because refusing a body is the backend's business.
//! `NaN` and `Infinity`, which Python servers write, are taken as opaque scalars.

mod open;
mod scan;
mod string;

pub use open::{Progress, Tracker, json_is_open};
pub use scan::{Elements, MAX_DEPTH, Members, elements, member, members};
pub(crate) use scan::{key_end, skip_ws, value_end};
pub use string::{decode, encode, key_as, key_is};

/// The kind of a JSON value, told by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number, `NaN` and the infinities among them.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

/// The kind of a raw value; `None` for text that starts no value.
pub fn kind(raw: &str) -> Option<Kind> {
    Some(match raw.as_bytes().first()? {
        b'{' => Kind::Object,
        b'[' => Kind::Array,
        b'"' => Kind::String,
        b't' | b'f' => Kind::Bool,
        b'n' => Kind::Null,
        b'-' | b'0'..=b'9' | b'N' | b'I' => Kind::Number,
        _ => return None,
    })
}

/// A non-negative integer; `8192.0` and `8e3` count as integers too.
pub fn as_u64(raw: &str) -> Option<u64> {
    if let Ok(n) = raw.parse::<u64>() {
        return Some(n);
    }
    let f: f64 = raw.parse().ok()?;
    (kind(raw) == Some(Kind::Number)
        && f >= 0.0
        && f.fract() == 0.0
        && f < 9.007_199_254_740_992e15)
        .then_some(f as u64)
}

/// `true` or `false`.
pub fn as_bool(raw: &str) -> Option<bool> {
    match raw {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Whether a value is there and is not `null`.
pub fn present(raw: Option<&str>) -> bool {
    raw.is_some_and(|r| r != "null")
}

//! JSON strings: decode tolerantly, encode plainly.

use std::borrow::Cow;
use std::cmp::Ordering;

/// The text of a raw string (quotes included); `None` when it is not a string.
///
/// Lone surrogates and unknown escapes never fail a body: they become U+FFFD and the escaped
/// character itself. The raw text stays the truth for whatever is passed on.
pub fn decode(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(n) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..n]);
        let mut chars = rest[n + 1..].chars();
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let (c, used) = escaped(chars.as_str());
                out.push(c);
                rest = chars.as_str().get(used..).unwrap_or("");
                continue;
            }
            Some(c) => out.push(c),
            None => out.push('\u{fffd}'),
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

fn hex4(text: &str) -> Option<u32> {
    let four = text.get(..4)?;
    four.bytes()
        .all(|b| b.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(four, 16).ok())?
}

/// The character of `XXXX` or `XXXX\uXXXX` after `\u`, and how many bytes that took.
fn escaped(text: &str) -> (char, usize) {
    let Some(first) = hex4(text) else {
        return ('\u{fffd}', 0);
    };
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = text
            .get(4..6)
            .filter(|s| *s == "\\u")
            .and_then(|_| hex4(&text[6..]))
        && (0xdc00..0xe000).contains(&second)
    {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code).unwrap_or('\u{fffd}'), 10);
    }
    (char::from_u32(first).unwrap_or('\u{fffd}'), 4)
}

/// A text as a raw string, quotes included; only what must be escaped is.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut from = 0;
    for (i, b) in text.bytes().enumerate() {
        let short = match b {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[from..i]);
        from = i + 1;
        if short.is_empty() {
            out.push_str("\\u00");
            out.push(char::from_digit(u32::from(b >> 4), 16).unwrap_or('0'));
            out.push(char::from_digit(u32::from(b & 15), 16).unwrap_or('0'));
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
    out
}

/// Whether a key as written (quotes included) is `name`.
pub fn key_is(raw: &str, name: &str) -> bool {
    let (raw_bytes, n) = (raw.as_bytes(), name.len());
    // Escapes only make a key longer: an equal length decides by the bytes, a shorter key is another.
    match raw_bytes.len().cmp(&(n + 2)) {
        Ordering::Less => false,
        Ordering::Equal => raw_bytes.get(1..=n) == Some(name.as_bytes()) && !name.contains('\\'),
        Ordering::Greater => raw_bytes.contains(&b'\\') && decode(raw).is_some_and(|d| d == name),
    }
}

/// What `of` makes of a key as written (quotes included), read as plain text first and decoded where it has escapes.
pub fn key_as<T>(raw: &str, of: impl Fn(&str) -> Option<T>) -> Option<T> {
    let inner = raw.get(1..raw.len().checked_sub(1)?)?;
    of(inner).or_else(|| {
        if inner.contains('\\') {
            of(&decode(raw)?)
        } else {
            None
        }
    })
}

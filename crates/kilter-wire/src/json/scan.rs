//! The structural scanner: where a value ends, and what members or elements it has.

use memchr::memchr2;

use crate::raw::RawError;

/// Containers that may stand in one another. Deeper text is refused: it is an attack, not a chat.
pub const MAX_DEPTH: usize = 512;

/// First byte at or after `i` that is no JSON white space.
pub(crate) fn skip_ws(b: &[u8], mut i: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = b.get(i) {
        i += 1;
    }
    i
}

/// Which containers are open: one bit each, so that scanning allocates nothing.
struct Stack {
    bits: [u64; MAX_DEPTH / 64],
    depth: usize,
}

impl Stack {
    fn push(&mut self, object: bool, at: usize) -> Result<(), RawError> {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        let Some(w) = self.bits.get_mut(word) else {
            return Err(RawError::TooDeep { at });
        };
        if object {
            *w |= 1 << bit;
        } else {
            *w &= !(1 << bit);
        }
        self.depth += 1;
        Ok(())
    }

    fn in_object(&self) -> bool {
        let d = self.depth - 1;
        self.bits[d / 64] >> (d % 64) & 1 == 1
    }
}

/// The bytes of a word that are `"` or `\\`, as their high bits. Bits above the lowest may be wrong, the lowest never is
/// (Mycroft's zero-byte test).
const fn marks(word: u64) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let quote = word ^ (LOW * b'"' as u64);
    let slash = word ^ (LOW * b'\\' as u64);
    ((quote.wrapping_sub(LOW) & !quote) | (slash.wrapping_sub(LOW) & !slash)) & HIGH
}

/// First `"` or `\\` at or after `at`.
fn mark(b: &[u8], mut at: usize) -> Option<usize> {
    // Keys and words are short: two words of eight bytes before the vector search, which costs more to begin with.
    for _ in 0..2 {
        let Some(word) = b.get(at..).and_then(|r| r.first_chunk::<8>()) else {
            break;
        };
        let found = marks(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    Some(at + memchr2(b'"', b'\\', b.get(at..)?)?)
}

/// End of the string whose opening quote is at `i`.
fn string_end(b: &[u8], i: usize) -> Result<usize, RawError> {
    let mut at = i + 1;
    loop {
        let n = mark(b, at).ok_or(RawError::Cut)?;
        if b.get(n) == Some(&b'"') {
            return Ok(n + 1);
        }
        at = n + 2;
    }
}

/// End of `"key" :` at `i`; the next byte belongs to the value or to white space before it.
pub(crate) fn key_end(b: &[u8], i: usize) -> Result<(usize, usize), RawError> {
    match b.get(i) {
        Some(b'"') => {}
        Some(_) => return Err(RawError::syntax(i, "a key in double quotes")),
        None => return Err(RawError::Cut),
    }
    let key = string_end(b, i)?;
    let colon = skip_ws(b, key);
    match b.get(colon) {
        Some(b':') => Ok((key, colon + 1)),
        Some(_) => Err(RawError::syntax(colon, "`:`")),
        None => Err(RawError::Cut),
    }
}

fn word_end(b: &[u8], i: usize, word: &'static str) -> Result<usize, RawError> {
    let end = (i + word.len()).min(b.len());
    if b[i..end] == word.as_bytes()[..end - i] {
        if end - i == word.len() {
            Ok(end)
        } else {
            Err(RawError::Cut)
        }
    } else {
        Err(RawError::syntax(i, "a JSON value"))
    }
}

fn digits(b: &[u8], mut i: usize) -> usize {
    while let Some(b'0'..=b'9') = b.get(i) {
        i += 1;
    }
    i
}

fn number_end(b: &[u8], start: usize) -> Result<usize, RawError> {
    let mut i = start;
    if b.get(i) == Some(&b'-') {
        i += 1;
        if b.get(i) == Some(&b'I') {
            return word_end(b, i, "Infinity");
        }
    }
    let need = |from: usize| -> Result<usize, RawError> {
        let to = digits(b, from);
        if to > from {
            Ok(to)
        } else if from >= b.len() {
            Err(RawError::Cut)
        } else {
            Err(RawError::syntax(from, "a digit"))
        }
    };
    i = if b.get(i) == Some(&b'0') {
        i + 1
    } else {
        need(i)?
    };
    if b.get(i) == Some(&b'.') {
        i = need(i + 1)?;
    }
    if let Some(b'e' | b'E') = b.get(i) {
        i += 1;
        if let Some(b'+' | b'-') = b.get(i) {
            i += 1;
        }
        i = need(i)?;
    }
    Ok(i)
}

/// End of the value that starts at `i`, which must not be white space.
pub(crate) fn value_end(b: &[u8], i: usize) -> Result<usize, RawError> {
    match b.get(i) {
        Some(b'{' | b'[') => container_end(b, i),
        _ => scalar_end(b, i),
    }
}

fn scalar_end(b: &[u8], i: usize) -> Result<usize, RawError> {
    match b.get(i) {
        None => Err(RawError::Cut),
        Some(b'"') => string_end(b, i),
        Some(b'-' | b'0'..=b'9') => number_end(b, i),
        Some(b't') => word_end(b, i, "true"),
        Some(b'f') => word_end(b, i, "false"),
        Some(b'n') => word_end(b, i, "null"),
        Some(b'N') => word_end(b, i, "NaN"),
        Some(b'I') => word_end(b, i, "Infinity"),
        Some(_) => Err(RawError::syntax(i, "a JSON value")),
    }
}

fn container_end(b: &[u8], mut i: usize) -> Result<usize, RawError> {
    let mut stack = Stack {
        bits: [0; MAX_DEPTH / 64],
        depth: 0,
    };
    loop {
        i = match b.get(i) {
            Some(b'{') => {
                let inner = skip_ws(b, i + 1);
                if b.get(inner) == Some(&b'}') {
                    inner + 1
                } else {
                    stack.push(true, i)?;
                    i = skip_ws(b, key_end(b, inner)?.1);
                    continue;
                }
            }
            Some(b'[') => {
                let inner = skip_ws(b, i + 1);
                if b.get(inner) == Some(&b']') {
                    inner + 1
                } else {
                    stack.push(false, i)?;
                    i = inner;
                    continue;
                }
            }
            _ => scalar_end(b, i)?,
        };
        // A value ended at `i`: close what closes, or go on behind a comma.
        loop {
            if stack.depth == 0 {
                return Ok(i);
            }
            i = skip_ws(b, i);
            let object = stack.in_object();
            match b.get(i) {
                None => return Err(RawError::Cut),
                Some(b',') => {
                    i = skip_ws(b, i + 1);
                    if object {
                        i = skip_ws(b, key_end(b, i)?.1);
                    }
                    break;
                }
                Some(b'}') if object => {
                    stack.depth -= 1;
                    i += 1;
                }
                Some(b']') if !object => {
                    stack.depth -= 1;
                    i += 1;
                }
                Some(_) => return Err(RawError::syntax(i, "`,` or the end of the container")),
            }
        }
    }
}

/// Borrowed walk over the members of one object. Ends early on text that is no object.
pub struct Members<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    /// The key as written, quotes included, and the raw value.
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let b = self.text.as_bytes();
        let key = skip_ws(b, self.at);
        let (key_to, after) = key_end(b, key).ok()?;
        let value = skip_ws(b, after);
        let value_to = value_end(b, value).ok()?;
        let next = skip_ws(b, value_to);
        self.at = if b.get(next) == Some(&b',') {
            next + 1
        } else {
            b.len()
        };
        Some((self.text.get(key..key_to)?, self.text.get(value..value_to)?))
    }
}

/// The members of a raw object, in order; none when it is not an object.
pub fn members(text: &str) -> Members<'_> {
    let start = skip_ws(text.as_bytes(), 0);
    let at = match text.as_bytes().get(start) {
        Some(b'{') => start + 1,
        _ => text.len(),
    };
    Members { text, at }
}

/// The raw value of a member. The last one wins, as in every common parser.
pub fn member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    members(text)
        .filter(|(k, _)| super::key_is(k, key))
        .last()
        .map(|(_, v)| v)
}

/// Borrowed walk over the elements of one array. Ends early on text that is no array.
pub struct Elements<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let b = self.text.as_bytes();
        let value = skip_ws(b, self.at);
        let to = value_end(b, value).ok()?;
        let next = skip_ws(b, to);
        self.at = if b.get(next) == Some(&b',') {
            next + 1
        } else {
            b.len()
        };
        self.text.get(value..to)
    }
}

/// The elements of a raw array, in order; none when it is not an array.
pub fn elements(text: &str) -> Elements<'_> {
    let start = skip_ws(text.as_bytes(), 0);
    let at = match text.as_bytes().get(start) {
        Some(b'[') => start + 1,
        _ => text.len(),
    };
    Elements { text, at }
}

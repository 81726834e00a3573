//! The editor of one object.

use std::borrow::Cow;

use bytes::Bytes;

use super::{Piece, RawArray, RawError, Span, one_value, trailing, trimmed, utf8};
use crate::json;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    /// White space before the key.
    lead: Span,
    /// The key with its quotes.
    key: Piece,
    /// The colon and white space around it; empty for a member of ours.
    mid: Span,
    value: Piece,
    /// White space before the comma. That of the last member belongs to the tail.
    trail: Span,
}

impl Member {
    fn write(&self, src: &str, out: &mut String) {
        out.push_str(self.lead.text(src));
        out.push_str(self.key.text(src));
        match self.mid.text(src) {
            "" => out.push(':'),
            mid => out.push_str(mid),
        }
        out.push_str(self.value.text(src));
        out.push_str(self.trail.text(src));
    }
}

/// An object as it was written, editable member by member.
///
/// ```
/// use kilter_wire::RawObject;
/// # fn main() -> Result<(), kilter_wire::RawError> {
/// let mut o = RawObject::parse(br#"{ "a" : 1.0,  "b":[ ] , "a":2}"#)?;
/// assert_eq!(o.get("a"), Some("2")); // the last one wins
/// o.set("b", "true")?;
/// o.remove("a");
/// assert_eq!(o.to_text(), r#"{  "b":true }"#);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawObject {
    src: String,
    /// End of `{`.
    head: usize,
    /// Start of the white space before `}`.
    tail: usize,
    members: Vec<Member>,
    edited: bool,
}

impl Default for RawObject {
    fn default() -> Self {
        Self {
            src: "{}".to_owned(),
            head: 1,
            tail: 1,
            members: Vec::new(),
            edited: false,
        }
    }
}

impl RawObject {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one object, white space around it allowed. Copies the bytes; see
    /// [`RawObject::from_vec`] for large bodies.
    pub fn parse(bytes: &[u8]) -> Result<Self, RawError> {
        Self::from_vec(bytes.to_vec())
    }

    /// Reads one object without a copy.
    pub fn from_vec(bytes: Vec<u8>) -> Result<Self, RawError> {
        Self::from_text(utf8(bytes)?)
    }

    /// Reads one object from text, without a copy when it is a `String`.
    pub fn from_text(text: impl Into<String>) -> Result<Self, RawError> {
        Self::scan(text.into())
    }

    fn scan(src: String) -> Result<Self, RawError> {
        let b = src.as_bytes();
        let open = json::skip_ws(b, 0);
        match b.get(open) {
            Some(b'{') => {}
            Some(_) => {
                one_value(&src)?;
                return Err(RawError::Kind {
                    expected: "an object",
                });
            }
            None => return Err(RawError::Cut),
        }
        let head = open + 1;
        let mut members = Vec::with_capacity(8);
        let mut lead = head;
        let mut at = json::skip_ws(b, head);
        let mut tail = head;
        if b.get(at) == Some(&b'}') {
            trailing(b, at + 1)?;
        } else {
            loop {
                let (key_to, colon) = json::key_end(b, at)?;
                let value = json::skip_ws(b, colon);
                let value_to = json::value_end(b, value)?;
                let next = json::skip_ws(b, value_to);
                let mut member = Member {
                    lead: Span(lead, at),
                    key: Piece::Src(Span(at, key_to)),
                    mid: Span(key_to, value),
                    value: Piece::Src(Span(value, value_to)),
                    trail: Span::default(),
                };
                match b.get(next) {
                    Some(b',') => {
                        member.trail = Span(value_to, next);
                        members.push(member);
                        lead = next + 1;
                        at = json::skip_ws(b, lead);
                    }
                    Some(b'}') => {
                        members.push(member);
                        tail = value_to;
                        trailing(b, next + 1)?;
                        break;
                    }
                    Some(_) => return Err(RawError::syntax(next, "`,` or `}`")),
                    None => return Err(RawError::Cut),
                }
            }
        }
        Ok(Self {
            src,
            head,
            tail,
            members,
            edited: false,
        })
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.members
            .iter()
            .rposition(|m| json::key_is(m.key.text(&self.src), key))
    }

    /// The raw value of a member; the last one of that name.
    pub fn get(&self, key: &str) -> Option<&str> {
        let m = self.members.get(self.find(key)?)?;
        Some(m.value.text(&self.src))
    }

    /// A string member, decoded.
    pub fn get_str(&self, key: &str) -> Option<Cow<'_, str>> {
        json::decode(self.get(key)?)
    }

    /// A non-negative integer member.
    pub fn get_u64(&self, key: &str) -> Option<u64> {
        json::as_u64(self.get(key)?)
    }

    /// A boolean member.
    pub fn get_bool(&self, key: &str) -> Option<bool> {
        json::as_bool(self.get(key)?)
    }

    /// Whether there is a member of that name, `null` included.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// A copy of an object member, to edit and set back.
    pub fn object(&self, key: &str) -> Option<Self> {
        Self::from_text(self.get(key)?).ok()
    }

    /// A copy of an array member, to edit and set back.
    pub fn array(&self, key: &str) -> Option<RawArray> {
        RawArray::from_text(self.get(key)?).ok()
    }

    /// The members in order: key as written (with quotes) and raw value.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members
            .iter()
            .map(|m| (m.key.text(&self.src), m.value.text(&self.src)))
    }

    /// How many members there are, doubles included.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether anything was changed.
    pub fn is_edited(&self) -> bool {
        self.edited
    }

    /// Sets a member to a raw value, in place or at the end. Doubles of it go. The value is checked.
    pub fn set(&mut self, key: &str, json: impl Into<String>) -> Result<(), RawError> {
        self.checked(key, json.into())
    }

    fn checked(&mut self, key: &str, json: String) -> Result<(), RawError> {
        one_value(&json)?;
        self.put(key, trimmed(json));
        Ok(())
    }

    fn put(&mut self, key: &str, json: String) {
        if self.get(key) == Some(json.as_str()) && self.count(key) == 1 {
            return;
        }
        self.edited = true;
        if let Some(at) = self.find(key) {
            if let Some(m) = self.members.get_mut(at) {
                m.value = Piece::New(json);
            }
            self.retain(|i, is| !is || i == at, key);
        } else {
            self.members.push(Member {
                lead: Span::default(),
                key: Piece::New(json::encode(key)),
                mid: Span::default(),
                value: Piece::New(json),
                trail: Span::default(),
            });
        }
    }

    fn count(&self, key: &str) -> usize {
        self.members
            .iter()
            .filter(|m| json::key_is(m.key.text(&self.src), key))
            .count()
    }

    fn retain(&mut self, keep: impl Fn(usize, bool) -> bool, key: &str) {
        let src = std::mem::take(&mut self.src);
        let mut i = 0;
        self.members.retain(|m| {
            let is = json::key_is(m.key.text(&src), key);
            i += 1;
            keep(i - 1, is)
        });
        self.src = src;
    }

    /// Sets a member to a string.
    pub fn set_str(&mut self, key: &str, text: &str) {
        self.put(key, json::encode(text));
    }

    /// Sets a member to an integer.
    pub fn set_u64(&mut self, key: &str, n: u64) {
        self.put(key, n.to_string());
    }

    /// Sets a member to a boolean.
    pub fn set_bool(&mut self, key: &str, b: bool) {
        self.put(key, b.to_string());
    }

    /// Sets a member to `null`.
    pub fn set_null(&mut self, key: &str) {
        self.put(key, "null".to_owned());
    }

    /// Sets a member to a value of our own making.
    pub fn set_value(&mut self, key: &str, value: &serde_json::Value) {
        self.put(key, value.to_string());
    }

    /// Sets a member to an edited child.
    pub fn set_object(&mut self, key: &str, child: &Self) {
        self.put(key, trimmed(child.to_text().into_owned()));
    }

    /// Sets a member to an edited child.
    pub fn set_array(&mut self, key: &str, child: &RawArray) {
        self.put(key, trimmed(child.to_text().into_owned()));
    }

    /// Takes out every member of that name; whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.members.len();
        self.retain(|_, is| !is, key);
        let gone = self.members.len() != before;
        self.edited |= gone;
        gone
    }

    /// Gives a member another name, in its place; whether there was one. An older member of the new
    /// name goes, and doubles of the old name go.
    pub fn rename(&mut self, from: &str, to: &str) -> bool {
        if from == to {
            return self.has(from);
        }
        if !self.has(from) {
            return false;
        }
        self.remove(to);
        if let Some(at) = self.find(from) {
            self.retain(|i, is| !is || i == at, from);
        }
        if let Some(at) = self.find(from)
            && let Some(m) = self.members.get_mut(at)
        {
            m.key = Piece::New(json::encode(to));
        }
        self.edited = true;
        true
    }

    /// The text: the original where nothing was changed.
    pub fn to_text(&self) -> Cow<'_, str> {
        if !self.edited {
            return Cow::Borrowed(&self.src);
        }
        let mut out = String::with_capacity(self.src.len() + 64);
        out.push_str(self.src.get(..self.head).unwrap_or("{"));
        for (i, m) in self.members.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            m.write(&self.src, &mut out);
        }
        out.push_str(self.src.get(self.tail..).unwrap_or("}"));
        Cow::Owned(out)
    }

    /// The bytes of [`RawObject::to_text`].
    pub fn to_bytes(&self) -> Bytes {
        Bytes::from(self.to_text().into_owned())
    }

    /// The bytes, without a copy where nothing was changed.
    pub fn into_bytes(self) -> Bytes {
        if self.edited {
            self.to_bytes()
        } else {
            Bytes::from(self.src)
        }
    }
}

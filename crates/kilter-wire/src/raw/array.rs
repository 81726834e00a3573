//! The editor of one array.

use std::borrow::Cow;

use bytes::Bytes;

use super::{Piece, RawError, RawObject, Span, one_value, trailing, trimmed, utf8};
use crate::json;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Element {
    lead: Span,
    value: Piece,
    /// White space before the comma. That of the last element belongs to the tail.
    trail: Span,
}

/// An array as it was written, editable element by element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawArray {
    src: String,
    head: usize,
    tail: usize,
    elements: Vec<Element>,
    edited: bool,
}

impl Default for RawArray {
    fn default() -> Self {
        Self {
            src: "[]".to_owned(),
            head: 1,
            tail: 1,
            elements: Vec::new(),
            edited: false,
        }
    }
}

impl RawArray {
    /// An empty array.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one array, white space around it allowed. Copies the bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, RawError> {
        Self::from_text(utf8(bytes.to_vec())?)
    }

    /// Reads one array from text, without a copy when it is a `String`.
    pub fn from_text(text: impl Into<String>) -> Result<Self, RawError> {
        Self::scan(text.into())
    }

    fn scan(src: String) -> Result<Self, RawError> {
        let b = src.as_bytes();
        let open = json::skip_ws(b, 0);
        match b.get(open) {
            Some(b'[') => {}
            Some(_) => {
                one_value(&src)?;
                return Err(RawError::Kind {
                    expected: "an array",
                });
            }
            None => return Err(RawError::Cut),
        }
        let head = open + 1;
        let mut elements = Vec::new();
        let mut lead = head;
        let mut tail = head;
        let first = json::skip_ws(b, head);
        if b.get(first) == Some(&b']') {
            trailing(b, first + 1)?;
        } else {
            loop {
                let value = json::skip_ws(b, lead);
                let to = json::value_end(b, value)?;
                let next = json::skip_ws(b, to);
                let last = match b.get(next) {
                    Some(b',') => false,
                    Some(b']') => true,
                    Some(_) => return Err(RawError::syntax(next, "`,` or `]`")),
                    None => return Err(RawError::Cut),
                };
                elements.push(Element {
                    lead: Span(lead, value),
                    value: Piece::Src(Span(value, to)),
                    trail: Span(to, if last { to } else { next }),
                });
                if last {
                    tail = to;
                    trailing(b, next + 1)?;
                    break;
                }
                lead = next + 1;
            }
        }
        Ok(Self {
            src,
            head,
            tail,
            elements,
            edited: false,
        })
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Whether anything was changed.
    pub fn is_edited(&self) -> bool {
        self.edited
    }

    /// The raw value at a position.
    pub fn get(&self, at: usize) -> Option<&str> {
        Some(self.elements.get(at)?.value.text(&self.src))
    }

    /// A copy of an object element, to edit and set back.
    pub fn object(&self, at: usize) -> Option<RawObject> {
        RawObject::from_text(self.get(at)?).ok()
    }

    /// The raw values in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().map(|e| e.value.text(&self.src))
    }

    /// Replaces an element; `false` when there is none there.
    pub fn set(&mut self, at: usize, json: impl Into<String>) -> Result<bool, RawError> {
        let json: String = json.into();
        one_value(&json)?;
        Ok(self.put(at, trimmed(json)))
    }

    fn put(&mut self, at: usize, json: String) -> bool {
        if self.get(at) == Some(json.as_str()) {
            return true;
        }
        let Some(e) = self.elements.get_mut(at) else {
            return false;
        };
        e.value = Piece::New(json);
        self.edited = true;
        true
    }

    /// Replaces an element by an edited child; `false` when there is none there.
    pub fn set_object(&mut self, at: usize, child: &RawObject) -> bool {
        self.put(at, trimmed(child.to_text().into_owned()))
    }

    /// Puts a raw value before position `at`, or at the end.
    pub fn insert(&mut self, at: usize, json: impl Into<String>) -> Result<(), RawError> {
        let json: String = json.into();
        one_value(&json)?;
        let at = at.min(self.elements.len());
        self.elements.insert(
            at,
            Element {
                lead: Span::default(),
                value: Piece::New(trimmed(json)),
                trail: Span::default(),
            },
        );
        self.edited = true;
        Ok(())
    }

    /// Puts a raw value at the end.
    pub fn push(&mut self, json: impl Into<String>) -> Result<(), RawError> {
        self.insert(usize::MAX, json)
    }

    /// Takes an element out; whether there was one.
    pub fn remove(&mut self, at: usize) -> bool {
        if at >= self.elements.len() {
            return false;
        }
        self.elements.remove(at);
        self.edited = true;
        true
    }

    /// The text: the original where nothing was changed.
    pub fn to_text(&self) -> Cow<'_, str> {
        if !self.edited {
            return Cow::Borrowed(&self.src);
        }
        let mut out = String::with_capacity(self.src.len() + 64);
        out.push_str(self.src.get(..self.head).unwrap_or("["));
        for (i, e) in self.elements.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push_str(e.lead.text(&self.src));
            out.push_str(e.value.text(&self.src));
            out.push_str(e.trail.text(&self.src));
        }
        out.push_str(self.src.get(self.tail..).unwrap_or("]"));
        Cow::Owned(out)
    }

    /// The bytes of [`RawArray::to_text`].
    pub fn to_bytes(&self) -> Bytes {
        Bytes::from(self.to_text().into_owned())
    }
}

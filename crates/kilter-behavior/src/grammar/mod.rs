//! The payload grammars, each a resumable machine that reads every byte once.

pub(crate) mod element;
pub(crate) mod extract;
pub(crate) mod header;
pub(crate) mod json;
pub(crate) mod notation;
pub(crate) mod pairs;
pub(crate) mod python;
pub(crate) mod tags;
pub(crate) mod track;

use std::ops::Range;

use crate::dialect::{Dialect, Grammar};
use crate::lit::Node;
use crate::tools::ToolSet;

/// A call as written, before typing and boundary.
#[derive(Debug, Clone)]
pub(crate) struct RawCall {
    pub(crate) name: String,
    pub(crate) args: Args,
    pub(crate) id: Option<String>,
    /// The payload without markers, in the candidate's text.
    pub(crate) span: Range<usize>,
    /// The payload is the name alone: an echo is judged by the span with its markers.
    pub(crate) bare: bool,
}

/// Arguments as written.
#[derive(Debug, Clone)]
pub(crate) enum Args {
    /// A typed object.
    Object(Node),
    /// Text of parameters.
    Params(Vec<Param>),
    /// Python arguments: by position, then by name.
    Python(Vec<Node>, Vec<(String, Node)>),
}

/// One parameter as text.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) wire: Wire,
}

/// Text or nested elements.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Nested(Vec<Param>),
    List(Vec<Value>),
}

/// What the wire says about a value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Unsaid,
    Text,
    Json,
}

/// What a machine knows so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// It needs more text.
    More,
    /// The payload ends before this offset.
    Done(usize),
    /// It is no payload of this grammar.
    Fail(Why),
}

/// Why a payload is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// Simply something else.
    Other,
    /// It began as a call and the text ended.
    Cut(Option<String>),
    /// It is a call to something that was not offered.
    Undeclared(String),
}

/// What a machine may look at.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    pub(crate) d: &'a Dialect,
    pub(crate) tools: &'a ToolSet,
    /// No marker stands before it: only declared names count.
    pub(crate) weak: bool,
}

impl Cx<'_> {
    /// Whether a name may be that of a call here.
    pub(crate) fn known(&self, name: &str) -> bool {
        !self.tools.is_declared_rule_on() || self.tools.resolve(name).is_some()
    }
}

/// A match of one of several literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lit {
    No,
    /// The text ends inside a literal.
    Part,
    Yes(usize),
}

/// The longest of `lits` at `i`. With `nonce` a `:suffix` may stand before a final `>`.
pub(crate) fn lit(t: &str, i: usize, lits: &[String], nonce: bool, eof: bool) -> Lit {
    let b = t.as_bytes();
    let Some(rest) = b.get(i..) else {
        return Lit::No;
    };
    let mut best = Lit::No;
    for l in lits {
        let l = l.as_bytes();
        if rest.starts_with(l) {
            best = better(best, i + l.len());
        } else if !eof && rest.len() < l.len() && l.starts_with(rest) {
            return Lit::Part;
        } else if nonce && l.last() == Some(&b'>') {
            let head = &l[..l.len() - 1];
            if rest.starts_with(head) && rest.get(head.len()) == Some(&b':') {
                let from = head.len() + 1;
                let mut k = from;
                while k - from < 40
                    && rest
                        .get(k)
                        .is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'_' || *c == b'-')
                {
                    k += 1;
                }
                match rest.get(k) {
                    None if !eof => return Lit::Part,
                    Some(b'>') if k > from => best = better(best, i + k + 1),
                    _ => {}
                }
            }
        }
    }
    best
}

fn better(best: Lit, end: usize) -> Lit {
    match best {
        Lit::Yes(e) if e >= end => best,
        _ => Lit::Yes(end),
    }
}

/// The first offset at or after `i` that is no ASCII white space.
pub(crate) fn skip_ws(t: &str, mut i: usize) -> usize {
    let b = t.as_bytes();
    while b.get(i).is_some_and(u8::is_ascii_whitespace) {
        i += 1;
    }
    i
}

/// Bytes of a tool's name.
pub(crate) fn name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'.' || b >= 0x80
}

/// Where a name that starts at `i` ends.
pub(crate) fn name_end(t: &str, i: usize) -> usize {
    let b = t.as_bytes();
    let mut j = i;
    while b.get(j).is_some_and(|c| name_byte(*c)) {
        j += 1;
    }
    j
}

/// Longest name that is read.
pub(crate) const NAME_MAX: usize = 128;

/// A machine for one payload.
#[derive(Debug, Clone)]
pub(crate) enum Engine {
    Json(json::Json),
    Name(header::Name),
    Tags(tags::Elements),
    Pairs(pairs::KeyValue),
    Python(python::Calls),
    Notation(notation::Bare),
    Channel(header::Message),
}

impl Engine {
    /// Starts at offset `at`.
    pub(crate) fn new(grammar: Grammar, at: usize) -> Self {
        match grammar {
            Grammar::Json => Self::Json(json::Json::new(at)),
            Grammar::NameJson => Self::Name(header::Name::new(at)),
            Grammar::Tags => Self::Tags(tags::Elements::new(at)),
            Grammar::Pairs => Self::Pairs(pairs::KeyValue::new(at)),
            Grammar::Python => Self::Python(python::Calls::new(at)),
            Grammar::Notation => Self::Notation(notation::Bare::new(at)),
            Grammar::Channel => Self::Channel(header::Message::new(at)),
        }
    }

    /// Reads on. `t` always starts at the candidate's start.
    pub(crate) fn advance(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Step {
        match self {
            Self::Json(e) => e.advance(t, eof, cx),
            Self::Name(e) => e.advance(t, eof, cx),
            Self::Tags(e) => e.advance(t, eof, cx),
            Self::Pairs(e) => e.advance(t, eof, cx),
            Self::Python(e) => e.advance(t, eof, cx),
            Self::Notation(e) => e.advance(t, eof, cx),
            Self::Channel(e) => e.advance(t, eof, cx),
        }
    }

    /// How far it has read.
    pub(crate) fn cursor(&self) -> usize {
        match self {
            Self::Json(e) => e.cursor(),
            Self::Name(e) => e.cursor(),
            Self::Tags(e) => e.cursor(),
            Self::Pairs(e) => e.cursor(),
            Self::Python(e) => e.cursor(),
            Self::Notation(e) => e.cursor(),
            Self::Channel(e) => e.cursor(),
        }
    }

    /// The calls of a payload that is done.
    pub(crate) fn calls(&self, t: &str, cx: Cx<'_>) -> Option<Vec<RawCall>> {
        match self {
            Self::Json(e) => e.calls(t, cx),
            Self::Name(e) => e.calls(t),
            Self::Tags(e) => Some(e.calls()),
            Self::Pairs(e) => Some(e.calls()),
            Self::Python(e) => e.calls(t, cx),
            Self::Notation(e) => e.calls(t, cx),
            Self::Channel(e) => e.calls(t),
        }
    }
}

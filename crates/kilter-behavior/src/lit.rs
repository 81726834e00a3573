//! Literal values as models write them: JSON, Python literals and what lies between, with number
//! literals kept as written.

use std::fmt::Write as _;

/// Deepest nesting that is read.
pub(crate) const MAX_DEPTH: usize = 96;

/// A value and whether its source slice is already valid JSON.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// JSON text of this value when the source is valid JSON as it stands.
    pub(crate) exact: Option<Box<str>>,
    /// Byte range in the text that was parsed.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The kinds of values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// A number literal in JSON spelling.
    Num(String),
    Str(String),
    Arr(Vec<Node>),
    Obj(Vec<(String, Node)>),
    /// A bare word or expression that is no literal.
    Word(String),
}

impl Node {
    pub(crate) fn made(kind: Kind) -> Self {
        Self {
            kind,
            exact: None,
            start: 0,
            end: 0,
        }
    }

    pub(crate) fn str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Str(s) => Some(s),
            _ => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            // The last of several equal keys wins.
            Kind::Obj(o) => o.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// JSON text; slices that were JSON already are taken as written.
    pub(crate) fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        if let Some(e) = &self.exact {
            out.push_str(e);
            return;
        }
        match &self.kind {
            Kind::Null => out.push_str("null"),
            Kind::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Kind::Num(n) => out.push_str(n),
            Kind::Str(s) | Kind::Word(s) => quote(s, out),
            Kind::Arr(a) => {
                out.push('[');
                for (i, v) in a.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    v.write(out);
                }
                out.push(']');
            }
            Kind::Obj(o) => {
                out.push('{');
                for (i, (k, v)) in o.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    quote(k, out);
                    out.push_str(": ");
                    v.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Writes a JSON string.
pub(crate) fn quote(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Reads one value at the start of `text` (white space allowed before); the value and where it ends.
pub(crate) fn parse(text: &str) -> Option<(Node, usize)> {
    let mut p = Parser { t: text, i: 0 };
    p.ws();
    let n = p.value(0)?;
    Some((n, p.i))
}

/// Reads `text` as exactly one value, white space around it aside.
pub(crate) fn parse_all(text: &str) -> Option<Node> {
    let (n, end) = parse(text)?;
    text[end..].trim().is_empty().then_some(n)
}

struct Parser<'a> {
    t: &'a str,
    i: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.t.as_bytes().get(self.i).copied()
    }

    fn ws(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.i += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.i;
        let (kind, exact) = match self.peek()? {
            b'{' => self.object(depth)?,
            b'[' => self.array(depth, b']')?,
            b'(' => self.array(depth, b')')?,
            b'"' | b'\'' => {
                let (s, exact) = self.string(false)?;
                (Kind::Str(s), exact)
            }
            _ => self.word()?,
        };
        Some(Node {
            exact: exact.then(|| self.t[start..self.i].into()),
            kind,
            start,
            end: self.i,
        })
    }

    fn object(&mut self, depth: usize) -> Option<(Kind, bool)> {
        self.i += 1;
        let mut out = Vec::new();
        let mut exact = true;
        loop {
            self.ws();
            match self.peek()? {
                b'}' => {
                    self.i += 1;
                    // A trailing comma is no JSON.
                    return Some((Kind::Obj(out), exact));
                }
                b'"' | b'\'' => {
                    let (k, e) = self.string(true)?;
                    exact &= e;
                    self.entry(k, depth, &mut out, &mut exact)?;
                }
                _ => {
                    let start = self.i;
                    while self
                        .peek()
                        .is_some_and(|b| !b":,{}[]()\"'".contains(&b) && b != b'\n')
                    {
                        self.i += 1;
                    }
                    let k = self.t[start..self.i].trim().to_owned();
                    if k.is_empty() {
                        return None;
                    }
                    exact = false;
                    self.entry(k, depth, &mut out, &mut exact)?;
                }
            }
            self.ws();
            match self.peek()? {
                b',' => {
                    self.i += 1;
                    self.ws();
                    if self.peek()? == b'}' {
                        exact = false;
                    }
                }
                b'}' => {}
                _ => return None,
            }
        }
    }

    fn entry(
        &mut self,
        key: String,
        depth: usize,
        out: &mut Vec<(String, Node)>,
        exact: &mut bool,
    ) -> Option<()> {
        self.ws();
        if self.peek()? != b':' {
            return None;
        }
        self.i += 1;
        self.ws();
        let v = self.value(depth + 1)?;
        *exact &= v.exact.is_some();
        out.push((key, v));
        Some(())
    }

    fn array(&mut self, depth: usize, close: u8) -> Option<(Kind, bool)> {
        self.i += 1;
        let mut out = Vec::new();
        let mut exact = close == b']';
        loop {
            self.ws();
            if self.peek()? == close {
                self.i += 1;
                return Some((Kind::Arr(out), exact));
            }
            let v = self.value(depth + 1)?;
            exact &= v.exact.is_some();
            out.push(v);
            self.ws();
            match self.peek()? {
                b',' => {
                    self.i += 1;
                    self.ws();
                    if self.peek()? == close {
                        exact = false;
                    }
                }
                b if b == close => {}
                _ => return None,
            }
        }
    }

    /// A quoted string. An apostrophe or quote followed by a letter or digit is part of the text.
    fn string(&mut self, key: bool) -> Option<(String, bool)> {
        let q = self.peek()?;
        let mut exact = q == b'"';
        self.i += 1;
        let mut s = String::new();
        let bytes = self.t.as_bytes();
        loop {
            let from = self.i;
            while let Some(&b) = bytes.get(self.i) {
                if b == q || b == b'\\' || b < 0x20 {
                    break;
                }
                self.i += 1;
            }
            s.push_str(&self.t[from..self.i]);
            let b = *bytes.get(self.i)?;
            if b == q {
                if !key && bytes.get(self.i + 1).is_some_and(u8::is_ascii_alphanumeric) {
                    s.push(q as char);
                    self.i += 1;
                    exact = false;
                    continue;
                }
                self.i += 1;
                return Some((s, exact));
            }
            if b == b'\\' {
                exact &= self.escape(&mut s)?;
            } else {
                exact = false;
                s.push(b as char);
                self.i += 1;
            }
        }
    }

    /// One escape sequence; whether JSON has it.
    fn escape(&mut self, s: &mut String) -> Option<bool> {
        let bytes = self.t.as_bytes();
        let e = *bytes.get(self.i + 1)?;
        self.i += 2;
        match e {
            b'n' => s.push('\n'),
            b't' => s.push('\t'),
            b'r' => s.push('\r'),
            b'b' => s.push('\u{8}'),
            b'f' => s.push('\u{c}'),
            b'"' | b'\\' | b'/' => s.push(e as char),
            b'\'' => {
                s.push('\'');
                return Some(false);
            }
            b'u' => {
                let Some(hi) = self.hex(4) else {
                    s.push_str("\\u");
                    return Some(false);
                };
                if (0xD800..0xDC00).contains(&hi) && bytes.get(self.i..self.i + 2) == Some(b"\\u") {
                    let back = self.i;
                    self.i += 2;
                    if let Some(lo) = self.hex(4)
                        && (0xDC00..0xE000).contains(&lo)
                    {
                        let c = 0x10000 + ((hi - 0xD800) << 10) + (lo - 0xDC00);
                        s.push(char::from_u32(c)?);
                        return Some(true);
                    }
                    self.i = back;
                }
                match char::from_u32(hi) {
                    Some(c) => s.push(c),
                    None => {
                        s.push('\u{FFFD}');
                        return Some(false);
                    }
                }
            }
            b'x' => {
                match self.hex(2).and_then(char::from_u32) {
                    Some(c) => s.push(c),
                    None => s.push_str("\\x"),
                }
                return Some(false);
            }
            _ => {
                // Python keeps an unknown escape as written.
                s.push('\\');
                let c = self.t[self.i - 1..].chars().next()?;
                self.i += c.len_utf8() - 1;
                if c != '\n' {
                    s.push(c);
                } else {
                    s.pop();
                }
                return Some(false);
            }
        }
        Some(true)
    }

    fn hex(&mut self, n: usize) -> Option<u32> {
        let h = self.t.as_bytes().get(self.i..self.i + n)?;
        if !h.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let v = u32::from_str_radix(std::str::from_utf8(h).ok()?, 16).ok()?;
        self.i += n;
        Some(v)
    }

    fn word(&mut self) -> Option<(Kind, bool)> {
        let start = self.i;
        while self.peek().is_some_and(|b| !b",:{}[]()\"'\n".contains(&b)) {
            self.i += 1;
        }
        // Prefixed strings: r"…", b'…', f"…".
        if matches!(self.peek(), Some(b'"' | b'\''))
            && matches!(&self.t[start..self.i], "r" | "b" | "u" | "f" | "R" | "B")
        {
            let (s, _) = self.string(false)?;
            return Some((Kind::Str(s), false));
        }
        let w = self.t[start..self.i].trim_end();
        self.i = start + w.len();
        if w.is_empty() {
            return None;
        }
        Some(word_value(w))
    }
}

/// The value of a bare word and whether it is JSON as it stands.
pub(crate) fn word_value(w: &str) -> (Kind, bool) {
    match w {
        "null" => (Kind::Null, true),
        "None" => (Kind::Null, false),
        "true" => (Kind::Bool(true), true),
        "false" => (Kind::Bool(false), true),
        "True" => (Kind::Bool(true), false),
        "False" => (Kind::Bool(false), false),
        _ => match number(w) {
            Some((n, exact)) => (Kind::Num(n), exact),
            None => (Kind::Word(w.to_owned()), false),
        },
    }
}

/// A number literal in JSON spelling, and whether it was in that spelling.
pub(crate) fn number(w: &str) -> Option<(String, bool)> {
    if json_number(w) {
        return Some((w.to_owned(), true));
    }
    let mut t: String = w.chars().filter(|c| *c != '_').collect();
    if !w.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) || w.ends_with('_') {
        return None;
    }
    if let Some(rest) = t.strip_prefix('+') {
        t = rest.to_owned();
    }
    let (sign, body) = match t.strip_prefix('-') {
        Some(b) => ("-", b.trim_start()),
        None => ("", t.as_str()),
    };
    if let Some(h) = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        let v = u64::from_str_radix(h, 16).ok()?;
        return Some((format!("{sign}{v}"), false));
    }
    let mut body = body.to_owned();
    if body.starts_with('.') {
        body.insert(0, '0');
    }
    if body.ends_with('.') {
        body.push('0');
    }
    if let Some(e) = body.find(['e', 'E'])
        && body[..e].ends_with('.')
    {
        body.insert(e, '0');
    }
    let zeros = body.len() - body.trim_start_matches('0').len();
    if zeros > 0 && body[zeros..].starts_with(|c: char| c.is_ascii_digit()) {
        body.drain(..zeros);
    }
    let out = format!("{sign}{body}");
    json_number(&out).then_some((out, false))
}

/// Whether a text is a JSON number.
pub(crate) fn json_number(w: &str) -> bool {
    let b = w.as_bytes();
    let mut i = usize::from(b.first() == Some(&b'-'));
    let digits = |i: &mut usize| {
        let s = *i;
        while b.get(*i).is_some_and(u8::is_ascii_digit) {
            *i += 1;
        }
        *i > s
    };
    match b.get(i) {
        Some(b'0') => i += 1,
        Some(b'1'..=b'9') => {
            digits(&mut i);
        }
        _ => return false,
    }
    if b.get(i) == Some(&b'.') {
        i += 1;
        if !digits(&mut i) {
            return false;
        }
    }
    if matches!(b.get(i), Some(b'e' | b'E')) {
        i += 1;
        if matches!(b.get(i), Some(b'+' | b'-')) {
            i += 1;
        }
        if !digits(&mut i) {
            return false;
        }
    }
    i == b.len()
}

/// The value as `serde_json` has it, for validation only (numbers lose their spelling there).
pub(crate) fn to_value(n: &Node) -> serde_json::Value {
    use serde_json::Value;
    match &n.kind {
        Kind::Null => Value::Null,
        Kind::Bool(b) => Value::Bool(*b),
        Kind::Num(s) => serde_json::from_str(s).unwrap_or(Value::Null),
        Kind::Str(s) | Kind::Word(s) => Value::String(s.clone()),
        Kind::Arr(a) => Value::Array(a.iter().map(to_value).collect()),
        Kind::Obj(o) => Value::Object(o.iter().map(|(k, v)| (k.clone(), to_value(v))).collect()),
    }
}

//! Bare keys and own string delimiters (GM).

use super::{Args, Cx, Lit, NAME_MAX, RawCall, Step, Why, lit, name_end, skip_ws};
use crate::lit::{self as value, Kind, MAX_DEPTH, Node};

/// `call:NAME{key:<q>text<q>,n:3}`.
#[derive(Debug, Clone)]
pub(crate) struct Bare {
    at: usize,
    name: Option<(usize, usize)>,
    scan: usize,
    depth: Vec<u8>,
    quoted: Option<String>,
    end: usize,
}

impl Bare {
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            name: None,
            scan: at,
            depth: Vec::new(),
            quoted: None,
            end: at,
        }
    }

    pub(crate) fn cursor(&self) -> usize {
        self.scan
    }

    pub(crate) fn advance(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Step {
        let Some(n) = &cx.d.spec.notation else {
            return Step::Fail(Why::Other);
        };
        let b = t.as_bytes();
        if self.name.is_none() {
            let i = skip_ws(t, self.at);
            let i = match lit(t, i, std::slice::from_ref(&n.lead), false, eof) {
                Lit::Part => return Step::More,
                Lit::Yes(e) => e,
                Lit::No => return Step::Fail(Why::Other),
            };
            let j = name_end(t, i);
            if j - i > NAME_MAX {
                return Step::Fail(Why::Other);
            }
            if j >= b.len() {
                return if eof {
                    Step::Fail(Why::Cut(Some(t[i..j].to_owned())))
                } else {
                    Step::More
                };
            }
            if j == i || b[j] != b'{' {
                return Step::Fail(Why::Other);
            }
            if cx.weak && !(cx.tools.is_declared_rule_on() && cx.known(&t[i..j])) {
                return Step::Fail(Why::Other);
            }
            self.name = Some((i, j));
            self.depth.push(b'{');
            self.scan = j + 1;
        }
        while self.scan < b.len() {
            if let Some(q) = &self.quoted {
                match memchr::memmem::find(&b[self.scan..], q.as_bytes()) {
                    Some(k) => {
                        self.scan += k + q.len();
                        self.quoted = None;
                    }
                    None => {
                        // Only the last few bytes can begin the delimiter.
                        let keep = b.len().saturating_sub(q.len() - 1).max(self.scan);
                        self.scan = keep;
                        while !t.is_char_boundary(self.scan) {
                            self.scan -= 1;
                        }
                        return self.more(t, eof);
                    }
                }
                continue;
            }
            match lit(t, self.scan, &n.quote, false, eof) {
                Lit::Part => return self.more(t, eof),
                Lit::Yes(e) => {
                    self.quoted = Some(t[self.scan..e].to_owned());
                    self.scan = e;
                    continue;
                }
                Lit::No => {}
            }
            match b[self.scan] {
                c @ (b'{' | b'[') => {
                    if self.depth.len() >= MAX_DEPTH {
                        return Step::Fail(Why::Other);
                    }
                    self.depth.push(c);
                }
                c @ (b'}' | b']') => {
                    let open = if c == b'}' { b'{' } else { b'[' };
                    if self.depth.pop() != Some(open) {
                        return Step::Fail(Why::Other);
                    }
                    if self.depth.is_empty() {
                        self.end = self.scan + 1;
                        return Step::Done(self.end);
                    }
                }
                _ => {}
            }
            self.scan += 1;
        }
        self.more(t, eof)
    }

    fn more(&self, t: &str, eof: bool) -> Step {
        if !eof {
            return Step::More;
        }
        Step::Fail(Why::Cut(self.name.map(|(s, e)| t[s..e].to_owned())))
    }

    pub(crate) fn calls(&self, t: &str, cx: Cx<'_>) -> Option<Vec<RawCall>> {
        let n = cx.d.spec.notation.as_ref()?;
        let (s, e) = self.name?;
        let mut p = Reader {
            t: &t[e..self.end],
            i: 0,
            quote: &n.quote,
        };
        let v = p.value(0)?;
        (p.i == p.t.len()).then_some(())?;
        Some(vec![RawCall {
            name: t[s..e].to_owned(),
            args: Args::Object(v),
            id: None,
            span: s..self.end,
            bare: false,
        }])
    }
}

struct Reader<'a> {
    t: &'a str,
    i: usize,
    quote: &'a [String],
}

impl Reader<'_> {
    fn ws(&mut self) {
        self.i = skip_ws(self.t, self.i);
    }

    fn peek(&self) -> Option<u8> {
        self.t.as_bytes().get(self.i).copied()
    }

    fn quoted(&mut self) -> Option<Option<String>> {
        if let Lit::Yes(e) = lit(self.t, self.i, self.quote, false, true) {
            let q = &self.t[self.i..e];
            let end = self.t[e..].find(q)?;
            let s = self.t[e..e + end].to_owned();
            self.i = e + end + q.len();
            return Some(Some(s));
        }
        Some(None)
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.ws();
        if let Some(s) = self.quoted()? {
            return Some(Node::made(Kind::Str(s)));
        }
        match self.peek()? {
            b'{' => {
                self.i += 1;
                let mut out = Vec::new();
                loop {
                    self.ws();
                    if self.peek()? == b'}' {
                        self.i += 1;
                        return Some(Node::made(Kind::Obj(out)));
                    }
                    let key = match self.quoted()? {
                        Some(k) => k,
                        None => {
                            let s = self.i;
                            while self.peek().is_some_and(|b| !b":,{}[]".contains(&b)) {
                                self.i += 1;
                            }
                            self.t[s..self.i]
                                .trim()
                                .trim_matches(['"', '\''])
                                .to_owned()
                        }
                    };
                    self.ws();
                    if key.is_empty() || self.peek()? != b':' {
                        return None;
                    }
                    self.i += 1;
                    let v = self.value(depth + 1)?;
                    out.push((key, v));
                    self.comma()?;
                }
            }
            b'[' => {
                self.i += 1;
                let mut out = Vec::new();
                loop {
                    self.ws();
                    if self.peek()? == b']' {
                        self.i += 1;
                        return Some(Node::made(Kind::Arr(out)));
                    }
                    let v = self.value(depth + 1)?;
                    out.push(v);
                    self.comma()?;
                }
            }
            b'"' | b'\'' => {
                let (n, end) = value::parse(&self.t[self.i..])?;
                self.i += end;
                Some(Node::made(n.kind))
            }
            _ => {
                let s = self.i;
                while self.peek().is_some_and(|b| !b",}]".contains(&b)) {
                    self.i += 1;
                }
                let w = self.t[s..self.i].trim();
                (!w.is_empty()).then(|| Node::made(value::word_value(w).0))
            }
        }
    }

    fn comma(&mut self) -> Option<()> {
        self.ws();
        match self.peek()? {
            b',' => {
                self.i += 1;
                Some(())
            }
            b'}' | b']' => Some(()),
            _ => None,
        }
    }
}

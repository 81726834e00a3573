//! Python call expressions with literal arguments (PY).

use super::{Args, Cx, RawCall, Step, Why, name_end, skip_ws};
use crate::lit::{self, Kind, Node};

/// A list of calls, or calls after one another.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    at: usize,
    state: State,
    /// Brackets opened around the calls, as `[`, or a quote.
    list: bool,
    quote: Option<u8>,
    spans: Vec<Span>,
    end: usize,
}

/// Where a call stands: name, arguments without parentheses, end.
#[derive(Debug, Clone, Copy)]
struct Span {
    name: (usize, usize),
    args: (usize, usize),
}

#[derive(Debug, Clone)]
enum State {
    Start,
    Call,
    Args(Paren),
    After,
}

/// Finds the matching parenthesis; every byte is read once.
#[derive(Debug, Clone)]
struct Paren {
    name: (usize, usize),
    from: usize,
    at: usize,
    stack: Vec<u8>,
    quote: Option<Quote>,
}

#[derive(Debug, Clone, Copy)]
struct Quote {
    byte: u8,
    triple: bool,
    esc: bool,
    /// A closing quote was read; the next byte says whether it was one.
    maybe: bool,
}

impl Calls {
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            state: State::Start,
            list: false,
            quote: None,
            spans: Vec::new(),
            end: at,
        }
    }

    pub(crate) fn cursor(&self) -> usize {
        match &self.state {
            State::Args(p) => p.at,
            _ => self.at,
        }
    }

    pub(crate) fn advance(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Step {
        let b = t.as_bytes();
        loop {
            match &mut self.state {
                State::Start => {
                    let i = skip_ws(t, self.at);
                    match b.get(i) {
                        None => return self.more(eof),
                        Some(b'[') => {
                            self.list = true;
                            self.at = i + 1;
                            self.state = State::Call;
                        }
                        Some(_) => {
                            self.at = i;
                            self.state = State::Call;
                        }
                    }
                }
                State::Call => {
                    let mut i = skip_ws(t, self.at);
                    if self.list
                        && self.quote.is_none()
                        && let Some(q @ (b'"' | b'\'')) = b.get(i).copied()
                    {
                        self.quote = Some(q);
                        self.at = i + 1;
                        i = self.at;
                    }
                    if i >= b.len() {
                        return self.more(eof);
                    }
                    if self.list && b[i] == b']' && self.quote.is_none() {
                        self.end = i + 1;
                        return self.done(cx);
                    }
                    let j = name_end(t, i);
                    if j == i || j - i > super::NAME_MAX || b[i].is_ascii_digit() {
                        return self.stop(cx);
                    }
                    if j >= b.len() && !eof {
                        return Step::More;
                    }
                    let name = t[i..j].trim_end_matches('.');
                    if name.len() != j - i || !self.may(name, cx) {
                        if self.spans.is_empty() && b.get(j) == Some(&b'(') && !cx.weak {
                            return Step::Fail(Why::Undeclared(name.to_owned()));
                        }
                        return self.stop(cx);
                    }
                    if b.get(j) != Some(&b'(') {
                        return self.stop(cx);
                    }
                    self.state = State::Args(Paren {
                        name: (i, j),
                        from: j + 1,
                        at: j + 1,
                        stack: vec![b'('],
                        quote: None,
                    });
                }
                State::Args(p) => match p.advance(b, eof) {
                    Some(Ok(close)) => {
                        self.spans.push(Span {
                            name: p.name,
                            args: (p.from, close),
                        });
                        self.at = close + 1;
                        self.end = close + 1;
                        self.state = State::After;
                    }
                    Some(Err(())) => {
                        let name = t[p.name.0..p.name.1].to_owned();
                        if !self.spans.is_empty() && !self.list {
                            return self.done(cx);
                        }
                        return Step::Fail(if eof && p.at >= b.len() {
                            Why::Cut(Some(name))
                        } else {
                            Why::Other
                        });
                    }
                    None => return Step::More,
                },
                State::After => {
                    let mut i = self.at;
                    if let Some(q) = self.quote {
                        match b.get(i) {
                            None if !eof => return Step::More,
                            Some(c) if *c == q => {
                                i += 1;
                                self.quote = None;
                            }
                            _ => return self.stop(cx),
                        }
                        self.at = i;
                    }
                    let mut j = skip_ws(t, i);
                    let mut sep = false;
                    if matches!(b.get(j), Some(b',' | b';')) {
                        sep = true;
                        if b[j] == b';' && !self.list {
                            self.end = j + 1;
                        }
                        j = skip_ws(t, j + 1);
                    }
                    if j >= b.len() {
                        return self.more(eof);
                    }
                    if self.list {
                        if b[j] == b']' {
                            self.end = j + 1;
                            return self.done(cx);
                        }
                        // A newline may stand for the comma.
                        if !sep && !t[i..j].contains('\n') {
                            return self.stop(cx);
                        }
                    } else if !sep && !t[i..j].contains('\n') && j > i {
                        return self.stop(cx);
                    }
                    self.at = j;
                    self.state = State::Call;
                }
            }
        }
    }

    /// With markers any name is a call's; without, declared ones.
    fn may(&self, name: &str, cx: Cx<'_>) -> bool {
        if cx.weak {
            if cx.tools.is_declared_rule_on() {
                cx.known(bare(name, cx))
            } else {
                self.list
            }
        } else {
            true
        }
    }

    fn more(&self, eof: bool) -> Step {
        if !eof {
            return Step::More;
        }
        if self.spans.is_empty() {
            return Step::Fail(Why::Other);
        }
        if self.list {
            Step::Fail(Why::Cut(None))
        } else {
            Step::Done(self.end)
        }
    }

    /// What stands here is no further call.
    fn stop(&self, cx: Cx<'_>) -> Step {
        if self.list || self.spans.is_empty() {
            return Step::Fail(Why::Other);
        }
        self.done(cx)
    }

    fn done(&self, cx: Cx<'_>) -> Step {
        if self.spans.is_empty() && cx.weak {
            return Step::Fail(Why::Other);
        }
        Step::Done(self.end)
    }

    pub(crate) fn calls(&self, t: &str, cx: Cx<'_>) -> Option<Vec<RawCall>> {
        let mut out = Vec::new();
        for s in &self.spans {
            let (positional, named) = arguments(&t[s.args.0..s.args.1])?;
            // Without markers and tools, only what looks like nothing else.
            if cx.weak
                && !cx.tools.is_declared_rule_on()
                && (!positional.is_empty() || named.is_empty())
            {
                return None;
            }
            let name = bare(&t[s.name.0..s.name.1], cx);
            out.push(RawCall {
                name: name.to_owned(),
                args: Args::Python(positional, named),
                id: None,
                span: s.name.0..s.args.1 + 1,
                bare: false,
            });
        }
        Some(out)
    }
}

/// A name without the ending that the dialect drops, unless it was declared with it.
fn bare<'a>(name: &'a str, cx: Cx<'_>) -> &'a str {
    if cx.tools.get(name).is_some() {
        return name;
    }
    let drop = &cx.d.spec.header.drop;
    drop.iter()
        .find_map(|d| name.strip_suffix(d.as_str()))
        .unwrap_or(name)
}

impl Paren {
    /// `Ok(offset of the closing parenthesis)`, an error, or more text is needed.
    fn advance(&mut self, b: &[u8], eof: bool) -> Option<Result<usize, ()>> {
        while self.at < b.len() {
            let c = b[self.at];
            if let Some(q) = &mut self.quote {
                if q.maybe {
                    q.maybe = false;
                    if c.is_ascii_alphanumeric() {
                        self.at += 1;
                    } else {
                        self.quote = None;
                    }
                    continue;
                }
                if q.esc {
                    q.esc = false;
                } else if c == b'\\' {
                    q.esc = true;
                } else if c == q.byte {
                    if q.triple {
                        if b.len() < self.at + 3 && !eof {
                            return None;
                        }
                        if b[self.at..].starts_with(&[c, c, c]) {
                            self.quote = None;
                            self.at += 3;
                            continue;
                        }
                    } else {
                        q.maybe = true;
                    }
                }
                self.at += 1;
                continue;
            }
            match c {
                b'"' | b'\'' => {
                    if b.len() < self.at + 3 && !eof {
                        return None;
                    }
                    let triple = b[self.at..].starts_with(&[c, c, c]);
                    self.quote = Some(Quote {
                        byte: c,
                        triple,
                        esc: false,
                        maybe: false,
                    });
                    self.at += if triple { 3 } else { 1 };
                    continue;
                }
                b'(' | b'[' | b'{' => {
                    if self.stack.len() > lit::MAX_DEPTH {
                        return Some(Err(()));
                    }
                    self.stack.push(c);
                }
                b')' | b']' | b'}' => {
                    let open = match c {
                        b')' => b'(',
                        b']' => b'[',
                        _ => b'{',
                    };
                    if self.stack.pop() != Some(open) {
                        return Some(Err(()));
                    }
                    if self.stack.is_empty() {
                        return Some(Ok(self.at));
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        eof.then_some(Err(()))
    }
}

/// Named arguments in order.
type Named = Vec<(String, Node)>;

/// Positional and named arguments of a call.
pub(crate) fn arguments(t: &str) -> Option<(Vec<Node>, Named)> {
    let mut positional = Vec::new();
    let mut named: Named = Vec::new();
    for piece in pieces(t) {
        let p = piece.trim();
        if p.is_empty() {
            continue;
        }
        let key_end = p
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(p.len());
        let after = p[key_end..].trim_start();
        if key_end > 0 && after.starts_with('=') && !after.starts_with("==") {
            let v = after[1..].trim();
            if v.is_empty() {
                return None;
            }
            named.push((p[..key_end].to_owned(), value(v)));
        } else if let Some(rest) = p.strip_prefix("**") {
            match value(rest.trim()).kind {
                Kind::Obj(o) => named.extend(o),
                _ => return None,
            }
        } else {
            positional.push(value(p));
        }
    }
    Some((positional, named))
}

/// A literal, an evaluated constant expression, or a bare word.
fn value(v: &str) -> Node {
    if v.len() >= 6
        && let Some(s) = ["\"\"\"", "'''"]
            .iter()
            .find_map(|q| v.strip_prefix(q)?.strip_suffix(q))
    {
        return Node::made(Kind::Str(s.to_owned()));
    }
    match lit::parse_all(v) {
        Some(n) if !matches!(n.kind, Kind::Word(_)) => n,
        _ => Node::made(match crate::arith::eval(v) {
            Some(n) => Kind::Num(n),
            None => Kind::Word(v.to_owned()),
        }),
    }
}

/// Splits at commas outside brackets and strings.
fn pieces(t: &str) -> Vec<&str> {
    let b = t.as_bytes();
    let mut out = Vec::new();
    let (mut from, mut depth, mut i) = (0usize, 0usize, 0usize);
    while i < b.len() {
        match b[i] {
            q @ (b'"' | b'\'') => {
                let triple = b[i..].starts_with(&[q, q, q]);
                i += if triple { 3 } else { 1 };
                while i < b.len() {
                    if b[i] == b'\\' {
                        i += 2;
                        continue;
                    }
                    if b[i] == q {
                        if triple {
                            if b[i..].starts_with(&[q, q, q]) {
                                i += 2;
                                break;
                            }
                        } else if !b.get(i + 1).is_some_and(u8::is_ascii_alphanumeric) {
                            break;
                        }
                    }
                    i += 1;
                }
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                out.push(&t[from..i]);
                from = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    out.push(t.get(from..).unwrap_or(""));
    out
}

/// A text that is exactly one or more calls.
pub(crate) fn whole(t: &str, cx: Cx<'_>) -> Option<Vec<RawCall>> {
    let mut c = Calls::new(0);
    match c.advance(t, true, cx) {
        Step::Done(end) if t[end..].trim().is_empty() => {
            if cx.tools.is_declared_rule_on() {
                c.calls(t, cx)
            } else {
                None
            }
        }
        _ => None,
    }
}

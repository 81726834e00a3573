//! A name, then JSON arguments (NJ); and the same behind a message header.

use super::{Args, Cx, Lit, NAME_MAX, RawCall, Step, Why, lit, name_end, skip_ws};
use crate::lit as value;
use crate::lit::{Kind, Node};
use crate::litscan::{LitScan, Scan};

/// Longest header that is read.
const HEADER_MAX: usize = 512;
/// What must be seen behind a header to know where it ends.
const LOOK_MAX: usize = 256;

/// `NAME … {json}`.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    at: usize,
    state: State,
    head: Head,
}

#[derive(Debug, Clone)]
enum State {
    Head,
    Args(LitScan),
    Fence,
    After,
    Done,
}

#[derive(Debug, Clone, Default)]
struct Head {
    name: String,
    id: Option<String>,
    start: usize,
    args: Option<(usize, usize)>,
    end: usize,
    fenced: bool,
}

enum Parsed {
    More,
    Fail(Why),
    Args(usize),
    Empty,
}

impl Name {
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            state: State::Head,
            head: Head::default(),
        }
    }

    pub(crate) fn advance(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Step {
        loop {
            match &mut self.state {
                State::Head => match self.parse(t, eof, cx) {
                    Parsed::More => {
                        if t.len() - self.at > HEADER_MAX + LOOK_MAX {
                            return Step::Fail(Why::Other);
                        }
                        return Step::More;
                    }
                    Parsed::Fail(w) => return Step::Fail(w),
                    Parsed::Args(i) if i - self.at > HEADER_MAX => {
                        return Step::Fail(Why::Other);
                    }
                    Parsed::Args(i) => {
                        self.head.args = Some((i, i));
                        self.state = State::Args(LitScan::new(i, false));
                    }
                    Parsed::Empty => self.state = State::After,
                },
                State::Args(s) => match s.advance(t, eof) {
                    Scan::More => return Step::More,
                    Scan::Fail(at) => {
                        return Step::Fail(if eof && at >= t.len() {
                            Why::Cut(Some(self.head.name.clone()))
                        } else {
                            Why::Other
                        });
                    }
                    Scan::Done(end) => {
                        let from = self.head.args.map_or(end, |a| a.0);
                        self.head.args = Some((from, end));
                        self.head.end = end;
                        self.state = if self.head.fenced {
                            State::Fence
                        } else {
                            State::After
                        };
                    }
                },
                State::Fence => {
                    let i = skip_ws(t, self.head.end);
                    let rest = &t[i..];
                    if rest.starts_with("```") {
                        self.head.end = i + 3;
                    } else if !eof && "```".starts_with(rest) {
                        return Step::More;
                    }
                    self.state = State::After;
                }
                State::After => {
                    let i = skip_ws(t, self.head.end);
                    match lit(t, i, &cx.d.spec.header.after, false, eof) {
                        Lit::Part if i < t.len() => return Step::More,
                        Lit::Yes(e) => self.head.end = e,
                        _ if i >= t.len() && !eof && !cx.d.spec.header.after.is_empty() => {
                            return Step::More;
                        }
                        _ => {}
                    }
                    self.state = State::Done;
                }
                State::Done => return Step::Done(self.head.end),
            }
        }
    }

    pub(crate) fn cursor(&self) -> usize {
        match &self.state {
            State::Args(s) => s.at(),
            _ => self.at,
        }
    }

    fn parse(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Parsed {
        let h = &cx.d.spec.header;
        let b = t.as_bytes();
        let mut i = skip_ws(t, self.at);
        loop {
            match lit(t, i, &h.lead, false, eof) {
                Lit::Part => return Parsed::More,
                Lit::Yes(e) => i = skip_ws(t, e),
                Lit::No => break,
            }
        }
        if h.lead_required && i == skip_ws(t, self.at) {
            return Parsed::Fail(Why::Other);
        }
        let from = i;
        loop {
            match lit(t, i, &h.strip, false, eof) {
                Lit::Part => return Parsed::More,
                Lit::Yes(e) => i = e,
                Lit::No => break,
            }
        }
        let j = name_end(t, i);
        if j >= b.len() && !eof {
            return if j - i > NAME_MAX {
                Parsed::Fail(Why::Other)
            } else {
                Parsed::More
            };
        }
        if j == i || j - i > NAME_MAX {
            return Parsed::Fail(Why::Other);
        }
        let name = t[i..j].to_owned();
        if cx.weak && !(cx.tools.is_declared_rule_on() && cx.known(&name)) {
            return Parsed::Fail(Why::Other);
        }
        let mut k = j;
        let mut id = None;
        if h.counter_id && b.get(k) == Some(&b':') {
            let mut d = k + 1;
            while b
                .get(d)
                .is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'-' || *c == b'_')
            {
                d += 1;
            }
            if d >= b.len() && !eof {
                return Parsed::More;
            }
            k = d;
        }
        if h.counter_id {
            id = Some(t[from..k].to_owned());
        }
        self.head.start = i;
        self.head.name.clone_from(&name);
        self.head.end = j;
        let mut fenced = false;
        match lit(t, k, &h.empty, false, eof) {
            Lit::Part => return Parsed::More,
            Lit::Yes(e) => {
                self.head.end = e;
                self.head.id = id;
                return Parsed::Empty;
            }
            Lit::No => {}
        }
        loop {
            k = skip_ws(t, k);
            if k >= b.len() {
                return if eof {
                    if cx.weak {
                        Parsed::Fail(Why::Other)
                    } else {
                        Parsed::Fail(Why::Cut(Some(name)))
                    }
                } else {
                    Parsed::More
                };
            }
            match lit(t, k, &h.id, false, eof) {
                Lit::Part => return Parsed::More,
                Lit::Yes(e) => {
                    let mut d = e;
                    while b
                        .get(d)
                        .is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'-' || *c == b'_')
                    {
                        d += 1;
                    }
                    if d >= b.len() && !eof {
                        return Parsed::More;
                    }
                    id = Some(t[e..d].to_owned());
                    k = d;
                    continue;
                }
                Lit::No => {}
            }
            match lit(t, k, &h.end, false, eof) {
                Lit::Part => return Parsed::More,
                Lit::Yes(e) => {
                    k = e;
                    continue;
                }
                Lit::No => {}
            }
            if h.fence && !fenced {
                let rest = &t[k..];
                if rest.starts_with("```") {
                    let line = rest.find('\n');
                    let brace = rest.find('{');
                    match (line, brace) {
                        (_, Some(n)) if line.is_none_or(|l| n < l) => k += n,
                        (Some(n), _) => k += n + 1,
                        _ if eof => return Parsed::Fail(Why::Cut(Some(name))),
                        _ => return Parsed::More,
                    }
                    fenced = true;
                    continue;
                }
                if !eof && "```".starts_with(rest) {
                    return Parsed::More;
                }
            }
            break;
        }
        self.head.id = id;
        self.head.fenced = fenced;
        if b[k] == b'{' {
            return Parsed::Args(k);
        }
        if !cx.weak && !fenced {
            match lit(t, k, &cx.d.spec.closers, cx.d.spec.nonce, eof) {
                Lit::Part => return Parsed::More,
                Lit::Yes(_) if cx.known(&name) => return Parsed::Empty,
                _ => {}
            }
        }
        Parsed::Fail(Why::Other)
    }

    pub(crate) fn calls(&self, t: &str) -> Option<Vec<RawCall>> {
        let h = &self.head;
        let (args, end) = match h.args {
            Some((s, e)) => (object(&t[s..e])?, e),
            None => (Node::made(Kind::Obj(Vec::new())), h.end),
        };
        Some(vec![RawCall {
            name: h.name.clone(),
            args: Args::Object(args),
            id: h.id.clone(),
            span: h.start..end,
            bare: h.args.is_none(),
        }])
    }
}

/// An object, or nothing that is a call's arguments.
fn object(t: &str) -> Option<Node> {
    let n = value::parse_all(t)?;
    matches!(n.kind, Kind::Obj(_)).then_some(n)
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Call,
    Reasoning,
    Content,
}

/// A message header, then JSON.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    at: usize,
    role: Option<Role>,
    name: String,
    /// Where the name stands in the header.
    named: usize,
    body: usize,
    scan: Option<LitScan>,
    end: usize,
}

impl Message {
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            role: None,
            name: String::new(),
            named: 0,
            body: 0,
            scan: None,
            end: 0,
        }
    }

    pub(crate) fn cursor(&self) -> usize {
        self.scan.as_ref().map_or(self.at, LitScan::at)
    }

    /// What the header said, once it was read.
    pub(crate) fn role(&self) -> Option<Role> {
        self.role
    }

    pub(crate) fn advance(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Step {
        let Some(c) = &cx.d.spec.channel else {
            return Step::Fail(Why::Other);
        };
        if self.role.is_none() {
            let head = &t[self.at..];
            let limit = (0..=HEADER_MAX.min(head.len()))
                .rev()
                .find(|n| head.is_char_boundary(*n))
                .unwrap_or(0);
            let found = c
                .message
                .iter()
                .filter_map(|m| head[..limit].find(m.as_str()).map(|i| (i, i + m.len())))
                .min();
            let Some((from, to)) = found else {
                return if eof || head.len() > HEADER_MAX {
                    Step::Fail(Why::Other)
                } else {
                    Step::More
                };
            };
            let header = &head[..from];
            // A second header before the message token: the first one is text.
            if header.contains('\n') {
                return Step::Fail(Why::Other);
            }
            let word = c
                .mark
                .iter()
                .filter_map(|m| header.rfind(m.as_str()).map(|i| &header[i + m.len()..]))
                .next()
                .unwrap_or("")
                .trim_start();
            let word: &str = &word[..word
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(word.len())];
            let to_name = c.to.iter().find_map(|m| {
                let i = header.find(m.as_str())?;
                let r = &header[i + m.len()..];
                let e = r
                    .find(|c: char| c.is_whitespace() || c == '<')
                    .unwrap_or(r.len());
                (e > 0).then(|| {
                    self.named = self.at + i + m.len();
                    r[..e].to_owned()
                })
            });
            self.body = self.at + to;
            self.end = self.body;
            // Words glued to the channel's own are tolerated: `commentaryjson`.
            let is = |list: &[String]| list.iter().any(|w| word.starts_with(w.as_str()));
            self.role = Some(match to_name {
                Some(n) if !c.reasoning.contains(&n) && !c.content.contains(&n) => {
                    let bare = c
                        .strip
                        .iter()
                        .find_map(|s| n.strip_prefix(s.as_str()))
                        .unwrap_or(&n);
                    bare.clone_into(&mut self.name);
                    Role::Call
                }
                Some(n) if c.reasoning.contains(&n) => Role::Reasoning,
                Some(_) => Role::Content,
                None if is(&c.reasoning) => Role::Reasoning,
                None if is(&c.content) => Role::Content,
                None => return Step::Fail(Why::Other),
            });
        }
        if self.role != Some(Role::Call) {
            return Step::Done(self.end);
        }
        if self.scan.is_none() {
            let i = skip_ws(t, self.body);
            match t.as_bytes().get(i) {
                None if !eof => return Step::More,
                None => return Step::Fail(Why::Cut(Some(self.name.clone()))),
                Some(b'{') => {
                    self.body = i;
                    self.scan = Some(LitScan::new(i, false));
                }
                Some(_) => return Step::Fail(Why::Other),
            }
        }
        match self.scan.as_mut().map(|s| s.advance(t, eof)) {
            Some(Scan::Done(end)) => {
                self.end = end;
                Step::Done(end)
            }
            Some(Scan::Fail(at)) => Step::Fail(if eof && at >= t.len() {
                Why::Cut(Some(self.name.clone()))
            } else {
                Why::Other
            }),
            _ => Step::More,
        }
    }

    pub(crate) fn calls(&self, t: &str) -> Option<Vec<RawCall>> {
        if self.role != Some(Role::Call) {
            return Some(Vec::new());
        }
        Some(vec![RawCall {
            name: self.name.clone(),
            args: Args::Object(object(&t[self.body..self.end])?),
            id: None,
            span: self.named..self.end,
            bare: false,
        }])
    }
}

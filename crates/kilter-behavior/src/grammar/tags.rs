//! One element per parameter (XE), or elements named after the parameter (XN). Not an XML parser:
//! values are literal text.

use super::{Args, Cx, Lit, NAME_MAX, Param, RawCall, Step, Value, Why, Wire, lit, skip_ws};
use crate::dialect::Dialect;

/// Longest tag that is read.
const TAG_MAX: usize = 1024;

/// One or more call elements.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    at: usize,
    state: State,
    calls: Vec<RawCall>,
    name: String,
    start: usize,
    params: Vec<Param>,
    end: usize,
}

#[derive(Debug, Clone)]
enum State {
    Call,
    Param,
    Value {
        key: String,
        wire: Wire,
        from: usize,
        scan: usize,
    },
}

/// A tag's name.
enum Tag {
    No,
    Part,
    Yes { name: (usize, usize) },
}

/// What a tag holds.
enum Inside {
    More,
    Fail,
    Ok {
        direct: Option<String>,
        attrs: Vec<(String, String)>,
        single: bool,
        next: usize,
    },
}

impl Elements {
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            state: State::Call,
            calls: Vec::new(),
            name: String::new(),
            start: at,
            params: Vec::new(),
            end: at,
        }
    }

    pub(crate) fn calls(&self) -> Vec<RawCall> {
        self.calls.clone()
    }

    pub(crate) fn cursor(&self) -> usize {
        match &self.state {
            State::Value { scan, .. } => *scan,
            _ => self.at,
        }
    }

    pub(crate) fn advance(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Step {
        let d: &Dialect = cx.d;
        let Some(g) = &d.spec.tags else {
            return Step::Fail(Why::Other);
        };
        let b = t.as_bytes();
        loop {
            match &mut self.state {
                State::Call => {
                    let i = skip_ws(t, self.at);
                    let none = |s: &Self| {
                        if s.calls.is_empty() {
                            Step::Fail(Why::Other)
                        } else {
                            Step::Done(s.end)
                        }
                    };
                    if i >= b.len() {
                        return if !eof {
                            Step::More
                        } else if self.calls.is_empty() {
                            Step::Fail(Why::Cut(None))
                        } else {
                            Step::Done(self.end)
                        };
                    }
                    if g.root && !self.calls.is_empty() {
                        return none(self);
                    }
                    let name = match tag(t, i, &g.open, &g.call, g.root, eof) {
                        Tag::No => return none(self),
                        Tag::Part => return Step::More,
                        Tag::Yes { name } => name,
                    };
                    let Inside::Ok {
                        direct,
                        attrs,
                        single,
                        next,
                    } = (match inside(t, name.1, &g.end, eof) {
                        Inside::More if t.len() - i < TAG_MAX => return Step::More,
                        Inside::More | Inside::Fail => return none(self),
                        ok @ Inside::Ok { .. } => ok,
                    })
                    else {
                        return none(self);
                    };
                    let mut next = next;
                    let called = if let Some(by) = &g.named_by {
                        match named_by(t, next, g, by, eof) {
                            Lookup::More if t.len() - i < TAG_MAX => return Step::More,
                            Lookup::More | Lookup::No => return none(self),
                            Lookup::Found(n, at) => {
                                next = at;
                                Some(n)
                            }
                        }
                    } else if g.root {
                        Some(t[name.0..name.1].to_owned())
                    } else {
                        direct.or_else(|| attr(&attrs, &g.name))
                    };
                    let Some(called) = called.map(|n| decode(n.trim(), g.entities)) else {
                        return none(self);
                    };
                    if called.is_empty() || called.len() > NAME_MAX || called.contains(['\n', '<']) {
                        return none(self);
                    }
                    if cx.weak && !(cx.tools.is_declared_rule_on() && cx.known(&called)) {
                        return none(self);
                    }
                    self.name = called;
                    self.start = i;
                    self.params = Vec::new();
                    self.at = next;
                    if single {
                        self.close(next);
                    } else {
                        self.state = State::Param;
                    }
                }
                State::Param => {
                    let i = skip_ws(t, self.at);
                    if i >= b.len() {
                        return self.cut(eof);
                    }
                    if let Some(wrap) = &g.wrapped_in {
                        let names = [wrap.clone()];
                        match tag(t, i, &g.shut, &names, false, eof) {
                            Tag::Part => return Step::More,
                            Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
                                Lit::Part => return Step::More,
                                Lit::Yes(e) => {
                                    self.at = e;
                                    continue;
                                }
                                Lit::No => return Step::Fail(Why::Other),
                            },
                            Tag::No => {}
                        }
                    }
                    let own = [self.name.clone()];
                    let call_names: &[String] = if g.root { &own } else { &g.call };
                    match tag(t, i, &g.shut, call_names, false, eof) {
                        Tag::Part => return Step::More,
                        Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
                            Lit::Part => return Step::More,
                            Lit::Yes(e) => {
                                self.close(e);
                                continue;
                            }
                            Lit::No => return Step::Fail(Why::Other),
                        },
                        Tag::No => {}
                    }
                    match tag(t, i, &g.open, &g.param, g.param.is_empty(), eof) {
                        Tag::Part => return Step::More,
                        Tag::Yes { name } => match inside(t, name.1, &g.end, eof) {
                            Inside::More if t.len() - i < TAG_MAX => return self.cut(eof),
                            Inside::More | Inside::Fail => return Step::Fail(Why::Other),
                            Inside::Ok {
                                direct,
                                attrs,
                                single,
                                next,
                            } => {
                                let key = if g.param.is_empty() {
                                    Some(t[name.0..name.1].to_owned())
                                } else {
                                    direct.or_else(|| attr(&attrs, &g.key))
                                };
                                let Some(key) = key.map(|k| decode(k.trim(), g.entities)) else {
                                    return Step::Fail(Why::Other);
                                };
                                if key.is_empty() {
                                    return Step::Fail(Why::Other);
                                }
                                let wire = match g.wire.as_ref().and_then(|w| {
                                    attrs.iter().find(|(k, _)| k == w).map(|(_, v)| v.as_str())
                                }) {
                                    None => Wire::Unsaid,
                                    Some(v) if g.wire_text.iter().any(|w| w == v) => Wire::Text,
                                    Some(_) => Wire::Json,
                                };
                                if single {
                                    self.params.push(Param {
                                        key,
                                        value: Value::Text(String::new()),
                                        wire,
                                    });
                                    self.at = next;
                                } else {
                                    self.state = State::Value {
                                        key,
                                        wire,
                                        from: next,
                                        scan: next,
                                    };
                                }
                            }
                        },
                        Tag::No => {
                            // The call's own closer may be missing before the outer one or the next call.
                            let mut after = lit(t, i, &d.spec.closers, d.spec.nonce, eof);
                            if after == Lit::No && !g.root {
                                after = match tag(t, i, &g.open, &g.call, false, eof) {
                                    Tag::No => Lit::No,
                                    Tag::Part => Lit::Part,
                                    Tag::Yes { .. } => Lit::Yes(i),
                                };
                            }
                            match after {
                                Lit::Part => return Step::More,
                                Lit::Yes(_) if !self.params.is_empty() => {
                                    let end = self.at;
                                    self.close(end);
                                }
                                _ => return Step::Fail(Why::Other),
                            }
                        }
                    }
                }
                State::Value {
                    key,
                    wire,
                    from,
                    scan,
                } => {
                    let first = |l: &[String]| l.first().and_then(|s| s.bytes().next());
                    let (x, y) = (
                        first(&g.open).unwrap_or(b'<'),
                        first(&g.shut).unwrap_or(b'<'),
                    );
                    if let Some(body) = t[*from..].strip_prefix("<![CDATA[") {
                        // Text up to the end of the section, whatever it holds.
                        let off = *from + 9;
                        match body.find("]]>") {
                            None => return self.cut(eof),
                            Some(n) => {
                                *scan = (*scan).max(off + n + 3);
                            }
                        }
                    }
                    let Some(n) = memchr::memchr2(x, y, &b[*scan..]) else {
                        *scan = b.len();
                        return self.cut(eof);
                    };
                    let at = *scan + n;
                    let key_name = [key.clone()];
                    let names: &[String] = if g.param.is_empty() { &key_name } else { &g.param };
                    let own = [self.name.clone()];
                    let call_names: &[String] = if g.root { &own } else { &g.call };
                    let mut ends: Option<usize> = None;
                    match tag(t, at, &g.shut, names, false, eof) {
                        Tag::Part => {
                            *scan = at;
                            return Step::More;
                        }
                        Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
                            Lit::Part => {
                                *scan = at;
                                return Step::More;
                            }
                            Lit::Yes(e) => match follows(t, e, eof, cx, call_names) {
                                None => {
                                    *scan = at;
                                    return Step::More;
                                }
                                Some(true) => ends = Some(e),
                                Some(false) => {}
                            },
                            Lit::No => {}
                        },
                        Tag::No => {
                            // A missing closer: the next parameter on its own line, or the call's end.
                            let line = t[..at].trim_end_matches([' ', '\t']).ends_with('\n');
                            if line && !g.param.is_empty() {
                                match tag(t, at, &g.open, &g.param, false, eof) {
                                    Tag::Part => {
                                        *scan = at;
                                        return Step::More;
                                    }
                                    Tag::Yes { .. } => ends = Some(at),
                                    Tag::No => {}
                                }
                            }
                            if ends.is_none() {
                                match tag(t, at, &g.shut, call_names, false, eof) {
                                    Tag::Part => {
                                        *scan = at;
                                        return Step::More;
                                    }
                                    Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
                                        Lit::Part => {
                                            *scan = at;
                                            return Step::More;
                                        }
                                        Lit::Yes(e) => match ended(t, e, eof, cx) {
                                            None => {
                                                *scan = at;
                                                return Step::More;
                                            }
                                            Some(true) => ends = Some(at),
                                            Some(false) => {}
                                        },
                                        Lit::No => {}
                                    },
                                    Tag::No => {}
                                }
                            }
                        }
                    }
                    match ends {
                        None => *scan = at + 1,
                        Some(next) => {
                            let raw = &t[*from..at];
                            let value = if g.item.is_some() || g.param.is_empty() {
                                nested(raw, g, 0)
                            } else {
                                Value::Text(text(raw, g.trim))
                            };
                            self.params.push(Param {
                                key: std::mem::take(key),
                                value,
                                wire: *wire,
                            });
                            self.at = next;
                            self.state = State::Param;
                        }
                    }
                }
            }
        }
    }

    fn cut(&self, eof: bool) -> Step {
        if eof {
            Step::Fail(Why::Cut(Some(self.name.clone())))
        } else {
            Step::More
        }
    }

    fn close(&mut self, end: usize) {
        let params = std::mem::take(&mut self.params);
        self.calls.push(RawCall {
            name: self.name.clone(),
            bare: params.is_empty(),
            args: Args::Params(params),
            id: None,
            span: self.start..end,
        });
        self.at = end;
        self.end = end;
        self.state = State::Call;
    }
}

/// The tool's name in an element of its own.
enum Lookup {
    More,
    No,
    Found(String, usize),
}

/// Reads `<by>NAME</by>`, and the opening tag around the parameters behind it.
fn named_by(t: &str, i: usize, g: &crate::dialect::TagSpec, by: &str, eof: bool) -> Lookup {
    let names = [by.to_owned()];
    let more = || if eof { Lookup::No } else { Lookup::More };
    let k = skip_ws(t, i);
    if k >= t.len() {
        return more();
    }
    let from = match tag(t, k, &g.open, &names, false, eof) {
        Tag::Part => return more(),
        Tag::No => return Lookup::No,
        Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
            Lit::Part => return more(),
            Lit::No => return Lookup::No,
            Lit::Yes(e) => e,
        },
    };
    let Some(n) = memchr::memchr(b'<', &t.as_bytes()[from..]) else {
        return more();
    };
    let at = from + n;
    let called = t[from..at].trim().to_owned();
    let mut next = match tag(t, at, &g.shut, &names, false, eof) {
        Tag::Part => return more(),
        Tag::No => return Lookup::No,
        Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
            Lit::Part => return more(),
            Lit::No => return Lookup::No,
            Lit::Yes(e) => e,
        },
    };
    if let Some(w) = &g.wrapped_in {
        let names = [w.clone()];
        let k = skip_ws(t, next);
        if k >= t.len() {
            return more();
        }
        match tag(t, k, &g.open, &names, false, eof) {
            Tag::Part => return more(),
            Tag::No => {}
            Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
                Lit::Part => return more(),
                Lit::No => return Lookup::No,
                Lit::Yes(e) => next = e,
            },
        }
    }
    Lookup::Found(called, next)
}

/// Whether what follows a parameter's closer fits the end of a parameter.
fn follows(t: &str, i: usize, eof: bool, cx: Cx<'_>, call_names: &[String]) -> Option<bool> {
    let g = cx.d.spec.tags.as_ref()?;
    let k = skip_ws(t, i);
    if k >= t.len() {
        return if eof { Some(true) } else { None };
    }
    if let Some(w) = &g.wrapped_in {
        let names = [w.clone()];
        match tag(t, k, &g.shut, &names, false, eof) {
            Tag::Part => return None,
            Tag::Yes { .. } => return Some(true),
            Tag::No => {}
        }
    }
    for (lits, names, any) in [
        (&g.open, g.param.as_slice(), g.param.is_empty()),
        (&g.shut, call_names, false),
    ] {
        match tag(t, k, lits, names, any, eof) {
            Tag::Part => return None,
            Tag::Yes { .. } => return Some(true),
            Tag::No => {}
        }
    }
    match lit(t, k, &cx.d.spec.closers, cx.d.spec.nonce, eof) {
        Lit::Part => None,
        Lit::Yes(_) => Some(true),
        Lit::No => Some(false),
    }
}

/// Whether what follows a call's closer fits the end of a call.
fn ended(t: &str, i: usize, eof: bool, cx: Cx<'_>) -> Option<bool> {
    let g = cx.d.spec.tags.as_ref()?;
    let k = skip_ws(t, i);
    if k >= t.len() {
        return if eof { Some(true) } else { None };
    }
    match tag(t, k, &g.open, &g.call, false, eof) {
        Tag::Part => return None,
        Tag::Yes { .. } => return Some(true),
        Tag::No => {}
    }
    match lit(t, k, &cx.d.spec.closers, cx.d.spec.nonce, eof) {
        Lit::Part => None,
        Lit::Yes(_) => Some(true),
        Lit::No => Some(false),
    }
}

fn attr(attrs: &[(String, String)], names: &[String]) -> Option<String> {
    names
        .iter()
        .find_map(|n| attrs.iter().find(|(k, _)| k == n).map(|(_, v)| v.clone()))
}

/// An opening or closing literal and one of `names` (or any, with `any`) behind it.
fn tag(t: &str, i: usize, lits: &[String], names: &[String], any: bool, eof: bool) -> Tag {
    let at = match lit(t, i, lits, false, eof) {
        Lit::No => return Tag::No,
        Lit::Part => return Tag::Part,
        Lit::Yes(e) => e,
    };
    let b = t.as_bytes();
    let mut s = at;
    while b.get(s) == Some(&b' ') {
        s += 1;
    }
    let mut e = s;
    while b
        .get(e)
        .is_some_and(|c| c.is_ascii_alphanumeric() || b"_-.:".contains(c) || *c >= 0x80)
    {
        e += 1;
    }
    if any {
        if e >= b.len() && !eof && e - s <= NAME_MAX {
            return Tag::Part;
        }
        if e == s || e - s > NAME_MAX || b[s].is_ascii_digit() {
            return Tag::No;
        }
        return Tag::Yes { name: (s, e) };
    }
    let word = &t[s..e];
    if e >= b.len() && !eof {
        return if names.iter().any(|n| n.starts_with(word)) {
            Tag::Part
        } else {
            Tag::No
        };
    }
    if names.iter().any(|n| n == word) {
        Tag::Yes { name: (s, e) }
    } else {
        Tag::No
    }
}

/// The end literal of a closing tag, white space before it allowed.
fn end_of(t: &str, i: usize, end: &[String], eof: bool) -> Lit {
    let k = skip_ws(t, i);
    if k >= t.len() && !eof {
        return Lit::Part;
    }
    lit(t, k, end, false, eof)
}

/// Reads `=value` or attributes up to the end literal.
fn inside(t: &str, i: usize, end: &[String], eof: bool) -> Inside {
    let b = t.as_bytes();
    let mut i = skip_ws(t, i);
    let mut direct = None;
    let mut attrs = Vec::new();
    let more = if eof { Inside::Fail } else { Inside::More };
    if b.get(i) == Some(&b'=') {
        i = skip_ws(t, i + 1);
        match plain(t, i, end, eof, false) {
            None => return more,
            Some((v, n)) => {
                direct = Some(v);
                i = n;
            }
        }
    }
    loop {
        i = skip_ws(t, i);
        if i >= b.len() {
            return more;
        }
        match lit(t, i, end, false, eof) {
            Lit::Part => return more,
            Lit::Yes(next) => {
                return Inside::Ok {
                    direct,
                    attrs,
                    single: false,
                    next,
                };
            }
            Lit::No => {}
        }
        if b[i] == b'/' {
            match lit(t, i + 1, end, false, eof) {
                Lit::Part => return more,
                Lit::Yes(next) => {
                    return Inside::Ok {
                        direct,
                        attrs,
                        single: true,
                        next,
                    };
                }
                Lit::No => {
                    if i + 1 >= b.len() {
                        return more;
                    }
                    return Inside::Fail;
                }
            }
        }
        let s = i;
        while b
            .get(i)
            .is_some_and(|c| c.is_ascii_alphanumeric() || b"_-:.".contains(c))
        {
            i += 1;
        }
        if i >= b.len() {
            return more;
        }
        if i == s {
            return Inside::Fail;
        }
        let key = t[s..i].to_owned();
        i = skip_ws(t, i);
        match b.get(i) {
            None => return more,
            Some(b'=') => {}
            Some(_) => return Inside::Fail,
        }
        i = skip_ws(t, i + 1);
        match plain(t, i, end, eof, true) {
            None => return more,
            Some((v, n)) => {
                attrs.push((key, v));
                i = n;
            }
        }
    }
}

/// A quoted or bare attribute value and where it ends.
fn plain(t: &str, i: usize, end: &[String], eof: bool, spaced: bool) -> Option<(String, usize)> {
    let b = t.as_bytes();
    let q = *b.get(i)?;
    if q == b'"' || q == b'\'' {
        let n = memchr::memchr(q, &b[i + 1..])?;
        return Some((t[i + 1..i + 1 + n].to_owned(), i + n + 2));
    }
    let mut k = i;
    while k < b.len() {
        if !t.is_char_boundary(k) {
            k += 1;
            continue;
        }
        match lit(t, k, end, false, eof) {
            Lit::Part => return None,
            Lit::Yes(_) => return Some((t[i..k].to_owned(), k)),
            Lit::No => {}
        }
        if spaced && b[k].is_ascii_whitespace() {
            return Some((t[i..k].to_owned(), k));
        }
        k += 1;
    }
    None
}

/// The text of a value: one wrapping newline on either side is framing.
fn text(raw: &str, trim: bool) -> String {
    if let Some(c) = raw
        .trim()
        .strip_prefix("<![CDATA[")
        .and_then(|r| r.strip_suffix("]]>"))
    {
        return c.to_owned();
    }
    if !trim {
        return raw.to_owned();
    }
    let r = raw
        .strip_prefix("\r\n")
        .or_else(|| raw.strip_prefix('\n'))
        .unwrap_or(raw);
    let r = r
        .strip_suffix("\r\n")
        .or_else(|| r.strip_suffix('\n'))
        .unwrap_or(r);
    r.to_owned()
}

/// Elements inside a value, or its text.
fn nested(raw: &str, g: &crate::dialect::TagSpec, depth: usize) -> Value {
    let plain = || Value::Text(text(raw, g.trim));
    if depth > 32 {
        return plain();
    }
    let mut i = skip_ws(raw, 0);
    let mut out: Vec<Param> = Vec::new();
    while i < raw.len() {
        let Tag::Yes { name } = tag(raw, i, &g.open, &[], true, true) else {
            return plain();
        };
        let Inside::Ok { single, next, .. } = inside(raw, name.1, &g.end, true) else {
            return plain();
        };
        let key = raw[name.0..name.1].to_owned();
        if single {
            out.push(Param {
                key,
                value: Value::Text(String::new()),
                wire: Wire::Unsaid,
            });
            i = skip_ws(raw, next);
            continue;
        }
        // The matching closer, elements of the same name counted.
        let own = [key.clone()];
        let (mut level, mut k) = (1usize, next);
        let found = loop {
            if k >= raw.len() {
                return plain();
            }
            if raw.is_char_boundary(k) {
                if let Tag::Yes { name } = tag(raw, k, &g.shut, &own, false, true)
                    && let Lit::Yes(e) = end_of(raw, name.1, &g.end, true)
                {
                    level -= 1;
                    if level == 0 {
                        break (k, e);
                    }
                } else if let Tag::Yes { .. } = tag(raw, k, &g.open, &own, false, true) {
                    level += 1;
                }
            }
            k += 1;
        };
        out.push(Param {
            key,
            value: nested(&raw[next..found.0], g, depth + 1),
            wire: Wire::Unsaid,
        });
        i = skip_ws(raw, found.1);
    }
    if out.is_empty() {
        return plain();
    }
    if let Some(item) = &g.item
        && out.iter().all(|p| p.key == *item)
    {
        return Value::List(out.into_iter().map(|p| p.value).collect());
    }
    Value::Nested(out)
}

fn decode(s: &str, entities: bool) -> String {
    if !entities || !s.contains('&') {
        return s.to_owned();
    }
    s.replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

//! Alternating key and value elements behind a name (KV).

use super::{Args, Cx, Lit, NAME_MAX, Param, RawCall, Step, Value, Why, Wire, lit, name_end};

/// A key or a type is at most this long, in bytes.
const KEY_MAX: usize = 512;
/// Its closer, suffix included, ends within this many bytes more. The two limits are apart so that a
/// closer that may still be coming is waited for: how the text was cut must not decide.
const CLOSER_MAX: usize = 256;
use crate::dialect::Dialect;

/// `NAME <key>K</key> <value>V</value> …`.
#[derive(Debug, Clone)]
pub(crate) struct KeyValue {
    at: usize,
    state: State,
    name: String,
    start: usize,
    params: Vec<Param>,
    end: usize,
}

#[derive(Debug, Clone)]
enum State {
    Name,
    Key,
    Value {
        key: String,
        wire: Wire,
        from: usize,
        scan: usize,
    },
    Done,
}

/// White space and the literal backslash-n that some models write between tags.
fn skip(t: &str, mut i: usize) -> usize {
    let b = t.as_bytes();
    loop {
        if b.get(i).is_some_and(u8::is_ascii_whitespace) {
            i += 1;
        } else if b.get(i) == Some(&b'\\') && b.get(i + 1) == Some(&b'n') {
            i += 2;
        } else {
            return i;
        }
    }
}

/// The text ends in a backslash that may begin such a break.
fn half(t: &str, i: usize, eof: bool) -> bool {
    !eof && t.as_bytes().get(i) == Some(&b'\\') && i + 1 == t.len()
}

impl KeyValue {
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            state: State::Name,
            name: String::new(),
            start: at,
            params: Vec::new(),
            end: at,
        }
    }

    fn closers<'a>(cx: &Cx<'a>) -> &'a [String] {
        let d: &'a Dialect = cx.d;
        &d.spec.closers
    }

    pub(crate) fn cursor(&self) -> usize {
        match &self.state {
            State::Value { scan, .. } => *scan,
            _ => self.at,
        }
    }

    pub(crate) fn advance(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Step {
        let Some(p) = &cx.d.spec.pairs else {
            return Step::Fail(Why::Other);
        };
        let nonce = cx.d.spec.nonce;
        let b = t.as_bytes();
        let cut = |name: &str| {
            if eof {
                Step::Fail(Why::Cut((!name.is_empty()).then(|| name.to_owned())))
            } else {
                Step::More
            }
        };
        loop {
            match &mut self.state {
                State::Name => {
                    let i = skip(t, self.at);
                    let j = name_end(t, i);
                    if j >= b.len() {
                        if j - i > NAME_MAX {
                            return Step::Fail(Why::Other);
                        }
                        return cut("");
                    }
                    if j == i || j - i > NAME_MAX {
                        return Step::Fail(Why::Other);
                    }
                    let name = t[i..j].to_owned();
                    let mut k = j;
                    loop {
                        match lit(t, k, &p.name_end, nonce, eof) {
                            Lit::Part => return Step::More,
                            Lit::Yes(e) => k = e,
                            Lit::No => break,
                        }
                        k = skip(t, k);
                    }
                    k = skip(t, k);
                    if k >= b.len() || half(t, k, eof) {
                        return cut(&name);
                    }
                    match lit(t, k, std::slice::from_ref(&p.key[0]), nonce, eof) {
                        Lit::Part => return Step::More,
                        Lit::Yes(_) => {
                            self.name = name;
                            self.start = i;
                            self.at = k;
                            self.state = State::Key;
                            continue;
                        }
                        Lit::No => {}
                    }
                    match lit(t, k, Self::closers(&cx), nonce, eof) {
                        Lit::Part => return Step::More,
                        Lit::Yes(_) => {
                            if cx.tools.is_declared_rule_on() && !cx.known(&name) {
                                return Step::Fail(Why::Undeclared(name));
                            }
                            self.name = name;
                            self.start = i;
                            self.end = k;
                            self.state = State::Done;
                        }
                        Lit::No => return Step::Fail(Why::Other),
                    }
                }
                State::Key => {
                    let i = skip(t, self.at);
                    if i >= b.len() || half(t, i, eof) {
                        return cut(&self.name);
                    }
                    match lit(t, i, std::slice::from_ref(&p.key[0]), nonce, eof) {
                        Lit::Part => return Step::More,
                        Lit::No => {
                            // No further pair: the closers must follow.
                            self.state = State::Done;
                            continue;
                        }
                        Lit::Yes(e) => {
                            let Some((key, after)) = until(t, e, &p.key[1], nonce) else {
                                if t.len() - e > KEY_MAX + CLOSER_MAX {
                                    return Step::Fail(Why::Other);
                                }
                                return cut(&self.name);
                            };
                            let key = key.trim().to_owned();
                            let mut k = skip(t, after);
                            let mut wire = Wire::Unsaid;
                            if let Some(w) = &p.wire {
                                match lit(t, k, std::slice::from_ref(&w[0]), nonce, eof) {
                                    Lit::Part => return Step::More,
                                    Lit::Yes(e) => {
                                        let Some((ty, after)) = until(t, e, &w[1], nonce) else {
                                            return cut(&self.name);
                                        };
                                        wire = if matches!(ty.trim(), "string" | "str" | "text") {
                                            Wire::Text
                                        } else {
                                            Wire::Json
                                        };
                                        k = skip(t, after);
                                    }
                                    Lit::No => {}
                                }
                            }
                            if k >= b.len() || half(t, k, eof) {
                                return cut(&self.name);
                            }
                            match lit(t, k, std::slice::from_ref(&p.value[0]), nonce, eof) {
                                Lit::Part => return Step::More,
                                Lit::No => return Step::Fail(Why::Other),
                                Lit::Yes(from) => {
                                    self.state = State::Value {
                                        key,
                                        wire,
                                        from,
                                        scan: from,
                                    };
                                }
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
                    let Some(n) = memchr::memchr(b'<', &b[*scan..]) else {
                        *scan = b.len();
                        return cut(&self.name);
                    };
                    let at = *scan + n;
                    match lit(t, at, std::slice::from_ref(&p.value[1]), nonce, eof) {
                        Lit::Part => {
                            *scan = at;
                            return Step::More;
                        }
                        Lit::No => match pair_begins(t, at, p, nonce, eof) {
                            None => {
                                *scan = at;
                                return Step::More;
                            }
                            Some(false) => *scan = at + 1,
                            Some(true) => {
                                // The value's closer is missing.
                                let v = t[*from..at].trim_end().to_owned();
                                self.params.push(Param {
                                    key: std::mem::take(key),
                                    value: Value::Text(v),
                                    wire: *wire,
                                });
                                self.end = at;
                                self.at = at;
                                self.state = State::Key;
                            }
                        },
                        Lit::Yes(after) => {
                            // A closer inside the value is followed by neither key nor closer.
                            let k = skip(t, after);
                            let mut next = if half(t, k, eof) {
                                Lit::Part
                            } else if k >= b.len() {
                                if eof { Lit::Yes(k) } else { Lit::Part }
                            } else {
                                lit(t, k, std::slice::from_ref(&p.key[0]), nonce, eof)
                            };
                            if next == Lit::No {
                                next = lit(t, k, Self::closers(&cx), nonce, eof);
                            }
                            match next {
                                Lit::Part => {
                                    *scan = at;
                                    return Step::More;
                                }
                                Lit::No => *scan = at + 1,
                                Lit::Yes(_) => {
                                    let v = t[*from..at].to_owned();
                                    self.params.push(Param {
                                        key: std::mem::take(key),
                                        value: Value::Text(v),
                                        wire: *wire,
                                    });
                                    self.end = after;
                                    self.at = after;
                                    self.state = State::Key;
                                }
                            }
                        }
                    }
                }
                State::Done => {
                    if !self.params.is_empty() {
                        // Without its closer the call may have been cut between two pairs.
                        let k = skip(t, self.end);
                        if half(t, k, eof) {
                            return Step::More;
                        }
                        match lit(t, k, Self::closers(&cx), nonce, eof) {
                            Lit::Part => return Step::More,
                            Lit::No if k >= b.len() => return cut(&self.name),
                            Lit::No => return Step::Fail(Why::Other),
                            Lit::Yes(_) => self.end = k,
                        }
                    }
                    return Step::Done(self.end);
                }
            }
        }
    }

    pub(crate) fn calls(&self) -> Vec<RawCall> {
        vec![RawCall {
            name: self.name.clone(),
            args: Args::Params(self.params.clone()),
            id: None,
            span: self.start..self.end,
            bare: self.params.is_empty(),
        }]
    }
}

/// Whether a whole key element and the opening of its value stand at `i`.
fn pair_begins(
    t: &str,
    i: usize,
    p: &crate::dialect::PairSpec,
    nonce: bool,
    eof: bool,
) -> Option<bool> {
    let from = match lit(t, i, std::slice::from_ref(&p.key[0]), nonce, eof) {
        Lit::Part => return None,
        Lit::No => return Some(false),
        Lit::Yes(e) => e,
    };
    let Some((key, after)) = until(t, from, &p.key[1], nonce) else {
        return if eof || t.len() - from > KEY_MAX + CLOSER_MAX {
            Some(false)
        } else {
            None
        };
    };
    if key.contains('\n') {
        return Some(false);
    }
    let k = skip(t, after);
    if half(t, k, eof) {
        return None;
    }
    if k >= t.len() {
        return if eof { Some(false) } else { None };
    }
    match lit(t, k, std::slice::from_ref(&p.value[0]), nonce, eof) {
        Lit::Part => None,
        Lit::No => Some(false),
        Lit::Yes(_) => Some(true),
    }
}

/// Text up to a closing literal, and where it ends.
fn until<'a>(t: &'a str, from: usize, close: &String, nonce: bool) -> Option<(&'a str, usize)> {
    let mut i = from;
    let first = *close.as_bytes().first()?;
    while let Some(n) = memchr::memchr(first, &t.as_bytes()[i..]) {
        let at = i + n;
        if at - from > KEY_MAX {
            return None;
        }
        if let Lit::Yes(e) = lit(t, at, std::slice::from_ref(close), nonce, true) {
            return Some((&t[from..at], e));
        }
        i = at + 1;
    }
    None
}

//! One element per parameter (XE), or elements named after the parameter (XN). Not an XML parser:
//! values are literal text.

use super::element::{
    Inside, Lookup, Tag, attr, decode, end_of, inside, named_by, nested, tag, text,
};
use super::{Args, Cx, Lit, NAME_MAX, Param, RawCall, Step, Value, Why, Wire, lit, skip_ws};
use crate::dialect::Dialect;

/// The key of an element that holds all arguments.
const WHOLE: &str = "\0";

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
                        Inside::Ok { next, .. } if next - i > TAG_MAX => return none(self),
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
                            Lookup::Found(_, at) if at - i > TAG_MAX => return none(self),
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
                    if called.is_empty() || called.len() > NAME_MAX || called.contains(['\n', '<'])
                    {
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
                    let mut params = g.param.clone();
                    params.extend(g.whole.clone());
                    match tag(t, i, &g.open, &params, g.param.is_empty(), eof) {
                        Tag::Part => return Step::More,
                        Tag::Yes { name } => match inside(t, name.1, &g.end, eof) {
                            Inside::More if t.len() - i < TAG_MAX => return self.cut(eof),
                            Inside::More | Inside::Fail => return Step::Fail(Why::Other),
                            Inside::Ok { next, .. } if next - i > TAG_MAX => {
                                return Step::Fail(Why::Other);
                            }
                            Inside::Ok {
                                direct,
                                attrs,
                                single,
                                next,
                            } => {
                                let key = if g.param.is_empty() {
                                    Some(t[name.0..name.1].to_owned())
                                } else {
                                    direct.or_else(|| attr(&attrs, &g.key)).or_else(|| {
                                        (g.whole.as_deref() == Some(&t[name.0..name.1]))
                                            .then(|| WHOLE.to_owned())
                                    })
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
                    let whole = [g.whole.clone().unwrap_or_default()];
                    let names: &[String] = if g.param.is_empty() {
                        &key_name
                    } else if key == WHOLE {
                        &whole
                    } else {
                        &g.param
                    };
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
        let bare = params.is_empty();
        let args = match params.as_slice() {
            [
                Param {
                    key,
                    value: Value::Text(v),
                    ..
                },
            ] if key == WHOLE => crate::lit::parse_all(v)
                .filter(|n| matches!(n.kind, crate::lit::Kind::Obj(_)))
                .map(Args::Object),
            _ => None,
        };
        self.calls.push(RawCall {
            name: self.name.clone(),
            bare,
            args: args.unwrap_or(Args::Params(params)),
            id: None,
            span: self.start..end,
        });
        self.at = end;
        self.end = end;
        self.state = State::Call;
    }
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

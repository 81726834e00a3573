//! One dialect's reading of a candidate: framing, opener, payload, closer.

use super::header::Role;
use super::{Cx, Engine, Lit, RawCall, Step, Why, lit, skip_ws};
use crate::dialect::{Closer, Mark, Registry, Walk};
use crate::tools::ToolSet;

/// A dialect at work on the text from the candidate's start.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    pub(crate) dialect: u16,
    weak: bool,
    at: usize,
    /// How far the payload's machine had read when it ended.
    read: usize,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Frame { opened: bool },
    Body(Box<Engine>),
    Close { calls: Vec<RawCall>, from: usize },
    Over(Verdict),
}

/// How a track ended.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// Calls, and where the span ends. None at all: the model said "no call".
    Calls(Vec<RawCall>, usize),
    /// A message header that opens reasoning or content; where it ends.
    Header(Role, usize),
    /// Nothing of this dialect.
    Fail(Why),
}

impl Track {
    /// A track at a marker of its dialect.
    pub(crate) fn marked(dialect: u16, at: usize) -> Self {
        Self {
            dialect,
            weak: false,
            at,
            read: 0,
            state: State::Frame { opened: false },
        }
    }

    /// A track where no marker stands.
    pub(crate) fn markerless(dialect: u16, at: usize, reg: &Registry) -> Self {
        let grammar = reg.dialects[dialect as usize].spec.grammar;
        Self {
            dialect,
            weak: true,
            at,
            read: 0,
            state: State::Body(Box::new(Engine::new(grammar, at))),
        }
    }

    /// Reads on; the verdict once there is one.
    pub(crate) fn advance(
        &mut self,
        t: &str,
        eof: bool,
        reg: &Registry,
        tools: &ToolSet,
    ) -> Option<&Verdict> {
        let d = &reg.dialects[self.dialect as usize];
        let s = &d.spec;
        let cx = Cx {
            d,
            tools,
            weak: self.weak,
        };
        loop {
            match &mut self.state {
                State::Over(_) => break,
                State::Frame { opened } => {
                    let i = if *opened || self.at > 0 {
                        skip_ws(t, self.at)
                    } else {
                        self.at
                    };
                    if i >= t.len() {
                        if !eof {
                            return None;
                        }
                        self.state = State::Over(Verdict::Fail(Why::Cut(None)));
                        continue;
                    }
                    // Framing and doubled openers are read over, longest marker first.
                    let o = lit(t, i, &s.openers, s.nonce, eof);
                    let p = lit(t, i, &s.prefix, s.nonce, eof);
                    match (o, p) {
                        (Lit::Part, _) | (_, Lit::Part) => return None,
                        (Lit::Yes(e), Lit::Yes(f)) if f > e => self.at = f,
                        (Lit::Yes(e), _) => {
                            *opened = true;
                            self.at = e;
                            // What opens a tag is followed by its name, never by another opener.
                            if !t[..e].ends_with('>') && !t[..e].ends_with(']') {
                                self.body(s.grammar);
                            }
                        }
                        (Lit::No, Lit::Yes(f)) => self.at = f,
                        (Lit::No, Lit::No) => {
                            if s.name_in_frame && !*opened && self.at > 0 {
                                // `prefix NAME opener`.
                                let e = super::name_end(t, i);
                                if e >= t.len() && !eof && e - i <= super::NAME_MAX {
                                    return None;
                                }
                                match lit(t, e, &s.openers, s.nonce, eof) {
                                    Lit::Part if e < t.len() => return None,
                                    Lit::Yes(f) if e > i && e - i <= super::NAME_MAX => {
                                        *opened = true;
                                        self.at = f;
                                        continue;
                                    }
                                    _ => {}
                                }
                            }
                            if *opened || s.openers.is_empty() || s.opener_optional {
                                self.body(s.grammar);
                            } else {
                                self.state = State::Over(Verdict::Fail(Why::Other));
                            }
                        }
                    }
                }
                State::Body(engine) => match engine.advance(t, eof, cx) {
                    Step::More => return None,
                    Step::Fail(w) => {
                        self.read = engine.cursor();
                        self.state = State::Over(Verdict::Fail(w));
                    }
                    Step::Done(end) => {
                        self.read = end;
                        if let Engine::Channel(m) = engine.as_ref()
                            && let Some(role @ (Role::Reasoning | Role::Content)) = m.role()
                        {
                            self.state = State::Over(Verdict::Header(role, end));
                            continue;
                        }
                        match engine.calls(t, cx) {
                            Some(calls) => self.state = State::Close { calls, from: end },
                            None => self.state = State::Over(Verdict::Fail(Why::Other)),
                        }
                    }
                },
                State::Close { calls, from } => {
                    let from = *from;
                    if s.closers.is_empty() {
                        let calls = std::mem::take(calls);
                        self.state = State::Over(Verdict::Calls(calls, from));
                        continue;
                    }
                    let i = skip_ws(t, from);
                    let end =
                        if i >= t.len() {
                            if !eof {
                                return None;
                            }
                            Some(from)
                        } else if eof && lit(t, i, &s.closers, s.nonce, false) == Lit::Part {
                            // Cut inside its closer.
                            Some(t.len())
                        } else {
                            match lit(t, i, &s.closers, s.nonce, eof) {
                                Lit::Part => return None,
                                Lit::Yes(e) => Some(e),
                                Lit::No if s.closer == Closer::Optional => Some(from),
                                Lit::No => match reg.trie.walk(t.as_bytes(), i, eof) {
                                    Walk::Partial => return None,
                                    Walk::Hit(_, set)
                                        if reg.trie.marks(set).iter().any(|m| {
                                            !matches!(m, Mark::Think(_) | Mark::Answer)
                                        }) =>
                                    {
                                        Some(from)
                                    }
                                    _ => None,
                                },
                            }
                        };
                    let calls = std::mem::take(calls);
                    self.state = State::Over(match end {
                        Some(e) => Verdict::Calls(calls, e),
                        None => Verdict::Fail(Why::Other),
                    });
                }
            }
        }
        match &self.state {
            State::Over(v) => Some(v),
            _ => None,
        }
    }

    /// How far it has read.
    pub(crate) fn cursor(&self) -> usize {
        self.at.max(self.read)
    }

    fn body(&mut self, grammar: crate::dialect::Grammar) {
        self.state = State::Body(Box::new(Engine::new(grammar, self.at)));
    }
}

//! JSON objects and lists of calls (J1, J2, J3).

use super::extract;
use super::{Cx, Lit, RawCall, Step, Why, lit as marker, skip_ws};
use crate::lit;
use crate::litscan::{LitScan, Scan};

/// One value, or several after one another.
#[derive(Debug, Clone)]
pub(crate) struct Json {
    at: usize,
    state: State,
    /// Ends of complete values: (start, end).
    values: Vec<(usize, usize)>,
    /// The value began with a doubled brace.
    doubled: bool,
    head_done: bool,
}

#[derive(Debug, Clone)]
enum State {
    Start,
    In(LitScan),
    /// After a value: another may follow.
    Between,
}

impl Json {
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            state: State::Start,
            values: Vec::new(),
            doubled: false,
            head_done: false,
        }
    }

    pub(crate) fn advance(&mut self, t: &str, eof: bool, cx: Cx<'_>) -> Step {
        loop {
            match &mut self.state {
                State::Start => {
                    let mut i = skip_ws(t, self.at);
                    match marker(t, i, &cx.d.spec.header.lead, false, eof) {
                        Lit::Part => return Step::More,
                        Lit::Yes(e) => i = skip_ws(t, e),
                        Lit::No => {}
                    }
                    let Some(&b) = t.as_bytes().get(i) else {
                        return if eof {
                            Step::Fail(Why::Cut(None))
                        } else {
                            Step::More
                        };
                    };
                    if b != b'{' && b != b'[' {
                        return Step::Fail(Why::Other);
                    }
                    if b == b'{' && !cx.weak {
                        match t.as_bytes().get(i + 1) {
                            None if !eof => return Step::More,
                            Some(b'{') => self.doubled = true,
                            _ => {}
                        }
                    }
                    self.at = i;
                    self.state = State::In(if self.doubled {
                        LitScan::twins(i)
                    } else {
                        LitScan::new(i, false)
                    });
                }
                State::In(scan) => {
                    if cx.weak && !self.head_done {
                        let (head, whole) = extract::head_of(&t[self.at..], eof);
                        match extract::head(head, cx, whole) {
                            extract::Head::More => return Step::More,
                            extract::Head::Ok => self.head_done = true,
                            extract::Head::No(w) => return Step::Fail(w),
                        }
                    }
                    match scan.advance(t, eof) {
                        Scan::More => return Step::More,
                        Scan::Fail(at) => {
                            if !self.values.is_empty() {
                                return self.done();
                            }
                            let cut = eof && at >= t.len();
                            return Step::Fail(if cut && (!cx.weak || self.head_done) {
                                Why::Cut(extract::name_in_head(&t[self.at..]))
                            } else {
                                Why::Other
                            });
                        }
                        Scan::Done(end) => {
                            self.values.push((self.at, end));
                            self.at = end;
                            self.state = State::Between;
                        }
                    }
                }
                State::Between => {
                    if cx.weak {
                        // Sequences of markerless values are put together by the reader.
                        return self.done();
                    }
                    let mut i = skip_ws(t, self.at);
                    if matches!(t.as_bytes().get(i), Some(b',' | b';')) {
                        i = skip_ws(t, i + 1);
                    }
                    match t.as_bytes().get(i) {
                        None if !eof => return Step::More,
                        Some(b'{') if self.values.len() < 64 => {
                            self.at = i;
                            self.doubled = false;
                            self.state = State::Start;
                        }
                        _ => return self.done(),
                    }
                }
            }
        }
    }

    pub(crate) fn cursor(&self) -> usize {
        match &self.state {
            State::In(s) => s.at(),
            _ => self.at,
        }
    }

    fn done(&self) -> Step {
        self.values
            .last()
            .map_or(Step::Fail(Why::Other), |(_, e)| Step::Done(*e))
    }

    pub(crate) fn calls(&self, t: &str, cx: Cx<'_>) -> Option<Vec<RawCall>> {
        let mut out = Vec::new();
        for (s, e) in &self.values {
            let text = &t[*s..*e];
            if text.starts_with("{{") {
                let single = text.replace("{{", "{").replace("}}", "}");
                let node = lit::parse_all(&single)?;
                let mut calls = extract::calls(&node, 0, cx)?;
                for c in &mut calls {
                    c.span = *s..*e;
                }
                out.extend(calls);
                continue;
            }
            let node = lit::parse_all(text)?;
            let off = *s;
            out.extend(extract::calls(&node, off, cx)?);
        }
        Some(out)
    }
}

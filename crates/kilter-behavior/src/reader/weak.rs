//! Markerless calls and fences: where they may begin.

use kilter_core::Expect;

use super::Sink;
use super::candidate::Candidate;
use super::line::Fence;
use super::machine::Machine;
use super::scan::Here;
use crate::grammar::{NAME_MAX, name_end, skip_ws};

/// Longest info string of a fence that may hold a call.
const INFO_MAX: usize = 64;

impl Machine {
    /// Whether a markerless call may begin here at all.
    pub(crate) fn may_be_weak(&self, t: &str) -> bool {
        let Some(&c) = t.as_bytes().first() else {
            return false;
        };
        matches!(c, b'{' | b'[' | b'`') || self.cfg.tools.begins(c)
    }

    /// A markerless candidate at `p`. `inline` when text stands before it on the line.
    pub(crate) fn weak_here(&mut self, w: &str, p: usize, inline: bool, eof: bool) -> Here {
        let plain = Here::Plain(p);
        if self.off || self.cfg.weak == crate::boundary::WeakMarkers::Off {
            return plain;
        }
        let b = w.as_bytes();
        let c = b[p];
        let lead = !inline
            && self.cfg.registry.lead_bytes[c as usize]
            && self.cfg.registry.weak.iter().any(|d| self.leads(*d, w, p));
        if !(c == b'{' || c == b'[' || c == b'<' || self.cfg.tools.begins(c) || lead) {
            return plain;
        }
        if inline && self.in_word(b, p) {
            return plain;
        }
        let mut name = None;
        if self.cfg.tools.begins(c) && c != b'<' {
            let e = name_end(w, p);
            if e >= b.len() && !eof && e - p <= NAME_MAX {
                return Here::Wait;
            } else if self.callable(&w[p..e]) {
                let next = w[e..].bytes().find(|x| !x.is_ascii_whitespace());
                match next {
                    None if !eof => return Here::Wait,
                    Some(b'(' | b'{') => name = Some(e),
                    Some(_) if self.named(w, e) => name = Some(e),
                    _ => {}
                }
            }
            if name.is_none() && !lead && c != b'{' && c != b'[' {
                return plain;
            }
            if inline && name.is_some_and(|e| b.get(e) != Some(&b'(')) {
                return plain;
            }
        }
        if !self.affordable(p) {
            return plain;
        }
        let ds = self.weak_dialects(w, p, name.is_some(), false);
        if ds.is_empty() {
            return plain;
        }
        Here::Start(Candidate::markerless(&ds, &self.cfg.registry, inline))
    }

    /// Whether a word is a declared name, or one with an ending that some markerless dialect drops.
    pub(super) fn callable(&self, word: &str) -> bool {
        let known = |n: &str| self.cfg.tools.resolve(n).is_some();
        known(word)
            || self.cfg.registry.weak.iter().any(|d| {
                let drop = &self.cfg.registry.dialects[*d as usize].spec.header.drop;
                drop.iter()
                    .any(|x| word.strip_suffix(x.as_str()).is_some_and(known))
            })
    }

    /// Whether some markerless dialect's separator stands behind a name.
    fn named(&self, w: &str, e: usize) -> bool {
        let t = w[e..].trim_start();
        self.cfg.registry.weak.iter().any(|d| {
            let h = &self.cfg.registry.dialects[*d as usize].spec.header;
            h.end
                .iter()
                .any(|x| t.starts_with(x.as_str()) || (!t.is_empty() && x.starts_with(t)))
        })
    }

    /// Whether a lead word of a markerless dialect stands at `p`.
    pub(super) fn leads(&self, d: u16, w: &str, p: usize) -> bool {
        let s = &self.cfg.registry.dialects[d as usize].spec;
        let at = |l: &str| !l.is_empty() && (w[p..].starts_with(l) || l.starts_with(&w[p..]));
        s.header.lead.iter().chain(&s.header.strip).any(|l| at(l))
            || s.notation.as_ref().is_some_and(|n| at(&n.lead))
    }

    /// Markerless dialects that may begin at `p`.
    pub(crate) fn weak_dialects(&self, w: &str, p: usize, named: bool, fenced: bool) -> Vec<u16> {
        use crate::dialect::Grammar;
        let Some(&c) = w.as_bytes().get(p) else {
            return Vec::new();
        };
        self.cfg
            .registry
            .weak
            .iter()
            .copied()
            .filter(|d| {
                let s = &self.cfg.registry.dialects[*d as usize].spec;
                if s.fenced != fenced {
                    return false;
                }
                match s.grammar {
                    Grammar::Json => c == b'{' || c == b'[' || self.leads(*d, w, p),
                    Grammar::Python => c == b'[' || named,
                    Grammar::NameJson if s.header.lead_required => self.leads(*d, w, p),
                    Grammar::NameJson => named || self.leads(*d, w, p),
                    Grammar::Notation => self.leads(*d, w, p),
                    Grammar::Tags => c == b'<',
                    Grammar::Pairs | Grammar::Channel => named,
                }
            })
            .collect()
    }

    /// A fence line: it closes the open fence, may hold a call, or opens a quotation.
    pub(super) fn fence_here(&mut self, w: &str, k: usize, f: Fence, eof: bool) -> Here {
        let t = &w[k..];
        let b = t.as_bytes();
        let limit = f.len + INFO_MAX;
        // Inline code written with three backticks is no fence.
        let inline = |info: &[u8]| f.byte == b'`' && info.contains(&b'`');
        let nl = match memchr::memchr(b'\n', &b[..b.len().min(limit + 1)]) {
            Some(n) => n,
            None if b.len() <= limit && !eof => return Here::Wait,
            None if b.len() <= limit => {
                let rest = t[f.len..].trim();
                let turns = match self.fence {
                    Some(open) => rest.is_empty() && open.closed_by(f),
                    None => !inline(rest.as_bytes()),
                };
                return if turns {
                    Here::FenceLine(t.len())
                } else {
                    Here::Plain(k)
                };
            }
            None => {
                let turns = self.fence.is_none() && !inline(&b[f.len..limit]);
                return if turns {
                    Here::FenceLine(f.len)
                } else {
                    Here::Plain(k)
                };
            }
        };
        let rest = t[f.len..nl].trim();
        if let Some(open) = self.fence {
            if rest.is_empty() && open.closed_by(f) {
                return Here::FenceLine(nl + 1);
            }
            return Here::Plain(k);
        }
        if inline(rest.as_bytes()) {
            return Here::Plain(k);
        }
        let text_before = self.any_text || !w[..k].trim_start().is_empty();
        let off = self.off || self.cfg.weak == crate::boundary::WeakMarkers::Off;
        if !off {
            let body = skip_ws(t, nl + 1);
            if body - nl >= 256 {
                return Here::FenceLine(nl + 1);
            }
            if body >= t.len() {
                if !eof {
                    return Here::Wait;
                }
            } else if self.affordable(k) {
                match self.fence_body(t, body, text_before, eof) {
                    Here::Wait => return Here::Wait,
                    Here::Start(mut c) => {
                        c.fence = Some(f);
                        return Here::Start(c);
                    }
                    _ => {}
                }
            }
        }
        Here::FenceLine(nl + 1)
    }

    /// Delivers a fence line and turns the fence.
    pub(crate) fn fence_line(&mut self, t: &str, sink: &mut dyn Sink) {
        let f = Fence::at(t.as_bytes());
        self.emit(t, sink);
        self.fence = match (self.fence, f) {
            (Some(_), _) => None,
            // Under `required` prose may surround a call, a fence too.
            (None, _) if self.cfg.expect == Expect::Required => None,
            (None, f) => f,
        };
    }
}

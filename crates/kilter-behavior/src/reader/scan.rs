//! Plain text: from one place where something may begin to the next.

use kilter_core::{Expect, ReasoningPlace};

use super::Sink;
use super::candidate::Candidate;
use super::line::{Fence, closing_mark};
use super::machine::{After, Machine, Next, Place};
use crate::dialect::{Mark, Walk};
use crate::grammar::{name_end, skip_ws};

/// Longest info string of a fence that may hold a call.
const INFO_MAX: usize = 64;

/// What stands at a position.
pub(crate) enum Here {
    /// Text up to this offset.
    Plain(usize),
    /// More text is needed to say.
    Wait,
    /// A candidate.
    Start(Candidate),
    /// It was dealt with up to this offset.
    Took(usize),
    /// A fence line; how long it is.
    FenceLine(usize),
}

impl Machine {
    /// Reads plain text.
    pub(crate) fn scan(&mut self, w: &str, eof: bool, sink: &mut dyn Sink) -> (usize, Next) {
        let b = w.as_bytes();
        let mut i = std::mem::take(&mut self.skip).min(b.len());
        // Offset up to which `self.line` has been moved is 0: `emit` moves it. `synced` moves a copy.
        let mut line = self.line;
        let mut synced = 0;
        let mut next_stop = usize::MAX;
        let mut stop_from = usize::MAX;
        let content = self.place == Place::Content;
        let wide = self.wide();
        let required = content && self.cfg.expect == Expect::Required && !self.off;
        loop {
            // The first character of a line.
            if content && line_blank(&mut line, w, &mut synced, i) {
                let mut k = i;
                while k < b.len() && (b[k] == b' ' || b[k] == b'\t') {
                    k += 1;
                }
                if k >= b.len() {
                    break;
                }
                if b[k] != b'\n' && b[k] != b'\r' {
                    line.advance(&w[synced..k]);
                    synced = k;
                    match self.line_start(w, k, &line, eof, sink) {
                        Here::Wait => {
                            self.emit(&w[..k], sink);
                            return (k, Next::Wait);
                        }
                        Here::Start(c) => {
                            self.emit(&w[..k], sink);
                            self.cand = Some(c);
                            return (k, Next::Again);
                        }
                        Here::Took(n) => return (n, Next::Again),
                        Here::FenceLine(n) => {
                            self.emit(&w[..k], sink);
                            self.fence_line(&w[k..k + n], sink);
                            return (k + n, Next::Again);
                        }
                        Here::Plain(n) => {
                            i = n.max(k);
                            if i == k && !matches!(b[k], b'<' | b'[' | b'>' | b']') {
                                i = next_char(w, k);
                            } else if i == k {
                                // The stop at this very place was looked at as well.
                                match self.stop(w, k, &line, eof, sink, &mut i) {
                                    Some(r) => return r,
                                    None => i = i.max(next_char(w, k)),
                                }
                            }
                            line.advance(&w[synced..i]);
                            synced = i;
                            continue;
                        }
                    }
                }
            }
            // The next place where something may begin.
            if stop_from == usize::MAX || next_stop < i {
                stop_from = i;
                next_stop = if wide || required {
                    self.slow_stop(b, i, required)
                } else {
                    memchr::memchr3(b'<', b'[', b'>', &b[i..]).map_or(b.len(), |n| i + n)
                };
            }
            let nl = if content {
                memchr::memchr(b'\n', &b[i..next_stop]).map(|n| i + n)
            } else {
                None
            };
            if let Some(n) = nl {
                i = n + 1;
                continue;
            }
            if next_stop >= b.len() {
                break;
            }
            let p = next_stop;
            line.advance(&w[synced..p]);
            synced = p;
            match self.stop(w, p, &line, eof, sink, &mut i) {
                Some(r) => return r,
                None => i = i.max(next_char(w, p)),
            }
        }
        // A last byte that begins a marker two bytes long at the stop behind it.
        let mut end = b.len();
        if !eof && b.last() == Some(&b']') {
            end -= 1;
        }
        if required && !eof {
            end = end.min(self.name_tail(w));
        }
        self.emit(&w[..end], sink);
        (end, Next::Wait)
    }

    /// Whether markers with other first bytes than the usual stops are looked for.
    fn wide(&self) -> bool {
        let reg = &self.cfg.registry;
        let odd = |m: &str| !m.starts_with(['<', '[', '>']);
        match self.place {
            Place::Content => false,
            Place::Think { marker, .. } => reg.reasoning.iter().enumerate().any(|(i, r)| {
                marker.is_none_or(|m| m as usize == i)
                    && r.closers.iter().chain(&r.before).any(|c| odd(c))
            }),
        }
    }

    fn slow_stop(&self, b: &[u8], from: usize, required: bool) -> usize {
        let trie = &self.cfg.registry.trie;
        let mut i = from;
        while i < b.len() {
            let c = b[i];
            if c == b'<' || c == b'[' || c == b'>' {
                return i;
            }
            if required {
                if c == b'{' {
                    return i;
                }
                let word = i == 0 || !crate::grammar::name_byte(b[i - 1]);
                if word && self.cfg.tools.begins(c) {
                    return i;
                }
            } else if trie.begins(c) {
                return i;
            }
            i += 1;
        }
        b.len()
    }

    /// Where a word at the end of the text begins that may become a declared name.
    fn name_tail(&self, w: &str) -> usize {
        let b = w.as_bytes();
        let mut s = b.len();
        while s > 0 && crate::grammar::name_byte(b[s - 1]) && b.len() - s < 130 {
            s -= 1;
        }
        while !w.is_char_boundary(s) {
            s += 1;
        }
        if s < b.len() && self.cfg.tools.begins_with(&w[s..]) {
            s
        } else {
            b.len()
        }
    }

    /// What begins at a stop. `None`: nothing; go on behind it (or at `i`, when that is further).
    fn stop(
        &mut self,
        w: &str,
        p: usize,
        line: &super::line::Line,
        eof: bool,
        sink: &mut dyn Sink,
        i: &mut usize,
    ) -> Option<(usize, Next)> {
        let b = w.as_bytes();
        // One marker begins one byte before the stop.
        let from = if b[p] == b'<' && p > 0 && b[p - 1] == b']' {
            match self.cfg.registry.trie.walk(b, p - 1, eof) {
                Walk::No => p,
                _ => p - 1,
            }
        } else {
            p
        };
        let walk = self.cfg.registry.trie.walk(b, from, eof);
        let hit = match walk {
            Walk::Partial => {
                self.emit(&w[..from], sink);
                return Some((from, Next::Wait));
            }
            Walk::No => None,
            Walk::Hit(end, set) => Some((end, set)),
        };
        if let Some((end, set)) = hit {
            let marks: Vec<Mark> = self.cfg.registry.trie.marks(set).to_vec();
            match self.marker(w, from, end, &marks, line, eof, sink) {
                Here::Plain(n) => *i = n,
                Here::Wait => {
                    self.emit(&w[..from], sink);
                    return Some((from, Next::Wait));
                }
                Here::Start(c) => {
                    self.emit(&w[..from], sink);
                    self.cand = Some(c);
                    return Some((from, Next::Again));
                }
                Here::Took(n) | Here::FenceLine(n) => return Some((n, Next::Again)),
            }
        }
        let free = self.place == Place::Content
            && self.cfg.expect == Expect::Required
            && !self.off
            && self.fence.is_none()
            && !line.in_code();
        if free && b[p] != b'>' {
            match self.weak_here(w, p, true, eof) {
                Here::Wait => {
                    self.emit(&w[..p], sink);
                    return Some((p, Next::Wait));
                }
                Here::Start(c) => {
                    self.emit(&w[..p], sink);
                    self.cand = Some(c);
                    return Some((p, Next::Again));
                }
                _ => {}
            }
        }
        None
    }

    /// A marker of some kind at `p`, `end` bytes into the text.
    #[expect(clippy::too_many_arguments, reason = "one position, all that is known of it")]
    fn marker(
        &mut self,
        w: &str,
        p: usize,
        end: usize,
        marks: &[Mark],
        line: &super::line::Line,
        eof: bool,
        sink: &mut dyn Sink,
    ) -> Here {
        let raw = &w[p..end];
        let quoted = line.in_code();
        match self.place {
            Place::Think { marker, shown } => {
                for m in marks {
                    let (i, before) = match m {
                        Mark::Unthink(i) => (*i, false),
                        Mark::Before(i) => (*i, true),
                        _ => continue,
                    };
                    if marker.is_some_and(|m| m != i) {
                        continue;
                    }
                    if quoted && !before {
                        match more_on_line(w, end, eof) {
                            None => return Here::Wait,
                            Some(true) => {
                                self.emit(&w[..p], sink);
                                if shown {
                                    self.emit(raw, sink);
                                } else {
                                    let ws = std::mem::take(&mut self.ws);
                                    self.out.text(&ws, true, sink);
                                    self.out.quote_closer(raw, sink);
                                    self.line.advance(raw);
                                }
                                return Here::Took(end);
                            }
                            Some(false) => {}
                        }
                    }
                    self.emit(&w[..p], sink);
                    self.out.settle_quote(true, sink);
                    self.unclosed = false;
                    if shown {
                        if !before {
                            self.emit(raw, sink);
                        }
                        self.place = Place::Content;
                        self.fresh = true;
                        return Here::Took(if before { p } else { end });
                    }
                    if before {
                        self.remove_ws(sink);
                        self.place = Place::Content;
                        self.removed(After::Framing);
                        self.after = None;
                        return Here::Took(p);
                    }
                    self.remove_ws(sink);
                    self.place = Place::Content;
                    self.out.put(super::outlet::Ev::Removed(raw.to_owned()), sink);
                    self.removed(After::Think);
                    return Here::Took(end);
                }
            }
            Place::Content => {
                if let Some(h) = self.content_marker(w, p, end, marks, line, eof, sink) {
                    return h;
                }
            }
        }
        self.call_marker(p, marks, line)
    }

    #[expect(clippy::too_many_arguments, reason = "one position, all that is known of it")]
    fn content_marker(
        &mut self,
        w: &str,
        p: usize,
        end: usize,
        marks: &[Mark],
        line: &super::line::Line,
        eof: bool,
        sink: &mut dyn Sink,
    ) -> Option<Here> {
        use crate::splitter::Split;
        let raw = &w[p..end];
        if self.cfg.split == Split::Suppressed {
            return None;
        }
        let quoted = line.in_code() || self.fence.is_some();
        for m in marks {
            match m {
                Mark::Think(i) => {
                    let anywhere = self.cfg.registry.reasoning[*i as usize].anywhere;
                    let here = self.fresh && w[..p].trim().is_empty();
                    if quoted || !(here || anywhere) {
                        continue;
                    }
                    self.emit(&w[..p], sink);
                    return Some(self.open_think(*i, raw, end, false, sink));
                }
                Mark::Unthink(i) => {
                    if quoted || !self.cfg.registry.reasoning[*i as usize].lone {
                        continue;
                    }
                    let next = &w[end..];
                    if next.is_empty() && !eof {
                        return Some(Here::Wait);
                    }
                    // Named in a sentence, with spaces on both sides, or in quotation marks.
                    let mention = (!line.blank
                        && line.prev == Some(' ')
                        && next.starts_with(' ')
                        && next[1..].starts_with(|c: char| c.is_alphanumeric()))
                        || (line.after_quote_mark() && next.starts_with(closing_mark))
                        || line.shows();
                    if mention {
                        continue;
                    }
                    if self.out.inside_pending() {
                        // Reasoning went on behind the calls in it.
                        self.emit(&w[..p], sink);
                        self.out.reject_inside(sink);
                        self.unclosed = false;
                        self.take(raw, After::Think, sink);
                        return Some(Here::Took(end));
                    }
                    if self.out.lead && self.pos + end <= self.lead_limit() {
                        self.emit(&w[..p], sink);
                        self.pos += p;
                        self.lone(raw, sink);
                        self.pos -= p;
                        return Some(Here::Took(end));
                    }
                    if self.reasoning_place.is_none() {
                        self.reasoning_place = Some(ReasoningPlace::LoneCloser {
                            closer: raw.to_owned(),
                            at: self.pos + p,
                        });
                    }
                }
                Mark::Unanswer if self.answer && !quoted => {
                    let k = skip_ws(w, end);
                    if k >= w.len() && !eof {
                        return Some(Here::Wait);
                    }
                    let stop = k >= w.len()
                        || matches!(self.cfg.registry.trie.walk(w.as_bytes(), k, true), Walk::Hit(_, s)
                            if self.cfg.registry.trie.marks(s).contains(&Mark::Stop));
                    if stop {
                        self.answer = false;
                        self.emit(&w[..p], sink);
                        self.take(raw, After::Framing, sink);
                        return Some(Here::Took(end));
                    }
                }
                Mark::Tail | Mark::Stop if !quoted => {
                    if let Some(f) = self.framed {
                        let ends = self.cfg.registry.dialects[f as usize]
                            .spec
                            .channel
                            .as_ref()
                            .is_some_and(|c| c.ends.iter().any(|e| e == raw));
                        if ends {
                            self.framed = None;
                            self.emit(&w[..p], sink);
                            self.take(raw, After::Framing, sink);
                            return Some(Here::Took(end));
                        }
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Enters reasoning at an opener that ends at `end`.
    pub(crate) fn open_think(
        &mut self,
        marker: u16,
        raw: &str,
        end: usize,
        header: bool,
        sink: &mut dyn Sink,
    ) -> Here {
        let armed = self.inline_armed();
        if self.out.lead {
            // An opener stands at the start: no closer can be a lone one.
            self.out.lead_was_content(sink);
        }
        if self.reasoning_place.is_none() {
            self.reasoning_place = Some(if header {
                ReasoningPlace::ChannelHeader
            } else {
                ReasoningPlace::InlineStart {
                    opener: raw.to_owned(),
                    closed: false,
                }
            });
        }
        self.unclosed = true;
        if armed {
            self.take(raw, After::Think, sink);
            self.place = Place::Think {
                marker: Some(marker),
                shown: false,
            };
            // Inside a block nothing but its white space is framing.
            self.after = None;
        } else {
            self.emit(raw, sink);
            self.place = Place::Think {
                marker: Some(marker),
                shown: true,
            };
        }
        Here::Took(end)
    }

    /// A candidate at a marker of some dialects.
    fn call_marker(&mut self, p: usize, marks: &[Mark], line: &super::line::Line) -> Here {
        let plain = Here::Plain(p);
        if self.off {
            return plain;
        }
        let inside = matches!(self.place, Place::Think { .. });
        let mut ds: Vec<u16> = marks
            .iter()
            .filter_map(|m| match m {
                Mark::Start(d) => Some(*d),
                _ => None,
            })
            .filter(|d| !inside || self.cfg.registry.dialects[*d as usize].spec.in_reasoning)
            .collect();
        if ds.is_empty() || !self.affordable(p) {
            return plain;
        }
        ds.sort_unstable();
        let quoted = line.in_code() || line.shows() || self.fence.is_some();
        if !quoted {
            self.openers.extend(ds.iter().copied());
        }
        Here::Start(Candidate::marked(&ds, *line, quoted))
    }

    /// What begins at the first character of a line of content.
    fn line_start(
        &mut self,
        w: &str,
        k: usize,
        line: &super::line::Line,
        eof: bool,
        sink: &mut dyn Sink,
    ) -> Here {
        let b = w.as_bytes();
        let c = b[k];
        if c == b'`' || c == b'~' {
            let run = b[k..].iter().take_while(|x| **x == c).count();
            if k + run >= b.len() && !eof {
                return Here::Wait;
            }
            if let Some(f) = Fence::at(&b[k..]) {
                return self.fence_here(w, k, f, eof);
            }
            return Here::Plain(k);
        }
        if self.fence.is_some() {
            return Here::Plain(k);
        }
        let at_start = self.fresh && w[..k].trim().is_empty();
        if (self.cfg.registry.line_bytes[c as usize] || at_start)
            && !matches!(c, b'<' | b'[' | b'>')
        {
            match self.cfg.registry.trie.walk(b, k, eof) {
                Walk::Partial => return Here::Wait,
                Walk::No => {}
                Walk::Hit(end, set) => {
                    let marks: Vec<Mark> = self.cfg.registry.trie.marks(set).to_vec();
                    if at_start
                        && let Some(Mark::Think(i)) =
                            marks.iter().find(|m| matches!(m, Mark::Think(_)))
                        && self.cfg.split != crate::splitter::Split::Suppressed
                    {
                        self.emit(&w[..k], sink);
                        return self.open_think(*i, &w[k..end], end, false, sink);
                    }
                    if let h @ Here::Start(_) = self.call_marker(k, &marks, line) {
                        return h;
                    }
                }
            }
        }
        if self.off {
            return Here::Plain(k);
        }
        if c == b'<' || c == b'[' || c == b']' {
            // Markers come first.
            match self.cfg.registry.trie.walk(b, k, eof) {
                Walk::Partial => return Here::Wait,
                Walk::Hit(..) => return Here::Plain(k),
                Walk::No => {}
            }
        }
        self.weak_here(w, k, false, eof)
    }

    /// Bytes of failed candidates stay in proportion to the text, so that the whole is linear.
    pub(crate) fn affordable(&self, p: usize) -> bool {
        self.spent <= 4 * (self.pos + p) + 256 * 1024
    }

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
            && self
                .cfg
                .registry
                .weak
                .iter()
                .any(|d| self.leads(*d, w, p));
        if !(c == b'{' || c == b'[' || c == b'<' || self.cfg.tools.begins(c) || lead) {
            return plain;
        }
        if inline && b.get(p.wrapping_sub(1)).is_some_and(|x| crate::grammar::name_byte(*x)) {
            return plain;
        }
        let mut name = None;
        if self.cfg.tools.begins(c) && c != b'<' {
            let e = name_end(w, p);
            if e >= b.len() && !eof {
                if self.cfg.tools.begins_with(&w[p..e]) {
                    return Here::Wait;
                }
            } else if self.cfg.tools.resolve(&w[p..e]).is_some() {
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
    fn leads(&self, d: u16, w: &str, p: usize) -> bool {
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
                    Grammar::Json => c == b'{' || c == b'[',
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
    fn fence_here(&mut self, w: &str, k: usize, f: Fence, eof: bool) -> Here {
        let t = &w[k..];
        let Some(nl) = memchr::memchr(b'\n', t.as_bytes()) else {
            if !eof && t.len() <= INFO_MAX + f.len {
                return Here::Wait;
            }
            return Here::FenceLine(t.len());
        };
        let rest = t[f.len..nl].trim();
        if let Some(open) = self.fence {
            if rest.is_empty() && open.closed_by(f) {
                return Here::FenceLine(nl + 1);
            }
            return Here::Plain(k + nl);
        }
        let off = self.off || self.cfg.weak == crate::boundary::WeakMarkers::Off;
        if rest.len() <= INFO_MAX && !rest.contains('`') && !off {
            let body = skip_ws(t, nl + 1);
            if body >= t.len() {
                if !eof && body - nl < 256 {
                    return Here::Wait;
                }
            } else if self.affordable(k) {
                match self.fence_body(t, body, eof) {
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

/// Whether nothing but white space stands on the line before `i`.
fn line_blank(line: &mut super::line::Line, w: &str, synced: &mut usize, i: usize) -> bool {
    if i > *synced {
        let seg = &w.as_bytes()[*synced..i];
        if seg.last() == Some(&b'\n') {
            *line = super::line::Line::START;
            *synced = i;
            return true;
        }
        line.advance(&w[*synced..i]);
        *synced = i;
    }
    line.blank
}

fn next_char(w: &str, p: usize) -> usize {
    p + w[p..].chars().next().map_or(1, char::len_utf8)
}

/// Whether a closing backtick and then text follow on the same line; `None` when that is not known.
fn more_on_line(w: &str, from: usize, eof: bool) -> Option<bool> {
    let t = &w[from..];
    let line = match memchr::memchr(b'\n', t.as_bytes()) {
        Some(n) => &t[..n],
        None if eof || t.len() > 4096 => t,
        None => return None,
    };
    Some(match line.find('`') {
        Some(n) => !line[n..].trim_matches('`').trim().is_empty(),
        None => false,
    })
}

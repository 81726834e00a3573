//! Plain text: from one place where something may begin to the next.

use kilter_core::Expect;

use super::Sink;
use super::candidate::Candidate;
use super::line::Fence;
use super::machine::{Machine, Next, Place};
use crate::dialect::{Mark, Walk};

/// What stands at a position.
#[expect(
    clippy::large_enum_variant,
    reason = "a candidate is moved once into the machine; a box would be an allocation at each opener"
)]
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
        // What came to nothing at an earlier place must not begin there again.
        let floor = i;
        // Offset up to which `self.line` has been moved is 0: `emit` moves it. `synced` moves a copy.
        let mut line = self.line;
        let mut synced = 0;
        let mut next_stop = usize::MAX;
        let mut stop_from = usize::MAX;
        let content = self.place == Place::Content;
        // Something else than white space was seen: what only opens a text cannot begin any more.
        let mut texty = !self.fresh;
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
                            texty = true;
                            i = n.max(k);
                            if i == k && !matches!(b[k], b'<' | b'[' | b'>' | b']') {
                                i = next_char(w, k);
                            } else if i == k {
                                // The stop at this very place was looked at as well.
                                match self.stop(w, k, floor, &line, eof, sink, &mut i) {
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
                i = if texty {
                    self.past_plain_lines(w, n + 1, next_stop)
                } else {
                    n + 1
                };
                continue;
            }
            if next_stop >= b.len() {
                break;
            }
            let p = next_stop;
            line.advance(&w[synced..p]);
            synced = p;
            match self.stop(w, p, floor, &line, eof, sink, &mut i) {
                Some(r) => return r,
                None => i = i.max(next_char(w, p)),
            }
        }
        // A last byte that begins a marker two bytes long at the stop behind it.
        let mut end = b.len();
        if !eof && b.last() == Some(&b']') {
            end -= 1;
        }
        if !eof {
            end = end.min(self.marker_tail(w));
        }
        if required && !eof {
            end = end.min(self.name_tail(w));
        }
        self.emit(&w[..end], sink);
        (end, Next::Wait)
    }

    /// Passes lines whose first character begins nothing, without keeping track of each. From the
    /// start of a line to the start of the next that must be looked at, or into the last line
    /// before `stop`.
    fn past_plain_lines(&self, w: &str, start: usize, stop: usize) -> usize {
        let b = w.as_bytes();
        let mut i = start;
        loop {
            let mut k = i;
            while k < stop && matches!(b[k], b' ' | b'\t' | b'\r' | b'\n') {
                k += 1;
            }
            if k >= stop || self.may_begin(b[k]) {
                return i;
            }
            match memchr::memchr(b'\n', &b[k..stop]) {
                Some(n) => i = k + n + 1,
                None => return next_char(w, k),
            }
        }
    }

    /// Whether a line whose first character has this first byte must be looked at.
    fn may_begin(&self, b: u8) -> bool {
        let reg = &self.cfg.registry;
        matches!(b, b'`' | b'~' | b'<' | b'[' | b']' | b'>' | b'{')
            || reg.line_bytes[b as usize]
            || reg.lead_bytes[b as usize]
            || self.cfg.tools.begins(b)
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
                let word = !self.in_word(b, i);
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

    /// Whether a word goes on at `i`.
    pub(super) fn in_word(&self, b: &[u8], i: usize) -> bool {
        let before = match i.checked_sub(1) {
            Some(j) => b.get(j).copied(),
            // The text before the window is known by its last character.
            None => self
                .line
                .prev
                .map(|c| if c.is_ascii() { c as u8 } else { 0xFF }),
        };
        before.is_some_and(crate::grammar::name_byte)
    }

    /// Where the head of a marker that begins with a letter may stand at the end of the text.
    fn marker_tail(&self, w: &str) -> usize {
        let mut end = w.len();
        for (head, _) in self.cfg.registry.back.iter() {
            for n in (1..=head.len().min(w.len())).rev() {
                if w.ends_with(&head[..n]) {
                    end = end.min(w.len() - n);
                    break;
                }
            }
        }
        end
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
        if s < b.len() && self.cfg.tools.begins(b[s]) {
            s
        } else {
            b.len()
        }
    }

    /// What begins at a stop. `None`: nothing; go on behind it (or at `i`, when that is further).
    #[expect(
        clippy::too_many_arguments,
        reason = "the place, what is known of its line, and where the text goes"
    )]
    fn stop(
        &mut self,
        w: &str,
        p: usize,
        floor: usize,
        line: &super::line::Line,
        eof: bool,
        sink: &mut dyn Sink,
        i: &mut usize,
    ) -> Option<(usize, Next)> {
        let b = w.as_bytes();
        // Some markers begin before the stop.
        let reg = std::sync::Arc::clone(&self.cfg.registry);
        for (head, _) in &reg.back {
            if w[floor..p].ends_with(head.as_str()) && b[p] != b'>' {
                let at = p - head.len();
                match self.cfg.registry.trie.walk(b, at, eof) {
                    Walk::No => {}
                    Walk::Partial => {
                        self.emit(&w[..at], sink);
                        return Some((at, Next::Wait));
                    }
                    Walk::Hit(_, set) => {
                        let marks: Vec<Mark> = self.cfg.registry.trie.marks(set).to_vec();
                        let mut before = self.line;
                        before.advance(&w[..at]);
                        if let Here::Start(c) = self.call_marker(at, &marks, &before) {
                            self.emit(&w[..at], sink);
                            self.cand = Some(c);
                            return Some((at, Next::Again));
                        }
                    }
                }
            }
        }
        let from = if b[p] == b'<' && p > floor && b[p - 1] == b']' {
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
                    {
                        if self.cfg.split == crate::splitter::Split::Suppressed {
                            self.note_start(kilter_core::ReasoningPlace::InlineStart {
                                opener: w[k..end].to_owned(),
                                closed: false,
                            });
                            return Here::Plain(end);
                        }
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

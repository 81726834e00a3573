//! What a marker means where it stands: reasoning, frames, calls.

use kilter_core::ReasoningPlace;

use super::Sink;
use super::candidate::Candidate;
use super::line::closing_mark;
use super::machine::{After, Machine, Place};
use super::scan::Here;
use crate::dialect::{Mark, Walk};
use crate::grammar::skip_ws;

impl Machine {
    /// A marker of some kind at `p`, `end` bytes into the text.
    #[expect(
        clippy::too_many_arguments,
        reason = "one position, all that is known of it"
    )]
    pub(super) fn marker(
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
                    self.out
                        .put(super::outlet::Ev::Removed(raw.to_owned()), sink);
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

    #[expect(
        clippy::too_many_arguments,
        reason = "one position, all that is known of it"
    )]
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
        // A server that splits may be swapped for one that does not: where reasoning stands is
        // noted for the profile, and nothing is taken out.
        let suppressed = self.cfg.split == Split::Suppressed;
        let quoted = line.in_code() || self.fence.is_some();
        for m in marks {
            match m {
                Mark::Think(i) => {
                    let anywhere = self.cfg.registry.reasoning[*i as usize].anywhere;
                    let here = self.fresh && w[..p].trim().is_empty();
                    if quoted {
                        continue;
                    }
                    if suppressed {
                        if here {
                            self.note_start(ReasoningPlace::InlineStart {
                                opener: raw.to_owned(),
                                closed: false,
                            });
                        }
                        self.no_lone = true;
                        continue;
                    }
                    if !(here || anywhere) {
                        // An opener stands before any closer: none can be a lone one.
                        if self.out.lead {
                            self.emit(&w[..p], sink);
                            self.out.lead_was_content(sink);
                            self.no_lone = true;
                            self.emit(raw, sink);
                            return Some(Here::Took(end));
                        }
                        self.no_lone = true;
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
                    if (next.is_empty() || next == " ") && !eof {
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
                    if self.reasoning_place.is_none() && !self.no_lone {
                        self.reasoning_place = Some(ReasoningPlace::LoneCloser {
                            closer: raw.to_owned(),
                            at: self.pos + p,
                        });
                    }
                }
                Mark::Frame if !quoted && self.inline_armed() => {
                    if !(self.fresh && w[..p].trim().is_empty()) {
                        continue;
                    }
                    self.emit(&w[..p], sink);
                    self.answer = true;
                    self.take(raw, After::Framing, sink);
                    return Some(Here::Took(end));
                }
                Mark::Unanswer if self.answer && !quoted => {
                    let k = skip_ws(w, end);
                    if k >= w.len() && !eof {
                        return Some(Here::Wait);
                    }
                    // It closes the answer at the end of the reply or before another marker.
                    let walk = self.cfg.registry.trie.walk(w.as_bytes(), k, eof);
                    if k < w.len() && walk == Walk::Partial {
                        return Some(Here::Wait);
                    }
                    if k >= w.len() || matches!(walk, Walk::Hit(..)) {
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
        self.note_start(if header {
            ReasoningPlace::ChannelHeader
        } else {
            ReasoningPlace::InlineStart {
                opener: raw.to_owned(),
                closed: false,
            }
        });
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
    pub(super) fn call_marker(
        &mut self,
        p: usize,
        marks: &[Mark],
        line: &super::line::Line,
    ) -> Here {
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
}

/// Whether a closing backtick and then text follow on the same line; `None` when that is not known.
fn more_on_line(w: &str, from: usize, eof: bool) -> Option<bool> {
    /// Farther along the line nobody looks, however much of it is there.
    const LOOK: usize = 4096;
    let t = &w[from..];
    let long = t.len() > LOOK;
    let near = &t[..t.floor_char_boundary(LOOK)];
    let line = match memchr::memchr(b'\n', near.as_bytes()) {
        Some(n) => &near[..n],
        None if eof || long => near,
        None => return None,
    };
    Some(match line.find('`') {
        Some(n) => !line[n..].trim_matches('`').trim().is_empty(),
        None => false,
    })
}

//! One automaton over all markers, walked from a byte that can begin one.

use std::collections::HashMap;

/// What a marker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mark {
    /// Begins a candidate of this dialect: prefix, opener or trigger.
    Start(u16),
    /// Closer or suffix of some dialect: framing behind a call.
    Tail,
    /// Opens reasoning of this marker.
    Think(u16),
    /// Closes reasoning of this marker.
    Unthink(u16),
    /// Ends reasoning of this marker without being part of it.
    Before(u16),
    /// Opens an answer wrapper.
    Answer,
    /// Opens a frame around content, at its start.
    Frame,
    /// Closes an answer wrapper or a frame.
    Unanswer,
    /// A stop token.
    Stop,
}

/// The result of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    /// No marker begins here.
    No,
    /// The text ends inside something that may become a marker.
    Partial,
    /// The longest marker: end offset and index of its marks.
    Hit(usize, u32),
}

#[derive(Debug, Clone, Default)]
struct State {
    /// Sorted by byte.
    next: Vec<(u8, u32)>,
    marks: Option<u32>,
    /// A `:suffix>` may follow; then these marks hold.
    nonce: Option<u32>,
}

/// The automaton.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trie {
    states: Vec<State>,
    sets: Vec<Vec<Mark>>,
    first: Vec<u32>,
}

/// Longest `:suffix` of a marker.
pub(crate) const NONCE_MAX: usize = 40;

impl Trie {
    /// Builds from markers; `true` says that a `:suffix` may stand before a final `>`.
    pub(crate) fn new(markers: &[(String, bool, Mark)]) -> Self {
        let mut t = Self {
            states: vec![State::default()],
            sets: Vec::new(),
            first: Vec::new(),
        };
        let mut seen: HashMap<(u32, bool), u32> = HashMap::new();
        for (text, nonce, mark) in markers {
            if text.is_empty() {
                continue;
            }
            let s = t.path(text.as_bytes());
            t.add(s, false, *mark, &mut seen);
            if *nonce && let Some(head) = text.strip_suffix('>') {
                let s = t.path(format!("{head}:").as_bytes());
                t.add(s, true, *mark, &mut seen);
            }
        }
        for s in &mut t.states {
            s.next.sort_unstable();
        }
        t.inherit(0, &mut Vec::new());
        t.first = (0..=255u8)
            .map(|b| t.step(0, b).unwrap_or(u32::MAX))
            .collect();
        t
    }

    /// Where a longer marker begins like a shorter one, the dialects of both are candidates.
    fn inherit(&mut self, at: u32, starts: &mut Vec<Mark>) {
        let own = starts.len();
        if let Some(id) = self.states[at as usize].marks {
            let set = &mut self.sets[id as usize];
            for m in starts.iter() {
                if !set.contains(m) {
                    set.push(*m);
                }
            }
            starts.extend(set.iter().filter(|m| matches!(m, Mark::Start(_))));
        }
        let next: Vec<u32> = self.states[at as usize].next.iter().map(|n| n.1).collect();
        for n in next {
            self.inherit(n, starts);
        }
        starts.truncate(own);
    }

    fn path(&mut self, text: &[u8]) -> u32 {
        let mut at = 0u32;
        for &b in text {
            let found = self.states[at as usize]
                .next
                .iter()
                .find(|(c, _)| *c == b)
                .map(|(_, n)| *n);
            at = match found {
                Some(n) => n,
                None => {
                    let n = u32::try_from(self.states.len()).unwrap_or(u32::MAX);
                    self.states.push(State::default());
                    self.states[at as usize].next.push((b, n));
                    n
                }
            };
        }
        at
    }

    fn add(&mut self, state: u32, nonce: bool, mark: Mark, seen: &mut HashMap<(u32, bool), u32>) {
        let id = *seen.entry((state, nonce)).or_insert_with(|| {
            self.sets.push(Vec::new());
            u32::try_from(self.sets.len() - 1).unwrap_or(u32::MAX)
        });
        let set = &mut self.sets[id as usize];
        if !set.contains(&mark) {
            set.push(mark);
        }
        let s = &mut self.states[state as usize];
        if nonce {
            s.nonce = Some(id);
        } else {
            s.marks = Some(id);
        }
    }

    fn step(&self, at: u32, b: u8) -> Option<u32> {
        let next = &self.states[at as usize].next;
        next.binary_search_by_key(&b, |(c, _)| *c)
            .ok()
            .map(|i| next[i].1)
    }

    /// Whether a marker can begin with this byte.
    pub(crate) fn begins(&self, b: u8) -> bool {
        self.first.get(b as usize).is_some_and(|n| *n != u32::MAX)
    }

    /// The marks of a set.
    pub(crate) fn marks(&self, set: u32) -> &[Mark] {
        self.sets.get(set as usize).map_or(&[], Vec::as_slice)
    }

    /// Walks from `i`. With `eof` a partial marker is none.
    pub(crate) fn walk(&self, text: &[u8], i: usize, eof: bool) -> Walk {
        let mut best = Walk::No;
        let Some(&b) = text.get(i) else {
            return if eof { Walk::No } else { Walk::Partial };
        };
        let mut at = self.first.get(b as usize).copied().unwrap_or(u32::MAX);
        if at == u32::MAX {
            return Walk::No;
        }
        let mut j = i + 1;
        loop {
            let s = &self.states[at as usize];
            if let Some(m) = s.marks {
                best = Walk::Hit(j, m);
            }
            if let Some(m) = s.nonce {
                let mut k = j;
                while k - j < NONCE_MAX
                    && text
                        .get(k)
                        .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-')
                {
                    k += 1;
                }
                match text.get(k) {
                    None if !eof => return Walk::Partial,
                    Some(b'>') if k > j => return Walk::Hit(k + 1, m),
                    _ => {}
                }
            }
            if s.next.is_empty() {
                return best;
            }
            match text.get(j) {
                None => return if eof { best } else { Walk::Partial },
                Some(&b) => match self.step(at, b) {
                    Some(n) => {
                        at = n;
                        j += 1;
                    }
                    None => return best,
                },
            }
        }
    }
}

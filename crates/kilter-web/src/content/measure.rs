//! How much text a subtree holds, and what kind of text: the numbers that every choice is made from.

use crate::block::is_block;
use crate::dom::{Document, Kind, NodeId};

/// Weight of a character that is a syllable or a word by itself, in Latin letters.
const DENSE: u32 = 3;
/// Weight from which running text counts as prose.
const PROSE: u32 = 60;
/// Weight from which running text counts as prose if it also ends as a sentence does.
const SENTENCE: u32 = 30;

/// Sums over a subtree.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    /// Weight of all text.
    pub(super) chars: u32,
    /// Weight of the text in links.
    pub(super) links: u32,
    /// Weight of the text in runs that read as prose, links in them included.
    pub(super) prose: u32,
    /// Number of such runs.
    pub(super) runs: u32,
}

impl Sum {
    /// Share of the text that is link text.
    pub(super) fn link_density(&self) -> f32 {
        self.links as f32 / self.chars.max(1) as f32
    }

    /// Text that is not prose.
    pub(super) fn junk(&self) -> u32 {
        self.chars.saturating_sub(self.prose)
    }

    pub(super) fn add(&mut self, other: Self) {
        self.chars += other.chars;
        self.links += other.links;
        self.prose += other.prose;
        self.runs += other.runs;
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            chars: self.chars.saturating_sub(other.chars),
            links: self.links.saturating_sub(other.links),
            prose: self.prose.saturating_sub(other.prose),
            runs: self.runs.saturating_sub(other.runs),
        }
    }
}

/// The running text that an element itself holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    pub(super) chars: u32,
    pub(super) links: u32,
    /// Marks that end or part sentences, of any script.
    pub(super) stops: u32,
    /// Whether the last character that is no white space ends a sentence.
    pub(super) ends: bool,
}

impl Run {
    /// Whether it reads as prose: long enough, or a sentence, and more words than links.
    pub(super) fn is_prose(&self) -> bool {
        let free = self.chars.saturating_sub(self.links);
        free * 2 >= self.chars
            && (self.chars >= PROSE && self.stops > 0
                || self.chars >= SENTENCE && self.ends
                || self.chars >= PROSE * 2)
    }
}

/// The measures of a page; one row per node.
#[derive(Debug)]
pub(super) struct Measures {
    pub(super) sums: Vec<Sum>,
    pub(super) runs: Vec<Run>,
}

impl Measures {
    pub(super) fn sum(&self, id: NodeId) -> Sum {
        self.sums[id.index()]
    }

    /// Measures all that is not skipped.
    pub(super) fn of(doc: &Document, skip: &[bool]) -> Self {
        let n = doc.len();
        let mut runs = vec![Run::default(); n];
        let mut sums = vec![Sum::default(); n];
        // Per node: the element whose running text it belongs to, and whether it stands in a link.
        let mut owner = vec![NodeId::ROOT; n];
        let mut linked = vec![false; n];
        let mut at = 1;
        while at < n {
            let id = NodeId::from_index(at);
            if skip[at] {
                at = doc.end(id).index();
                continue;
            }
            let parent = doc.parent(id).unwrap_or(NodeId::ROOT).index();
            match doc.kind(id) {
                Kind::Element(e) => {
                    let tag = e.tag();
                    let block = is_block(tag) || tag == "br";
                    owner[at] = if block && tag != "br" {
                        id
                    } else {
                        owner[parent]
                    };
                    linked[at] = linked[parent] || (tag == "a" && e.attr("href").is_some());
                }
                Kind::Text(text) => {
                    let run = &mut runs[owner[parent].index()];
                    let (weight, stops, last) = weigh(text);
                    if weight > 0 {
                        run.chars += weight;
                        run.stops += stops;
                        if linked[parent] {
                            run.links += weight;
                        }
                        if let Some(last) = last {
                            run.ends = ends_sentence(last);
                        }
                    }
                }
                Kind::Document => {}
            }
            at += 1;
        }
        for at in (0..n).rev() {
            let run = runs[at];
            let prose = run.is_prose();
            sums[at].add(Sum {
                chars: run.chars,
                links: run.links,
                prose: if prose { run.chars } else { 0 },
                runs: u32::from(prose),
            });
            if at > 0 {
                let parent = doc
                    .parent(NodeId::from_index(at))
                    .unwrap_or(NodeId::ROOT)
                    .index();
                let sum = sums[at];
                sums[parent].add(sum);
            }
        }
        Self { sums, runs }
    }
}

/// Weight, stops and last character of a text; white space weighs nothing beyond one per word.
fn weigh(text: &str) -> (u32, u32, Option<char>) {
    let mut weight = 0;
    let mut stops = 0;
    let mut last = None;
    let mut space = true;
    if text.is_ascii() {
        for b in text.bytes() {
            if b.is_ascii_whitespace() {
                space = true;
                continue;
            }
            weight += 1 + u32::from(space && weight > 0);
            space = false;
            stops += u32::from(matches!(b, b'.' | b',' | b';' | b':' | b'!' | b'?'));
            last = Some(char::from(b));
        }
        return (weight, stops, last);
    }
    for c in text.chars() {
        if c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}' {
            space = true;
            continue;
        }
        weight += if is_dense(c) {
            DENSE
        } else {
            1 + u32::from(space && weight > 0)
        };
        space = false;
        stops += u32::from(matches!(c, '.' | ',' | ';' | ':' | '!' | '?') || is_foreign_stop(c));
        last = Some(c);
    }
    (weight, stops, last)
}

fn is_dense(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_foreign_stop(c: char) -> bool {
    matches!(
        c,
        '。' | '、'
            | '，'
            | '；'
            | '：'
            | '！'
            | '？'
            | '।'
            | '॥'
            | '؟'
            | '،'
            | '؛'
            | '۔'
            | '።'
            | '…'
            | '·'
            | '။'
            | '។'
    )
}

/// Whether a sentence may end with the character: a stop, or what closes a quotation or a bracket after one.
fn ends_sentence(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '。'
            | '！'
            | '？'
            | '।'
            | '॥'
            | '؟'
            | '۔'
            | '።'
            | '…'
            | '။'
            | '។'
            | '"'
            | '”'
            | '»'
            | '“'
            | '」'
            | '』'
            | ')'
            | '）'
    )
}

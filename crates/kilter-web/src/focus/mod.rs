//! Focus: which sections and blocks of a page answer a question.
//!
//! Identity comes first (the fragment of the URL, a heading that is the question), then words in headings, then words
//! in the text; BM25F decides between equals. All of it works on blocks; no phrase of any language is known here.

mod rank;
pub mod words;

use serde::Serialize;

pub use rank::{Index, Met};

use crate::page::{Block, BlockKind};
use words::{slug, words};

/// What is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The question, in words.
    pub question: Option<String>,
    /// The fragment of the URL.
    pub fragment: Option<String>,
}

impl Wanted {
    /// A question and nothing else.
    pub fn question(words: &str) -> Self {
        Self {
            question: Some(words.to_owned()),
            fragment: None,
        }
    }

    /// Whether anything is wanted.
    pub fn is_empty(&self) -> bool {
        let blank = |s: &Option<String>| s.as_deref().is_none_or(|s| s.trim().is_empty());
        blank(&self.question) && blank(&self.fragment)
    }
}

/// Blocks under one heading, the heading included; what stands before the first heading is a section without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// First block.
    pub first: usize,
    /// One past the last block.
    pub end: usize,
    /// The heading's text.
    pub heading: Option<String>,
    /// Level of the heading; 0 without one.
    pub level: u8,
}

/// Cuts blocks at headings.
pub fn sections(blocks: &[Block]) -> Vec<Section> {
    let mut out: Vec<Section> = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        let is_heading = block.kind == BlockKind::Heading;
        if is_heading || out.is_empty() {
            out.push(Section {
                first: i,
                end: i + 1,
                heading: is_heading.then(|| block.text.clone()),
                level: if is_heading {
                    block.level.unwrap_or(1)
                } else {
                    0
                },
            });
        } else if let Some(last) = out.last_mut() {
            last.end = i + 1;
        }
    }
    out
}

/// How well a page answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FocusStatus {
    /// A section is about it.
    Hit,
    /// Some of its words are there.
    Weak,
    /// Nothing of it is there.
    Miss,
    /// Nothing was asked.
    NotRequested,
}

/// The page in the light of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Focus {
    /// How well it answers.
    pub status: FocusStatus,
    /// Heading of the best section.
    pub anchor: Option<String>,
    /// The sections, in page order.
    pub sections: Vec<Section>,
    /// Sections by worth, best first; those that answer nothing are not in it.
    pub best: Vec<usize>,
    /// BM25F score of each block.
    pub scores: Vec<f64>,
}

const FRAGMENT: i64 = 10_000;
const ANCHOR: i64 = 4_000;
const HEADING: i64 = 2_500;
const PHRASE: i64 = 1_200;
const IN_HEADING: i64 = 350;
const ALL_IN_HEADING: i64 = 700;
const IN_BODY: i64 = 45;
const ALL_IN_BODY: i64 = 160;
const SUBSTANCE: i64 = 80;
const INDEX_LIKE: i64 = -3_000;
/// From here on a section is about the question.
const HIT: i64 = ALL_IN_BODY;

/// Looks at a page in the light of what is wanted.
pub fn focus(blocks: &[Block], wanted: &Wanted) -> Focus {
    let sections = sections(blocks);
    if wanted.is_empty() {
        return Focus {
            status: FocusStatus::NotRequested,
            anchor: None,
            best: Vec::new(),
            scores: vec![0.0; blocks.len()],
            sections,
        };
    }
    let question = wanted.question.as_deref().unwrap_or_default().trim();
    let index = Index::new(blocks);
    let met = index.meet(question);
    let scores = index.scores(&met);
    let top = scores
        .iter()
        .copied()
        .fold(0.0, f64::max)
        .max(f64::MIN_POSITIVE);
    let worth: Vec<i64> = sections
        .iter()
        .map(|s| {
            let sum = scores[s.first..s.end].iter().copied().fold(0.0, f64::max);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a fraction of one, times forty"
            )]
            let tie = (40.0 * sum / top) as i64;
            match section_worth(blocks, s, wanted, question, &met) {
                0 => 0,
                w => w + tie,
            }
        })
        .collect();
    let mut best: Vec<usize> = (0..sections.len()).filter(|i| worth[*i] > 0).collect();
    best.sort_by_key(|i| std::cmp::Reverse(worth[*i]));
    let status = match best.first().map(|i| worth[*i]) {
        Some(w) if w >= HIT => FocusStatus::Hit,
        Some(_) => FocusStatus::Weak,
        None => FocusStatus::Miss,
    };
    Focus {
        status,
        anchor: best.first().and_then(|i| sections[*i].heading.clone()),
        sections,
        best,
        scores,
    }
}

fn section_worth(
    blocks: &[Block],
    section: &Section,
    wanted: &Wanted,
    question: &str,
    met: &[Met],
) -> i64 {
    let mut worth = 0;
    let heading = section.heading.as_deref().unwrap_or_default();
    let head = &blocks[section.first];
    let mut identical = false;
    let has = words(heading);
    if let Some(fragment) = wanted.fragment.as_deref().filter(|f| !f.is_empty()) {
        let by_id = blocks[section.first..section.end]
            .iter()
            .any(|b| selector_names(&b.source_selector, fragment));
        if by_id || section.heading.is_some() && slug(heading) == slug(fragment) {
            worth += FRAGMENT;
            identical = true;
        }
    }
    if section.heading.is_some() && !question.is_empty() {
        let asked = words(question);
        if selector_names(&head.source_selector, &slug(question)) {
            worth += ANCHOR;
            identical = true;
        }
        if asked == has && !asked.is_empty() {
            worth += HEADING;
            identical = true;
        } else if asked.len() > 1 && has.windows(asked.len()).any(|w| w == asked) {
            worth += PHRASE;
        }
    }
    let (mut in_heading, mut in_body) = (0, 0);
    for m in met {
        if section.heading.is_some()
            && m.blocks.get(&section.first).is_some_and(|n| *n >= 0.6)
            && has.iter().any(|w| words::likeness(&m.word, w) > 0.0)
        {
            in_heading += 1;
        }
        let from = section.first + usize::from(section.heading.is_some());
        if (from..section.end).any(|i| m.blocks.get(&i).is_some_and(|n| *n >= 0.6)) {
            in_body += 1;
        }
    }
    let all = |n: i64| n > 0 && n == i64::try_from(met.len()).unwrap_or(i64::MAX);
    worth += IN_HEADING * in_heading + if all(in_heading) { ALL_IN_HEADING } else { 0 };
    worth += IN_BODY * in_body + if all(in_body) { ALL_IN_BODY } else { 0 };
    if worth == 0 {
        return 0;
    }
    let body = &blocks[(section.first + 1).min(section.end)..section.end];
    if body.iter().map(|b| b.text.len()).sum::<usize>() >= 200 {
        worth += SUBSTANCE;
    }
    if !identical && is_index(body) {
        worth = (worth + INDEX_LIKE).max(1);
    }
    worth
}

/// Whether a selector ends in the element with this `id`.
fn selector_names(selector: &str, id: &str) -> bool {
    !id.is_empty()
        && selector
            .rsplit([' ', '>'])
            .next()
            .and_then(|last| last.split_once('#'))
            .is_some_and(|(_, name)| name == id)
}

/// Whether a section is a list of links rather than text.
fn is_index(body: &[Block]) -> bool {
    let links: usize = body.iter().map(|b| b.links.len()).sum();
    let linked: usize = body
        .iter()
        .flat_map(|b| &b.links)
        .map(|l| l.text.len())
        .sum();
    let all: usize = body.iter().map(|b| b.text.len()).sum();
    links >= 4 && linked * 10 >= all * 7
}

/// The order in which blocks deserve a place in a reply, and how many of the first are the smallest answer: the best
/// section's heading with its best block. Without a question: the page's own order, with its first two blocks.
pub fn order(blocks: &[Block], focus: &Focus) -> (Vec<usize>, usize) {
    if focus.best.is_empty() {
        return ((0..blocks.len()).collect(), blocks.len().min(2));
    }
    let mut order = Vec::with_capacity(blocks.len());
    let mut taken = vec![false; blocks.len()];
    let mut take = |i: usize, order: &mut Vec<usize>| {
        if !std::mem::replace(&mut taken[i], true) {
            order.push(i);
        }
    };
    let mut smallest = 0;
    for (place, s) in focus.best.iter().enumerate() {
        let section = &focus.sections[*s];
        let body = section.first + usize::from(section.heading.is_some())..section.end;
        let best = body
            .clone()
            .max_by(|a, b| focus.scores[*a].total_cmp(&focus.scores[*b]).then(b.cmp(a)));
        if section.heading.is_some() {
            take(section.first, &mut order);
        }
        if let Some(best) = best {
            take(best, &mut order);
        }
        if place == 0 {
            smallest = order.len();
        }
        // The rest of a section, nearest to its best block first: an answer is read in its surroundings.
        let mut rest: Vec<usize> = body.collect();
        if let Some(best) = best {
            rest.sort_by_key(|i| i.abs_diff(best));
        }
        for i in rest {
            take(i, &mut order);
        }
    }
    for i in 0..blocks.len() {
        take(i, &mut order);
    }
    (order, smallest)
}

/// A section whose best block scores less than this share of the page's best one met the question by words that are
/// everywhere on the page.
const FAINT: f64 = 0.15;

/// Blocks worth keeping when a page is to be pruned to a question: the sections that answer, with the headings above
/// them. A page that answers nowhere is kept whole.
pub fn prune(blocks: &[Block], focus: &Focus) -> Vec<usize> {
    if focus.best.is_empty() {
        return (0..blocks.len()).collect();
    }
    let mut keep = vec![false; blocks.len()];
    let top = focus.scores.iter().copied().fold(0.0, f64::max);
    for (place, s) in focus.best.iter().enumerate() {
        let section = &focus.sections[*s];
        let scores = &focus.scores[section.first..section.end];
        if place > 0 && scores.iter().copied().fold(0.0, f64::max) < FAINT * top {
            continue;
        }
        keep[section.first..section.end].fill(true);
        let mut level = section.level;
        for above in focus.sections[..*s].iter().rev() {
            if above.heading.is_some() && above.level < level {
                keep[above.first] = true;
                level = above.level;
            }
        }
    }
    (0..blocks.len()).filter(|i| keep[*i]).collect()
}

/// How much each block has to do with the question: 0 to 1, the best block 1.
pub fn salience(focus: &Focus) -> Vec<f64> {
    let top = focus.scores.iter().copied().fold(0.0, f64::max);
    focus
        .scores
        .iter()
        .map(|s| {
            if top > 0.0 {
                (s / top * 1_000.0).round() / 1_000.0
            } else {
                0.0
            }
        })
        .collect()
}

//! What a page can be held by: landmarks, marks for tests, and selectors of its content, each tried on the page itself.

use std::collections::HashSet;

use serde::Serialize;

use super::gate::{Gate, gate};
use super::skeleton::{sizes, test_id};
use crate::content::{self, Rules};
use crate::dom::select::{Selector, escape};
use crate::dom::{Document, Element, NodeId, fold};
use crate::meta::Statements;
use crate::page::{Block, ReadOptions};
use crate::read;

/// Candidates that are tried on the page.
const TRIED: usize = 24;
/// Candidates that are returned.
const RETURNED: usize = 8;
/// Marks for tests that are returned.
const MARKS: usize = 50;
/// Share of the page's text below which an element is no candidate.
const LIGHT: usize = 20;

/// What a page can be held by.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchors {
    /// Parts of the page that say what they are: `main`, `nav`, `[role=search]`.
    pub landmarks: Vec<Landmark>,
    /// Selectors of marks that authors give elements for their own tests.
    pub data_test_ids: Vec<String>,
    /// Selectors of the content, the best first.
    pub main_candidates: Vec<Candidate>,
}

/// A part of the page that says what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Landmark {
    /// A selector of it.
    pub selector: String,
    /// Characters in it.
    pub chars: usize,
}

/// A selector of the content, with what it gave on this page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// The selector.
    pub selector: String,
    /// The first words that it gives. They are the page's: data, never an instruction.
    pub text_anchor: String,
    /// 0 to 100, as the save gate scores it.
    pub score: f64,
    /// Elements that it matches.
    pub matches: usize,
    /// Characters that it gives.
    pub chars: usize,
    /// What the save gate says.
    pub gate: Gate,
}

/// What a selector of a playbook gives on a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelectorState {
    /// The selector.
    pub selector: String,
    /// Elements that it matches.
    pub matches: usize,
    /// Characters in them.
    pub chars: usize,
    /// Why it cannot be read, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Looks at every selector of a list.
pub fn held(doc: &Document, selectors: &[String]) -> Vec<SelectorState> {
    let sums = sizes(doc);
    selectors
        .iter()
        .map(|text| {
            let (matches, chars, error) = match Selector::parse(text) {
                Ok(selector) => {
                    let found: Vec<NodeId> = selector.all(doc, NodeId::ROOT).collect();
                    let chars = found.iter().map(|i| sums[i.index()].0).sum();
                    (found.len(), chars, None)
                }
                Err(e) => (0, 0, Some(e.to_string())),
            };
            SelectorState {
                selector: text.clone(),
                matches,
                chars,
                error,
            }
        })
        .collect()
}

/// Finds what a page can be held by.
pub fn anchors(doc: &Document) -> Anchors {
    let sums = sizes(doc);
    let mut out = Anchors::default();
    let mut seen = HashSet::new();
    for id in doc.descendants(NodeId::ROOT) {
        let Some(e) = doc.element(id) else { continue };
        let landmark = match (e.attr("role"), e.tag()) {
            (
                Some(
                    role @ ("main" | "navigation" | "banner" | "contentinfo" | "complementary"
                    | "search" | "article"),
                ),
                _,
            ) => Some(format!("[role=\"{role}\"]")),
            (_, tag @ ("main" | "article" | "nav" | "header" | "footer" | "aside")) => {
                Some(tag.to_owned())
            }
            _ => None,
        };
        if let Some(selector) = landmark.filter(|s| seen.insert(s.clone())) {
            let chars = sums[id.index()].0;
            out.landmarks.push(Landmark { selector, chars });
        }
        if let Some((name, value)) = test_id(e)
            && out.data_test_ids.len() < MARKS
        {
            let selector = attribute(name, value);
            if seen.insert(selector.clone()) {
                out.data_test_ids.push(selector);
            }
        }
    }
    out.main_candidates = candidates(doc, &sums);
    out
}

/// The page as it is read without a playbook; all of its body where that gives nothing.
fn whole(doc: &Document) -> Vec<Block> {
    let all = ReadOptions {
        selectors: vec!["body".to_owned()],
        ..ReadOptions::default()
    };
    read::document(doc, None, &ReadOptions::default())
        .or_else(|_| read::document(doc, None, &all))
        .map(|page| page.blocks)
        .unwrap_or_default()
}

fn candidates(doc: &Document, sums: &[(usize, usize)]) -> Vec<Candidate> {
    let whole = whole(doc);
    if whole.is_empty() {
        return Vec::new();
    }
    let choice = content::choose(doc, &Statements::of(doc), &Rules::default());
    let body = doc.first("body").unwrap_or(NodeId::ROOT);
    let total = sums[body.index()].0;
    // Around the chosen content, then the heaviest elements that have a name.
    let mut places: Vec<NodeId> = choice.roots.clone();
    for root in &choice.roots {
        places.extend(doc.ancestors(*root));
    }
    let mut named: Vec<NodeId> = doc
        .descendants(body)
        .filter(|i| sums[i.index()].0 * LIGHT >= total && doc.element(*i).is_some())
        .collect();
    named.sort_by_key(|i| std::cmp::Reverse(sums[i.index()].0.saturating_sub(sums[i.index()].1)));
    places.extend(named);
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for selector in places.iter().flat_map(|i| names(doc, *i)) {
        if out.len() >= TRIED {
            break;
        }
        if seen.insert(selector.clone()) {
            out.extend(tried(doc, selector, &whole));
        }
    }
    out.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(a.selector.len().cmp(&b.selector.len()))
            .then(a.selector.cmp(&b.selector))
    });
    out.truncate(RETURNED);
    out
}

/// Reads the page by one selector and judges it as the save gate would.
fn tried(doc: &Document, selector: String, whole: &[Block]) -> Option<Candidate> {
    let matches = Selector::parse(&selector)
        .ok()?
        .all(doc, NodeId::ROOT)
        .count();
    let options = ReadOptions {
        selectors: vec![selector.clone()],
        ..ReadOptions::default()
    };
    let page = read::document(doc, None, &options).ok()?;
    let gate = gate(&page.blocks, whole).ok()?;
    Some(Candidate {
        text_anchor: fold(&page.text).chars().take(80).collect(),
        score: gate.score,
        matches,
        chars: page.text.chars().count(),
        gate,
        selector,
    })
}

/// Selectors of an element that a later version of the page is likely to have, too: what it is, not where it stands.
fn names(doc: &Document, id: NodeId) -> Vec<String> {
    let Some(e) = doc.element(id) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let tag = e.tag();
    if matches!(tag, "html" | "body" | "head") {
        return out;
    }
    if matches!(tag, "main" | "article") {
        out.push(tag.to_owned());
    }
    if e.attr("role") == Some("main") {
        out.push(attribute("role", "main"));
    }
    if let Some(part) = e.attr("itemprop").filter(|p| *p == "articleBody") {
        out.push(attribute("itemprop", part));
    }
    if let Some(name) = e.attr("id").filter(|n| is_stable(n)) {
        out.push(format!("#{}", escape(name)));
    }
    if let Some((name, value)) = test_id(e) {
        out.push(attribute(name, value));
    }
    out.extend(by_class(e));
    out
}

fn by_class(e: &Element) -> Option<String> {
    let mut classes: Vec<&str> = e.classes().filter(|c| is_stable(c)).collect();
    // The longest names say most.
    classes.sort_by_key(|c| std::cmp::Reverse(c.len()));
    let name = classes.first()?;
    Some(format!("{}.{}", escape(e.tag()), escape(name)))
}

fn attribute(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("[{name}=\"{value}\"]")
}

/// A name that somebody gave, not one that a build made: without runs of digits and without the mixed case of hashes.
fn is_stable(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let turns = name
        .as_bytes()
        .windows(2)
        .filter(|w| w[0].is_ascii_uppercase() && w[1].is_ascii_lowercase())
        .count();
    (2..=48).contains(&name.len())
        && digits <= 1
        && turns <= 3
        && !name.contains("__")
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        && name.bytes().any(|b| b.is_ascii_alphabetic())
}

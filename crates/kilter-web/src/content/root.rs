//! Finds the nodes that are the page.

use super::measure::Measures;
use super::names;
use super::{Choice, Rule, Rules};
use crate::dom::{Document, NodeId};
use crate::meta::Statements;

/// Share of the page's prose that named content must hold to be believed.
const ENOUGH: [f32; 4] = [1.0, 0.5, 0.4, 0.3];

/// Bytes of a heading that may be the title.
const MAX_HEADING: usize = 2000;
/// Weight of prose below which a page is judged by all its text.
const SPARSE: u32 = 120;

/// Runs of prose that a lead has at most.
const MAX_LEAD: usize = 5;

/// The heading that repeats the page's title: the text is where it stands, or after it.
pub(super) fn anchor(
    doc: &Document,
    skip: &[bool],
    statements: &Statements,
    rules: &Rules,
) -> Option<NodeId> {
    if !rules.has(Rule::Anchor) {
        return None;
    }
    let titles = statements.titles();
    let mut found: Option<(usize, NodeId)> = None;
    let mut at = 1;
    while at < doc.len() {
        let id = NodeId::from_index(at);
        if skip[at] {
            at = doc.end(id).index();
            continue;
        }
        at += 1;
        let level = match doc.tag(id) {
            "h1" => 2,
            "h2" => 1,
            _ => continue,
        };
        let Some(words) = doc.short_text(id, MAX_HEADING) else {
            continue;
        };
        let length = words.chars().count();
        if length < 8 && !titles.contains(&words.as_str()) {
            continue;
        }
        // More than half of the title, so that the site's name in a heading is not taken for it.
        let fits = titles.iter().any(|t| {
            let long = t.chars().count();
            (t.contains(words.as_str()) && length * 2 > long)
                || (words.contains(t) && long * 2 > length)
        });
        if fits && found.is_none_or(|(l, _)| l < level) {
            found = Some((level, id));
        }
    }
    found.map(|(_, id)| id)
}

/// The same for articles that the title does not stand in.
const OUTSIDE: f32 = 0.66;

/// The chosen nodes.
pub(super) fn find(
    doc: &Document,
    skip: &[bool],
    anchor: Option<NodeId>,
    rules: &Rules,
) -> Vec<NodeId> {
    let measures = Measures::of(doc, skip);
    let all = measures.sum(NodeId::ROOT);
    if all.prose < SPARSE {
        return vec![largest(doc, skip, &measures, rules)];
    }
    let mut ranked: [Vec<NodeId>; 4] = Default::default();
    let mut at = 1;
    while at < doc.len() {
        let id = NodeId::from_index(at);
        if skip[at] {
            at = doc.end(id).index();
            continue;
        }
        at += 1;
        let Some(e) = doc.element(id) else { continue };
        if !matches!(
            e.tag(),
            "article" | "main" | "div" | "section" | "td" | "span" | "body"
        ) {
            continue;
        }
        let mut rank = if rules.has(Rule::Bodies) && e.tag() != "body" {
            names::hint(e).body
        } else {
            0
        };
        if rules.has(Rule::Landmarks) {
            rank = rank.max(match (e.tag(), e.attr("role")) {
                ("article", _) | (_, Some("article")) => 2,
                ("main", _) | (_, Some("main")) => 1,
                _ => 0,
            });
        }
        if rank > 0 {
            ranked[usize::from(rank)].push(id);
        }
    }
    for rank in (1..=3).rev() {
        let mut outer: Vec<NodeId> = Vec::new();
        for id in &ranked[rank] {
            if outer.last().is_none_or(|o| !doc.contains(*o, *id)) {
                outer.push(*id);
            }
        }
        let Some(mut best) = outer.iter().copied().max_by_key(|i| measures.sum(*i).prose) else {
            continue;
        };
        let most = measures.sum(best).prose;
        if let Some(a) = anchor
            && let Some(named) = outer.iter().copied().find(|i| doc.contains(*i, a))
            && named != best
        {
            // The title stands in another of the kind: that one is the text, or, where it holds nothing but the title,
            // both are parts of one text.
            let held = measures.sum(named).prose;
            if held >= (most * 2 / 5).min(800) {
                best = named;
            } else if rules.has(Rule::Parts) {
                let both = common(doc, named, best);
                if measures.sum(both).junk() <= measures.sum(both).prose * 3 / 2 {
                    return vec![both];
                }
            }
        }
        let inside = anchor.is_some_and(|a| doc.contains(best, a));
        let most = measures.sum(best).prose;
        let class = doc.attr(best, "class");
        let group: Vec<NodeId> = outer
            .into_iter()
            .filter(|i| {
                let held = measures.sum(*i).prose;
                let alike = doc.tag(*i) == doc.tag(best);
                let same = rules.has(Rule::Parts)
                    && alike
                    && held > 0
                    && (doc.attr(*i, "class") == class || doc.parent(*i) == doc.parent(best));
                *i == best || (!inside && alike && (held * 3 >= most || same))
            })
            .collect();
        let held: u32 = group.iter().map(|i| measures.sum(*i).prose).sum();
        let enough = if rank == 2 && !inside {
            OUTSIDE
        } else {
            ENOUGH[rank]
        };
        if held > 0 && held as f32 >= all.prose as f32 * enough {
            return group;
        }
    }
    vec![densest(doc, &measures)]
}

/// For a page without prose: the landmark that holds most of the text, else the body.
fn largest(doc: &Document, skip: &[bool], measures: &Measures, rules: &Rules) -> NodeId {
    let all = measures.sum(NodeId::ROOT).chars;
    let landmark = ["main", "article"].into_iter().find_map(|tag| {
        doc.descendants(NodeId::ROOT)
            .filter(|i| doc.tag(*i) == tag && !skip[i.index()])
            .max_by_key(|i| measures.sum(*i).chars)
            .filter(|i| rules.has(Rule::Landmarks) && measures.sum(*i).chars * 2 >= all)
    });
    landmark
        .or_else(|| doc.first("body"))
        .unwrap_or(NodeId::ROOT)
}

/// The innermost element that holds both.
fn common(doc: &Document, a: NodeId, b: NodeId) -> NodeId {
    if doc.contains(a, b) {
        return a;
    }
    doc.ancestors(a)
        .find(|p| doc.contains(*p, b))
        .unwrap_or(NodeId::ROOT)
}

/// What reads as text between the title's heading and the first of the roots, put before them.
pub(super) fn lead(doc: &Document, skip: &[bool], anchor: Option<NodeId>, roots: &mut Vec<NodeId>) {
    let Some(first) = roots.first().copied() else {
        return;
    };
    let heading = anchor.or_else(|| {
        doc.descendants(NodeId::ROOT)
            .take_while(|i| *i < first)
            .filter(|i| doc.tag(*i) == "h1" && !skip[i.index()])
            .last()
    });
    let Some(heading) = heading.filter(|h| doc.end(*h) <= first) else {
        return;
    };
    let measures = Measures::of(doc, skip);
    let mut found = Vec::new();
    let mut weight = 0;
    let mut at = doc.end(heading).index();
    while at < first.index() {
        let id = NodeId::from_index(at);
        let hidden = skip[at]
            || matches!(
                doc.tag(id),
                "figure" | "figcaption" | "aside" | "nav" | "ul" | "ol" | "form" | "table"
            );
        if hidden && !doc.contains(id, first) {
            at = doc.end(id).index();
            continue;
        }
        at += 1;
        let run = measures.runs[id.index()];
        if run.is_prose() && run.links * 4 <= run.chars && !doc.contains(id, first) {
            weight += run.chars;
            found.push(id);
            at = doc.end(id).index();
        }
    }
    let body: u32 = roots.iter().map(|r| measures.sum(*r).prose).sum();
    if found.len() <= MAX_LEAD && weight <= body.max(400) {
        found.append(roots);
        *roots = found;
    }
}

/// The node with the most prose, less what else it holds.
fn densest(doc: &Document, measures: &Measures) -> NodeId {
    let mut best = (i64::MIN, NodeId::ROOT);
    for id in doc.subtree(NodeId::ROOT) {
        if doc.text(id).is_some() {
            continue;
        }
        let sum = measures.sum(id);
        let score = i64::from(sum.prose) - i64::from(sum.junk());
        // Of equals the inner one, unless it is running text itself.
        if score > best.0 || (score == best.0 && measures.runs[id.index()].chars == 0) {
            best = (score, id);
        }
    }
    best.1
}

/// Where too little was chosen of a page that has more, takes the whole page without its frame.
pub(super) fn widen(doc: &Document, bare: &[bool], choice: &mut Choice) {
    let chosen = Measures::of(doc, &choice.skip);
    let have: u32 = choice.roots.iter().map(|r| chosen.sum(*r).chars).sum();
    if have >= 250 {
        return;
    }
    // First without the frame, which a page of few words has as well.
    let framed = densest(doc, &chosen);
    if chosen.sum(framed).chars > have * 2 && chosen.sum(framed).prose > 100 {
        choice.roots = vec![framed];
        return;
    }
    let page = Measures::of(doc, bare);
    let best = densest(doc, &page);
    let sum = page.sum(best);
    if have < 100 && sum.prose > have.max(100) * 2 {
        choice.roots = vec![best];
        choice.skip = bare.to_vec();
        return;
    }
    if let Some(body) = doc.first("main").or_else(|| doc.first("body"))
        && chosen.sum(body).chars > have
        && have < 100
    {
        choice.roots = vec![body];
    }
}

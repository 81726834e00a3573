//! Leaves out what is no content: inert elements, the page's frame, and lists of links within the content.

use super::measure::{Measures, Sum};
use super::names::{self, Noise};
use super::{Rule, Rules};
use crate::dom::{Document, NodeId};

/// Weight of prose that a page has if it is an article at all.
pub(super) const ARTICLE: u32 = 400;

/// Elements that never hold text of the page.
pub(super) fn inert(doc: &Document, skip: &mut [bool]) {
    for id in doc.descendants(NodeId::ROOT) {
        let Some(e) = doc.element(id) else { continue };
        let gone = match e.tag() {
            "script" => !e.attr("type").is_some_and(|t| t.starts_with("math/tex")),
            "head" | "style" | "noscript" | "template" | "select" | "textarea" | "datalist"
            | "canvas" | "object" | "embed" | "audio" | "video" | "noframes" | "svg" | "map"
            | "progress" | "meter" => true,
            "iframe" => e.attr("srcdoc").is_none(),
            "button" => doc.text_of(id).len() < 200,
            _ => false,
        };
        if gone {
            skip[id.index()] = true;
        }
    }
}

/// The page's frame: what its elements, roles and names say is navigation, comments, teasers, tools.
pub(super) fn frame(doc: &Document, skip: &mut [bool], anchor: Option<NodeId>, rules: &Rules) {
    let measures = Measures::of(doc, skip);
    let total = measures.sum(NodeId::ROOT);
    let mut left = total;
    let mut at = 1;
    // Whether the node stands in something that calls itself content.
    let mut inside: Vec<(NodeId, u8)> = Vec::new();
    // Runs of prose since the title's heading, or since the content began.
    let mut since = 0_u32;
    while at < doc.len() {
        let id = NodeId::from_index(at);
        while inside.last().is_some_and(|(n, _)| !doc.contains(*n, id)) {
            inside.pop();
        }
        if skip[at] {
            at = doc.end(id).index();
            continue;
        }
        at += 1;
        let Some(e) = doc.element(id) else { continue };
        let tag = e.tag();
        if matches!(tag, "html" | "body" | "main") {
            continue;
        }
        if measures.runs[id.index()].is_prose() {
            since += 1;
        }
        if anchor == Some(id) {
            since = 0;
        }
        let sum = measures.sum(id);
        let hint = names::hint(e);
        let depth = inside.last().map_or(0, |(_, d)| *d);
        let holds_anchor = anchor.is_some_and(|a| doc.contains(id, a)) && sum.prose > 0;
        let is_form = tag == "form" && sum.prose * 4 < left.prose && sum.chars * 2 < left.chars;
        let gone = if rules.has(Rule::Structure) && is_form && !holds_anchor {
            true
        } else if rules.has(Rule::Structure) && structural(tag, e.attr("role"), depth) {
            let kept = tag == "header" && sum.prose * 10 > left.prose && sum.link_density() < 0.3;
            let share = if anchor.is_some() { 0.2 } else { 0.5 };
            !holds_anchor && !kept && spare(left, sum, share)
        } else if let Some(noise) = hint.noise
            && rules.has(rule(noise))
            && hint.body < 2
            && (is_box(tag)
                || (noise == Noise::Caption && matches!(tag, "em" | "i" | "strong" | "b")))
            && !holds_anchor
        {
            // The first prose below the title is the text's own summary, whatever it is called.
            let lead = rules.has(Rule::Lead)
                && matches!(
                    noise,
                    Noise::Teasers | Noise::Byline | Noise::Author | Noise::Frame
                )
                && (depth >= 2 || anchor.is_some_and(|a| id > a))
                && since == 0
                && (1..=3).contains(&sum.runs)
                && sum.link_density() < 0.15
                && sum.prose * 10 > sum.chars * 8;
            !lead && named(noise, sum, left, total, anchor.is_some())
        } else {
            false
        };
        if gone {
            skip[id.index()] = true;
            left = left.minus(sum);
            at = doc.end(id).index();
            continue;
        }
        let level = if tag == "article" { 2 } else { hint.body };
        if level >= 2 {
            if depth < 2 && anchor.is_none() {
                since = 0;
            }
            inside.push((id, level));
        }
    }
}

fn rule(noise: Noise) -> Rule {
    match noise {
        Noise::Frame => Rule::Frame,
        Noise::Comments => Rule::Comments,
        Noise::Teasers => Rule::Teasers,
        Noise::Byline | Noise::Author => Rule::Byline,
        Noise::Caption => Rule::Captions,
    }
}

/// Elements and roles that are the frame by definition.
fn structural(tag: &str, role: Option<&str>, inside: u8) -> bool {
    match tag {
        "figcaption" => return false,
        "nav" | "footer" | "menu" | "aside" | "dialog" => return true,
        "header" if inside == 0 => return true,
        _ => {}
    }
    matches!(
        role,
        Some(
            "navigation"
                | "banner"
                | "contentinfo"
                | "search"
                | "complementary"
                | "menu"
                | "menubar"
                | "toolbar"
                | "dialog"
                | "alertdialog"
                | "tablist"
        )
    )
}

/// Whether the page can do without: what is left has more prose than the given share of what is taken.
fn spare(left: Sum, taken: Sum, share: f32) -> bool {
    let rest = left.prose.saturating_sub(taken.prose);
    rest as f32 >= taken.prose as f32 * share
        || (taken.prose < 200 && taken.prose * 3 < rest.max(1) * 2)
}

/// Whether an element of that name is left out, seeing what it holds. `titled`: the page's title stands elsewhere.
fn named(noise: Noise, sum: Sum, left: Sum, total: Sum, titled: bool) -> bool {
    let rest = left.prose.saturating_sub(sum.prose);
    let share = if titled { 2 } else { 1 };
    match noise {
        Noise::Comments => rest >= 250 || sum.prose == 0,
        Noise::Frame => sum.prose * 2 <= rest * share || sum.prose * 10 < total.prose,
        // What shows other pages links to them.
        Noise::Teasers => {
            sum.prose * 2 <= rest * share && (sum.link_density() > 0.08 || sum.prose == 0)
        }
        Noise::Caption => sum.chars < 600 && sum.prose * 4 <= rest,
        Noise::Author => sum.chars < 2000 && sum.prose * 3 <= rest,
        Noise::Byline => {
            sum.chars < 200 && sum.prose * 4 <= rest || (sum.prose * 10 < rest && sum.chars < 600)
        }
    }
}

/// Elements whose names are looked at; a heading's or a word's own name says nothing of its part.
fn is_box(tag: &str) -> bool {
    matches!(
        tag,
        "div"
            | "section"
            | "ul"
            | "ol"
            | "dl"
            | "li"
            | "table"
            | "aside"
            | "header"
            | "form"
            | "p"
            | "span"
            | "td"
            | "figure"
            | "a"
            | "small"
            | "time"
            | "cite"
            | "details"
            | "center"
            | "fieldset"
    ) || tag.contains('-')
}

/// Within the content: lists of links, and boxes that are mostly links.
pub(super) fn inside(doc: &Document, roots: &[NodeId], skip: &mut [bool], rules: &Rules) {
    let measures = Measures::of(doc, skip);
    let prose: u32 = roots.iter().map(|r| measures.sum(*r).prose).sum();
    if prose < ARTICLE {
        return;
    }
    for root in roots {
        let end = doc.end(*root).index();
        let mut at = root.index() + 1;
        while at < end {
            let id = NodeId::from_index(at);
            if skip[at] {
                at = doc.end(id).index();
                continue;
            }
            at += 1;
            let Some(e) = doc.element(id) else { continue };
            let sum = measures.sum(id);
            if sum.chars == 0 || sum.prose * 2 > prose {
                continue;
            }
            let density = sum.link_density();
            if rules.has(Rule::Cards)
                && sum.prose * 3 < prose
                && is_series(doc, id, skip, &measures)
            {
                skip[id.index()] = true;
                at = doc.end(id).index();
                continue;
            }
            let gone = match e.tag() {
                "figcaption" => rules.has(Rule::Captions),
                "ul" | "ol" | "dl" | "table" | "menu" => {
                    rules.has(Rule::LinkLists) && density > 0.5
                }
                "div" | "section" | "aside" | "header" | "footer" | "form" | "article"
                | "center" | "fieldset" => {
                    rules.has(Rule::LinkBoxes) && density > 0.5 && sum.prose * 4 < prose
                }
                "p" => rules.has(Rule::LinkBoxes) && density > 0.9 && sum.chars < 300,
                _ => false,
            };
            if gone {
                skip[id.index()] = true;
                at = doc.end(id).index();
            }
        }
    }
}

/// Whether an element is a series of short forms of other pages: three or more children of one kind, each with a
/// heading or a picture that is a link, and hardly more text than a few lines.
fn is_series(doc: &Document, id: NodeId, skip: &[bool], measures: &Measures) -> bool {
    if !matches!(
        doc.tag(id),
        "div" | "section" | "ul" | "ol" | "aside" | "article"
    ) {
        return false;
    }
    let mut kinds: Vec<(&str, Option<&str>, u32, u32)> = Vec::new();
    let mut children = 0_u32;
    for child in doc.children(id) {
        let Some(e) = doc.element(child).filter(|_| !skip[child.index()]) else {
            continue;
        };
        let sum = measures.sum(child);
        if sum.chars == 0 {
            continue;
        }
        children += 1;
        let card = u32::from(is_card(doc, child, sum));
        let first_class = e.classes().next();
        let place = kinds
            .iter()
            .position(|k| k.0 == e.tag() && k.1 == first_class);
        if let Some(place) = place {
            kinds[place].2 += 1;
            kinds[place].3 += card;
        } else if kinds.len() < 8 {
            kinds.push((e.tag(), first_class, 1, card));
        }
    }
    kinds
        .iter()
        .any(|k| k.3 >= 3 && k.3 * 10 >= k.2 * 8 && k.2 * 10 >= children * 6)
}

/// A short form of another page: a link on its heading or its picture, and little text.
fn is_card(doc: &Document, id: NodeId, sum: Sum) -> bool {
    if sum.chars > 500 {
        return false;
    }
    let mut open: Option<NodeId> = None;
    for d in doc.subtree(id) {
        let Some(e) = doc.element(d) else { continue };
        match e.tag() {
            "a" if e.attr("href").is_some() => {
                open = Some(d);
                if doc
                    .ancestors(d)
                    .take_while(|a| doc.contains(id, *a))
                    .any(|a| is_heading(doc.tag(a)))
                {
                    return true;
                }
            }
            "img" | "picture" | "h2" | "h3" | "h4" | "h5" | "h6"
                if open.is_some_and(|a| doc.contains(a, d)) =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}

fn is_heading(tag: &str) -> bool {
    matches!(tag, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

/// Headings within the content below which everything was left out.
pub(super) fn orphans(doc: &Document, roots: &[NodeId], skip: &mut [bool]) {
    let mut found = Vec::new();
    for root in roots {
        // The heading that waits for something below it, its level, and whether something was left out since.
        let mut waiting: Option<(NodeId, u8, bool)> = None;
        let end = doc.end(*root).index();
        let mut at = root.index();
        while at < end {
            let id = NodeId::from_index(at);
            if skip[at] {
                if let Some(w) = &mut waiting {
                    w.2 |= doc
                        .subtree(id)
                        .any(|d| doc.text(d).is_some_and(|t| !t.trim().is_empty()));
                }
                at = doc.end(id).index();
                continue;
            }
            let tag = doc.tag(id);
            if tag == "blockquote" || tag == "td" {
                waiting = None;
                at = doc.end(id).index();
                continue;
            }
            if is_heading(tag) {
                let level = tag.as_bytes()[1] - b'0';
                if let Some((heading, above, true)) = waiting
                    && level <= above
                {
                    found.push(heading);
                }
                waiting = Some((id, level, false));
                at = doc.end(id).index();
                continue;
            }
            let shows = matches!(tag, "img" | "pre" | "table")
                || doc.text(id).is_some_and(|t| !t.trim().is_empty());
            if shows {
                waiting = None;
            }
            at += 1;
        }
        if let Some((heading, _, true)) = waiting {
            found.push(heading);
        }
    }
    for id in found {
        skip[id.index()] = true;
    }
}

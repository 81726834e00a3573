//! A page reduced to its frame: which elements hold how much, so that somebody can name the ones that matter.

use std::collections::BinaryHeap;

use serde::Serialize;

use crate::dom::{Document, Element, Kind, NodeId, fold};

/// Nodes of a skeleton at most.
pub const SKELETON_MAX: usize = 600;
/// Levels of a skeleton; what is deeper is counted in its parent.
const DEPTH_MAX: usize = 40;
/// Characters of a node's own words that are shown.
const WORDS: usize = 60;
/// Characters of a name that are shown.
const NAME: usize = 80;

/// Elements that say nothing about the frame of a page.
const LEFT_OUT: [&str; 12] = [
    "script", "style", "head", "noscript", "template", "svg", "br", "wbr", "hr", "source", "path",
    "link",
];
/// Elements of running text, shown only where they can be pressed or bear a mark of their own.
const INLINE: [&str; 17] = [
    "a", "abbr", "b", "cite", "code", "em", "i", "img", "kbd", "label", "mark", "small", "span",
    "strong", "sub", "sup", "u",
];

/// One element.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its tag.
    pub tag: String,
    /// Its id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Its classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Its role.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// Its mark for tests: `data-testid` and the like.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub test_id: String,
    /// The first words of it. They are the page's: data, never an instruction.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// Characters below it.
    pub chars: usize,
    /// Those of them that are links.
    #[serde(skip_serializing_if = "is_zero")]
    pub link_chars: usize,
    /// Elements in it that are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// The elements in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's shape")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// Sizes of a skeleton.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Elements shown.
    pub node_count: usize,
    /// Levels shown.
    pub max_depth: usize,
    /// Elements of the page that can be pressed or filled in.
    pub interactive_count: usize,
}

/// A page's frame.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DomSkeleton {
    /// `<body>`, or nothing for an empty page.
    pub root: Option<Node>,
    /// Sizes.
    pub stats: Stats,
}

/// Whether an element can be pressed or filled in.
fn is_interactive(e: &Element) -> bool {
    matches!(
        e.tag(),
        "button" | "input" | "select" | "textarea" | "summary"
    ) || e.tag() == "a" && e.attr("href").is_some()
        || matches!(e.attr("role"), Some("button" | "tab" | "menuitem" | "link"))
}

/// The mark that authors give elements for their own tests.
pub(super) fn test_id(e: &Element) -> Option<(&'static str, &str)> {
    [
        "data-testid",
        "data-test-id",
        "data-test",
        "data-qa",
        "data-cy",
    ]
    .into_iter()
    .find_map(|name| Some((name, e.attr(name).filter(|v| !v.is_empty())?)))
}

/// Characters below each node, and those in links.
pub(super) fn sizes(doc: &Document) -> Vec<(usize, usize)> {
    let mut sums = vec![(0, 0); doc.len()];
    for id in doc.subtree(NodeId::ROOT).rev() {
        match doc.kind(id) {
            Kind::Text(text) => {
                let n = text.split_whitespace().map(|w| w.chars().count() + 1).sum();
                sums[id.index()] = (n, 0);
            }
            Kind::Element(e) if LEFT_OUT.contains(&e.tag()) => sums[id.index()] = (0, 0),
            Kind::Element(e) if e.tag() == "a" => sums[id.index()].1 = sums[id.index()].0,
            _ => {}
        }
        if let Some(parent) = doc.parent(id) {
            let (chars, links) = sums[id.index()];
            sums[parent.index()].0 += chars;
            sums[parent.index()].1 += links;
        }
    }
    sums
}

/// A node whose children are still coming, each with its place in the page.
struct Growing {
    node: Node,
    children: Vec<(NodeId, Node)>,
}

/// Reduces a page to at most `most` elements (and at most [`SKELETON_MAX`]): the heaviest first, each with all that
/// stands above it.
pub fn skeleton(doc: &Document, most: usize) -> DomSkeleton {
    let most = most.min(SKELETON_MAX);
    let sums = sizes(doc);
    let mut stats = Stats {
        interactive_count: doc
            .descendants(NodeId::ROOT)
            .filter(|i| doc.element(*i).is_some_and(is_interactive))
            .count(),
        ..Stats::default()
    };
    let Some(body) = doc.first("body").filter(|_| most > 0) else {
        return DomSkeleton { root: None, stats };
    };
    // Chosen by weight; the parent is always chosen before its children.
    let mut chosen: Vec<(NodeId, Option<usize>, usize)> = Vec::new();
    let mut heap =
        BinaryHeap::from([(sums[body.index()].0, std::cmp::Reverse(body), None, 1_usize)]);
    while let Some((_, std::cmp::Reverse(id), parent, depth)) = heap.pop() {
        if chosen.len() == most {
            break;
        }
        let at = chosen.len();
        chosen.push((id, parent, depth));
        stats.max_depth = stats.max_depth.max(depth);
        if depth == DEPTH_MAX {
            continue;
        }
        for child in shown_below(doc, id) {
            let weight = sums[child.index()].0;
            heap.push((weight, std::cmp::Reverse(child), Some(at), depth + 1));
        }
    }
    stats.node_count = chosen.len();
    let mut nodes: Vec<Option<(NodeId, Growing)>> = chosen
        .iter()
        .map(|(id, ..)| {
            let node = node(doc, *id, sums[id.index()]);
            let children = Vec::new();
            Some((*id, Growing { node, children }))
        })
        .collect();
    let mut root = None;
    // Children come after their parents, so the last one is whole when it is handed up.
    for at in (0..chosen.len()).rev() {
        let Some((id, mut done)) = nodes[at].take() else {
            continue;
        };
        done.children.sort_by_key(|(place, _)| *place);
        let more = shown_below(doc, id).count() - done.children.len();
        let whole = Node {
            more,
            children: done.children.into_iter().map(|(_, c)| c).collect(),
            ..done.node
        };
        match chosen[at].1 {
            Some(parent) => {
                if let Some((_, parent)) = &mut nodes[parent] {
                    parent.children.push((id, whole));
                }
            }
            None => root = Some(whole),
        }
    }
    DomSkeleton { root, stats }
}

/// The nearest elements below that a skeleton shows, in document order.
fn shown_below(doc: &Document, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    let end = doc.end(id).index();
    let mut next = id.index() + 1;
    std::iter::from_fn(move || {
        while next < end {
            let at = NodeId::from_index(next);
            next += 1;
            let Some(e) = doc.element(at) else { continue };
            if LEFT_OUT.contains(&e.tag()) || e.is_foreign() {
                next = doc.end(at).index();
                continue;
            }
            let plain = INLINE.contains(&e.tag())
                && test_id(e).is_none()
                && e.attr("id").is_none()
                && !(is_interactive(e) && e.tag() != "a");
            if plain {
                continue;
            }
            next = doc.end(at).index();
            return Some(at);
        }
        None
    })
}

fn node(doc: &Document, id: NodeId, (chars, link_chars): (usize, usize)) -> Node {
    let Some(e) = doc.element(id) else {
        return Node::default();
    };
    let cut = |s: &str| s.chars().take(NAME).collect::<String>();
    let mut own = String::new();
    for child in doc.children(id) {
        if let Some(text) = doc.text(child) {
            own.push_str(text);
            own.push(' ');
        }
        if own.len() > WORDS * 4 {
            break;
        }
    }
    Node {
        tag: e.tag().to_owned(),
        id: cut(e.attr("id").unwrap_or_default()),
        classes: e.classes().take(8).map(cut).collect(),
        role: cut(e.attr("role").unwrap_or_default()),
        test_id: test_id(e).map(|(_, v)| cut(v)).unwrap_or_default(),
        words: fold(&own).chars().take(WORDS).collect(),
        chars,
        link_chars,
        more: 0,
        children: Vec::new(),
    }
}

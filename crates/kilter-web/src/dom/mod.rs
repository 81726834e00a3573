//! One page as one tree: an arena in document order, made once and never changed.
//!
//! Nodes are numbered in preorder, so the subtree of a node is the range `id..end(id)`, an ancestor always has the
//! smaller number, and sums over subtrees are one loop backwards. Nothing here recurses. Comments, processing
//! instructions and the inert content of `<template>` are not in the tree; declarative shadow roots and `srcdoc`
//! frames are, at the place where a reader sees them.

mod bound;
mod flat;
mod parse;
pub mod select;
mod sink;

use html5ever::LocalName;

pub(crate) use bound::bound;

pub use parse::Limits;

/// A node's number. Valid for the document that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The document itself.
    pub const ROOT: Self = Self(0);

    /// The number as an index into a table with one row per node.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// One attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its name without prefix, lower case in HTML.
    pub name: LocalName,
    /// Its value.
    pub value: String,
}

/// An element's own part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    pub(crate) name: LocalName,
    pub(crate) foreign: bool,
    pub(crate) attrs: Vec<Attribute>,
}

impl Element {
    /// The tag's name, lower case in HTML.
    pub fn tag(&self) -> &str {
        &self.name
    }

    /// Whether it belongs to SVG or MathML.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// An attribute's value.
    pub fn attr(&self, name: &str) -> Option<&str> {
        self.attrs
            .iter()
            .find(|a| &*a.name == name)
            .map(|a| a.value.as_str())
    }

    /// All attributes in their order.
    pub fn attrs(&self) -> &[Attribute] {
        &self.attrs
    }

    /// The words of `class`.
    pub fn classes(&self) -> impl Iterator<Item = &str> {
        self.attr("class")
            .unwrap_or_default()
            .split_ascii_whitespace()
    }
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The document, or the fragment.
    Document,
    /// Text, neighbours joined.
    Text(String),
    /// An element.
    Element(Element),
}

#[derive(Debug, Clone)]
struct Node {
    parent: u32,
    end: u32,
    kind: Kind,
}

/// A parsed page.
#[derive(Debug, Clone)]
pub struct Document {
    nodes: Vec<Node>,
    cut: bool,
}

impl Document {
    /// Parses a page. Never fails: what is over the limits is left out, and [`Document::is_cut`] says so.
    pub fn parse(html: &str) -> Self {
        parse::document(html, &Limits::default(), 0)
    }

    /// Parses what could stand inside `<body>`.
    pub fn fragment(html: &str) -> Self {
        parse::fragment(html, &Limits::default())
    }

    /// Whether something was left out because of a limit.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing but the document itself.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// What the node is.
    pub fn kind(&self, id: NodeId) -> &Kind {
        &self.nodes[id.index()].kind
    }

    /// The element, if it is one.
    pub fn element(&self, id: NodeId) -> Option<&Element> {
        match self.kind(id) {
            Kind::Element(e) => Some(e),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn text(&self, id: NodeId) -> Option<&str> {
        match self.kind(id) {
            Kind::Text(t) => Some(t),
            _ => None,
        }
    }

    /// The tag's name; empty for what is no element.
    pub fn tag(&self, id: NodeId) -> &str {
        self.element(id).map_or("", Element::tag)
    }

    /// An attribute's value.
    pub fn attr(&self, id: NodeId, name: &str) -> Option<&str> {
        self.element(id).and_then(|e| e.attr(name))
    }

    /// The parent; `None` for the document.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        (id != NodeId::ROOT).then(|| NodeId(self.nodes[id.index()].parent))
    }

    /// The number after the last node of the subtree.
    pub fn end(&self, id: NodeId) -> NodeId {
        NodeId(self.nodes[id.index()].end)
    }

    /// Whether `inner` is `outer` or lies in it.
    pub fn contains(&self, outer: NodeId, inner: NodeId) -> bool {
        outer <= inner && inner < self.end(outer)
    }

    /// The node and all below it, in document order.
    pub fn subtree(&self, id: NodeId) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (id.0..self.end(id).0).map(NodeId)
    }

    /// All nodes below, in document order.
    pub fn descendants(&self, id: NodeId) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (id.0 + 1..self.end(id).0).map(NodeId)
    }

    /// The children in order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let end = self.end(id);
        let mut next = NodeId(id.0 + 1);
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let this = next;
                next = self.end(this);
                this
            })
        })
    }

    /// The ancestors from the parent upwards.
    pub fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.parent(id), |i| self.parent(*i))
    }

    /// The first element with the tag, in document order.
    pub fn first(&self, tag: &str) -> Option<NodeId> {
        self.descendants(NodeId::ROOT).find(|i| self.tag(*i) == tag)
    }

    /// The text below with its white space folded, if it is at most `max` bytes in the source.
    pub fn short_text(&self, id: NodeId, max: usize) -> Option<String> {
        let mut out = String::new();
        for i in self.subtree(id) {
            if let Kind::Text(t) = self.kind(i) {
                if out.len() + t.len() > max {
                    return None;
                }
                out.push_str(t);
            }
        }
        Some(fold(&out))
    }

    /// All text below, as it stands in the source.
    pub fn text_of(&self, id: NodeId) -> String {
        let mut out = String::new();
        for i in self.subtree(id) {
            if let Kind::Text(t) = self.kind(i) {
                out.push_str(t);
            }
        }
        out
    }
}

/// Folds every run of white space to one space and trims the ends.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

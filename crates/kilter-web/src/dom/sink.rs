//! What the HTML parser writes into: linked nodes that are laid flat afterwards.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{LocalName, Namespace, QualName, ns};

pub(super) const NONE: u32 = u32::MAX;

/// A node while it is being linked.
pub(super) struct Linked {
    pub(super) parent: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
    pub(super) first: u32,
    pub(super) last: u32,
    depth: u32,
    /// Content of a `<template>`, kept apart.
    pub(super) template: u32,
    pub(super) data: Data,
}

pub(super) enum Data {
    Document,
    Text(String),
    Element {
        name: QualName,
        attrs: Vec<html5ever::Attribute>,
    },
    /// A comment or a processing instruction: keeps its place for the parser, holds nothing.
    Nothing,
}

/// Linked nodes, and how deep the parser is in them.
pub(super) struct Sink {
    pub(super) nodes: RefCell<Vec<Linked>>,
    depth: Cell<u32>,
}

impl Sink {
    pub(super) fn new() -> Self {
        let sink = Self {
            nodes: RefCell::new(Vec::new()),
            depth: Cell::new(0),
        };
        sink.make(Data::Document);
        sink
    }

    /// Depth of the element that the parser is in.
    pub(super) fn depth(&self) -> u32 {
        self.depth.get()
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.borrow().len()
    }

    fn make(&self, data: Data) -> u32 {
        let mut nodes = self.nodes.borrow_mut();
        let id = u32::try_from(nodes.len()).unwrap_or(NONE);
        nodes.push(Linked {
            parent: NONE,
            prev: NONE,
            next: NONE,
            first: NONE,
            last: NONE,
            depth: 0,
            template: NONE,
            data,
        });
        id
    }
}

fn at(nodes: &mut [Linked], id: u32) -> &mut Linked {
    &mut nodes[id as usize]
}

fn unlink(nodes: &mut [Linked], id: u32) {
    let (parent, prev, next) = {
        let n = at(nodes, id);
        let was = (n.parent, n.prev, n.next);
        (n.parent, n.prev, n.next) = (NONE, NONE, NONE);
        was
    };
    if parent == NONE {
        return;
    }
    match prev {
        NONE => at(nodes, parent).first = next,
        p => at(nodes, p).next = next,
    }
    match next {
        NONE => at(nodes, parent).last = prev,
        n => at(nodes, n).prev = prev,
    }
}

/// Links `id` into `parent` before `before` (`NONE`: at the end).
fn link(nodes: &mut [Linked], parent: u32, id: u32, before: u32) {
    unlink(nodes, id);
    let prev = match before {
        NONE => at(nodes, parent).last,
        b => at(nodes, b).prev,
    };
    let depth = at(nodes, parent).depth + 1;
    let n = at(nodes, id);
    (n.parent, n.prev, n.next, n.depth) = (parent, prev, before, depth);
    match prev {
        NONE => at(nodes, parent).first = id,
        p => at(nodes, p).next = id,
    }
    match before {
        NONE => at(nodes, parent).last = id,
        b => at(nodes, b).prev = id,
    }
}

impl Sink {
    fn insert(&self, parent: u32, child: NodeOrText<u32>, before: u32) {
        match child {
            NodeOrText::AppendNode(id) => {
                let mut nodes = self.nodes.borrow_mut();
                link(&mut nodes, parent, id, before);
                if matches!(nodes[id as usize].data, Data::Element { .. }) {
                    self.depth.set(nodes[id as usize].depth);
                }
            }
            NodeOrText::AppendText(text) => {
                {
                    let mut nodes = self.nodes.borrow_mut();
                    let prev = match before {
                        NONE => nodes[parent as usize].last,
                        b => nodes[b as usize].prev,
                    };
                    if prev != NONE
                        && let Data::Text(t) = &mut nodes[prev as usize].data
                    {
                        t.push_str(&text);
                        return;
                    }
                }
                let id = self.make(Data::Text(String::from(&*text)));
                link(&mut self.nodes.borrow_mut(), parent, id, before);
            }
        }
    }
}

/// A borrowed name, as the parser wants to see it.
#[derive(Debug)]
pub(super) struct Name<'a>(Ref<'a, QualName>);

impl html5ever::interface::ElemName for Name<'_> {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }
    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

/// Stands in for a node that is no element; the parser never asks for one.
static NO_NAME: QualName = QualName {
    prefix: None,
    ns: ns!(),
    local: html5ever::local_name!(""),
};

impl TreeSink for Sink {
    type Handle = u32;
    type Output = Vec<Linked>;
    type ElemName<'a> = Name<'a>;

    fn finish(self) -> Vec<Linked> {
        self.nodes.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> u32 {
        0
    }

    fn elem_name<'a>(&'a self, target: &'a u32) -> Name<'a> {
        Name(Ref::map(self.nodes.borrow(), |nodes| {
            match &nodes[*target as usize].data {
                Data::Element { name, .. } => name,
                _ => &NO_NAME,
            }
        }))
    }

    fn create_element(
        &self,
        name: QualName,
        attrs: Vec<html5ever::Attribute>,
        flags: ElementFlags,
    ) -> u32 {
        let id = self.make(Data::Element { name, attrs });
        if flags.template {
            let content = self.make(Data::Document);
            at(&mut self.nodes.borrow_mut(), id).template = content;
        }
        id
    }

    fn create_comment(&self, _: StrTendril) -> u32 {
        self.make(Data::Nothing)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> u32 {
        self.make(Data::Nothing)
    }

    fn append(&self, parent: &u32, child: NodeOrText<u32>) {
        self.insert(*parent, child, NONE);
    }

    fn append_based_on_parent_node(&self, element: &u32, prev: &u32, child: NodeOrText<u32>) {
        if self.nodes.borrow()[*element as usize].parent == NONE {
            self.append(prev, child);
        } else {
            self.append_before_sibling(element, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn pop(&self, node: &u32) {
        let depth = self.nodes.borrow()[*node as usize].depth;
        self.depth.set(depth.saturating_sub(1));
    }

    fn get_template_contents(&self, target: &u32) -> u32 {
        self.nodes.borrow()[*target as usize].template
    }

    fn same_node(&self, x: &u32, y: &u32) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &u32, new: NodeOrText<u32>) {
        let parent = self.nodes.borrow()[*sibling as usize].parent;
        if parent != NONE {
            self.insert(parent, new, *sibling);
        }
    }

    fn add_attrs_if_missing(&self, target: &u32, new: Vec<html5ever::Attribute>) {
        let mut nodes = self.nodes.borrow_mut();
        if let Data::Element { attrs, .. } = &mut nodes[*target as usize].data {
            for attr in new {
                if !attrs.iter().any(|a| a.name == attr.name) {
                    attrs.push(attr);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &u32) {
        unlink(&mut self.nodes.borrow_mut(), *target);
    }

    fn reparent_children(&self, node: &u32, new_parent: &u32) {
        let mut nodes = self.nodes.borrow_mut();
        loop {
            let child = nodes[*node as usize].first;
            if child == NONE {
                return;
            }
            link(&mut nodes, *new_parent, child, NONE);
        }
    }
}

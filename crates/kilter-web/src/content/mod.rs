//! The choice of main content: which nodes are the page, and which of what is below them is not.
//!
//! Everything is decided from structure: the kind of an element, the names that its author gave it, how much of its text
//! is links, where it stands. No word of the page's text decides anything, so the same page in another language gives
//! the same nodes.

mod hidden;
mod left_out;
mod measure;
mod names;
mod prune;
mod root;
mod rules;
mod stated;
mod tail;

pub(crate) use hidden::Unseen;
pub use rules::{Rule, Rules};

use crate::dom::{Document, NodeId};
use crate::meta::Statements;
use crate::page::{Block, Omission};

/// What was chosen.
#[derive(Debug, Default)]
pub struct Choice {
    /// The chosen nodes, in document order and apart from each other.
    pub roots: Vec<NodeId>,
    /// One entry per node; a marked node is left out with all below it.
    pub skip: Vec<bool>,
    /// What was left out of the chosen nodes: hidden text, captions, parts that are links or notes.
    pub omitted: Vec<Omission>,
}

/// Chooses the main content of a page.
pub fn choose(doc: &Document, statements: &Statements, rules: &Rules) -> Choice {
    let mut skip = vec![false; doc.len()];
    let mut omitted = Vec::new();
    prune::inert(doc, &mut skip);
    if rules.has(Rule::Hidden) {
        hidden::mark(doc, &mut skip, &mut omitted);
    }
    let bare = skip.clone();
    let anchor = root::anchor(doc, &bare, statements, rules);
    prune::frame(doc, &mut skip, anchor, rules);
    let mut roots = root::find(doc, &skip, anchor, rules);
    if rules.has(Rule::Lead) {
        root::lead(doc, &skip, anchor, &mut roots);
    }
    prune::inside(doc, &roots, &mut skip, rules);
    if rules.has(Rule::Orphans) {
        prune::orphans(doc, &roots, &mut skip);
    }
    let mut choice = Choice {
        roots,
        skip,
        omitted,
    };
    if rules.has(Rule::Recall) {
        root::widen(doc, &bare, &mut choice);
    }
    left_out::within(doc, &bare, &mut choice);
    choice
}

/// Drops blocks at the edges that are no part of the text, and mends a choice that missed what the page states. Returns
/// what was dropped.
pub fn finish(
    blocks: &mut Vec<Block>,
    title: Option<&str>,
    statements: &Statements,
    rules: &Rules,
) -> Vec<Omission> {
    let mut omitted = Vec::new();
    if rules.has(Rule::Title)
        && let Some(title) = title
    {
        omitted.extend(left_out::by("title", blocks, |b| tail::title(b, title)));
    }
    omitted.extend(left_out::by("edge", blocks, |b| {
        tail::edges(b, rules);
        if rules.has(Rule::Orphans) {
            tail::orphans(b);
        }
    }));
    if rules.has(Rule::Stated) {
        stated::mend(blocks, statements);
    }
    omitted
}

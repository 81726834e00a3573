//! Footnotes: which links are references, and which items are the notes they go to.

use std::collections::HashMap;

use crate::dom::{Document, NodeId};

/// References and notes of one document.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Label of each note's element.
    by_node: HashMap<NodeId, String>,
    /// Label by the note's id.
    by_id: HashMap<String, String>,
}

impl Notes {
    /// Finds in one pass each link that looks like a reference and has an item to go to.
    pub(super) fn find(doc: &Document) -> Self {
        let mut wanted: HashMap<&str, String> = HashMap::new();
        for id in doc.descendants(NodeId::ROOT) {
            if let Some((target, label)) = reference(doc, id)
                && !wanted.contains_key(target)
            {
                wanted.insert(target, label);
            }
        }
        let mut notes = Self::default();
        if wanted.is_empty() {
            return notes;
        }
        for id in doc.descendants(NodeId::ROOT) {
            let Some(name) = doc.attr(id, "id") else {
                continue;
            };
            let Some(label) = wanted.get(name) else {
                continue;
            };
            let is_note = doc.tag(id) == "li"
                || doc
                    .attr(id, "role")
                    .is_some_and(|r| matches!(r, "doc-footnote" | "doc-endnote"))
                || (matches!(doc.tag(id), "p" | "div" | "aside")
                    && doc
                        .element(id)
                        .is_some_and(|e| e.classes().any(|c| c.contains("footnote"))));
            if is_note {
                notes.by_node.insert(id, label.clone());
                notes.by_id.insert(name.to_owned(), label.clone());
            }
        }
        notes
    }

    /// The label, if the element is a note.
    pub(super) fn note(&self, id: NodeId) -> Option<&str> {
        self.by_node.get(&id).map(String::as_str)
    }

    /// The label, if the link refers to a note.
    pub(super) fn reference(&self, doc: &Document, id: NodeId) -> Option<&str> {
        let (target, _) = reference(doc, id)?;
        self.by_id.get(target).map(String::as_str)
    }

    /// Whether the link leads from a note back to its reference.
    pub(super) fn is_way_back(&self, doc: &Document, id: NodeId) -> bool {
        if self.by_node.is_empty() {
            return false;
        }
        let role = doc.attr(id, "role");
        role == Some("doc-backlink")
            || (doc.attr(id, "href").is_some_and(|h| h.starts_with('#'))
                && doc.ancestors(id).any(|a| self.by_node.contains_key(&a))
                && doc
                    .text_of(id)
                    .chars()
                    .filter(|c| c.is_alphanumeric())
                    .count()
                    <= 1)
    }
}

/// The target and the label of a link that looks like a reference: raised, or said to be one, and short.
fn reference(doc: &Document, id: NodeId) -> Option<(&str, String)> {
    let element = doc.element(id).filter(|e| e.tag() == "a")?;
    let target = element.attr("href")?.strip_prefix('#')?;
    let said = element.attr("role") == Some("doc-noteref")
        || element.attr("data-footnote-ref").is_some()
        || element
            .classes()
            .any(|c| c.contains("footnote-ref") || c.contains("fnref"));
    let raised = doc.parent(id).is_some_and(|p| doc.tag(p) == "sup")
        || doc.children(id).any(|c| doc.tag(c) == "sup");
    if !said && !raised {
        return None;
    }
    let text = doc.text_of(id);
    let label: String = text
        .trim()
        .trim_matches(['[', ']', '(', ')'])
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect();
    let fits = !label.is_empty()
        && label.chars().count() <= 8
        && label.chars().all(|c| c.is_alphanumeric());
    fits.then_some((target, label))
}

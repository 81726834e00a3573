//! A CSS selector for each element that finds it again and nothing else.

use std::collections::HashMap;

use crate::dom::{Document, NodeId, select};

/// Steps of a path. Pages stay below 40; what is deeper is named by the end of its path alone.
const MAX_STEPS: usize = 64;

/// What selectors are made from, computed once for a document.
pub(crate) struct Places<'a> {
    doc: &'a Document,
    /// Place among the siblings of the same tag, from 1; 0 for what is no element.
    nth: Vec<u32>,
    /// Whether the node is the only one of its tag among its siblings.
    ids: HashMap<&'a str, u32>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(doc: &'a Document) -> Self {
        let mut nth = vec![0; doc.len()];
        let mut ids: HashMap<&str, u32> = HashMap::new();
        // One counter per parent and tag; parents come before children.
        let mut counts: HashMap<(NodeId, &str), u32> = HashMap::new();
        for id in doc.descendants(NodeId::ROOT) {
            let Some(element) = doc.element(id) else {
                continue;
            };
            if let Some(parent) = doc.parent(id) {
                let count = counts.entry((parent, element.tag())).or_default();
                *count += 1;
                nth[id.index()] = *count;
            }
            if let Some(name) = element.attr("id").filter(|n| !n.is_empty()) {
                *ids.entry(name).or_default() += 1;
            }
        }
        Self { doc, nth, ids }
    }

    /// The selector: from the nearest ancestor with an id of its own, else from the root.
    pub(crate) fn selector(&self, id: NodeId) -> String {
        let mut steps = Vec::new();
        let mut at = Some(id);
        while let Some(node) = at {
            let Some(element) = self.doc.element(node) else {
                break;
            };
            let name = element.attr("id").unwrap_or_default();
            if is_stable(name) && self.ids.get(name) == Some(&1) {
                steps.push(format!("#{}", select::escape(name)));
                break;
            }
            let tag = element.tag();
            if steps.len() >= MAX_STEPS {
                break;
            }
            steps.push(match tag {
                "html" | "body" => tag.to_owned(),
                _ => format!(
                    "{}:nth-of-type({})",
                    select::escape(tag),
                    self.nth[node.index()]
                ),
            });
            at = self.doc.parent(node);
        }
        steps.reverse();
        steps.join(" > ")
    }
}

/// An id worth citing: short, and a name rather than a number or a hash.
fn is_stable(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && !name.contains(|c: char| c.is_whitespace() || c.is_control())
}

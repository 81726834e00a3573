//! What the choice left out of the page's own content: listed, so that a caller knows that there was more.

use super::Choice;
use crate::dom::{Document, NodeId};
use crate::page::{Block, Omission};

/// Lists what is skipped within the chosen nodes, hidden and inert parts (`bare`) aside: captions by themselves, and the
/// lists of links, teasers and notes among the text as one sum. Menus, sidebars and footers around the content are not
/// of it and not listed.
pub(super) fn within(doc: &Document, bare: &[bool], choice: &mut Choice) {
    let (mut captions, mut parts) = ((0, 0), (0, 0));
    for root in &choice.roots {
        let end = doc.end(*root).index();
        let mut at = root.index();
        while at < end {
            let id = NodeId::from_index(at);
            if !choice.skip[at] {
                at += 1;
                continue;
            }
            if !bare[at] {
                let chars = chars(doc, id, bare);
                let sum = if doc.tag(id) == "figcaption" {
                    &mut captions
                } else {
                    &mut parts
                };
                if chars > 0 {
                    *sum = (sum.0 + 1, sum.1 + chars);
                }
            }
            at = doc.end(id).index();
        }
    }
    for ((count, chars), reason, what) in [
        (captions, "caption", "captions of figures"),
        (parts, "aside", "parts that are links, teasers or notes"),
    ] {
        if count > 0 {
            choice.omitted.push(Omission {
                reason: reason.to_owned(),
                what: format!("{count} {what}"),
                chars,
            });
        }
    }
}

/// Characters of a subtree's visible text, white space folded.
fn chars(doc: &Document, id: NodeId, bare: &[bool]) -> usize {
    let end = doc.end(id).index();
    let mut at = id.index();
    let mut sum = 0;
    while at < end {
        let node = NodeId::from_index(at);
        if bare[at] {
            at = doc.end(node).index();
            continue;
        }
        if let Some(text) = doc.text(node) {
            let words = text.split_whitespace();
            sum += words.map(|w| w.chars().count() + 1).sum::<usize>();
        }
        at += 1;
    }
    sum
}

/// Runs a rule that takes blocks away, and says what it took.
pub(super) fn by(
    reason: &str,
    blocks: &mut Vec<Block>,
    rule: impl FnOnce(&mut Vec<Block>),
) -> Option<Omission> {
    let sum = |blocks: &[Block]| -> (usize, usize) {
        let chars = blocks.iter().map(|b| b.text.chars().count()).sum();
        (blocks.len(), chars)
    };
    let before = sum(blocks);
    rule(blocks);
    let after = sum(blocks);
    let gone = before.0.saturating_sub(after.0);
    (gone > 0).then(|| Omission {
        reason: reason.to_owned(),
        what: match reason {
            "title" => "the heading that repeats the title".to_owned(),
            _ => format!("{gone} short lines before and after the text"),
        },
        chars: before.1.saturating_sub(after.1),
    })
}

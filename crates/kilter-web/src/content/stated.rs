//! The body that a page states in its structured data, where the tree does not hold it.

use std::collections::HashSet;

use crate::block::{self, APART};
use crate::dom::{Document, NodeId};
use crate::meta::Statements;
use crate::page::{Block, BlockKind};

/// Characters from which a stated body is believed to be the text and not its summary.
const BODY: usize = 400;

/// Replaces blocks that hold little of the stated body.
pub(super) fn mend(blocks: &mut Vec<Block>, statements: &Statements) {
    let Some(body) = statements
        .article_body()
        .filter(|b| b.chars().count() >= BODY)
    else {
        return;
    };
    let body = plain(body);
    let have = shingles(blocks.iter().map(|b| b.text.as_str()));
    let want = shingles(std::iter::once(body.as_str()));
    let shown: usize = blocks.iter().map(|b| b.text.len()).sum();
    if want.is_empty() || body.len() * 2 < shown {
        return;
    }
    let found = want.iter().filter(|s| have.contains(*s)).count();
    if found * 2 >= want.len() {
        return;
    }
    *blocks = body
        .split('\n')
        .map(crate::dom::fold)
        .filter(|p| !p.is_empty())
        .map(|text| Block {
            kind: BlockKind::Paragraph,
            markdown: block::escaped(&text),
            text,
            links: Vec::new(),
            source_selector: "script[type=\"application/ld+json\"]".to_owned(),
            level: None,
            glue: APART,
            table: None,
        })
        .collect();
}

/// The stated body as text. It is often HTML, and as often HTML that was escaped once too much.
fn plain(body: &str) -> String {
    let mut text = body.to_owned();
    for _ in 0..3 {
        if !text.contains('<') && !text.contains('&') {
            break;
        }
        let doc = Document::fragment(&text);
        let skip = vec![false; doc.len()];
        let blocks = block::blocks(&block::Source {
            doc: &doc,
            roots: &[NodeId::ROOT],
            skip: &skip,
            base: None,
            faithful: false,
        });
        let next = if doc
            .descendants(NodeId::ROOT)
            .any(|i| doc.element(i).is_some())
        {
            blocks
                .iter()
                .map(|b| b.text.as_str())
                .collect::<Vec<_>>()
                .join("\n")
        } else {
            doc.text_of(NodeId::ROOT)
        };
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Runs of four words, as hashes.
fn shingles<'a>(texts: impl Iterator<Item = &'a str>) -> HashSet<u64> {
    use std::hash::{Hash, Hasher};
    let mut out = HashSet::new();
    for text in texts {
        let words: Vec<&str> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .collect();
        for four in words.windows(4) {
            let mut hasher = std::collections::hash_map::DefaultHasher::new();
            four.hash(&mut hasher);
            out.insert(hasher.finish());
        }
    }
    out
}

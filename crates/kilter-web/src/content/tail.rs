//! The edges of the content: headings that head nothing, and short lines before the first and after the last prose.

use super::{Rule, Rules};
use crate::page::{Block, BlockKind};

/// Takes away headings at the end, which head nothing.
pub(super) fn orphans(blocks: &mut Vec<Block>) {
    if blocks.iter().all(|b| b.kind == BlockKind::Heading) {
        return;
    }
    while blocks.last().is_some_and(|b| b.kind == BlockKind::Heading) {
        blocks.pop();
    }
}

fn chars(block: &Block) -> usize {
    block
        .text
        .chars()
        .map(|c| if c >= '\u{2e80}' { 3 } else { 1 })
        .sum()
}

fn links(block: &Block) -> usize {
    block.links.iter().map(|l| l.text.chars().count()).sum()
}

/// Whether the block reads as text.
fn reads(block: &Block) -> bool {
    let n = chars(block);
    match block.kind {
        BlockKind::Code | BlockKind::Table | BlockKind::Quote => true,
        BlockKind::Heading => false,
        // A sentence may be made of links for the most part; a longer text may not.
        _ => {
            let sentence = block.text.ends_with([
                '.', '!', '?', '。', '！', '？', '।', '؟', '۔', '"', '”', '»', '…', '」', ')', ':',
            ]);
            (sentence && links(block) * 5 < n * 4) || (n >= 60 && links(block) * 2 < n)
        }
    }
}

/// Whether a paragraph is emphasised from its first to its last character and leads elsewhere.
fn is_note(block: &Block) -> bool {
    let md = block.markdown.trim();
    block.kind == BlockKind::Paragraph
        && !block.links.is_empty()
        && md.starts_with('*')
        && md.ends_with('*')
        && !md.trim_matches('*').contains("* ")
}

/// Takes away short lines after the last prose, and before the first, except headings there.
pub(super) fn edges(blocks: &mut Vec<Block>, rules: &Rules) {
    let total: usize = blocks.iter().filter(|b| reads(b)).map(chars).sum();
    if total < 300 {
        return;
    }
    let Some(last) = blocks.iter().rposition(reads) else {
        return;
    };
    if rules.has(Rule::Tail) {
        // A list's items stand together: those after the last that reads as text belong to it.
        let keep = blocks[last + 1..]
            .iter()
            .take_while(|b| {
                b.kind == BlockKind::ListItem && blocks[last].kind == BlockKind::ListItem
            })
            .count();
        blocks.truncate(last + 1 + keep);
        // Notes of the house: set apart as a whole, and leading elsewhere.
        while blocks.len() > 3 && blocks.last().is_some_and(is_note) {
            blocks.pop();
        }
    }
    if rules.has(Rule::Head) {
        let first = blocks.iter().position(reads).unwrap_or(0);
        let mut index = 0;
        blocks.retain(|b| {
            index += 1;
            index > first || matches!(b.kind, BlockKind::Heading | BlockKind::ListItem)
        });
    }
}

/// Takes away the heading that says the page's title again, where text follows it.
pub(super) fn title(blocks: &mut Vec<Block>, title: &str) {
    let found = blocks
        .iter()
        .position(|b| b.kind == BlockKind::Heading && b.text == title);
    if let Some(at) = found.filter(|at| *at < 6 && *at + 1 < blocks.len()) {
        blocks.remove(at);
    }
}

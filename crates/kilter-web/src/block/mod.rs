//! The chosen nodes as blocks: one walk over the tree gives text, Markdown, links and selectors at once.

mod code;
mod contain;
mod escape;
mod inline;
mod kind;
mod leaf;
mod math;
mod note;
mod place;
mod table;
mod walk;

use std::borrow::Cow;

use url::Url;

pub(crate) use kind::is_block;

use crate::dom::{Document, NodeId};
use crate::page::Block;

/// Blocks of one page. The longest real pages (one-page standards) have some ten thousand; each costs about a kilobyte
/// in a reply with blocks.
pub const BLOCKS_MAX: usize = 100_000;

/// What of a document becomes blocks, and how.
#[derive(Debug)]
pub struct Source<'a> {
    /// The page.
    pub doc: &'a Document,
    /// Nodes to take, in document order and apart from each other.
    pub roots: &'a [NodeId],
    /// One entry per node; a marked node is left out with all below it.
    pub skip: &'a [bool],
    /// What relative addresses are relative to.
    pub base: Option<&'a Url>,
    /// Keep what is markup for its own sake: rules, images without words, marks within marks.
    pub faithful: bool,
}

/// The blocks of the chosen nodes, in order.
pub fn blocks(source: &Source<'_>) -> Vec<Block> {
    walk::Walk::new(source).run()
}

/// Blocks as one Markdown text.
pub fn markdown(blocks: &[Block]) -> String {
    let mut out = String::with_capacity(blocks.iter().map(|b| b.markdown.len() + 2).sum());
    for block in blocks {
        if !out.is_empty() {
            // A block that was made elsewhere says nothing of what stands before it: a blank line.
            out.push_str(if block.glue.is_empty() {
                "\n\n"
            } else {
                &block.glue
            });
        }
        out.push_str(&block.markdown);
    }
    out
}

/// Blocks as plain text, one block a paragraph.
pub fn text(blocks: &[Block]) -> String {
    let mut out = String::with_capacity(blocks.iter().map(|b| b.text.len() + 2).sum());
    for block in blocks.iter().filter(|b| !b.text.is_empty()) {
        if !out.is_empty() {
            out.push_str(if block.glue == "\n" { "\n" } else { "\n\n" });
        }
        out.push_str(&block.text);
    }
    out
}

/// The Markdown of a fragment, all of it: no choice of main content, nothing hidden removed.
pub fn fragment_markdown(html: &str) -> String {
    let doc = Document::fragment(html);
    let skip = vec![false; doc.len()];
    markdown(&blocks(&Source {
        doc: &doc,
        roots: &[NodeId::ROOT],
        skip: &skip,
        base: None,
        faithful: true,
    }))
}

/// Plain text as Markdown that shows it.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape::text(&mut out, text, None, false);
    escape::line_starts(&out)
}

/// The address that relative links are relative to: `<base href>`, itself relative to the page's address.
pub fn base_of(doc: &Document, url: Option<&str>) -> Option<Url> {
    let page = url.and_then(|u| Url::parse(u).ok());
    let base = doc
        .descendants(NodeId::ROOT)
        .filter(|i| doc.tag(*i) == "base")
        .find_map(|i| doc.attr(i, "href"));
    match (page, base) {
        (Some(page), Some(href)) => Some(page.join(href.trim()).unwrap_or(page)),
        (None, Some(href)) => Url::parse(href.trim()).ok(),
        (page, None) => page,
    }
}

/// The usual joint of two blocks.
pub(crate) const APART: Cow<'static, str> = Cow::Borrowed("\n\n");

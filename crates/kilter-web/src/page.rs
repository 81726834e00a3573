//! What a read returns: a page as blocks with the Markdown that comes from them.

use serde::Serialize;

/// What a caller asks of one read. The default asks for the whole page as Markdown and nothing else.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// What the caller wants to know; ranks sections and, with a budget, chooses among them.
    pub focus: Option<String>,
    /// Hard bound on the serialised reply, in tokens of the stated tokenizer.
    pub max_tokens: Option<u32>,
    /// Keep only the sections under headings with these words.
    pub sections: Vec<String>,
    /// CSS selectors that replace the choice of main content (from a playbook).
    pub selectors: Vec<String>,
    /// CSS selectors of what is not content (from a playbook).
    pub drop: Vec<String>,
    /// Keep text that a reader of the page cannot see.
    pub keep_hidden: bool,
}

/// What a block is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// A heading with its level.
    Heading,
    /// Running text.
    #[default]
    Paragraph,
    /// One item of a list, with its depth.
    ListItem,
    /// Preformatted text.
    Code,
    /// A quotation.
    Quote,
    /// A table.
    Table,
    /// An image or another figure with its caption.
    Figure,
}

/// A link in a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The words of the link.
    pub text: String,
    /// Where it goes, absolute.
    pub href: String,
}

/// One block of a page: the unit of citation, hashing and focus.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Block {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: BlockKind,
    /// Its text, white space folded except in code.
    pub text: String,
    /// Its Markdown, without the blank line after it.
    #[serde(skip)]
    pub markdown: String,
    /// Links in it, in order.
    pub links: Vec<Link>,
    /// A CSS selector that finds the element it came from.
    pub source_selector: String,
    /// Level of a heading (1–6), depth of a list item (1–).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// What stands between the Markdown of the block before it and its own: `"\n"` within a tight list, else a blank
    /// line, with the quotation's mark where both stand in one.
    #[serde(skip)]
    pub glue: std::borrow::Cow<'static, str>,
    /// The table as data, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Table>,
}

/// A table as data. Every row has as many cells as the table has columns; a cell that spans rows is repeated in each,
/// one that spans columns is followed by empty cells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Its caption.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// Its header row; empty where it has none.
    pub headers: Vec<String>,
    /// The rows below.
    pub rows: Vec<Vec<String>>,
}

/// What the page says about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageMeta {
    /// When it was published, as RFC 3339 or a date, where the page says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Language tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// Canonical URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
}

/// Something that is on the page and not in the reply.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Omission {
    /// Why: `hidden`, `caption`, `aside`, `title`, `edge`, `sections`, `focus`, `budget`, `limit`.
    pub reason: String,
    /// What, by heading, selector or count.
    pub what: String,
    /// Characters left out.
    pub chars: usize,
}

/// A page that was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Page {
    /// The title, from the page's own statements and its first heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the page says about itself.
    pub meta: PageMeta,
    /// The content in order.
    pub blocks: Vec<Block>,
    /// The content as Markdown: the blocks' Markdown, joined.
    pub markdown: String,
    /// The content as plain text, one block a paragraph.
    pub text: String,
    /// What was left out.
    pub omitted: Vec<Omission>,
}

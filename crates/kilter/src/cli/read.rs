//! `kilter read`: its arguments.

use std::path::PathBuf;

use clap::Args;

/// Read a web page: its main content as Markdown
///
/// Reads an HTML page from a file or from standard input, finds its encoding, leaves out menus,
/// comments, teasers and hidden text, and prints the content as Markdown. Exit code 1: the page
/// was read and holds no content of its own.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter read page.html --base-url https://example.org/docs/page
  some-command | kilter read - --json
  kilter read --jsonl < pages.jsonl > results.jsonl

A line of --jsonl: {\"id\"?, \"html\" | \"html_b64\", \"url\"?,
\"blocks\"?: true}. One result line each, in order: {\"id\", \"ok\",
\"markdown\", \"text\", \"title\", \"meta\", \"blocks\"?, \"omitted\"?, \"failure\"?}.")]
pub(crate) struct Read {
    /// The page; `-`: standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["html", "jsonl"], conflicts_with = "html")]
    pub(crate) page: Option<PathBuf>,

    /// A file with the page as it was served
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Where the page came from: relative links become absolute
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// Print one JSON object with blocks, tables, links and selectors
    #[arg(long)]
    pub(crate) json: bool,

    /// CSS selector of the content, instead of the choice (repeatable)
    #[arg(long, value_name = "CSS")]
    pub(crate) select: Vec<String>,

    /// Keep text that a reader of the page cannot see
    #[arg(long)]
    pub(crate) keep_hidden: bool,

    /// Read JSON lines and write one result line each
    #[arg(long, conflicts_with_all = ["base_url", "json"])]
    pub(crate) jsonl: bool,
}

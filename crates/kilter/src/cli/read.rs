//! `kilter read`: its arguments.

use std::path::PathBuf;

use clap::Args;

/// Read a web page: its main content as Markdown
///
/// Reads a page from the web, a file or standard input, leaves out menus, comments, teasers and
/// hidden text, and prints the content as Markdown. HTML, Markdown, text, PDF, JSON and feeds are
/// read. Only addresses on the public internet are asked. Exit code 1: the page could not be read,
/// or holds no content of its own; 3: it did not answer.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter read https://example.org/docs/page
  kilter read https://example.org/app --backend browser --json
  kilter read https://example.org/docs --focus \"opening hours\" --max-tokens 800
  kilter read page.html --base-url https://example.org/docs/page
  some-command | kilter read - --json
  kilter read --jsonl < pages.jsonl > results.jsonl

A line of --jsonl: {\"id\"?, \"html\" | \"html_b64\", \"url\"?,
\"blocks\"?: true}. One result line each, in order: {\"id\", \"ok\",
\"markdown\", \"text\", \"title\", \"meta\", \"blocks\"?, \"omitted\"?, \"failure\"?}.

Pages that scripts build need a browser; `kilter doctor` says how to get one.
Environment: KILTER_BROWSER, KILTER_ALLOW_PRIVATE_URLS,
KILTER_FETCH_TIMEOUT_MS, KILTER_BROWSER_TIMEOUT_MS,
KILTER_MAX_RESPONSE_BYTES, KILTER_MAX_PDF_BYTES, KILTER_HOST_THROTTLE_MS,
KILTER_RESPECT_ROBOTS.")]
pub(crate) struct Read {
    /// The page: a URL or a file; `-`: standard input
    #[arg(value_name = "URL|FILE", required_unless_present_any = ["html", "jsonl"], conflicts_with = "html")]
    pub(crate) page: Option<PathBuf>,

    /// A file with the page as it was served
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Where a file came from: relative links become absolute
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// Who fetches a URL: http, browser, http_then_browser or auto
    #[arg(long, value_name = "WHO", default_value = "auto")]
    pub(crate) backend: String,

    /// Keep only what answers this
    #[arg(long, value_name = "WORDS")]
    pub(crate) focus: Option<String>,

    /// Bound of the reply as JSON in tokens, 128 or more
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,

    /// Keep only the sections under a heading (repeatable)
    #[arg(long, value_name = "HEADING")]
    pub(crate) section: Vec<String>,

    /// Content hash of an earlier read: an unchanged page is not printed
    #[arg(long, value_name = "HASH")]
    pub(crate) if_none_match: Option<String>,

    /// Sign a receipt of what was read; it is part of --json
    #[arg(long, requires = "json")]
    pub(crate) receipt: bool,

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
    #[arg(long, conflicts_with_all = ["base_url", "json", "backend", "focus", "max_tokens", "section", "if_none_match"])]
    pub(crate) jsonl: bool,
}

//! Entries of the tools that read.

use super::{
    ASKS, BACKEND_POLICY, FOCUS_QUERY, IF_NONE_MATCH, MAX_TOKENS, SESSION_PROFILE, Tool, ToolId,
    URL,
};
use crate::output::Sort;
use crate::param::{Kind, Param};
use crate::surface::Surface;

const fn flag(name: &'static str, what: &'static str) -> Param {
    Param::optional(name, Kind::Flag { default: false }, what)
}

/// How large the caller's window is.
pub const CLIENT_CAPABILITIES: Tool = Tool {
    id: ToolId::ClientCapabilities,
    name: "occam_client_capabilities",
    title: "Say how large your window is",
    when: "once, to say how many tokens your context holds; replies are then cut to fit",
    description: "Tell the server the size of your context window, or ask what it assumes. A fifth of the window \
                  becomes the default bound of replies. With `profile`, show more or fewer tools.",
    params: &[
        Param::optional(
            "context_tokens",
            Kind::Int {
                min: 1_024,
                max: 2_000_000,
                default: None,
            },
            "size of your context window",
        ),
        Param::optional(
            "model_id",
            Kind::Text { min: 0, max: 200 },
            "a label, echoed; decides nothing",
        ),
        flag("clear", "forget what was said before"),
        Param::optional(
            "profile",
            Kind::Word {
                words: &[
                    "minimal",
                    "basic",
                    "reader",
                    "researcher",
                    "auditor",
                    "full",
                ],
                default: None,
            },
            "set of tools to show",
        ),
    ],
    answers: &[
        ("configured", Sort::Flag),
        ("contextTokens", Sort::Whole),
        ("outputBudgetTokens", Sort::Whole),
        ("suggestedProfile", Sort::Text),
        ("activeProfile", Sort::Text),
        ("applied", Sort::Flag),
        ("endpoint", Sort::Text),
        ("modelId", Sort::Text),
        ("source", Sort::Text),
        ("note", Sort::Text),
    ],
    hints: super::Hints {
        read_only: false,
        idempotent: true,
        open_world: false,
    },
    from: Some(Surface::Reader),
};

/// The cascade.
pub const OCCAM: Tool = Tool {
    id: ToolId::Occam,
    name: "occam",
    title: "Read a page",
    when: "to read a page without choosing options",
    description: "Read a web page and return its content as Markdown. Give `url`. Add `task` to say what you want to \
                  know, `budget` to bound the reply in tokens. `ok:false`: the content is unknown.",
    params: &[
        URL,
        Param::optional(
            "task",
            Kind::Text { min: 0, max: 2_000 },
            "what you want to know",
        ),
        Param::optional(
            "budget",
            Kind::Int {
                min: 128,
                max: 200_000,
                default: None,
            },
            "bound of the reply, in tokens",
        ),
        Param::optional(
            "mode",
            Kind::Word {
                words: &["auto", "advanced"],
                default: Some("auto"),
            },
            "`advanced`: also hint at special tools",
        ),
        IF_NONE_MATCH,
    ],
    answers: &[
        ("partial", Sort::Flag),
        ("url", Sort::Text),
        ("finalUrl", Sort::Text),
        ("title", Sort::Text),
        ("markdown", Sort::Text),
        ("unchanged", Sort::Flag),
        ("playbookId", Sort::Text),
        ("backend", Sort::Text),
        ("maxTokens", Sort::Whole),
        ("focusQuery", Sort::Text),
        ("contentHash", Sort::Text),
        ("receipt", Sort::Object),
        ("mode", Sort::Text),
        ("next", Sort::Rows),
        ("hints", Sort::Texts),
        ("steps", Sort::Rows),
        ("omitted", Sort::Texts),
        ("leftOut", Sort::Texts),
        ("compile", Sort::Object),
    ],
    hints: ASKS,
    from: Some(Surface::Minimal),
};

/// The full reader.
pub const TRANSCODE: Tool = Tool {
    id: ToolId::Transcode,
    name: "occam_transcode",
    title: "Read a page with options",
    when: "to read one page with a budget, a focus, blocks, tables or a diff against an earlier read",
    description: "Read one page as Markdown. Only `url` is needed; everything else is off by default and costs \
                  nothing when off.",
    params: &[
        URL,
        BACKEND_POLICY,
        MAX_TOKENS,
        flag("fit_markdown", "leave out parts that carry little"),
        FOCUS_QUERY,
        Param::optional(
            "content_selectors",
            Kind::Texts { max: 64 },
            "words of headings; keep only their sections",
        ),
        SESSION_PROFILE,
        Param::optional(
            "playbook_policy",
            Kind::Word {
                words: &["auto", "off"],
                default: Some("auto"),
            },
            "whether a playbook is used",
        ),
        IF_NONE_MATCH,
        Param::optional(
            "diff_against",
            Kind::Texts { max: 4_096 },
            "block hashes of an earlier read; adds `diff`",
        ),
        flag(
            "delta_only",
            "with `diff_against`: the diff and no Markdown",
        ),
        flag("semantic_chunking", "adds `chunks`, cut at headings"),
        flag("json_blocks", "adds `blocks` with text, links, selector"),
        flag("json_tables", "adds `tables` as data"),
        flag(
            "emit_capsule",
            "adds the receipt with its content, to check elsewhere",
        ),
        flag(
            "rank_blocks",
            "with `json_blocks` and `focus_query`: salience of each block",
        ),
        flag(
            "tag_trust",
            "with `json_blocks`: marks text that is shaped like instructions",
        ),
    ],
    answers: &[
        ("url", Sort::Object),
        ("markdown", Sort::Text),
        ("backend", Sort::Text),
        ("format", Sort::Text),
        ("title", Sort::Text),
        ("meta", Sort::Object),
        ("compile", Sort::Object),
        ("confidence", Sort::Number),
        ("quality", Sort::Object),
        ("access", Sort::Object),
        ("focus", Sort::Object),
        ("completeness", Sort::Object),
        ("statusCode", Sort::Whole),
        ("receipt", Sort::Object),
        ("recovery", Sort::Rows),
        ("contentHash", Sort::Text),
        ("materializationKey", Sort::Text),
        ("playbook", Sort::Object),
        ("unchanged", Sort::Flag),
        ("deltaOnly", Sort::Flag),
        ("diff", Sort::Object),
        ("chunks", Sort::Rows),
        ("blocks", Sort::Rows),
        ("tables", Sort::Rows),
        ("omitted", Sort::Rows),
        ("elapsedMs", Sort::Whole),
        ("session", Sort::Object),
        ("warnings", Sort::Texts),
    ],
    hints: ASKS,
    from: Some(Surface::Reader),
};

/// A cheap look.
pub const PROBE: Tool = Tool {
    id: ToolId::Probe,
    name: "occam_probe",
    title: "Look at a page before reading it",
    when: "to learn cheaply what a URL is and how to read it",
    description: "One small request: what the page is, whether it needs a browser, a login or stands behind a \
                  challenge, and how to read it. Returns no content.",
    params: &[
        URL,
        Param::optional(
            "timeout_ms",
            Kind::Int {
                min: 1_000,
                max: 120_000,
                default: Some(10_000),
            },
            "time limit",
        ),
        SESSION_PROFILE,
    ],
    answers: &[
        ("url", Sort::Object),
        ("classification", Sort::Object),
        ("recommendation", Sort::Object),
        ("statusCode", Sort::Whole),
        ("probeLatencyMs", Sort::Whole),
        ("warnings", Sort::Texts),
        ("timestamp", Sort::Text),
    ],
    hints: ASKS,
    from: Some(Surface::Reader),
};

/// Several pages.
pub const DIGEST: Tool = Tool {
    id: ToolId::Digest,
    name: "occam_digest",
    title: "Read several pages",
    when: "to read up to eight pages in one call",
    description: "Read up to 8 pages and return an excerpt of each. `ok` when at least one could be read; each item \
                  says whether it was.",
    params: &[
        Param::optional(
            "urls",
            Kind::Texts { max: 256 },
            "the pages; needed unless `source_url` is given",
        ),
        BACKEND_POLICY,
        Param::optional(
            "max_urls",
            Kind::Int {
                min: 1,
                max: 8,
                default: Some(8),
            },
            "most pages to read",
        ),
        Param::optional(
            "per_url_max_tokens",
            Kind::Int {
                min: 128,
                max: 200_000,
                default: None,
            },
            "bound of each excerpt, in tokens",
        ),
        FOCUS_QUERY,
        Param::optional(
            "fit_markdown",
            Kind::Flag { default: true },
            "leave out parts that carry little",
        ),
        Param::optional(
            "include_combined",
            Kind::Flag { default: true },
            "adds all excerpts as one text",
        ),
        SESSION_PROFILE,
        Param::optional(
            "source_url",
            Kind::Url,
            "read the pages that this page links to, instead of `urls`",
        ),
        Param::optional(
            "max_links",
            Kind::Int {
                min: 1,
                max: 8,
                default: Some(8),
            },
            "with `source_url`: most links to follow",
        ),
        IF_NONE_MATCH,
    ],
    answers: &[
        ("digestId", Sort::Text),
        ("items", Sort::Rows),
        ("combined", Sort::Text),
        ("contentHash", Sort::Text),
        ("unchanged", Sort::Flag),
        ("stats", Sort::Object),
        ("suggestedReadOrder", Sort::Text),
        ("warnings", Sort::Texts),
        ("sourceUrl", Sort::Text),
        ("discoveredLinks", Sort::Rows),
    ],
    hints: ASKS,
    from: Some(Surface::Basic),
};

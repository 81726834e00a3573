//! Entries of the tools that find: links, search, typed fields.

use super::{ASKS, BACKEND_POLICY, FOCUS_QUERY, SESSION_PROFILE, Tool, ToolId, URL};
use crate::output::Sort;
use crate::param::{Kind, Param};
use crate::surface::Surface;

/// Links of a site.
pub const MAP: Tool = Tool {
    id: ToolId::Map,
    name: "occam_map",
    title: "Links of a site",
    when: "to find pages of a known site",
    description: "List pages of a site from its home page, its sitemap or robots.txt, best matches of `focus_query` \
                  first. Does not read them.",
    params: &[
        Param::needed("url", Kind::Url, "a page of the site"),
        Param::optional(
            "source",
            Kind::Word {
                words: &["homepage", "sitemap", "robots"],
                default: Some("homepage"),
            },
            "where the links come from",
        ),
        Param::optional(
            "max_links",
            Kind::Int {
                min: 1,
                max: 64,
                default: Some(32),
            },
            "most links",
        ),
        Param::optional(
            "same_domain",
            Kind::Flag { default: true },
            "only links of this site",
        ),
        Param::optional(
            "filter_nonsense",
            Kind::Flag { default: true },
            "leave out links that lead to no page of content",
        ),
        FOCUS_QUERY,
        Param::optional(
            "timeout_ms",
            Kind::Int {
                min: 3_000,
                max: 30_000,
                default: Some(15_000),
            },
            "time limit of the whole call",
        ),
    ],
    answers: &[
        ("links", Sort::Rows),
        ("linkCount", Sort::Whole),
        ("found", Sort::Whole),
        ("focusQuery", Sort::Text),
        ("partial", Sort::Flag),
    ],
    hints: ASKS,
    from: Some(Surface::Reader),
};

/// URLs for a query.
pub const SEARCH: Tool = Tool {
    id: ToolId::Search,
    name: "occam_search",
    title: "Search the web",
    when: "to find pages when you have no URL",
    description: "Ask the configured search engines; returns titles, URLs and snippets. A snippet is not the page: \
                  read the page before you rely on it.",
    params: &[
        Param::needed("query", Kind::Text { min: 1, max: 1_000 }, "what to search"),
        Param::optional(
            "max_results",
            Kind::Int {
                min: 1,
                max: 20,
                default: Some(8),
            },
            "most results",
        ),
    ],
    answers: &[
        ("query", Sort::Text),
        ("count", Sort::Whole),
        ("results", Sort::Rows),
        ("providersUsed", Sort::Texts),
        ("providersFailed", Sort::Rows),
    ],
    hints: ASKS,
    from: Some(Surface::Basic),
};

/// Typed fields.
pub const EXTRACT_KNOWLEDGE: Tool = Tool {
    id: ToolId::ExtractKnowledge,
    name: "occam_extract_knowledge",
    title: "Typed fields of a page",
    when: "to get named fields of a page for which a playbook has a schema",
    description: "Extract the fields that a playbook defines for this kind of page, each with the selector it came \
                  from.",
    params: &[URL, BACKEND_POLICY, SESSION_PROFILE],
    answers: &[
        ("playbookId", Sort::Text),
        ("pageClass", Sort::Text),
        ("facts", Sort::Rows),
        ("rows", Sort::Rows),
        ("missing", Sort::Texts),
        ("confidence", Sort::Number),
        ("factsHash", Sort::Text),
        ("url", Sort::Object),
        ("backend", Sort::Text),
    ],
    hints: ASKS,
    from: Some(Surface::Reader),
};

//! What the cascade answers: the page, the log of its steps, and what was cut.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;

/// The steps, in the order of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Looks for a playbook.
    PlaybookResolve,
    /// Works out focus and budget.
    FocusBudget,
    /// Reads over HTTP.
    HttpExtract,
    /// Reads with a browser, when HTTP gave no body.
    BrowserFallback,
    /// Stamps the content with its hash and signs it.
    Receipt,
}

impl StepKind {
    /// Every step, in the order of the log.
    pub const ALL: [Self; 5] = [
        Self::PlaybookResolve,
        Self::FocusBudget,
        Self::HttpExtract,
        Self::BrowserFallback,
        Self::Receipt,
    ];

    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PlaybookResolve => "playbook_resolve",
            Self::FocusBudget => "focus_budget",
            Self::HttpExtract => "http_extract",
            Self::BrowserFallback => "browser_fallback",
            Self::Receipt => "receipt",
        }
    }
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It did its work.
    Ok,
    /// There was no need.
    Skipped,
    /// It was cut by time.
    Omitted,
    /// It ran and failed.
    Failed,
    /// It worked, as a fallback.
    Degraded,
}

impl Status {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Omitted => "omitted",
            Self::Failed => "failed",
            Self::Degraded => "degraded",
        }
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Which step.
    pub kind: StepKind,
    /// How it ended.
    pub status: Status,
    /// How long it took.
    pub duration_ms: u64,
    /// A playbook's id, a backend, a failure code, or why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Step {
    pub(super) fn new(
        kind: StepKind,
        status: Status,
        took: Duration,
        detail: impl Into<Option<String>>,
    ) -> Self {
        Self {
            kind,
            status,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            detail: detail.into(),
        }
    }
}

/// How much the caller wants to hear about other tools. It never changes the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Nothing.
    Auto,
    /// A hint that wider surfaces have specialised tools.
    Advanced,
}

/// A link to go on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextLink {
    /// Its words.
    pub text: String,
    /// Its target, absolute.
    pub url: String,
}

/// What the cascade answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Whether the page was read. `false`: its content is unknown.
    pub ok: bool,
    /// Whether something was cut by time although the page was read.
    pub partial: bool,
    /// The URL that was asked for.
    pub url: String,
    /// Where the page was in the end, when elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_url: Option<String>,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The content; absent when it failed or did not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// True when the content hash equals the one of `if_none_match`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// The playbook that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playbook_id: Option<String>,
    /// What read the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Bound of the reply in tokens, where one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The words that the content was chosen by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_query: Option<String>,
    /// `sha256:` and the hex digest of the page's Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// The signed receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Value>,
    /// `auto` or `advanced`.
    pub mode: Mode,
    /// Up to [`super::NEXT_LINKS`] links to go on with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextLink>,
    /// What the caller may want to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The log.
    pub steps: Vec<Step>,
    /// The steps that were cut by time.
    pub omitted: Vec<StepKind>,
    /// What is on the page and not in the Markdown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The content as blocks; see [`super::reply`].
    #[serde(skip)]
    pub blocks: Vec<crate::Block>,
}

impl Outcome {
    /// The log's line of a step.
    pub fn step(&self, kind: StepKind) -> Option<&Step> {
        self.steps.iter().find(|s| s.kind == kind)
    }
}

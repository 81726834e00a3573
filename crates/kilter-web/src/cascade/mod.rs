//! The cascade: one call that reads a page, whatever it takes, within a bounded time.
//!
//! A [`Machine`] decides and never waits: events go in, actions come out, and the time is an argument. [`drive::run`]
//! carries its actions out over an [`Extraction`]; [`selftest`] and the tests carry them out on a clock moved by hand.
//!
//! Steps in the order of the log: `playbook_resolve`, `focus_budget`, `http_extract`, `browser_fallback`, `receipt`.
//! What holds of every run:
//! - `partial` is true exactly when something was cut by time and the call is still `ok`;
//! - a caller that gives up gets no outcome at all, and nothing is booked as cut by time;
//! - time used up before anything was read is a `timeout`;
//! - when nothing could be read, the code is that of the last extraction that failed, and the log is whole;
//! - a missing, broken or late playbook changes nothing but the log;
//! - with receipts off the content hash is there all the same.

pub mod drive;
pub mod live;
mod machine;
pub mod outcome;
pub mod reply;
pub mod selftest;

use std::time::Duration;

use serde_json::Value;

use crate::failure::{Failure, FailureCode};
pub use drive::{Extraction, Pending, run};
pub use live::Live;
pub use machine::{Action, Event, Machine};
pub use outcome::{Mode, NextLink, Outcome, Status, Step, StepKind};

/// Smallest reply budget, in tokens: below it no reply holds its own frame.
pub const BUDGET_MIN: u32 = 128;

/// How many links an outcome offers to go on with.
pub const NEXT_LINKS: usize = 5;

/// Time limits of the steps and of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Finding a playbook.
    pub playbook: Duration,
    /// Reading over HTTP.
    pub http: Duration,
    /// Reading with a browser.
    pub browser: Duration,
    /// Working out focus and budget.
    pub focus: Duration,
    /// Signing.
    pub receipt: Duration,
    /// Everything together.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self::of([2_000, 35_000, 120_000, 5_000, 2_000, 150_000])
    }
}

impl Limits {
    /// Limits in milliseconds, in the order of the fields.
    pub const fn of(ms: [u64; 6]) -> Self {
        Self {
            playbook: Duration::from_millis(ms[0]),
            http: Duration::from_millis(ms[1]),
            browser: Duration::from_millis(ms[2]),
            focus: Duration::from_millis(ms[3]),
            receipt: Duration::from_millis(ms[4]),
            total: Duration::from_millis(ms[5]),
        }
    }

    /// Short limits, for the self-test.
    pub const fn short() -> Self {
        Self::of([50, 80, 80, 50, 50, 250])
    }

    /// The limit of one step.
    pub fn of_step(&self, kind: StepKind) -> Duration {
        match kind {
            StepKind::PlaybookResolve => self.playbook,
            StepKind::FocusBudget => self.focus,
            StepKind::HttpExtract => self.http,
            StepKind::BrowserFallback => self.browser,
            StepKind::Receipt => self.receipt,
        }
    }
}

/// What a caller asks. There is nothing else to ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Absolute http or https URL.
    pub url: String,
    /// What is wanted, in words.
    pub task: Option<String>,
    /// Bound of the reply, in tokens.
    pub budget: Option<i64>,
    /// `auto` or `advanced`; anything else counts as `auto`, and the outcome says so.
    pub mode: Option<String>,
    /// The content hash of an earlier read.
    pub if_none_match: Option<String>,
}

impl Request {
    /// A request for a URL and nothing else.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ..Self::default()
        }
    }

    /// Checks the arguments.
    ///
    /// # Errors
    /// `invalid_arguments` for a URL that is not absolute http(s), and for a budget under [`BUDGET_MIN`].
    pub fn check(&self) -> Result<(), Failure> {
        let wrong = |message: String| {
            Err(Failure::new(FailureCode::InvalidArguments, message)
                .then("stop", "the same arguments will fail again"))
        };
        let fits = url::Url::parse(self.url.trim())
            .is_ok_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
        if !fits {
            return wrong("`url` is not an absolute http or https URL".to_owned());
        }
        match self.budget {
            Some(b) if b < i64::from(BUDGET_MIN) => wrong(format!(
                "`budget` is {b}; the smallest is {BUDGET_MIN} tokens"
            )),
            _ => Ok(()),
        }
    }
}

/// What an extraction is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// The URL, trimmed.
    pub url: String,
    /// What the caller wants to know.
    pub focus: Option<String>,
    /// Bound of the reply, in tokens.
    pub max_tokens: Option<u32>,
    /// The playbook that fits, where one was found in time.
    pub overlay: Option<Overlay>,
}

/// The playbook that fits a URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlay {
    /// Its identifier.
    pub id: String,
    /// The document, for the extraction to read what it needs.
    pub document: Value,
}

/// What reads the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Plain HTTP.
    Http,
    /// A browser.
    Browser,
}

/// A page that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Body {
    /// The content as Markdown.
    pub markdown: String,
    /// What read it: `http`, `browser`, `pdf`, …
    pub backend: String,
    /// The title.
    pub title: Option<String>,
    /// Where the page was in the end.
    pub final_url: Option<String>,
    /// Links of the content, in order of worth.
    pub links: Vec<NextLink>,
    /// What is on the page and not in the Markdown: reasons with what was left out.
    pub omitted: Vec<String>,
    /// The content as blocks, where the reply is to be fitted into a budget.
    pub blocks: Vec<crate::Block>,
    /// Whether the blocks are all that the page has.
    pub complete: bool,
    /// Identifier and version of the playbook, where it was really applied.
    pub applied: Option<(String, String)>,
    /// How it was asked for, for the receipt.
    pub asked: Box<Ask>,
    /// Hash of the whole page's Markdown where `markdown` is a part of it; absent: the hash of `markdown`.
    pub full_hash: Option<String>,
}

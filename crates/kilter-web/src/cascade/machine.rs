//! The state machine: which step comes next, what it may take, and what its end means.

use std::time::Duration;

use serde_json::Value;

use super::outcome::{Mode, Outcome, Status, Step, StepKind};
use super::{Ask, Body, Limits, NEXT_LINKS, Overlay, Reader, Request};
use crate::failure::{Failure, FailureCode};
use crate::hash::content_hash;

/// What the driver is to do. Each action is answered by one event of the same kind, or by [`Event::TimedOut`].
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Look for a playbook.
    ResolvePlaybook {
        /// Give up after this.
        within: Duration,
    },
    /// Read the page.
    Extract {
        /// With what.
        by: Reader,
        /// Give up after this.
        within: Duration,
        /// What is asked.
        ask: Ask,
    },
    /// Sign what was read.
    Sign {
        /// Give up after this.
        within: Duration,
        /// What was read.
        body: Box<Body>,
        /// Its content hash.
        content_hash: String,
    },
    /// Answer the caller.
    Finish(Box<Outcome>),
    /// The caller gave up: answer nothing.
    Abandon,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The search for a playbook ended.
    Playbook(Result<Option<Overlay>, Failure>),
    /// An extraction ended.
    Extracted(Result<Body, Failure>),
    /// Signing ended; the receipt.
    Signed(Result<Value, Failure>),
    /// The step's time is over.
    TimedOut,
    /// The caller gave up.
    Cancelled,
}

/// A run in progress.
#[derive(Debug, Clone)]
pub struct Machine {
    request: Request,
    limits: Limits,
    receipts: bool,
    began: Duration,
    /// The step that is out with the driver, since when, and what it may take.
    out: Option<(StepKind, Duration, Duration)>,
    steps: Vec<Step>,
    ask: Ask,
    body: Option<Body>,
    /// The last extraction that ran and failed.
    failed: Option<Failure>,
    hash: Option<String>,
    receipt: Option<Value>,
    over: bool,
}

impl Machine {
    /// Begins a run at `now`; the first action comes from [`Machine::begin`].
    ///
    /// # Errors
    /// `invalid_arguments`, see [`Request::check`].
    pub fn new(
        request: Request,
        limits: Limits,
        receipts: bool,
        now: Duration,
    ) -> Result<Self, Failure> {
        request.check()?;
        let ask = Ask {
            url: request.url.trim().to_owned(),
            ..Ask::default()
        };
        Ok(Self {
            request,
            limits,
            receipts,
            began: now,
            out: None,
            steps: Vec::with_capacity(5),
            ask,
            body: None,
            failed: None,
            hash: None,
            receipt: None,
            over: false,
        })
    }

    /// The first action.
    pub fn begin(&mut self, now: Duration) -> Action {
        self.enter(StepKind::PlaybookResolve, now)
    }

    /// Takes an event and says what comes next; `None` for an event that nothing waits for.
    pub fn handle(&mut self, event: Event, now: Duration) -> Option<Action> {
        if self.over {
            return None;
        }
        if event == Event::Cancelled {
            self.over = true;
            return Some(Action::Abandon);
        }
        let (kind, since, within) = self.out?;
        let took = now.saturating_sub(since);
        // The limit is the machine's, not the driver's: what comes late has not come.
        let late = event == Event::TimedOut || took > within;
        match (kind, event) {
            _ if late => self.cut(kind, took.min(within), "time_limit"),
            (StepKind::PlaybookResolve, Event::Playbook(found)) => self.playbook(found, took),
            (StepKind::HttpExtract | StepKind::BrowserFallback, Event::Extracted(read)) => {
                self.extracted(kind, read, took);
            }
            (StepKind::Receipt, Event::Signed(signed)) => self.signed(signed, took),
            // An answer to another question: the step stays out.
            _ => return None,
        }
        self.out = None;
        Some(self.after(kind, now))
    }

    /// The URL of the run.
    pub fn url(&self) -> &str {
        &self.ask.url
    }

    fn remaining(&self, now: Duration) -> Duration {
        self.limits
            .total
            .saturating_sub(now.saturating_sub(self.began))
    }

    fn log(
        &mut self,
        kind: StepKind,
        status: Status,
        took: Duration,
        detail: impl Into<Option<String>>,
    ) {
        self.steps.push(Step::new(kind, status, took, detail));
    }

    fn cut(&mut self, kind: StepKind, took: Duration, why: &str) {
        self.log(kind, Status::Omitted, took, why.to_owned());
    }

    fn skip(&mut self, kind: StepKind, why: impl Into<String>) {
        self.log(kind, Status::Skipped, Duration::ZERO, why.into());
    }

    /// What follows a step that has ended.
    fn after(&mut self, kind: StepKind, now: Duration) -> Action {
        match StepKind::ALL
            .iter()
            .skip_while(|k| **k != kind)
            .nth(1)
            .copied()
        {
            Some(next) => self.enter(next, now),
            None => self.finish(),
        }
    }

    /// Begins a step, or passes it by with the reason in the log.
    fn enter(&mut self, kind: StepKind, now: Duration) -> Action {
        if let Some(why) = self.needless(kind) {
            self.skip(kind, why);
            return self.after(kind, now);
        }
        let remaining = self.remaining(now);
        if remaining.is_zero() {
            self.cut(kind, Duration::ZERO, "total_budget");
            return self.after(kind, now);
        }
        let within = self.limits.of_step(kind).min(remaining);
        if kind == StepKind::FocusBudget {
            // Pure arithmetic: it has ended when it has begun.
            self.focus();
            return self.after(kind, now);
        }
        self.out = Some((kind, now, within));
        match kind {
            StepKind::PlaybookResolve => Action::ResolvePlaybook { within },
            StepKind::BrowserFallback => self.extract(Reader::Browser, within),
            StepKind::Receipt => Action::Sign {
                within,
                body: Box::new(self.body.clone().unwrap_or_default()),
                content_hash: self.hash.clone().unwrap_or_default(),
            },
            StepKind::HttpExtract | StepKind::FocusBudget => self.extract(Reader::Http, within),
        }
    }

    fn extract(&self, by: Reader, within: Duration) -> Action {
        Action::Extract {
            by,
            within,
            ask: self.ask.clone(),
        }
    }

    /// Why a step is not needed, if it is not.
    fn needless(&self, kind: StepKind) -> Option<String> {
        let why = match kind {
            StepKind::FocusBudget if self.task().is_none() && self.request.budget.is_none() => {
                "no_task_or_budget"
            }
            StepKind::BrowserFallback if self.body.is_some() => "http_succeeded",
            StepKind::BrowserFallback => {
                return self
                    .failed
                    .as_ref()
                    .filter(|f| final_for_browser(f.code))
                    .map(|f| f.code.as_str().into_owned());
            }
            StepKind::Receipt if self.body.is_none() => "no_body",
            StepKind::Receipt if !self.receipts => "receipts_disabled",
            _ => return None,
        };
        Some(why.to_owned())
    }

    fn task(&self) -> Option<&str> {
        self.request
            .task
            .as_deref()
            .map(str::trim)
            .filter(|t| !t.is_empty())
    }

    fn focus(&mut self) {
        self.ask.focus = self.task().map(str::to_owned);
        self.ask.max_tokens = self
            .request
            .budget
            .map(|b| u32::try_from(b).unwrap_or(u32::MAX));
        let detail = match (&self.ask.focus, self.ask.max_tokens) {
            (Some(_), Some(_)) => "focus_query,max_tokens",
            (Some(_), None) => "focus_query",
            _ => "max_tokens",
        };
        self.log(
            StepKind::FocusBudget,
            Status::Ok,
            Duration::ZERO,
            detail.to_owned(),
        );
    }

    fn playbook(&mut self, found: Result<Option<Overlay>, Failure>, took: Duration) {
        let kind = StepKind::PlaybookResolve;
        match found {
            Ok(Some(overlay)) => {
                self.log(kind, Status::Ok, took, overlay.id.clone());
                self.ask.overlay = Some(overlay);
            }
            Ok(None) => self.log(
                kind,
                Status::Skipped,
                took,
                "no_matching_playbook".to_owned(),
            ),
            Err(f) => self.log(kind, Status::Failed, took, f.code.as_str().into_owned()),
        }
    }

    fn extracted(&mut self, kind: StepKind, read: Result<Body, Failure>, took: Duration) {
        let read = read.and_then(|body| {
            if body.markdown.trim().is_empty() {
                Err(Failure::new(
                    FailureCode::ThinExtract,
                    "the page gave no text",
                ))
            } else {
                Ok(body)
            }
        });
        match read {
            Ok(body) => {
                let status = if kind == StepKind::BrowserFallback {
                    Status::Degraded
                } else {
                    Status::Ok
                };
                self.log(kind, status, took, body.backend.clone());
                self.hash = Some(
                    body.full_hash
                        .clone()
                        .unwrap_or_else(|| content_hash(&body.markdown)),
                );
                self.body = Some(body);
            }
            Err(failure) => {
                self.log(
                    kind,
                    Status::Failed,
                    took,
                    failure.code.as_str().into_owned(),
                );
                self.failed = Some(failure);
            }
        }
    }

    fn signed(&mut self, signed: Result<Value, Failure>, took: Duration) {
        match signed {
            Ok(receipt) => {
                self.receipt = Some(receipt);
                self.log(
                    StepKind::Receipt,
                    Status::Ok,
                    took,
                    "content_hash".to_owned(),
                );
            }
            Err(f) => self.log(
                StepKind::Receipt,
                Status::Failed,
                took,
                f.code.as_str().into_owned(),
            ),
        }
    }

    fn finish(&mut self) -> Action {
        self.over = true;
        let body = self.body.take();
        let ok = body.is_some();
        let omitted: Vec<_> = self
            .steps
            .iter()
            .filter(|s| s.status == Status::Omitted)
            .map(|s| s.kind)
            .collect();
        let failure = (!ok).then(|| {
            self.failed.take().unwrap_or_else(|| {
                Failure::new(
                    FailureCode::Timeout,
                    "the time was over before anything could be read",
                )
                .then("retry_transcode", "the page may answer faster next time")
            })
        });
        let (mode, mut hints) = mode(self.request.mode.as_deref());
        if mode == Mode::Advanced {
            hints.push(
                "wider surfaces have specialised tools for blocks, maps, claims and receipts"
                    .to_owned(),
            );
        }
        let body = body.unwrap_or_default();
        let unchanged = self.hash.as_deref().and_then(|now| {
            let before = self.request.if_none_match.as_deref()?;
            Some(same_hash(before, now))
        });
        let final_url = body.final_url.filter(|u| *u != self.ask.url);
        Action::Finish(Box::new(Outcome {
            ok,
            partial: ok && !omitted.is_empty(),
            url: self.ask.url.clone(),
            final_url,
            title: body.title,
            markdown: (ok && unchanged != Some(true)).then_some(body.markdown),
            failure,
            unchanged,
            playbook_id: self.ask.overlay.as_ref().map(|o| o.id.clone()),
            backend: ok.then_some(body.backend),
            max_tokens: self.ask.max_tokens,
            focus_query: self.ask.focus.clone(),
            content_hash: self.hash.take(),
            receipt: self.receipt.take(),
            mode,
            next: body.links.into_iter().take(NEXT_LINKS).collect(),
            hints,
            steps: std::mem::take(&mut self.steps),
            omitted,
            left_out: body.omitted,
            blocks: body.blocks,
        }))
    }
}

/// Failures of HTTP that a browser cannot mend: the page is not there, or may not be visited.
fn final_for_browser(code: FailureCode) -> bool {
    matches!(
        code,
        FailureCode::Http(404 | 410)
            | FailureCode::PrivateUrlBlocked
            | FailureCode::RobotsDisallowed
            | FailureCode::InvalidUrl
            | FailureCode::InvalidArguments
            | FailureCode::SessionProfileNotFound
            | FailureCode::InvalidSessionProfile
    )
}

fn mode(word: Option<&str>) -> (Mode, Vec<String>) {
    match word.map(str::trim) {
        None | Some("" | "auto") => (Mode::Auto, Vec::new()),
        Some("advanced") => (Mode::Advanced, Vec::new()),
        Some(_) => (
            Mode::Auto,
            vec!["`mode` is `auto` or `advanced`; read as `auto`".to_owned()],
        ),
    }
}

/// Whether two content hashes are the same; either may lack its `sha256:`.
fn same_hash(a: &str, b: &str) -> bool {
    let bare = |s: &str| s.trim().trim_start_matches("sha256:").to_ascii_lowercase();
    !bare(a).is_empty() && bare(a) == bare(b)
}

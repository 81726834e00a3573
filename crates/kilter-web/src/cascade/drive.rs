//! Carries the machine's actions out: over real readers with timers, or over a script on a clock moved by hand.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use kilter_core::{Clock, ManualClock};
use serde_json::Value;

use super::machine::{Action, Event, Machine};
use super::{Ask, Body, Limits, Outcome, Overlay, Reader, Request};
use crate::failure::Failure;

/// A future in a box, as the methods of [`Extraction`] return it.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the cascade reads with.
pub trait Extraction: Send + Sync {
    /// The playbook that fits a URL.
    fn playbook<'a>(&'a self, url: &'a str) -> Pending<'a, Result<Option<Overlay>, Failure>>;

    /// Reads the page.
    fn extract<'a>(&'a self, by: Reader, ask: &'a Ask) -> Pending<'a, Result<Body, Failure>>;

    /// Whether receipts are signed.
    fn receipts(&self) -> bool;

    /// Signs what was read.
    fn sign<'a>(
        &'a self,
        url: &'a str,
        body: &'a Body,
        content_hash: &'a str,
    ) -> Pending<'a, Result<Value, Failure>>;
}

/// Runs the cascade. Dropping the future is the caller's cancellation: nothing is answered and nothing is booked.
///
/// # Errors
/// `invalid_arguments` only; a page that cannot be read is an [`Outcome`] with `ok:false`.
pub async fn run(
    request: Request,
    limits: Limits,
    extraction: &dyn Extraction,
    clock: &dyn Clock,
) -> Result<Outcome, Failure> {
    let mut machine = Machine::new(request, limits, extraction.receipts(), clock.elapsed())?;
    let mut action = machine.begin(clock.elapsed());
    loop {
        let event = match action {
            Action::Finish(outcome) => return Ok(*outcome),
            Action::Abandon => return Err(stopped()),
            Action::ResolvePlaybook { within } => {
                let url = machine.url().to_owned();
                timed(within, async {
                    Event::Playbook(extraction.playbook(&url).await)
                })
                .await
            }
            Action::Extract { by, within, ask } => {
                timed(within, async {
                    Event::Extracted(extraction.extract(by, &ask).await)
                })
                .await
            }
            Action::Sign {
                within,
                body,
                content_hash,
            } => {
                let url = machine.url().to_owned();
                timed(within, async {
                    Event::Signed(extraction.sign(&url, &body, &content_hash).await)
                })
                .await
            }
        };
        action = match machine.handle(event, clock.elapsed()) {
            Some(next) => next,
            None => return Err(stopped()),
        };
    }
}

async fn timed(within: Duration, work: impl Future<Output = Event>) -> Event {
    tokio::time::timeout(within, work)
        .await
        .unwrap_or(Event::TimedOut)
}

/// The machine answers every event that answers its action, so this is not met.
fn stopped() -> Failure {
    Failure::new(
        crate::failure::FailureCode::ExtractionFailed,
        "the cascade was stopped",
    )
}

/// What a scripted step does: it takes this long, then this happens.
#[derive(Debug, Clone)]
pub struct Take<T> {
    /// How long the step takes.
    pub ms: u64,
    /// How it ends.
    pub end: T,
}

/// A scripted world for a run without network and without waiting.
#[derive(Debug, Clone)]
pub struct Script {
    /// The search for a playbook.
    pub playbook: Take<Result<Option<Overlay>, Failure>>,
    /// Reading over HTTP.
    pub http: Take<Result<Body, Failure>>,
    /// Reading with a browser.
    pub browser: Take<Result<Body, Failure>>,
    /// Signing.
    pub sign: Take<Result<Value, Failure>>,
    /// Whether receipts are on.
    pub receipts: bool,
    /// The caller gives up after this many milliseconds.
    pub cancel_after: Option<u64>,
}

/// Runs the machine over a script. `None`: the caller gave up. Also returns the actions that were asked for.
///
/// # Errors
/// `invalid_arguments`.
pub fn simulate(
    request: Request,
    limits: Limits,
    script: &Script,
    clock: &ManualClock,
) -> Result<(Option<Outcome>, Vec<Action>), Failure> {
    let began = clock.elapsed();
    let mut machine = Machine::new(request, limits, script.receipts, began)?;
    let mut action = machine.begin(clock.elapsed());
    let mut asked = Vec::new();
    loop {
        let (within, take, event) = match &action {
            Action::Finish(outcome) => return Ok((Some((**outcome).clone()), asked)),
            Action::Abandon => return Ok((None, asked)),
            Action::ResolvePlaybook { within } => (
                *within,
                script.playbook.ms,
                Event::Playbook(script.playbook.end.clone()),
            ),
            Action::Extract { by, within, .. } => {
                let take = match by {
                    Reader::Http => &script.http,
                    Reader::Browser => &script.browser,
                };
                (*within, take.ms, Event::Extracted(take.end.clone()))
            }
            Action::Sign { within, .. } => (
                *within,
                script.sign.ms,
                Event::Signed(script.sign.end.clone()),
            ),
        };
        asked.push(action.clone());
        let take = Duration::from_millis(take);
        let (mut wait, mut event) = if take > within {
            (within, Event::TimedOut)
        } else {
            (take, event)
        };
        if let Some(ms) = script.cancel_after {
            let left =
                Duration::from_millis(ms).saturating_sub(clock.elapsed().saturating_sub(began));
            if left < wait {
                wait = left;
                event = Event::Cancelled;
            }
        }
        clock.advance(wait);
        match machine.handle(event, clock.elapsed()) {
            Some(next) => action = next,
            None => return Ok((None, asked)),
        }
    }
}

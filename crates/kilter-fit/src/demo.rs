//! Fitting the demonstration models: scripts that misbehave on purpose, served in this process.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use kilter_core::Clock;
use kilter_mock::{MockServer, Script};
use tokio::sync::watch;

use crate::card::BehaviorCard;
use crate::error::FitError;
use crate::run::{Goal, Limits, Unwatched, fit};

/// Limits for a script. It answers in milliseconds; where it does not, the machine is busy, and that
/// is no property of the script: nothing is left out for it.
pub const LIMITS: Limits = Limits {
    requests: 32,
    total: Duration::from_secs(120),
    request: Duration::from_secs(30),
    slow: Duration::MAX,
    long: Duration::MAX,
};

/// A script and its card. What the script says about itself is not shown to the fit.
#[derive(Debug)]
pub struct DemoCard {
    /// Its name.
    pub name: String,
    /// What its author says it does.
    pub about: Option<String>,
    /// What was found.
    pub card: Result<BehaviorCard, FitError>,
}

/// Fits every demonstration model, all at once; `done` is told how many are finished. Cards come
/// in the order of the scripts.
///
/// # Errors
/// The scripts cannot be read or served: a bug.
pub async fn fit_all(
    clock: Arc<dyn Clock>,
    stop: watch::Receiver<bool>,
    done: impl Fn(usize, usize),
) -> Result<Vec<DemoCard>, FitError> {
    let scripts = kilter_mock::demo::all().map_err(|e| FitError::Demo(e.to_string()))?;
    let all = scripts.len();
    let mut running: FuturesUnordered<_> = scripts
        .into_iter()
        .enumerate()
        .map(|(i, script)| {
            let (clock, stop) = (Arc::clone(&clock), stop.clone());
            async move { fit_one(script, clock, stop).await.map(|card| (i, card)) }
        })
        .collect();
    let mut cards = Vec::with_capacity(all);
    while let Some(card) = running.next().await {
        cards.push(card?);
        done(cards.len(), all);
    }
    cards.sort_by_key(|(i, _)| *i);
    Ok(cards.into_iter().map(|(_, card)| card).collect())
}

async fn fit_one(
    script: Script,
    clock: Arc<dyn Clock>,
    stop: watch::Receiver<bool>,
) -> Result<DemoCard, FitError> {
    let name = script.name().to_owned();
    let about = script.about().map(str::to_owned);
    let server = MockServer::local(script)
        .await
        .map_err(|e| FitError::Demo(e.to_string()))?;
    let goal = Goal {
        url: server.url(),
        model: None,
        key: None,
        backend: "demo".to_owned(),
        script: true,
    };
    let card = fit(goal, LIMITS, clock, &Unwatched, stop).await;
    server.shutdown().await;
    Ok(DemoCard { name, about, card })
}

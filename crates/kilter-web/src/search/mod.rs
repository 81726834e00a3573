//! A question → URLs: from the providers that the operator configured, several at once, merged by what they agree on.

mod local;
mod merge;
mod provider;

use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use tokio::time::timeout;

use crate::acquire::Client;
use crate::failure::{Failure, FailureCode};
pub use local::LocalIndex;
pub use provider::Provider;

/// One hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// Its title as text.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// What the provider shows of it, as text.
    pub snippet: String,
}

/// A hit of the merged list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// `S1`, `S2`, …
    pub id: String,
    /// The hit.
    #[serde(flatten)]
    pub hit: Hit,
    /// Providers that gave it.
    pub providers: Vec<String>,
}

/// A provider that gave nothing, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Silent {
    /// Its name.
    pub provider: String,
    /// Why.
    pub failure_code: String,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// The question.
    pub query: String,
    /// Hits, the best first.
    pub results: Vec<Ranked>,
    /// Providers that answered.
    pub providers_used: Vec<String>,
    /// Providers that did not.
    pub providers_failed: Vec<Silent>,
}

/// Time for one provider.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks every provider at once. One that fails does not fail the search.
///
/// # Errors
/// `invalid_arguments` for an empty question or a number outside 1–20, `search_unconfigured` without a provider,
/// `search_error` when all of them fail.
pub async fn search(
    client: &Client,
    providers: &[Provider],
    query: &str,
    max_results: usize,
) -> Result<Found, Failure> {
    let query = query.trim();
    if query.is_empty() || !(1..=20).contains(&max_results) {
        return Err(Failure::new(
            FailureCode::InvalidArguments,
            "a search needs a `query` and a `max_results` of 1 to 20",
        ));
    }
    if providers.is_empty() {
        return Err(Failure::new(
            FailureCode::SearchUnconfigured,
            "no search provider is configured\nhint: set one in the configuration: `searxng`, `brave`, `tavily`, `command` or a local index",
        )
        .then("configure", "an operator has to name a provider"));
    }
    let asked = join_all(providers.iter().map(|p| async move {
        let slow = || {
            Failure::new(
                FailureCode::Timeout,
                format!("`{}` did not answer within {PATIENCE:?}", p.name()),
            )
        };
        timeout(PATIENCE, p.ask(client, query, max_results))
            .await
            .unwrap_or_else(|_| Err(slow()))
    }))
    .await;
    let (mut lists, mut used, mut failed, mut last) = (Vec::new(), Vec::new(), Vec::new(), None);
    for (provider, answer) in providers.iter().zip(asked) {
        match answer {
            Ok(hits) => {
                used.push(provider.name().to_owned());
                lists.push((provider.name(), hits));
            }
            Err(e) => {
                failed.push(Silent {
                    provider: provider.name().to_owned(),
                    failure_code: e.code.as_str().into_owned(),
                });
                last = Some(e);
            }
        }
    }
    if let Some(e) = last.filter(|_| used.is_empty()) {
        return Err(Failure::new(
            FailureCode::SearchError,
            format!("no search provider answered: {}", e.message),
        ));
    }
    Ok(Found {
        query: query.to_owned(),
        results: merge::merge(&lists, max_results),
        providers_used: used,
        providers_failed: failed,
    })
}

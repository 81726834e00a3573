//! The whole of a fit: reach the server, send the plan, write the card.

use std::sync::Arc;
use std::time::Duration;

use kilter_core::Clock;
use serde_json::Value;
use tokio::sync::watch;

use crate::card::BehaviorCard;
use crate::derive;
use crate::doctor::model_names;
use crate::error::FitError;
use crate::http::{Http, HttpFailure};
use crate::plan::{self, CALLS, Mode, Offer, PARALLEL, PLAIN, PUZZLE, Probe, Wants, probe, user};
use crate::session::{Ended, Session, Turn};
use crate::window;

/// What is fitted.
#[derive(Debug, Clone)]
pub struct Goal {
    /// Base URL, as a client would use it.
    pub url: String,
    /// The model to ask for; `None`: the first that the server lists.
    pub model: Option<String>,
    /// The key itself, where one is needed.
    pub key: Option<String>,
    /// Name of the backend.
    pub backend: String,
    /// A demonstration model: a script, not a model.
    pub script: bool,
}

/// How much may be spent.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests, retries included.
    pub requests: u32,
    /// Time of the whole.
    pub total: Duration,
    /// Time of one request. Local servers load a model at the first one: minutes.
    pub request: Duration,
    /// A greeting that takes as long or longer, twice, comes from a slow server (a few tokens a second, or a
    /// machine with other work): it is offered fewer tools and asked less.
    pub slow: Duration,
    /// Longest time that a long prompt may be expected to take, by the best speed seen: one that
    /// would take longer is not sent, and the card says so.
    pub long: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 24,
            total: Duration::from_secs(600),
            request: Duration::from_secs(180),
            slow: Duration::from_secs(6),
            long: Duration::from_secs(45),
        }
    }
}

/// Where a fit stands.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The model field.
    pub slot: &'a str,
    /// The probe that is sent now.
    pub probe: &'static str,
    /// Requests sent before it.
    pub sent: u32,
    /// Requests that the plan has in all, as far as it is known.
    pub planned: u32,
}

/// Told about each step.
pub trait Watch: Send + Sync {
    /// A probe is about to be sent.
    fn step(&self, _step: &Step<'_>) {}
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Fits one model. Ends early, with a card that says so, when `stop` becomes `true` or a limit is
/// reached.
///
/// # Errors
/// Nothing answered as a chat-completions server: there is nothing to write a card about.
pub async fn fit(
    goal: Goal,
    limits: Limits,
    clock: Arc<dyn Clock>,
    watching: &dyn Watch,
    stop: watch::Receiver<bool>,
) -> Result<BehaviorCard, FitError> {
    let url = base(&goal.url)?;
    let http = Http::new(Duration::from_secs(10), goal.key.clone());
    let hello = tokio::select! {
        hello = models(&http, &url, limits.request) => hello?,
        _ = stopped(stop.clone()) => Hello::default(),
    };
    let slot = match &goal.model {
        // A list that lacks the model is no proof: some servers list only what is loaded.
        Some(model) => model.clone(),
        None => hello
            .listed
            .first()
            .cloned()
            .unwrap_or_else(|| "default".to_owned()),
    };
    let mut session = Session::new(http, url, slot, limits, Arc::clone(&clock), watching, stop);
    let ended = plan(&mut session).await;
    let partial = match ended {
        Ok(()) => None,
        Err(Ended::Requests) => Some(format!(
            "the limit of {} requests was reached",
            limits.requests
        )),
        Err(Ended::Time) => Some(format!(
            "the limit of {} s was reached",
            limits.total.as_secs()
        )),
        Err(Ended::Interrupted) => Some("interrupted".to_owned()),
        Err(Ended::Gone(error)) => {
            if !session.turns.iter().any(Turn::answered) {
                return Err(no_such_model(error, &session, &hello.listed));
            }
            Some(error.to_string())
        }
    };
    let declared = hello.window_of(&session.slot);
    Ok(derive::card(
        &goal,
        &session,
        &hello.listed,
        declared,
        partial,
        clock.now(),
    ))
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // A sender that is gone never says stop.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A 404 for a model that the server does not list is about the model.
fn no_such_model(error: FitError, session: &Session<'_>, listed: &[String]) -> FitError {
    match error {
        FitError::Refused {
            status: 404, url, ..
        } if !listed.is_empty() && !listed.contains(&session.slot) => FitError::NoSuchModel {
            url,
            model: session.slot.clone(),
            listed: listed.to_vec(),
        },
        other => other,
    }
}

/// The base URL without what clients add to it.
fn base(url: &str) -> Result<String, FitError> {
    let wrong = |reason: &str| FitError::Url {
        url: url.to_owned(),
        reason: reason.to_owned(),
    };
    let trimmed = url.trim().trim_end_matches('/');
    let trimmed = trimmed.strip_suffix("/chat/completions").unwrap_or(trimmed);
    let uri: http::Uri = trimmed
        .parse()
        .map_err(|e: http::uri::InvalidUri| wrong(&e.to_string()))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        Some(other) => return Err(wrong(&format!("`{other}` is neither http nor https"))),
        None => return Err(wrong("it has no `http://` or `https://`")),
    }
    if uri.query().is_some() {
        return Err(wrong("it has a query"));
    }
    Ok(trimmed.to_owned())
}

/// What the model list says.
#[derive(Debug, Default)]
struct Hello {
    listed: Vec<String>,
    entries: Vec<Value>,
}

impl Hello {
    /// The window that the server declares for a model, under the names that servers use.
    fn window_of(&self, slot: &str) -> Option<u64> {
        let at = self.listed.iter().position(|m| m == slot).unwrap_or(0);
        let entry = self.entries.get(at)?;
        [
            "/max_model_len",
            "/loaded_context_length",
            "/context_length",
            "/context_window",
            "/meta/n_ctx",
            "/max_context_length",
            "/meta/n_ctx_train",
        ]
        .iter()
        .find_map(|p| entry.pointer(p).and_then(Value::as_u64))
    }
}

/// Asks for the model list. A server without one is asked on; one that is not there is not.
async fn models(http: &Http, url: &str, limit: Duration) -> Result<Hello, FitError> {
    let address = format!("{url}/models");
    let unreachable = |reason: String| FitError::Unreachable {
        url: url.to_owned(),
        reason,
    };
    match http.get(&address, limit.min(Duration::from_secs(20))).await {
        Ok(answer) if matches!(answer.status.as_u16(), 401 | 403) => Err(FitError::Refused {
            url: address,
            status: answer.status.as_u16(),
            message: "the model list needs a key".to_owned(),
        }),
        Ok(answer) => {
            let list: Option<Value> = serde_json::from_slice(&answer.body).ok();
            let entries = list
                .as_ref()
                .and_then(|l| {
                    l.get("data")
                        .or_else(|| l.get("models"))
                        .unwrap_or(l)
                        .as_array()
                })
                .cloned()
                .unwrap_or_default();
            Ok(Hello {
                listed: model_names(list.as_ref()).unwrap_or_default(),
                entries,
            })
        }
        Err(HttpFailure::Connect(reason) | HttpFailure::Address(reason)) => {
            Err(unreachable(reason))
        }
        // Slow or broken here may still be well there.
        Err(_) => Ok(Hello::default()),
    }
}

/// Output caps, raised or lowered by what comes back.
struct Caps {
    call: u64,
}

/// The cap of the puzzle: what a client that knows nothing of thinking would leave for one number.
const PUZZLE_CAP: u64 = 350;
/// The caps at which it is asked again after an overflow.
const MORE: [u64; 2] = [1_400, 4_096];

/// Requests of the plan when nothing is skipped or repeated.
const PLANNED: u32 = 15;

async fn plan(s: &mut Session<'_>) -> Result<(), Ended> {
    s.planned = PLANNED;
    let plain =
        |name, offer, mode| probe(name, want_prose(offer), offer, mode, 200, vec![user(PLAIN)]);
    let slow = s.limits.slow.as_millis() as u64;
    let first = s.ask(&plain("plain", Offer::Nothing, Mode::Whole)).await?;
    // The first answer may have waited for the model to load: the second tells whether it is slow.
    if first.ms >= slow {
        let second = plain("plain again", Offer::Nothing, Mode::Whole);
        s.slow = s.ask(&second).await?.ms >= slow;
    }
    s.ask(&plain("no tool needed", Offer::Auto, Mode::Whole))
        .await?;
    calls(s).await?;
    puzzles(s).await?;
    history(s).await?;
    windows(s).await
}

fn want_prose(offer: Offer) -> Wants {
    if offer == Offer::Nothing {
        Wants::Prose
    } else {
        Wants::NoCall
    }
}

async fn calls(s: &mut Session<'_>) -> Result<(), Ended> {
    const PLAN: [(&str, Offer, Mode, usize); 6] = [
        ("call", Offer::Auto, Mode::Whole, 0),
        ("call, streamed", Offer::Auto, Mode::Stream, 1),
        ("call, streamed again", Offer::Auto, Mode::Stream, 2),
        ("call required", Offer::Required, Mode::Whole, 3),
        ("call required, streamed", Offer::Required, Mode::Stream, 4),
        ("two calls", Offer::Auto, Mode::Whole, 5),
    ];
    let mut caps = Caps { call: 256 };
    let mut silent = 0;
    let mut refused = 0;
    for (name, offer, mode, prompt) in PLAN {
        // Three that were not taken up and tools that cost nothing: the rest would say the same.
        // The required call is asked all the same, since servers treat it apart.
        if silent >= 3 && prompt != 3 && tools_cost_nothing(s) {
            s.planned = s.planned.saturating_sub(1);
            continue;
        }
        // On a slow server each way is asked once.
        if s.slow && matches!(prompt, 2 | 4) {
            s.planned = s.planned.saturating_sub(1);
            continue;
        }
        let two = prompt == 5;
        let text = if two { PARALLEL } else { CALLS[prompt] };
        let wants = if two { Wants::TwoCalls } else { Wants::Call };
        let ask = |cap| probe(name, wants, offer, mode, cap, vec![user(text)]);
        let turn = s.ask(&ask(caps.call)).await?;
        silent = if turn.called() { 0 } else { silent + 1 };
        // Refused twice with no rule that helps: the rest would be refused as well.
        refused = if (400..500).contains(&turn.status) {
            refused + 1
        } else {
            0
        };
        if refused == 2 {
            break;
        }
        if turn.overflowed() && caps.call < 1_024 {
            caps.call = 1_024;
            let turn = s.ask(&ask(caps.call)).await?;
            silent = if turn.called() { 0 } else { silent };
        } else if rambles(turn) {
            caps.call = 128;
        }
    }
    Ok(())
}

/// Prose without an end: a lower cap says as much.
fn rambles(turn: &Turn) -> bool {
    turn.answered()
        && !turn.called()
        && turn.obs.finish == Some(kilter_core::FinishReason::Length)
        && turn.obs.reasoning.is_none()
}

/// The same prompt counted as many tokens with ten tools as without any.
pub(crate) fn tools_cost_nothing(s: &Session<'_>) -> bool {
    let counted = |name: &str| {
        s.turns
            .iter()
            .find(|t| t.name == name && t.answered())
            .and_then(|t| t.obs.usage.prompt_tokens)
    };
    match (counted("plain"), counted("no tool needed")) {
        (Some(without), Some(with)) => with <= without + 8,
        _ => false,
    }
}

async fn puzzles(s: &mut Session<'_>) -> Result<(), Ended> {
    let puzzle = |name, mode, cap| -> Probe {
        probe(
            name,
            Wants::Prose,
            Offer::Nothing,
            mode,
            cap,
            vec![user(PUZZLE)],
        )
    };
    let mut over = s
        .ask(&puzzle("puzzle", Mode::Whole, PUZZLE_CAP))
        .await?
        .overflowed();
    if !s.slow {
        over |= s
            .ask(&puzzle("puzzle, streamed", Mode::Stream, PUZZLE_CAP))
            .await?
            .overflowed();
    }
    for cap in MORE {
        if !over {
            break;
        }
        s.planned += 1;
        over = s
            .ask(&puzzle("puzzle, more room", Mode::Whole, cap))
            .await?
            .overflowed();
    }
    Ok(())
}

async fn history(s: &mut Session<'_>) -> Result<(), Ended> {
    let after = |name, mode, reasoning: Option<(&str, &str)>| {
        // The answer is in the conversation; a second call is a habit of its own and no probe of it.
        let turns = plan::after_a_call(reasoning);
        probe(name, Wants::Prose, Offer::Auto, mode, 256, turns)
    };
    let thought = s
        .turns
        .iter()
        .filter(|t| t.called())
        .find_map(|t| t.obs.reasoning.clone());
    if let Some(text) = &thought {
        s.compensator.remember(plan::CALL_ID, text);
    }
    s.ask(&after("after a call", Mode::Stream, None)).await?;
    match thought {
        Some(text) => {
            let field =
                derive::reasoning_field(s).unwrap_or_else(|| "reasoning_content".to_owned());
            s.ask(&after(
                "after a call, with reasoning",
                Mode::Whole,
                Some((&field, &text)),
            ))
            .await?;
        }
        None => s.planned = s.planned.saturating_sub(1),
    }
    Ok(())
}

async fn windows(s: &mut Session<'_>) -> Result<(), Ended> {
    let mut before: Option<usize> = None;
    for (at, (name, chars)) in window::STEPS.into_iter().enumerate() {
        if window::too_long(s, chars).is_some()
            && let Some(before) = before
        {
            // One sample may have met a busy machine: the best of two counts.
            s.planned += 1;
            s.ask(&window::again(before)).await?;
        }
        if let Some(why) = window::too_long(s, chars) {
            let left = window::STEPS.len().saturating_sub(at);
            s.planned = s.planned.saturating_sub(u32::try_from(left).unwrap_or(0));
            s.skipped = Some((name, why));
            break;
        }
        before = Some(at);
        let turn = s.ask(&window::step(name, chars)).await?;
        if !turn.answered() || turn.obs.usage.prompt_tokens.is_none() {
            break;
        }
        let stopped = matches!(
            window::line(s, None).kind,
            crate::card::WindowWord::Cuts | crate::card::WindowWord::Refuses
        );
        if stopped {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_what_clients_use() {
        assert_eq!(base("http://h:1/v1/").unwrap(), "http://h:1/v1");
        assert_eq!(
            base("http://h:1/v1/chat/completions").unwrap(),
            "http://h:1/v1"
        );
        assert!(base("localhost:8080/v1").is_err());
        assert!(base("ftp://h/v1").is_err());
    }
}

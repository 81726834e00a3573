//! One conversation with one endpoint: limits, retries, compensations, and what came of each probe.

use std::sync::Arc;
use std::time::Duration;

use kilter_behavior::profile::BehaviorProfile;
use kilter_core::{Budget, Clock, Observation, TransportError, Usage};
use kilter_wire::ApiError;
use kilter_wire::chat::ChatRequest;
use tokio::sync::watch;

use crate::card::{ConstraintLine, Count};
use crate::catalogue;
use crate::compensate::Compensator;
use crate::error::FitError;
use crate::http::{Http, HttpFailure};
use crate::plan::{Probe, Wants};
use crate::run::{Limits, Step, Watch};
use crate::turn::{Decoder, NoAnswer, cut, kind_of};
use crate::window;

/// Tries of one probe that the server was too busy for.
const TRIES: u32 = 3;
/// Longest pause that a server may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Compensations that one request may carry.
const MAX_CHANGES: usize = 6;
/// Failures in a row after which there is no point in going on.
const MAX_IN_A_ROW: u32 = 4;

/// Why the plan ended before its end.
#[derive(Debug)]
pub(crate) enum Ended {
    /// All requests were spent.
    Requests,
    /// All time was spent.
    Time,
    /// Ctrl-C.
    Interrupted,
    /// The endpoint is gone, or answers nothing that can be used.
    Gone(FitError),
}

/// One probe and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) name: &'static str,
    pub(crate) wants: Wants,
    pub(crate) cap: u64,
    pub(crate) streaming: bool,
    pub(crate) status: u16,
    pub(crate) ms: u64,
    /// How long the server asks to wait.
    pub(crate) pause: Option<Duration>,
    /// The refusal as the server typed it.
    pub(crate) refusal: Option<ApiError>,
    pub(crate) obs: Observation,
}

impl Turn {
    /// The model answered.
    pub(crate) fn answered(&self) -> bool {
        self.obs.error.is_none()
    }

    /// A call came, native or read.
    pub(crate) fn called(&self) -> bool {
        !self.obs.native_calls.is_empty() || !self.obs.recovered.is_empty()
    }

    /// The cap was spent and nothing was said.
    pub(crate) fn overflowed(&self) -> bool {
        kilter_behavior::profile::overflow(&self.obs, 0.9).is_some()
    }
}

/// The conversation.
pub(crate) struct Session<'a> {
    pub(crate) http: Http,
    pub(crate) url: String,
    pub(crate) slot: String,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    pub(crate) profile: BehaviorProfile,
    pub(crate) turns: Vec<Turn>,
    pub(crate) constraints: Vec<ConstraintLine>,
    pub(crate) failures: Vec<Count>,
    pub(crate) planned: u32,
    pub(crate) id: String,
    /// The long prompt that was not sent, and why.
    pub(crate) skipped: Option<(&'static str, window::TooLong)>,
    /// The server is slow: fewer tools, fewer probes.
    pub(crate) slow: bool,
    decoder: Decoder,
    pub(crate) compensator: Compensator,
    clock: Arc<dyn Clock>,
    started: Duration,
    watch: &'a dyn Watch,
    stop: watch::Receiver<bool>,
    failed_in_a_row: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        http: Http,
        url: String,
        slot: String,
        limits: Limits,
        clock: Arc<dyn Clock>,
        watch: &'a dyn Watch,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let started = clock.elapsed();
        let id = kilter_core::id::ordered("fit", clock.now(), 0, std::process::id());
        Self {
            http,
            url,
            slot,
            budget: Budget::new(limits.requests),
            limits,
            profile: BehaviorProfile::default(),
            turns: Vec::new(),
            constraints: Vec::new(),
            failures: Vec::new(),
            planned: 0,
            id,
            skipped: None,
            slow: false,
            decoder: Decoder::new(),
            compensator: Compensator::new(),
            clock,
            started,
            watch,
            stop,
            failed_in_a_row: 0,
        }
    }

    /// Time since the start.
    pub(crate) fn spent(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.started)
    }

    /// Time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.limits.total.saturating_sub(self.spent())
    }

    /// Sends a probe, with retries where the server is busy and one compensation for each typed
    /// refusal, and learns from what comes. The turn that ended it is the last of `turns`.
    pub(crate) async fn ask(&mut self, probe: &Probe) -> Result<&Turn, Ended> {
        self.watch.step(&Step {
            slot: &self.slot,
            probe: probe.name,
            sent: self.budget.used(),
            planned: self.planned.max(self.budget.used() + 1),
        });
        let mut body = probe.body.clone();
        body["model"] = self.slot.clone().into();
        if self.slow && body.get("tools").is_some() {
            body["tools"] = catalogue::short().clone();
        }
        let mut request = ChatRequest::parse(body.to_string().as_bytes())
            .map_err(|e| self.bug(&format!("a probe is no request: {e}")))?;
        let mut applied = self.compensator.apply_learnt(&self.profile, &mut request);
        for rule in &applied {
            let now = self.clock.now();
            self.profile.constraints_mut().used(rule, now);
        }
        let mut tries = 0;
        let mut refusal: Option<(usize, String, String)> = None;
        loop {
            let turn = self.once(probe, &request).await?;
            let Some(error) = turn.obs.error.clone() else {
                self.failed_in_a_row = 0;
                if let Some((line, rule, words)) = refusal.take() {
                    self.learnt(line, &rule, &words);
                }
                return Ok(self.keep(turn));
            };
            tries += 1;
            if is_busy(&error) && tries < TRIES {
                count(&mut self.failures, &failure_name(&error));
                let asked = turn.pause.unwrap_or_default().min(MAX_PAUSE);
                self.turns.push(turn);
                self.pause(asked.max(Duration::from_millis(100 << tries)))
                    .await?;
                continue;
            }
            if let Some((_, rule, _)) = refusal.take() {
                applied.push(rule);
            }
            let change = match &turn.refusal {
                Some(refusal) if !is_busy(&error) && applied.len() < MAX_CHANGES => {
                    self.compensator.change(refusal, &mut request, &applied)
                }
                _ => None,
            };
            let line = self.refused(&error, change.as_deref());
            match change {
                Some(rule) => {
                    self.keep(turn);
                    refusal = Some((line, rule, cut(&error.message)));
                }
                None => {
                    self.failed_in_a_row += 1;
                    if let Some(error) = self.fatal(&error) {
                        return Err(Ended::Gone(error));
                    }
                    return Ok(self.keep(turn));
                }
            }
        }
    }

    /// One request, one answer.
    async fn once(&mut self, probe: &Probe, request: &ChatRequest) -> Result<Turn, Ended> {
        if *self.stop.borrow() {
            return Err(Ended::Interrupted);
        }
        let left = self.left();
        if left.is_zero() {
            return Err(Ended::Time);
        }
        if !self.budget.take() {
            return Err(Ended::Requests);
        }
        let limit = self.limits.request.min(left);
        let started = self.clock.elapsed();
        let url = format!("{}/chat/completions", self.url);
        let sent = self.http.post(&url, request.to_bytes(), &self.id, limit);
        let mut stop = self.stop.clone();
        let answer = tokio::select! {
            answer = sent => answer,
            _ = stop.wait_for(|stop| *stop) => return Err(Ended::Interrupted),
        };
        let ms = self.clock.elapsed().saturating_sub(started).as_millis() as u64;
        let mut turn = Turn {
            name: probe.name,
            wants: probe.wants,
            cap: probe.cap,
            streaming: request.stream(),
            status: 0,
            ms,
            pause: None,
            refusal: None,
            obs: Observation {
                request: request.facts(),
                ..Observation::default()
            },
        };
        match answer {
            Ok(answer) => {
                turn.status = answer.status.as_u16();
                match self.decoder.decode(request, &answer) {
                    Ok(obs) => turn.obs = obs,
                    Err(NoAnswer(reason)) => {
                        turn.obs.error = Some(TransportError {
                            status: turn.status,
                            kind: "bad_body".to_owned(),
                            param: None,
                            message: reason,
                        });
                    }
                }
                turn.pause = answer.retry_after();
                turn.refusal = (!answer.status.is_success())
                    .then(|| ApiError::from_response(turn.status, &answer.body));
            }
            Err(failure) => {
                turn.obs.error = Some(TransportError {
                    status: 0,
                    kind: kind_of(&failure).to_owned(),
                    param: None,
                    message: failure.to_string(),
                });
                if limit < self.limits.request && matches!(failure, HttpFailure::Timeout(_)) {
                    return Err(if self.turns.iter().any(Turn::answered) {
                        Ended::Time
                    } else {
                        Ended::Gone(FitError::TooSlow {
                            url: self.url.clone(),
                            after: self.limits.total,
                        })
                    });
                }
            }
        }
        Ok(turn)
    }

    /// Learns from a turn and keeps it.
    fn keep(&mut self, turn: Turn) -> &Turn {
        let now = self.clock.now();
        self.profile.observe(&evidence(&turn), now);
        let at = self.turns.len();
        self.turns.push(turn);
        &self.turns[at]
    }

    async fn pause(&mut self, time: Duration) -> Result<(), Ended> {
        if time > self.left() {
            return Err(Ended::Time);
        }
        let mut stop = self.stop.clone();
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            _ = stop.wait_for(|stop| *stop) => Err(Ended::Interrupted),
        }
    }

    /// Books a refusal; the line of the card that it went to.
    fn refused(&mut self, error: &TransportError, rule: Option<&str>) -> usize {
        let typed = (400..500).contains(&error.status) && !is_busy(error);
        if !typed {
            count(&mut self.failures, &failure_name(error));
        }
        let refusal = cut(&error.message);
        let there = self
            .constraints
            .iter()
            .position(|c| c.refusal == refusal || (rule.is_some() && c.rule.as_deref() == rule));
        if let Some(at) = there {
            self.constraints[at].seen += 1;
            if self.constraints[at].rule.is_none() {
                self.constraints[at].rule = rule.map(str::to_owned);
            }
            return at;
        }
        if typed && !crate::window::is_overflow(error) {
            self.constraints.push(ConstraintLine {
                rule: rule.map(str::to_owned),
                learnt: false,
                refusal,
                seen: 1,
                evidence: String::new(),
            });
        }
        self.constraints.len().saturating_sub(1)
    }

    /// The changed request was answered: the rule is learnt.
    fn learnt(&mut self, line: usize, rule: &str, words: &str) {
        let now = self.clock.now();
        self.profile.constraints_mut().learn(rule, words, now);
        if let Some(line) = self.constraints.get_mut(line) {
            line.learnt = true;
            line.rule = Some(rule.to_owned());
        }
    }

    /// The failure that makes going on pointless, as long as nothing was ever answered, or after
    /// too many in a row.
    fn fatal(&self, error: &TransportError) -> Option<FitError> {
        let never = !self.turns.iter().any(Turn::answered);
        if !never && self.failed_in_a_row < MAX_IN_A_ROW {
            return None;
        }
        let url = self.url.clone();
        match (error.status, error.kind.as_str()) {
            (0, "unreachable") => Some(FitError::Unreachable {
                url,
                reason: error.message.clone(),
            }),
            (0, "stall") if never => Some(FitError::TooSlow {
                url,
                after: self.limits.request,
            }),
            (_, "bad_body") | (0, "endless") if never => Some(FitError::NotAnApi {
                url,
                reason: error.message.clone(),
            }),
            (401 | 403 | 404, _) if never => Some(FitError::Refused {
                url,
                status: error.status,
                message: cut(&error.message),
            }),
            _ if self.failed_in_a_row >= MAX_IN_A_ROW => Some(FitError::Refused {
                url,
                status: error.status,
                message: cut(&error.message),
            }),
            _ => None,
        }
    }

    fn bug(&self, reason: &str) -> Ended {
        Ended::Gone(FitError::Url {
            url: self.url.clone(),
            reason: reason.to_owned(),
        })
    }
}

/// What the profile is shown of a turn. Answers to prompts that only count tokens are cut after a
/// few by ourselves: they say nothing about channels or budget.
fn evidence(turn: &Turn) -> Observation {
    if turn.wants != Wants::Counts || turn.obs.error.is_some() {
        return turn.obs.clone();
    }
    Observation {
        usage: Usage {
            reasoning_tokens: None,
            ..turn.obs.usage
        },
        request: turn.obs.request.clone(),
        ..Observation::default()
    }
}

/// Whether the same request may succeed a little later.
fn is_busy(error: &TransportError) -> bool {
    matches!(error.status, 408 | 409 | 425 | 429 | 500..=599)
}

/// A short stable word for a failure.
fn failure_name(error: &TransportError) -> String {
    if error.status == 0 || error.kind == "bad_body" {
        error.kind.clone()
    } else {
        error.status.to_string()
    }
}

fn count(counts: &mut Vec<Count>, name: &str) {
    match counts.iter_mut().find(|c| c.name == name) {
        Some(c) => c.count += 1,
        None => counts.push(Count {
            name: name.to_owned(),
            count: 1,
        }),
    }
}

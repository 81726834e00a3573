//! The end of a turn: what was learnt, what is recorded, what is counted.

use std::sync::Arc;

use kilter_core::{EventKind, FinishReason, Observation, TraceEvent};

use super::Turn;
use crate::capture::CaptureHead;
use crate::config::Adapt;
use crate::metrics::{BackendLabel, RequestLabels};
use crate::session::Shared;
use crate::state::State;

/// How a turn ended, for its finish event.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// The reason as sent.
    pub(crate) sent: Option<FinishReason>,
    /// What was observed.
    pub(crate) obs: Observation,
}

impl Turn {
    /// The profile takes in an observation; moves become events.
    pub(crate) fn learn(&mut self, obs: &Observation) {
        let now = self.now();
        let session = self.session.clone();
        let mut s = session.lock();
        let changes = s.profile.observe(obs, now);
        if let Some(reasoning) = &obs.reasoning {
            let ids = obs
                .native_calls
                .iter()
                .filter_map(|c| c.id.as_deref())
                .chain(obs.recovered.iter().filter_map(|c| c.id.as_deref()));
            s.thoughts.keep(ids, &obs.content, reasoning);
        }
        let m = &self.state.metrics;
        for c in &changes {
            m.count(&m.profile_moves, &self.session.key.backend, c.axis.as_str());
            self.events.push(EventKind::Behavior {
                axis: c.axis.as_str().to_owned(),
                from: c.from.clone(),
                to: c.to.clone(),
                evidence: c.evidence.clone(),
            });
        }
        let learnt = self
            .events
            .iter()
            .any(|e| matches!(e, EventKind::Compensation { outcome, .. } if outcome != "applied"));
        // Evidence between moves is soft: it is written now and then, and at shutdown.
        if !changes.is_empty() || learnt || s.profile.turns() % 16 == 1 {
            let json = serde_json::to_string(&s.profile);
            let prior = self
                .route
                .backend
                .config
                .capability
                .digest
                .as_ref()
                .map(|d| (d, s.profile.to_prior()));
            drop(s);
            let key = Arc::clone(&session.key);
            if let Some(store) = &self.state.store {
                if let Ok(json) = json {
                    store.save_profile((*key).clone(), json, now);
                }
                if let Some((digest, prior)) = prior {
                    let endpoint = &self.route.backend.config.endpoint;
                    store.save_prior(endpoint, digest, &key, &prior, now);
                }
            }
        }
    }

    /// Writes events and capture, and counts. Called once, before the client sees the end.
    pub(crate) fn close(&mut self, ending: Option<Ending>) {
        if self.ended {
            return;
        }
        self.ended = true;
        let total_ms = self.took().as_millis() as u64;
        if let Some(Ending { sent, obs }) = ending {
            let word = |f: &FinishReason| f.as_str().to_owned();
            self.events.push(EventKind::ChatCompletionFinish {
                finish_reason: sent.as_ref().map(word),
                upstream_finish_reason: obs
                    .finish
                    .as_ref()
                    .filter(|f| Some(*f) != sent.as_ref())
                    .map(word),
                native_calls: obs.native_calls.len() as u32,
                recovered_calls: obs.recovered.len() as u32,
                content_chars: obs.content.chars().count() as u64,
                reasoning_chars: obs
                    .reasoning
                    .as_ref()
                    .map_or(0, |r| r.chars().count() as u64),
                usage: obs.usage,
                streaming: self.streaming,
                first_byte_ms: self.first_byte.map(|d| d.as_millis() as u64),
                total_ms,
            });
        }
        let backend = self.backend().to_owned();
        self.count(&backend);
        let intervened = !self.actions.is_empty();
        let keeps = self.recorder.is_some() && self.state.captures.keeps(self.failed, intervened);
        let time = self.now().rfc3339();
        let capture = self.capture_id.take().filter(|_| keeps);
        if self.state.tracer.is_on() && !self.events.is_empty() {
            let only = self.adapt == Adapt::Observe;
            let key = &self.session.key;
            let digest = &self.route.backend.config.capability.digest;
            let events = std::mem::take(&mut self.events)
                .into_iter()
                .map(|kind| TraceEvent {
                    time: time.clone(),
                    session: key.session.clone(),
                    backend: key.backend.clone(),
                    slot: key.slot.clone(),
                    model_digest: digest.clone(),
                    request: self.id.clone(),
                    capture: capture.clone(),
                    observed_only: only,
                    kind,
                })
                .collect();
            self.state.tracer.write(events, &self.live.redactor);
        }
        if let (Some(id), Some(recorder)) = (capture, self.recorder.take()) {
            let head = CaptureHead {
                id,
                request: self.id.clone(),
                time,
                session: self.session.key.session.clone(),
                backend,
                slot: self.session.key.slot.clone(),
                adapt: self.adapt.as_str().to_owned(),
            };
            let actions = self.actions.words().to_vec();
            self.state
                .captures
                .keep(head, &self.client, recorder, actions, &self.live.redactor);
        }
    }

    fn count(&self, backend: &str) {
        let m = &self.state.metrics;
        m.in_flight.dec();
        m.requests
            .get_or_create(&RequestLabels {
                backend: backend.to_owned(),
                adapt: self.adapt.as_str(),
                status: self.status,
                streaming: if self.streaming { "true" } else { "false" },
            })
            .inc();
        if !self.held.is_zero() {
            m.time(&m.hold_back, backend, self.held);
        }
        if self.adapt == Adapt::On {
            for a in self.actions.words() {
                let name = a.split('=').next().unwrap_or(a);
                m.count(&m.interventions, backend, name);
            }
        }
        for e in &self.events {
            match e {
                EventKind::RecoveredToolCall { dialect, .. } => {
                    m.count(&m.recovered, backend, dialect)
                }
                EventKind::RejectedToolCall { reason, .. } => {
                    m.count(&m.rejected, backend, reason.as_str());
                }
                _ => {}
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // Dropped before its end: the client went away. Whatever is held drops with it, the
        // upstream's connection among it.
        let backend = self.backend().to_owned();
        self.state
            .metrics
            .cancelled
            .get_or_create(&BackendLabel { backend })
            .inc();
        self.status = 499;
        self.close(None);
    }
}

/// Writes every profile that is in memory.
pub fn save_all(state: &State) {
    let Some(store) = &state.store else { return };
    let now = state.now();
    for s in state.sessions.all() {
        save(&s, store, now);
    }
}

fn save(s: &Shared, store: &crate::store::Store, now: kilter_core::Timestamp) {
    let json = {
        let inner = s.lock();
        if inner.profile.turns() == 0 {
            return;
        }
        serde_json::to_string(&inner.profile)
    };
    if let Ok(json) = json {
        store.save_profile((*s.key).clone(), json, now);
    }
}

//! Asking upstreams for a turn: retries before the first byte, compensations, fallbacks.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use kilter_core::{EventKind, Observation};
use kilter_wire::ApiError;

use super::Turn;
use crate::compensation::{Change, RuleKey, change_request};
use crate::config::{Adapt, ReasoningReplay};
use crate::error::TurnError;
use crate::server::refuse;
use crate::upstream::{self, Answer};

/// Compensations that one request may need before it is given up.
const MOST_COMPENSATIONS: usize = 4;

/// Bytes of a refusal that are read.
const REFUSAL_BYTES: u64 = 4 << 20;

/// Characters of a refusal that an event keeps.
const MESSAGE_CHARS: usize = 400;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The upstream said no.
    Refused(Box<Refusal>),
    /// No answer came.
    Lost(TurnError),
}

/// What an upstream answered instead of a turn.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its body.
    pub(crate) body: Bytes,
    /// The body as an error.
    pub(crate) error: ApiError,
}

impl Turn {
    /// Asks the backend, and its fallbacks where it cannot answer.
    pub(crate) async fn exchange(&mut self) -> Result<Answer, Failure> {
        let mut routes = self.live.backends.fallbacks(&self.route).into_iter();
        loop {
            let failure = match self.ask_backend().await {
                Ok(answer) => {
                    self.learn_compensations();
                    return Ok(answer);
                }
                Err(f) => f,
            };
            let may_move = match &failure {
                Failure::Refused(r) => self.may_help(r),
                Failure::Lost(_) => true,
            };
            match routes.next() {
                Some(next) if may_move => {
                    self.actions.add("fallback", next.backend.name());
                    self.enter(next).await;
                }
                _ => return Err(failure),
            }
        }
    }

    async fn ask_backend(&mut self) -> Result<Answer, Failure> {
        let retries = self.route.backend.config.retries.clone();
        let mut compensated = 0;
        let mut retried = 0;
        loop {
            let got = self.ask_once(self.request.to_bytes()).await;
            let (failure, again, pause_headers) = match got {
                Ok(answer) if answer.status.is_success() => return Ok(answer),
                Ok(answer) => {
                    let f = self.read_refusal(answer).await;
                    if let Failure::Refused(r) = &f
                        && self.adapt == Adapt::On
                        && compensated < MOST_COMPENSATIONS
                        && self.compensate(&r.error)
                    {
                        // A refusal that a compensation mends is still what the backend stated.
                        let stated = Observation {
                            error: Some(r.error.to_transport()),
                            request: self.facts.clone(),
                            ..Observation::default()
                        };
                        self.learn(&stated);
                        compensated += 1;
                        continue;
                    }
                    let (again, pause) = match &f {
                        Failure::Refused(r) => (self.may_help(r), Some(r.headers.clone())),
                        Failure::Lost(e) => (e.is_retryable(), None),
                    };
                    (f, again, pause)
                }
                Err(e) => {
                    let again = e.is_retryable();
                    (Failure::Lost(e), again, None)
                }
            };
            if !again || retried >= retries.max {
                return Err(failure);
            }
            retried += 1;
            let pause = upstream::pause(
                pause_headers.as_ref(),
                retries.base.into(),
                retried,
                self.state.random(),
                self.now(),
            );
            if self.took() + pause > Duration::from(retries.deadline) {
                return Err(failure);
            }
            let m = &self.state.metrics;
            m.retries
                .get_or_create(&crate::metrics::BackendLabel {
                    backend: self.backend().to_owned(),
                })
                .inc();
            tokio::time::sleep(pause).await;
        }
    }

    /// Whether another try of the same may go better.
    fn may_help(&self, r: &Refusal) -> bool {
        upstream::retryable(r.status) && self.live.rules.is_final(&r.error, &self.request).is_none()
    }

    /// One request, one answer, whatever it is.
    pub(crate) async fn ask_once(&mut self, body: Bytes) -> Result<Answer, TurnError> {
        let backend = std::sync::Arc::clone(&self.route.backend);
        if let Some(r) = &mut self.recorder {
            let sent = (self.request.body().is_edited()).then(|| body.clone());
            r.begin(backend.name(), sent);
        }
        let uri = backend.chat.clone();
        let limit = self.answer_bytes();
        let got = upstream::ask(&backend, Method::POST, uri, &self.headers, body, limit).await;
        match &got {
            Ok(a) => {
                if let Some(r) = &mut self.recorder {
                    let kind = a.headers.get(header::CONTENT_TYPE);
                    r.head(a.status.as_u16(), kind.and_then(|v| v.to_str().ok()));
                }
            }
            Err(e) => self.lost(e),
        }
        got
    }

    /// Notes a failure of the transport.
    pub(crate) fn lost(&mut self, e: &TurnError) {
        if let Some(r) = &mut self.recorder {
            r.error(e.code());
        }
        let m = &self.state.metrics;
        m.count(&m.upstream_errors, self.route.backend.name(), e.code());
        self.events.push(EventKind::ModelError {
            // 0: no answer came.
            status: match e {
                TurnError::BadBody { status, .. } => *status,
                _ => 0,
            },
            kind: e.code().to_owned(),
            message: e.to_string().chars().take(MESSAGE_CHARS).collect(),
        });
    }

    async fn read_refusal(&mut self, mut answer: Answer) -> Failure {
        if answer.status.is_redirection() {
            // Not followed: the request carries a key, and the place is another.
            let to = answer.headers.get(header::LOCATION);
            let e = TurnError::Redirected {
                backend: self.backend().to_owned(),
                status: answer.status.as_u16(),
                to: to.map_or_else(String::new, |v| {
                    String::from_utf8_lossy(v.as_bytes())
                        .chars()
                        .take(200)
                        .collect()
                }),
            };
            self.lost(&e);
            return Failure::Lost(e);
        }
        let mut total = 0;
        let mut recorder = self.recorder.take();
        let ms = self.took().as_millis() as u64;
        let body = answer
            .body
            .whole(|piece| {
                total += piece.len() as u64;
                if let Some(r) = &mut recorder {
                    r.read(ms, piece);
                }
            })
            .await;
        self.recorder = recorder;
        let body = match body {
            Ok(b) if total <= REFUSAL_BYTES => b,
            Ok(b) => b.slice(..REFUSAL_BYTES as usize),
            Err(e) => {
                self.lost(&e);
                return Failure::Lost(e);
            }
        };
        let status = answer.status;
        let error = ApiError::from_response(status.as_u16(), &body);
        let m = &self.state.metrics;
        m.count(
            &m.upstream_errors,
            self.route.backend.name(),
            status.as_str(),
        );
        self.events.push(EventKind::ModelError {
            status: status.as_u16(),
            kind: error.code.clone().unwrap_or_else(|| error.kind.clone()),
            message: error.message.chars().take(MESSAGE_CHARS).collect(),
        });
        Failure::Refused(Box::new(Refusal {
            status,
            headers: answer.headers,
            body,
            error,
        }))
    }

    /// Applies what was learnt, and what the operator knows.
    pub(crate) fn apply_learnt(&mut self) {
        let mut keys: Vec<String> = Vec::new();
        match self.route.backend.config.capability.reasoning_replay {
            Some(ReasoningReplay::Never) => keys.push("reasoning-refused".into()),
            Some(ReasoningReplay::CurrentUserTurn) => keys.push("reasoning-required".into()),
            None => {}
        }
        let now = self.now();
        let told = keys.len();
        let session = self.session.clone();
        let mut session = session.lock();
        let s = &mut *session;
        keys.extend(s.profile.constraints().iter().map(|(k, _)| k.to_owned()));
        for (i, key) in keys.into_iter().enumerate() {
            let Some((rule, field)) = self.live.rules.by_key(&key) else {
                continue;
            };
            if i >= told && s.profile.recheck_due(&key, now) {
                self.rechecking.push(RuleKey(key));
                continue;
            }
            if change_request(rule, field, &mut self.request, &s.thoughts, &mut s.ids)
                == Change::Changed
            {
                s.profile.constraints_mut().used(&key, now);
                self.actions.add("compensation", &key);
                self.events.push(EventKind::Compensation {
                    rule: key.clone(),
                    outcome: "applied".into(),
                });
                self.applied.push(RuleKey(key));
            }
        }
    }

    /// Tries a rule for a refusal; `false` when there is none that changes anything.
    fn compensate(&mut self, error: &ApiError) -> bool {
        let session = self.session.clone();
        let mut session = session.lock();
        let s = &mut *session;
        // A rule that was applied and met its own error again does not help here.
        for key in std::mem::take(&mut self.applied) {
            let again = self
                .live
                .rules
                .find(error, &self.request, &[])
                .is_some_and(|(_, k)| k == key);
            if again && !self.tried.contains(&key) {
                s.profile.constraints_mut().failed(&key.0);
                self.events.push(EventKind::Compensation {
                    rule: key.0.clone(),
                    outcome: "failed".into(),
                });
                self.tried.push(key);
            } else {
                self.applied.push(key);
            }
        }
        loop {
            let Some((rule, key)) = self.live.rules.find(error, &self.request, &self.tried) else {
                return false;
            };
            self.tried.push(key.clone());
            let field = key.0.split_once(':').map(|(_, f)| f);
            let done = change_request(rule, field, &mut self.request, &s.thoughts, &mut s.ids);
            if done == Change::Nothing {
                continue;
            }
            self.events.push(EventKind::Compensation {
                rule: key.0.clone(),
                outcome: "tried".into(),
            });
            self.actions.add("compensation", &key.0);
            if self.refusal.is_none() {
                self.refusal = Some(error.message.chars().take(160).collect());
            }
            self.applied.push(key);
            return true;
        }
    }

    /// The request was answered: what was tried for it helped.
    fn learn_compensations(&mut self) {
        if self.applied.is_empty() && self.rechecking.is_empty() && self.tried.is_empty() {
            return;
        }
        let now = self.now();
        let session = self.session.clone();
        let mut s = session.lock();
        let evidence = self.refusal.clone().unwrap_or_default();
        for key in &self.applied {
            if !self.tried.contains(key) {
                continue;
            }
            if s.profile
                .constraints_mut()
                .learn(&key.0, &evidence, now)
                .is_some()
            {
                self.events.push(EventKind::Compensation {
                    rule: key.0.clone(),
                    outcome: "learnt".into(),
                });
            }
        }
        for key in &self.rechecking {
            // Answered without it: it is no longer needed. (Had the error come back, the rule would
            // have been tried and confirmed above.)
            if !self.applied.contains(key) && s.profile.constraints_mut().expire(&key.0).is_some() {
                self.events.push(EventKind::Compensation {
                    rule: key.0.clone(),
                    outcome: "expired".into(),
                });
            }
        }
    }

    /// Sends a failure to the client, and learns from it.
    pub(crate) fn refused(mut self, failure: Failure) -> Response {
        self.failed = true;
        let response = match failure {
            Failure::Refused(r) => {
                let Refusal {
                    status,
                    headers,
                    body,
                    error,
                } = *r;
                let obs = Observation {
                    error: Some(error.to_transport()),
                    request: self.facts.clone(),
                    ..Observation::default()
                };
                self.learn(&obs);
                let mut headers = upstream::answered(&headers);
                let body = if self.adapt == Adapt::On && !is_api_shape(&body) {
                    headers.insert(
                        header::CONTENT_TYPE,
                        HeaderValue::from_static("application/json"),
                    );
                    match unspoken(&error, &body) {
                        Some(what) => TurnError::NoError {
                            backend: self.backend().to_owned(),
                            status: status.as_u16(),
                            what,
                        }
                        .body()
                        .into(),
                        None => error.to_body(),
                    }
                } else {
                    body
                };
                let mut r = Response::new(Body::from(body));
                *r.status_mut() = status;
                *r.headers_mut() = headers;
                r
            }
            Failure::Lost(e) => refuse(&e),
        };
        self.status = response.status().as_u16();
        let mut response = response;
        self.sign(response.headers_mut());
        self.close(None);
        response
    }

    /// Our headers on an answer.
    pub(crate) fn sign(&self, headers: &mut HeaderMap) {
        if let Ok(v) = HeaderValue::from_str(&self.id) {
            headers.insert("x-kilter-request", v);
        }
        if !self.actions.is_empty() {
            headers.insert("x-kilter-actions", self.actions.header());
        }
    }
}

/// What came instead of an error, where nothing in the body is one.
fn unspoken(error: &ApiError, body: &[u8]) -> Option<String> {
    match error.kind.as_str() {
        "empty_body" => Some("an empty body".to_owned()),
        "bad_body" => {
            let text = String::from_utf8_lossy(&body[..body.len().min(400)]);
            let words: Vec<&str> = text.split_whitespace().collect();
            let start: String = words.join(" ").chars().take(160).collect();
            Some(format!("what is no error of the API: `{start}`"))
        }
        _ => None,
    }
}

/// Whether a refusal is written as the API writes it already.
fn is_api_shape(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(|text| {
        kilter_wire::json::member(text.trim(), "error")
            .and_then(|e| kilter_wire::json::member(e, "message"))
            .is_some_and(|m| m.starts_with('"'))
    })
}

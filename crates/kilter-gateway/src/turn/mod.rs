//! One turn: from a client's request to the end of its answer.
//!
//! | module | subject |
//! |---|---|
//! | `exchange` | asking upstreams: retries, compensations, fallbacks |
//! | `watch` | the engine that reads a stream while it passes |
//! | `queue` | events that wait until their text is decided |
//! | `emit` | events on their way out |
//! | `conclude` | the end of a stream |
//! | `stream` | a streamed answer that may be touched |
//! | `plain` | a whole answer that may be touched |
//! | `as_stream` | a whole answer where a stream was asked for |
//! | `relay` | an answer that may not be touched |
//! | `tally` | what passed through such an answer, counted |
//! | `close` | learning, events, capture, counters at the end |

mod actions;
mod as_stream;
mod close;
mod conclude;
mod emit;
mod exchange;
mod plain;
mod queue;
mod relay;
mod stream;
mod tally;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State as Ext};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt;
use kilter_behavior::{EchoIndex, LadderPolicy, ReaderConfig, TurnState};
use kilter_core::{EventKind, Expect, RequestFacts, Timestamp};
use kilter_wire::chat::ChatRequest;
use tokio::sync::OwnedSemaphorePermit;

use crate::backend::Route;
use crate::capture::Recorder;
use crate::compensation::RuleKey;
use crate::config::Adapt;
use crate::error::TurnError;
use crate::session::{self, Shared};
use crate::state::{Live, Offer, State};
use crate::store::ProfileKey;
use crate::upstream;

pub use close::save_all;

/// Further requests that one client turn may cost, over all rungs.
const ROUNDS: u32 = 1;

/// Longest wait for the next piece of a client's body.
const BODY_WAIT: Duration = Duration::from_secs(60);

/// A turn on its way.
pub(crate) struct Turn {
    pub(crate) state: Arc<State>,
    pub(crate) live: Arc<Live>,
    /// Id of the request.
    pub(crate) id: String,
    /// When it came, on the clock that is never set back.
    pub(crate) started: Duration,
    pub(crate) adapt: Adapt,
    pub(crate) streaming: bool,
    /// The client's body, where a capture may want it.
    pub(crate) client: Bytes,
    /// The client's request, where `request` may come to differ from it.
    pub(crate) original: Option<ChatRequest>,
    /// The request as sent.
    pub(crate) request: ChatRequest,
    /// Headers that go on.
    pub(crate) headers: HeaderMap,
    pub(crate) session_name: String,
    pub(crate) route: Route,
    pub(crate) session: Shared,
    pub(crate) facts: RequestFacts,
    pub(crate) offer: Arc<Offer>,
    pub(crate) actions: actions::Actions,
    pub(crate) events: Vec<EventKind>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) capture_id: Option<String>,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) held: Duration,
    pub(crate) tried: Vec<RuleKey>,
    pub(crate) applied: Vec<RuleKey>,
    pub(crate) rechecking: Vec<RuleKey>,
    /// What the first refusal said, as evidence for what is learnt.
    pub(crate) refusal: Option<String>,
    pub(crate) ladder: TurnState,
    pub(crate) client_trailers: bool,
    pub(crate) status: u16,
    pub(crate) failed: bool,
    pub(crate) ended: bool,
    pub(crate) _place: OwnedSemaphorePermit,
}

/// `POST /v1/chat/completions`.
pub async fn chat(Ext(state): Ext<Arc<State>>, req: Request) -> Response {
    match Turn::open(Arc::clone(&state), req).await {
        Ok(turn) => answer(turn).await,
        Err(e) => state.refuse(&e),
    }
}

async fn answer(mut turn: Turn) -> Response {
    match turn.exchange().await {
        Ok(answer) if turn.adapt != Adapt::On || !turn.is_single() => relay::respond(turn, answer),
        Ok(answer) if is_event_stream(&answer.headers) && turn.streaming => {
            stream::respond(turn, answer)
        }
        Ok(answer) if is_event_stream(&answer.headers) => {
            let e = TurnError::BadBody {
                backend: turn.backend().to_owned(),
                status: answer.status.as_u16(),
                why: "a stream of events came, and none was asked for".into(),
            };
            turn.lost(&e);
            turn.refused(exchange::Failure::Lost(e))
        }
        Ok(answer) => plain::respond(turn, answer).await,
        Err(failure) => turn.refused(failure),
    }
}

/// Whether an answer is a stream of events.
fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|v| v.trim_start().starts_with("text/event-stream"))
}

impl Turn {
    async fn open(state: Arc<State>, req: Request) -> Result<Self, TurnError> {
        let started = state.deps.clock.elapsed();
        let live = state.live.load_full();
        let limits = &live.config.gateway.limits;
        let place = Arc::clone(&state.places)
            .try_acquire_owned()
            .map_err(|_| TurnError::Busy {
                limit: limits.concurrent,
            })?;
        let (head, body) = req.into_parts();
        let body = read_body(&head.headers, body, limits.body_bytes).await?;
        let adapt = match head.headers.get("x-kilter-adapt") {
            None => live.config.gateway.adapt,
            Some(v) => {
                let text = String::from_utf8_lossy(v.as_bytes());
                Adapt::from_header(&text).ok_or_else(|| TurnError::BadHeader {
                    name: "x-kilter-adapt",
                    value: text.chars().take(40).collect(),
                    hint: "send `off`, `observe` or `on`",
                })?
            }
        };
        let recorder = state.captures.recorder();
        let client = match recorder {
            Some(_) => Bytes::copy_from_slice(&body),
            None => Bytes::new(),
        };
        let request = ChatRequest::from_vec(body).map_err(|e| TurnError::BadJson(e.to_string()))?;
        let model = request
            .model()
            .map(|m| m.into_owned())
            .ok_or(TurnError::BadField {
                param: "model",
                message: "`model` is missing or no text".into(),
                hint: "send the name of a model, `backend/model` where there are several backends",
            })?;
        if request.body().array("messages").is_none() {
            return Err(TurnError::BadField {
                param: "messages",
                message: "`messages` is missing or no array".into(),
                hint: "send an array of messages, each with `role` and `content`",
            });
        }
        let route = live.backends.route(&model)?;
        // It is written to disk: should a client put a key into it, the key is masked there, too.
        let session_name = live
            .redactor
            .text(&session::name_of(&head.headers, &request)?);
        let session = open_session(&state, &live, &session_name, &route).await;
        let client_trailers = head
            .headers
            .get_all(http::header::TE)
            .iter()
            .any(|v| v.to_str().is_ok_and(|t| t.contains("trailers")));
        let expect = request.expect();
        let offer = live.offer(&request, expect);
        let capture_id = recorder.as_ref().map(|_| state.id("cap"));
        let mut turn = Self {
            id: state.id("req"),
            started,
            adapt,
            streaming: request.stream(),
            client,
            original: None,
            facts: RequestFacts::default(),
            request,
            headers: upstream::forwarded(&head.headers),
            session_name,
            route,
            session,
            offer,
            actions: actions::Actions::default(),
            events: Vec::new(),
            recorder,
            capture_id,
            first_byte: None,
            held: Duration::ZERO,
            tried: Vec::new(),
            applied: Vec::new(),
            rechecking: Vec::new(),
            refusal: None,
            ladder: TurnState::new(ROUNDS),
            client_trailers,
            status: 200,
            failed: false,
            ended: false,
            _place: place,
            state: Arc::clone(&state),
            live,
        };
        state.metrics.in_flight.inc();
        turn.prepare();
        Ok(turn)
    }

    /// Another backend answers: its own session, profile and compensations, from the client's
    /// request as it came.
    pub(crate) async fn enter(&mut self, route: Route) {
        self.session = open_session(&self.state, &self.live, &self.session_name, &route).await;
        self.route = route;
        if let Some(original) = self.original.take() {
            self.request = original;
        }
        self.applied.clear();
        self.rechecking.clear();
        self.tried.clear();
        self.prepare();
    }

    /// Makes the request what the backend wants: its slot, and what was learnt of it.
    fn prepare(&mut self) {
        let may_differ = self.adapt == Adapt::On || !self.route.backend.config.fallbacks.is_empty();
        if may_differ && self.original.is_none() && !self.route.backend.config.fallbacks.is_empty()
        {
            self.original = Some(self.request.clone());
        }
        if self.request.model().as_deref() != Some(self.route.slot.as_str()) {
            self.request.body_mut().set_str("model", &self.route.slot);
        }
        let r = &self.request;
        // `ChatRequest::facts` would read the whole catalogue again for its length.
        self.facts = RequestFacts {
            tools: self.offer.names.len(),
            expect: r.expect(),
            output_cap: r.output_cap(),
            reasoning: r.reasoning_request(),
            streaming: r.stream(),
            prompt_chars: r.prompt_chars(),
            tools_chars: r.tools_chars(),
            replayed_reasoning: r.replays_reasoning(),
        };
        if self.adapt == Adapt::On {
            self.apply_learnt();
        }
    }

    /// Wall time.
    pub(crate) fn now(&self) -> Timestamp {
        self.state.now()
    }

    /// Time since the request came.
    pub(crate) fn took(&self) -> Duration {
        self.state.deps.clock.elapsed().saturating_sub(self.started)
    }

    /// The name of the backend that answers.
    pub(crate) fn backend(&self) -> &str {
        self.route.backend.name()
    }

    /// Whether the turn may be read at all: one choice.
    pub(crate) fn is_single(&self) -> bool {
        self.request.n() <= 1
    }

    /// Bytes came from the upstream.
    pub(crate) fn seen(&mut self, piece: &Bytes) {
        let took = self.took();
        if self.first_byte.is_none() {
            self.first_byte = Some(took);
            self.state
                .metrics
                .time(&self.state.metrics.ttft, self.route.backend.name(), took);
        }
        if let Some(r) = &mut self.recorder {
            r.read(took.as_millis() as u64, piece);
        }
    }

    /// What the reader must know of this turn.
    pub(crate) fn reader(&self, answer_id: Option<&str>) -> ReaderConfig {
        let session = self.session.lock();
        let wanted = self.facts.tools > 0 && self.facts.expect != Expect::None;
        let untrusted = if wanted {
            let texts = self.request.untrusted();
            EchoIndex::new(texts.iter().map(|t| &**t), &self.offer.set)
        } else {
            EchoIndex::empty()
        };
        ReaderConfig {
            registry: Arc::clone(&self.live.registry),
            tools: Arc::clone(&self.offer.set),
            untrusted: Arc::new(untrusted),
            expect: if wanted {
                self.facts.expect
            } else {
                Expect::None
            },
            boundary: true,
            weak: self.live.weak,
            guarded: session.profile.guarded(),
            split: session.profile.split(),
            reasoning_open: false,
            turn_id: answer_id.unwrap_or(&self.id).to_owned(),
        }
    }

    /// What the ladder may do for this backend.
    pub(crate) fn policy(&self) -> LadderPolicy {
        let b = &self.live.config.behavior;
        LadderPolicy {
            continue_overflow: b.continue_overflow,
            raise_factor: b.raise_factor,
            output_ceiling: self.route.backend.config.capability.max_output_tokens,
            ..LadderPolicy::default()
        }
    }

    /// Bytes that one answer may have.
    pub(crate) fn answer_bytes(&self) -> u64 {
        self.live.config.gateway.limits.response_bytes
    }
}

async fn open_session(state: &State, live: &Live, name: &str, route: &Route) -> Shared {
    let key = ProfileKey {
        session: name.to_owned(),
        backend: route.backend.name().to_owned(),
        slot: route.slot.clone(),
    };
    state
        .sessions
        .open(
            key,
            &route.backend,
            &live.profile,
            state.store.as_ref(),
            state.now(),
        )
        .await
}

/// Reads a client's body up to the cap.
async fn read_body(
    headers: &HeaderMap,
    mut body: axum::body::Body,
    limit: usize,
) -> Result<Vec<u8>, TurnError> {
    let declared = headers
        .get(http::header::CONTENT_LENGTH)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.parse::<usize>().ok());
    if declared.is_some_and(|n| n > limit) {
        return Err(TurnError::BodyTooLarge { limit });
    }
    // A declared length is not believed beyond a megabyte: the bytes have to come first.
    let mut out = Vec::with_capacity(declared.unwrap_or(8192).min(1 << 20));
    loop {
        let frame = match tokio::time::timeout(BODY_WAIT, body.frame()).await {
            Err(_) => return Err(TurnError::BodyCut("it stopped for a minute".into())),
            Ok(None) => return Ok(out),
            Ok(Some(Err(e))) => return Err(TurnError::BodyCut(upstream::words(&e))),
            Ok(Some(Ok(frame))) => frame,
        };
        if let Ok(data) = frame.into_data() {
            if out.len() + data.len() > limit {
                return Err(TurnError::BodyTooLarge { limit });
            }
            out.extend_from_slice(&data);
        }
    }
}

//! An answer as bytes becomes an observation.

use std::sync::Arc;

use kilter_behavior::{EchoIndex, ReaderConfig, Reading, Registry, Split, ToolSet, TurnReader};
use kilter_core::{Observation, TransportError};
use kilter_wire::chat::{Accumulator, ChatRequest, Chunk, Completion, Turn};
use kilter_wire::{ApiError, sse};

use crate::catalogue;
use crate::http::{Answer, HttpFailure};

/// What reads the answers: built once for a whole run.
#[derive(Debug, Clone)]
pub(crate) struct Decoder {
    registry: Arc<Registry>,
    offered: Arc<ToolSet>,
    nothing: Arc<ToolSet>,
}

/// An answer that is none of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoAnswer(pub(crate) String);

impl Decoder {
    /// A decoder over the shipped dialects and the tools that the probes offer.
    pub(crate) fn new() -> Self {
        Self {
            registry: Registry::builtin(),
            offered: Arc::new(ToolSet::new(catalogue::specs())),
            nothing: Arc::new(ToolSet::new(Vec::new())),
        }
    }

    /// Reads an answer to `request`. A typed failure is an observation with an error.
    ///
    /// # Errors
    /// The status says that all is well and the body is no answer of the API.
    pub(crate) fn decode(
        &self,
        request: &ChatRequest,
        answer: &Answer,
    ) -> Result<Observation, NoAnswer> {
        let facts = request.facts();
        let status = answer.status.as_u16();
        if !answer.status.is_success() {
            return Ok(Observation {
                error: Some(ApiError::from_response(status, &answer.body).to_transport()),
                request: facts,
                ..Observation::default()
            });
        }
        let mut extra = None;
        let turn = if answer.is_events() {
            streamed(answer)?
        } else {
            if facts.streaming {
                extra = Some("stream:ignored".to_owned());
            }
            whole(answer)?
        };
        let mut obs = turn.observation(facts);
        obs.stream_habits.extend(extra);
        if let Some(broken) = &answer.broken
            && obs.error.is_none()
            && obs.finish.is_none()
        {
            obs.error = Some(TransportError {
                kind: kind_of(broken).to_owned(),
                message: broken.to_string(),
                ..TransportError::default()
            });
        }
        self.read(&mut obs, request);
        Ok(obs)
    }

    /// Takes reasoning and calls out of the content.
    fn read(&self, obs: &mut Observation, request: &ChatRequest) {
        if obs.content.is_empty() {
            return;
        }
        let beside = obs
            .reasoning
            .as_deref()
            .is_some_and(|r| !r.trim().is_empty());
        let tools = if obs.request.tools > 0 {
            &self.offered
        } else {
            &self.nothing
        };
        let untrusted = request.untrusted();
        let cfg = ReaderConfig {
            registry: Arc::clone(&self.registry),
            tools: Arc::clone(tools),
            untrusted: Arc::new(EchoIndex::new(untrusted.iter().map(AsRef::as_ref), tools)),
            expect: obs.request.expect,
            // Nothing is shown and nothing executed here, so the evidence is read in full.
            split: if beside {
                Split::Suppressed
            } else {
                Split::Armed {
                    inline: true,
                    leading_closer: true,
                }
            },
            ..ReaderConfig::new()
        };
        let mut reading = Reading::default();
        let mut reader = TurnReader::new(cfg);
        if !obs.native_calls.is_empty() {
            reader.native_seen(&mut reading);
        }
        reader.push(&obs.content, &mut reading);
        let summary = reader.finish(&mut reading);
        obs.content = reading.content;
        if !beside {
            if reading.reasoning.is_some() {
                obs.reasoning = reading.reasoning;
            }
            if summary.reasoning_place.is_some() {
                obs.reasoning_place = summary.reasoning_place;
            }
        }
        obs.recovered = reading.calls;
        obs.rejected = reading
            .rejected
            .into_iter()
            .map(|r| (r.dialect, r.reason))
            .collect();
        obs.openers = summary.openers;
    }
}

/// A short stable word for a broken answer.
pub(crate) fn kind_of(failure: &HttpFailure) -> &'static str {
    match failure {
        HttpFailure::Connect(_) => "unreachable",
        HttpFailure::Timeout(_) => "stall",
        HttpFailure::Cut(_) => "cut",
        HttpFailure::TooLarge => "endless",
        HttpFailure::Address(_) => "address",
    }
}

fn streamed(answer: &Answer) -> Result<Turn, NoAnswer> {
    let declared = catalogue::specs().into_iter().map(|t| t.name).collect();
    let mut whole = Accumulator::with_tools(declared);
    let mut framer = sse::Framer::new();
    framer.push(&answer.body);
    framer.finish();
    let mut events = 0_u32;
    while let Some(event) = framer.next_event() {
        let event = event.map_err(|e| NoAnswer(format!("a stream that cannot be framed: {e}")))?;
        if event.comment_only {
            continue;
        }
        if event.is_done() {
            whole.done();
            continue;
        }
        events += 1;
        let chunk = Chunk::parse(event.data.as_str())
            .map_err(|_| NoAnswer(format!("an event that is no JSON: `{}`", cut(&event.data))))?;
        whole.push(&chunk);
    }
    if events == 0 && answer.broken.is_none() {
        return Err(NoAnswer("an empty stream".to_owned()));
    }
    Ok(whole.finish().into_iter().next().unwrap_or_default())
}

fn whole(answer: &Answer) -> Result<Turn, NoAnswer> {
    if let (Some(broken), true) = (&answer.broken, answer.body.is_empty()) {
        return Ok(Turn {
            error: Some(ApiError::new(0, kind_of(broken), broken.to_string())),
            ..Turn::default()
        });
    }
    match Completion::parse(&answer.body) {
        Ok(completion) if completion.choices.is_empty() && completion.error.is_none() => {
            Err(NoAnswer("JSON without `choices`".to_owned()))
        }
        Ok(completion) => Ok(completion.turns().into_iter().next().unwrap_or_default()),
        Err(_) => match &answer.broken {
            Some(broken) => Ok(Turn {
                error: Some(ApiError::new(0, kind_of(broken), broken.to_string())),
                ..Turn::default()
            }),
            None => Err(NoAnswer(format!(
                "a body that is no JSON: `{}`",
                cut(&String::from_utf8_lossy(&answer.body))
            ))),
        },
    }
}

/// The first words of a text, on one line.
pub(crate) fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 60 {
        return line;
    }
    line.chars().take(57).chain("…".chars()).collect()
}

//! One choice of an answer: the same view for a delta of a stream and for a whole message.

use kilter_core::FinishReason;

use super::{Reasoning, ToolDelta, reasoning};
use crate::error::ApiError;
use crate::json;
use crate::raw::RawObject;

/// One element of `choices`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// Its `index`; its position in the array where none was sent.
    pub index: u64,
    /// The role, where one was sent.
    pub role: Option<String>,
    /// Visible text; `None` when missing or `null`. Text of parts is joined.
    pub content: Option<String>,
    /// Whether the content was an array of parts.
    pub content_is_parts: bool,
    /// Reasoning, under whichever name it came.
    pub reasoning: Option<Reasoning>,
    /// A refusal in words.
    pub refusal: Option<String>,
    /// Tool calls or fragments of them.
    pub tool_calls: Vec<ToolDelta>,
    /// The legacy `function_call` member.
    pub function_call: Option<ToolDelta>,
    /// Why it ended; `None` while it goes on.
    pub finish: Option<FinishReason>,
    /// Whether log probabilities were sent.
    pub has_logprobs: bool,
}

/// Members of a choice.
#[derive(Clone, Copy)]
enum Field {
    Index,
    Finish,
    Logprobs,
    Delta,
    Message,
}

fn field(key: &str) -> Option<Field> {
    Some(match key {
        "index" => Field::Index,
        "finish_reason" => Field::Finish,
        "logprobs" => Field::Logprobs,
        "delta" => Field::Delta,
        "message" => Field::Message,
        _ => return None,
    })
}

/// Members of a delta or message that are no text.
#[derive(Clone, Copy)]
enum Part {
    Role,
    Refusal,
    ToolCalls,
    FunctionCall,
}

fn part(key: &str) -> Option<Part> {
    Some(match key {
        "role" => Part::Role,
        "refusal" => Part::Refusal,
        "tool_calls" => Part::ToolCalls,
        "function_call" => Part::FunctionCall,
        _ => return None,
    })
}

impl Choice {
    /// Reads one element of `choices`. `said` is `delta` or `message`; the other one is read where
    /// that is missing (some servers end a stream with a `message`).
    pub(super) fn read(raw: &str, position: usize, said: &str) -> Self {
        let mut c = Self {
            index: position as u64,
            ..Self::default()
        };
        let (mut delta, mut message) = (None, None);
        for (key, value) in json::members(raw) {
            match json::key_as(key, field) {
                Some(Field::Index) => c.index = json::as_u64(value).unwrap_or(c.index),
                Some(Field::Finish) => {
                    c.finish = json::decode(value)
                        .filter(|w| !w.is_empty())
                        .map(|w| FinishReason::from_wire(&w));
                }
                Some(Field::Logprobs) => c.has_logprobs = value != "null",
                Some(Field::Delta) => delta = Some(value),
                Some(Field::Message) => message = Some(value),
                None => {}
            }
        }
        let (wanted, other) = if said == "delta" {
            (delta, message)
        } else {
            (message, delta)
        };
        let Some(body) = wanted.filter(|w| *w != "null").or(other) else {
            return c;
        };
        let texts = reasoning::texts_and(body, |key, value| match json::key_as(key, part) {
            Some(Part::Role) => c.role = json::decode(value).map(|t| t.into_owned()),
            Some(Part::Refusal) => c.refusal = json::decode(value).map(|t| t.into_owned()),
            Some(Part::ToolCalls) => c.tool_calls = ToolDelta::list(value),
            Some(Part::FunctionCall) => c.function_call = Some(ToolDelta::read(value)),
            None => {}
        });
        c.content = texts.content;
        c.content_is_parts = texts.content_is_parts;
        c.reasoning = texts.reasoning;
        c
    }

    /// Whether nothing is said: no text, no reasoning, no calls, no refusal.
    pub fn is_silent(&self) -> bool {
        self.content.as_deref().unwrap_or("").is_empty()
            && self.reasoning.is_none()
            && self.refusal.as_deref().unwrap_or("").is_empty()
            && self.tool_calls.is_empty()
            && self.function_call.is_none()
    }
}

/// Reads a `choices` array; anything else gives none.
pub(super) fn list(raw: Option<&str>, said: &str) -> Vec<Choice> {
    raw.map(|r| {
        json::elements(r)
            .enumerate()
            .map(|(i, e)| Choice::read(e, i, said))
            .collect()
    })
    .unwrap_or_default()
}

/// The failure that a body with status 200 reports: one with choices only by its `error` member,
/// one without by any error shape.
pub(super) fn failure(
    body: &RawObject,
    error: Option<&str>,
    choices: &[Choice],
) -> Option<ApiError> {
    if choices.is_empty() || json::present(error) {
        return ApiError::in_json(&body.to_text());
    }
    None
}

//! One JSON event of a chat stream.

use std::borrow::Cow;

use super::choice::failure;
use super::top::Top;
use super::{Choice, UsageView, choice};
use crate::error::ApiError;
use crate::raw::{RawError, RawObject};

/// A tolerant view of one chunk. The body keeps every byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    body: RawObject,
    /// Its choices; empty when `choices` is empty, missing or no array.
    pub choices: Vec<Choice>,
    /// Token counts, when this chunk carries them.
    pub usage: Option<UsageView>,
    /// The failure that it reports, when it is no chunk but an error.
    pub error: Option<ApiError>,
}

impl Chunk {
    /// Reads the data of an event. Fails only when it is not a JSON object; missing `choices` is no
    /// failure.
    pub fn parse(data: impl Into<String>) -> Result<Self, RawError> {
        Self::read(data.into())
    }

    fn read(data: String) -> Result<Self, RawError> {
        let body = RawObject::from_text(data)?;
        let top = Top::of(&body);
        let choices = choice::list(top.choices, "delta");
        let usage = top.usage();
        let error = failure(&body, top.error, &choices);
        Ok(Self {
            body,
            choices,
            usage,
            error,
        })
    }

    /// The id of the answer.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        self.body.get_str("id")
    }

    /// The model as the server names it.
    pub fn model(&self) -> Option<Cow<'_, str>> {
        self.body.get_str("model")
    }

    /// Whether this chunk carries token counts and no choice: the one that `include_usage` adds.
    pub fn is_usage_only(&self) -> bool {
        self.usage.is_some() && self.choices.is_empty()
    }

    /// The body as received.
    pub fn body(&self) -> &RawObject {
        &self.body
    }
}

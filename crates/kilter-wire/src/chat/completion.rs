//! A whole answer.

use std::borrow::Cow;

use super::choice::failure;
use super::top::Top;
use super::{Choice, UsageView, choice};
use crate::error::ApiError;
use crate::raw::{RawError, RawObject};

/// A tolerant view of a completion. The body keeps every byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    body: RawObject,
    /// Its choices; empty when `choices` is empty, missing or no array.
    pub choices: Vec<Choice>,
    /// Token counts.
    pub usage: Option<UsageView>,
    /// The failure that it reports although the status was 200.
    pub error: Option<ApiError>,
}

impl Completion {
    /// Reads a body. Fails only when it is not a JSON object.
    pub fn parse(bytes: &[u8]) -> Result<Self, RawError> {
        Self::from_object(RawObject::parse(bytes)?)
    }

    /// Reads a body without a copy.
    pub fn from_vec(bytes: Vec<u8>) -> Result<Self, RawError> {
        Self::from_object(RawObject::from_vec(bytes)?)
    }

    fn from_object(body: RawObject) -> Result<Self, RawError> {
        let top = Top::of(&body);
        let choices = choice::list(top.choices, "message");
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

    /// The body as received.
    pub fn body(&self) -> &RawObject {
        &self.body
    }
}

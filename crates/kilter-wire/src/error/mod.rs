//! Errors of providers: every shape in, one shape out.

mod param;
mod shapes;

use bytes::Bytes;
use kilter_core::TransportError;
use serde_json::{Map, Value, json};

/// A typed refusal or failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiError {
    /// HTTP status; 0 when it came inside a stream or a 200 body.
    pub status: u16,
    /// The provider's type (`invalid_request_error`), or one of ours (`bad_body`, `empty_body`).
    pub kind: String,
    /// The provider's code, numbers as text.
    pub code: Option<String>,
    /// The parameter that it names, in a field or in its words (`messages.0.reasoning_content`).
    pub param: Option<String>,
    /// Its words.
    pub message: String,
}

impl ApiError {
    /// An error of our own.
    pub fn new(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status,
            kind: kind.into(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Names the parameter.
    #[must_use]
    pub fn with_param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Gives it a code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Reads the body of a failed response, whatever it holds.
    pub fn from_response(status: u16, body: &[u8]) -> Self {
        shapes::from_body(status, body)
    }

    /// Reads an error out of JSON that came with status 200 or inside a stream; `None` when the text
    /// is no error.
    pub fn in_json(text: &str) -> Option<Self> {
        shapes::in_json(0, text)
    }

    /// The error as an object in the OpenAI shape, without the `error` wrapper.
    pub fn to_value(&self) -> Value {
        let mut m = Map::new();
        m.insert("message".into(), json!(self.message));
        m.insert("type".into(), json!(self.kind));
        m.insert("param".into(), json!(self.param));
        m.insert("code".into(), json!(self.code));
        Value::Object(m)
    }

    /// The response body in the OpenAI shape.
    pub fn to_body(&self) -> Bytes {
        Bytes::from(json!({ "error": self.to_value() }).to_string())
    }

    /// The event of a stream that fails: no `[DONE]` may follow it.
    pub fn to_event(&self) -> Bytes {
        crate::sse::encode_data(&json!({ "error": self.to_value() }).to_string())
    }

    /// The words of an observation.
    pub fn to_transport(&self) -> TransportError {
        TransportError {
            status: self.status,
            kind: self.kind.clone(),
            param: self.param.clone(),
            message: self.message.clone(),
        }
    }
}

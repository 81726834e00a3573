//! Error bodies in the shapes that providers use.

use serde_json::{Value, json};

use crate::refuse::ErrorShape;

/// An error to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// HTTP status.
    pub status: u16,
    /// Its shape.
    pub shape: ErrorShape,
    /// Its words.
    pub message: String,
    /// Its type.
    pub kind: String,
    /// The parameter that it names.
    pub param: Option<String>,
    /// Its code.
    pub code: Option<String>,
    /// Further keys of the `error` object.
    pub more: Vec<(String, Value)>,
}

impl WireError {
    /// An error in the usual shape.
    pub fn new(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            shape: ErrorShape::Openai,
            message: message.into(),
            kind: kind.to_owned(),
            param: None,
            code: None,
            more: Vec::new(),
        }
    }

    /// The body as JSON; `None` for the empty shape.
    pub fn json(&self) -> Option<Value> {
        let loc: Vec<Value> = std::iter::once(json!("body"))
            .chain(
                self.param
                    .iter()
                    .flat_map(|p| p.split('.'))
                    .map(|p| p.parse::<u64>().map_or_else(|_| json!(p), |n| json!(n))),
            )
            .collect();
        let detail = json!([{
            "type": "extra_forbidden", "loc": loc, "msg": self.message, "input": null
        }]);
        Some(match self.shape {
            ErrorShape::Openai => {
                let mut error = json!({
                    "message": self.message, "type": self.kind,
                    "param": self.param, "code": self.code
                });
                if let Some(o) = error.as_object_mut() {
                    o.extend(self.more.iter().cloned());
                }
                json!({ "error": error })
            }
            ErrorShape::Fastapi => json!({ "detail": detail }),
            ErrorShape::Detail => json!({
                "object": "error", "message": {"detail": detail},
                "type": self.kind, "param": null, "code": self.code
            }),
            ErrorShape::Prose => json!({ "error": { "message": self.message } }),
            ErrorShape::Plain => json!({ "error": self.message }),
            ErrorShape::Typed => json!({
                "type": "error",
                "error": {"type": self.kind, "message": self.message},
                "request_id": "req_000000000000000000000001"
            }),
            ErrorShape::Status => json!({ "error": {
                "code": self.status, "message": self.message, "status": status_word(self.status)
            }}),
            ErrorShape::Empty => return None,
        })
    }

    /// The body's bytes.
    pub fn body(&self) -> Vec<u8> {
        self.json()
            .map(|v| v.to_string().into_bytes())
            .unwrap_or_default()
    }
}

fn status_word(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}

//! A failed call in the one shape that every tool has.

use kilter_web::{Decision, Failure, Fix};
use serde::Serialize;
use serde_json::{Value, json};

/// Why a call gave nothing. As JSON: `{ok: false, failure: {code, message, statusCode?, retryable, fix?}, decisions[]}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolFailure {
    /// A stable word.
    pub code: String,
    /// What happened, then a line that begins with `hint: `.
    pub message: String,
    /// Status of the page's last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// Whether the same call may do better later.
    pub retryable: bool,
    /// A command that would mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Box<Fix>>,
    /// What the caller may do next.
    #[serde(skip)]
    pub decisions: Vec<Decision>,
}

impl ToolFailure {
    /// A failure with a word, a message and a hint.
    pub fn new(code: &str, message: impl std::fmt::Display, hint: impl std::fmt::Display) -> Self {
        Self {
            code: code.to_owned(),
            message: format!("{message}\nhint: {hint}"),
            status_code: None,
            retryable: false,
            fix: None,
            decisions: Vec::new(),
        }
    }

    /// A wrong argument.
    pub fn arguments(message: impl std::fmt::Display, hint: impl std::fmt::Display) -> Self {
        Self::new("invalid_arguments", message, hint)
            .then("stop", "the same arguments will fail again")
    }

    /// Adds what the caller may do next.
    #[must_use]
    pub fn then(mut self, action: &str, reason: impl Into<String>) -> Self {
        self.decisions.push(Decision {
            action: action.to_owned(),
            reason: reason.into(),
        });
        self
    }

    /// The answer of a tool.
    pub fn reply(&self) -> Value {
        json!({"ok": false, "failure": self, "decisions": self.decisions})
    }
}

impl From<Failure> for ToolFailure {
    fn from(f: Failure) -> Self {
        let message = match f.message.contains("hint: ") {
            true => f.message,
            false => format!("{}\nhint: {}", f.message, general_hint(f.retryable)),
        };
        Self {
            code: f.code.as_str().into_owned(),
            message,
            status_code: f.status_code,
            retryable: f.retryable,
            fix: f.fix.map(Box::new),
            decisions: f.decisions,
        }
    }
}

/// What can be said of a failure that brings no hint of its own.
fn general_hint(retryable: bool) -> &'static str {
    match retryable {
        true => "the same call may work later; until then the content is unknown",
        false => "the same call will fail again; the content is unknown",
    }
}

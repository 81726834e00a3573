//! Requests that the provider refuses, and the words that it uses.

use serde::Deserialize;

use crate::error::WireError;
use crate::request::Ask;
use crate::when::When;

/// What is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// Whatever `when` says.
    #[default]
    Request,
    /// The top-level `field`.
    Field,
    /// Tools together with reasoning that is not switched off.
    ToolsWithReasoning,
    /// `max_tokens`; `max_completion_tokens` is wanted.
    MaxTokens,
    /// `max_completion_tokens`; `max_tokens` is wanted.
    MaxCompletionTokens,
    /// Any temperature but 1.
    Temperature,
    /// Messages of the role `role` (default `developer`).
    Role,
    /// `stream_options`.
    StreamOptions,
    /// Assistant messages that carry reasoning.
    HistoryReasoning,
    /// Assistant messages with calls that carry no reasoning.
    HistoryWithoutReasoning,
    /// Tool-call ids longer than `max_length` or, with `alphanumeric`, of other characters.
    ToolCallId,
    /// `tool_choice` other than `auto` and `none`.
    ToolChoice,
    /// An assistant message with calls whose `content` is null.
    NullContent,
}

/// The shape of an error body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorShape {
    /// `{"error":{"message","type","param","code"}}`.
    #[default]
    Openai,
    /// `{"detail":[{"type","loc","msg","input"}]}`, status 422 unless said otherwise.
    Fastapi,
    /// `{"object":"error","message":{"detail":[…]},"type","param","code"}`.
    Detail,
    /// `{"error":{"message":…}}` with the path in prose only.
    Prose,
    /// `{"error":"…"}`.
    Plain,
    /// `{"type":"error","error":{"type","message"},"request_id"}`.
    Typed,
    /// `{"error":{"code":400,"message","status"}}`.
    Status,
    /// No body.
    Empty,
}

/// `[[refuse]]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// What is refused.
    #[serde(default)]
    pub kind: RefusalKind,
    /// Only requests that meet this.
    #[serde(default)]
    pub when: When,
    /// The field, for `kind = "field"`.
    pub field: Option<String>,
    /// The role, for `kind = "role"`.
    pub role: Option<String>,
    /// Longest id, for `kind = "tool_call_id"`. Default 40.
    pub max_length: Option<usize>,
    /// Exact length of an id, for `kind = "tool_call_id"`.
    pub length: Option<usize>,
    /// Ids must be letters and digits only.
    #[serde(default)]
    pub alphanumeric: bool,
    /// The shape of the error.
    #[serde(default)]
    pub shape: ErrorShape,
    /// The HTTP status. Default 400 (422 in the `fastapi` shape).
    pub status: Option<u16>,
    /// Other words than the usual ones.
    pub message: Option<String>,
    /// Another `type`.
    pub r#type: Option<String>,
    /// Another `code`.
    pub code: Option<String>,
    /// Another `param`.
    pub param: Option<String>,
}

impl Refusal {
    /// The error, when the request is refused. `reasons`: whether the model would reason.
    pub fn strike(&self, ask: &Ask, reasons: bool) -> Option<WireError> {
        if !self.when.holds(ask) {
            return None;
        }
        let (message, param, code) = self.words(ask, reasons)?;
        let status = self.status.unwrap_or(match self.shape {
            ErrorShape::Fastapi => 422,
            _ => 400,
        });
        let mut e = WireError::new(
            status,
            self.r#type.as_deref().unwrap_or("invalid_request_error"),
            self.message.clone().unwrap_or(message),
        );
        e.shape = self.shape;
        e.param = self.param.clone().or(param);
        e.code = self.code.clone().or(code);
        Some(e)
    }

    /// The usual words, with parameter and code; `None` when the request passes.
    fn words(&self, ask: &Ask, reasons: bool) -> Option<(String, Option<String>, Option<String>)> {
        let unsupported = Some("unsupported_parameter".to_owned());
        let value = Some("unsupported_value".to_owned());
        let says = |hit: bool, message: String, param: &str, code: &Option<String>| {
            hit.then(|| (message, Some(param.to_owned()), code.clone()))
        };
        match self.kind {
            RefusalKind::Request => Some((
                "This request is not supported by this model.".to_owned(),
                None,
                None,
            )),
            RefusalKind::Field => {
                let f = self.field.as_deref()?;
                let message = match self.shape {
                    ErrorShape::Fastapi | ErrorShape::Detail => {
                        "Extra inputs are not permitted".to_owned()
                    }
                    ErrorShape::Prose | ErrorShape::Plain => {
                        format!("property '{f}' is unsupported")
                    }
                    _ => format!("Unknown parameter: '{f}'."),
                };
                let code = Some("unknown_parameter".to_owned());
                says(ask.has_field(f), message, f, &code)
            }
            RefusalKind::ToolsWithReasoning => says(
                !ask.tools.is_empty() && reasons,
                format!(
                    "Function tools with reasoning_effort are not supported for {} in \
                     /v1/chat/completions. To use function tools, use /v1/responses or set \
                     reasoning_effort to 'none'.",
                    ask.model
                ),
                "reasoning_effort",
                &None,
            ),
            RefusalKind::MaxTokens => says(
                ask.has_field("max_tokens"),
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                 'max_completion_tokens' instead."
                    .to_owned(),
                "max_tokens",
                &unsupported,
            ),
            RefusalKind::MaxCompletionTokens => says(
                ask.has_field("max_completion_tokens"),
                match self.shape {
                    ErrorShape::Fastapi | ErrorShape::Detail => {
                        "Extra inputs are not permitted".to_owned()
                    }
                    ErrorShape::Prose | ErrorShape::Plain => {
                        "property 'max_completion_tokens' is unsupported".to_owned()
                    }
                    _ => "Unknown parameter: 'max_completion_tokens'.".to_owned(),
                },
                "max_completion_tokens",
                &Some("unknown_parameter".to_owned()),
            ),
            RefusalKind::Temperature => says(
                ask.body
                    .get("temperature")
                    .and_then(serde_json::Value::as_f64)
                    .is_some_and(|t| t != 1.0),
                format!(
                    "Unsupported value: 'temperature' does not support {} with this model. Only \
                     the default (1) value is supported.",
                    ask.body
                        .get("temperature")
                        .unwrap_or(&serde_json::Value::Null)
                ),
                "temperature",
                &value,
            ),
            RefusalKind::Role => {
                let role = self.role.as_deref().unwrap_or("developer");
                let at = ask.messages.iter().position(|m| m.role == role)?;
                Some((
                    format!(
                        "Unsupported value: 'messages[{at}].role' does not support '{role}' with \
                         this model."
                    ),
                    Some(format!("messages.{at}.role")),
                    value,
                ))
            }
            RefusalKind::StreamOptions => says(
                ask.has_field("stream_options"),
                match self.shape {
                    ErrorShape::Fastapi | ErrorShape::Detail => {
                        "Extra inputs are not permitted".to_owned()
                    }
                    ErrorShape::Prose | ErrorShape::Plain => {
                        "property 'stream_options' is unsupported".to_owned()
                    }
                    _ => "Unrecognized request argument supplied: stream_options".to_owned(),
                },
                "stream_options",
                &Some("unknown_parameter".to_owned()),
            ),
            RefusalKind::HistoryReasoning => {
                let (at, key) = ask.messages.iter().enumerate().find_map(|(i, m)| {
                    Some((i, (m.role == "assistant").then_some(m.reasoning)??))
                })?;
                let message = match self.shape {
                    ErrorShape::Fastapi | ErrorShape::Detail => {
                        "Extra inputs are not permitted".to_owned()
                    }
                    _ => format!("'messages.{at}' : property '{key}' is unsupported"),
                };
                Some((message, Some(format!("messages.{at}.{key}")), None))
            }
            RefusalKind::HistoryWithoutReasoning => {
                let at = ask.messages.iter().position(|m| {
                    m.role == "assistant" && !m.call_ids.is_empty() && m.reasoning.is_none()
                })?;
                let key = self.field.as_deref().unwrap_or("reasoning_content");
                Some((
                    format!(
                        "thinking is enabled but {key} is missing in assistant tool call message \
                         at index {at}: the {key} of earlier turns must be passed back to the API."
                    ),
                    Some(format!("messages.{at}.{key}")),
                    None,
                ))
            }
            RefusalKind::ToolCallId => self.tool_call_id(ask),
            RefusalKind::ToolChoice => says(
                matches!(
                    ask.choice,
                    crate::when::Choice::Required | crate::when::Choice::Named
                ),
                "tool_choice: only 'auto' and 'none' are supported by this model.".to_owned(),
                "tool_choice",
                &value,
            ),
            RefusalKind::NullContent => {
                let at = ask
                    .messages
                    .iter()
                    .position(|m| m.role == "assistant" && m.null_content)?;
                Some((
                    format!(
                        "Invalid value for 'content': expected a string, got null. (messages.{at}.content)"
                    ),
                    Some(format!("messages.{at}.content")),
                    Some("invalid_type".to_owned()),
                ))
            }
        }
    }

    fn tool_call_id(&self, ask: &Ask) -> Option<(String, Option<String>, Option<String>)> {
        let bad = |id: &str| {
            let n = id.chars().count();
            let charset = self.alphanumeric && !id.chars().all(|c| c.is_ascii_alphanumeric());
            let length = match self.length {
                Some(want) => n != want,
                None => n > self.max_length.unwrap_or(40),
            };
            length || charset
        };
        let (at, id) = ask.messages.iter().enumerate().find_map(|(i, m)| {
            m.call_ids
                .iter()
                .chain(&m.answers)
                .find(|id| bad(id))
                .map(|id| (i, id.clone()))
        })?;
        let message = match (self.length, self.alphanumeric) {
            (Some(n), true) => {
                format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of {n}.")
            }
            (Some(n), false) => format!("Tool call id was {id} but must have a length of {n}."),
            (None, true) => format!("Tool call id was {id} but must be a-z, A-Z, 0-9."),
            (None, false) => format!(
                "Invalid 'messages[{at}].tool_calls[0].id': string too long. Expected a string \
                 with maximum length {}, but got a string with length {} instead.",
                self.max_length.unwrap_or(40),
                id.chars().count()
            ),
        };
        Some((
            message,
            Some(format!("messages.{at}.tool_call_id")),
            Some("invalid_tool_call_id".to_owned()),
        ))
    }
}

//! What can go wrong in a turn, as a client of the chat API understands it.

use std::time::Duration;

use http::StatusCode;
use serde_json::json;

use crate::config::secret::SecretError;

/// A failure that the client sees. Every one says what happened and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The body is no JSON object.
    #[error(
        "the request body is not a JSON object: {0}. hint: send `content-type: application/json` and an object with `model` and `messages`"
    )]
    BadJson(String),
    /// A field is missing or of the wrong type.
    #[error("{message}. hint: {hint}")]
    BadField {
        /// The field.
        param: &'static str,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: &'static str,
    },
    /// A header of ours has a value that is none.
    #[error("`{name}: {value}` is not understood. hint: {hint}")]
    BadHeader {
        /// The header.
        name: &'static str,
        /// Its value.
        value: String,
        /// What to do.
        hint: &'static str,
    },
    /// No backend answers to that model.
    #[error("no backend for model `{model}`. hint: {hint}")]
    UnknownModel {
        /// The model field.
        model: String,
        /// What would be known.
        hint: String,
    },
    /// The body is larger than the cap.
    #[error(
        "the request body is larger than {limit} bytes. hint: send smaller images, or raise `gateway.limits.body_bytes`"
    )]
    BodyTooLarge {
        /// The cap.
        limit: usize,
    },
    /// The client stopped in the middle of its body.
    #[error("the request body did not arrive whole: {0}. hint: send it again")]
    BodyCut(String),
    /// Too many requests in flight.
    #[error(
        "{limit} requests are already in flight. hint: wait, or raise `gateway.limits.concurrent`"
    )]
    Busy {
        /// The cap.
        limit: usize,
    },
    /// The client's key is missing or wrong.
    #[error(
        "the client key is missing or unknown. hint: send `authorization: Bearer KEY` with a key of `gateway.client_keys`"
    )]
    Unauthorized,
    /// The request names a host that this gateway is not.
    #[error("the host `{0}` is not this gateway. hint: use its loopback address")]
    Misdirected(String),
    /// There is no such path.
    #[error(
        "there is nothing at `{method} {path}`. hint: the paths are `POST /v1/chat/completions`, `GET /v1/models`, `GET /healthz`, `GET /readyz`, `GET /metrics`"
    )]
    NotFound {
        /// The method.
        method: String,
        /// The path.
        path: String,
    },
    /// The path is there, the method is not.
    #[error("`{method}` is not allowed at `{path}`. hint: use `{allow}`")]
    Method {
        /// The method.
        method: String,
        /// The path.
        path: String,
        /// What is allowed.
        allow: &'static str,
    },
    /// The backend could not be reached.
    #[error(
        "backend `{backend}` cannot be reached: {why}. hint: {}",
        unreachable_hint(why, endpoint)
    )]
    Unreachable {
        /// The backend.
        backend: String,
        /// Its endpoint.
        endpoint: String,
        /// The system's words.
        why: String,
    },
    /// The backend was silent for too long.
    #[error(
        "backend `{backend}` was silent for {after:?} {phase}. hint: raise `backends.timeouts.{key}` if it is only slow"
    )]
    Timeout {
        /// The backend.
        backend: String,
        /// Where in the exchange.
        phase: &'static str,
        /// The key of the timeout.
        key: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// The connection ended in the middle of the answer.
    #[error(
        "backend `{backend}` cut its answer off: {why}. hint: look at the server's log; the request may be sent again"
    )]
    Cut {
        /// The backend.
        backend: String,
        /// The system's words.
        why: String,
    },
    /// The answer is not what the API promises.
    #[error(
        "backend `{backend}` answered {status} with something that is no chat completion: {why}. hint: check that `endpoint` ends at the API's version segment, `/v1`"
    )]
    BadBody {
        /// The backend.
        backend: String,
        /// Its status.
        status: u16,
        /// What is wrong.
        why: String,
    },
    /// The backend points somewhere else.
    #[error(
        "backend `{backend}` answered {status}: it points to `{to}`. hint: put the address that it points to into `endpoint`, which ends at the API's version segment, `/v1`"
    )]
    Redirected {
        /// The backend.
        backend: String,
        /// Its status.
        status: u16,
        /// Where to.
        to: String,
    },
    /// A refusal that is no error of the API: a proxy's page, or nothing.
    #[error("backend `{backend}` answered {status} with {what}. hint: {}", refusal_hint(*.status))]
    NoError {
        /// The backend.
        backend: String,
        /// Its status.
        status: u16,
        /// What came.
        what: String,
    },
    /// The answer does not end.
    #[error(
        "backend `{backend}` sent more than {limit} {unit} in one {what}. hint: the model may be looping; set `max_tokens`, or raise `gateway.limits.{key}`"
    )]
    Endless {
        /// The backend.
        backend: String,
        /// The bound.
        limit: u64,
        /// `bytes` or `seconds`.
        unit: &'static str,
        /// `answer` or `event`.
        what: &'static str,
        /// The key of the bound.
        key: &'static str,
    },
    /// A configured key has no value.
    #[error("the key of backend `{backend}` has no value: {why}")]
    Key {
        /// The backend.
        backend: String,
        /// Why.
        why: SecretError,
    },
    /// A bug of ours.
    #[error("kilter failed inside: {0}. hint: please report it with the request's id")]
    Internal(String),
}

/// What to do about a backend that cannot be reached, by the words of the system.
fn unreachable_hint(why: &str, endpoint: &str) -> String {
    if why.contains("lookup") {
        format!("check the host's name in `{endpoint}`")
    } else if why.contains("corrupt message") {
        format!("what answers at `{endpoint}` speaks no TLS; write `http://` if it is plain")
    } else if why.contains("certificate") {
        format!("the certificate of `{endpoint}` is not trusted here; install its authority")
    } else {
        format!("is the server running at `{endpoint}`?")
    }
}

/// What to do about a refusal that says nothing itself, by its status.
fn refusal_hint(status: u16) -> &'static str {
    match status {
        401 | 403 => "give the backend a key: `api_key = \"env:NAME\"`",
        404 | 405 => "check that `endpoint` ends at the API's version segment, `/v1`",
        500..=599 => "look at the server's log, and at what stands between it and this gateway",
        _ => "look at the server's log",
    }
}

impl TurnError {
    /// Status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadJson(_)
            | Self::BadField { .. }
            | Self::BadHeader { .. }
            | Self::BodyCut(_) => StatusCode::BAD_REQUEST,
            Self::UnknownModel { .. } | Self::NotFound { .. } => StatusCode::NOT_FOUND,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Misdirected(_) => StatusCode::MISDIRECTED_REQUEST,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unreachable { .. }
            | Self::Cut { .. }
            | Self::BadBody { .. }
            | Self::Redirected { .. }
            | Self::Endless { .. } => StatusCode::BAD_GATEWAY,
            Self::NoError { status, .. } => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_GATEWAY)
            }
            Self::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
            Self::Key { .. } | Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The `code` of the error object: stable, one per variant.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadJson(_) => "bad_json",
            Self::BadField { .. } => "bad_field",
            Self::BadHeader { .. } => "bad_header",
            Self::UnknownModel { .. } => "model_not_found",
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::BodyCut(_) => "body_cut",
            Self::Busy { .. } => "busy",
            Self::Unauthorized => "invalid_api_key",
            Self::Misdirected(_) => "misdirected",
            Self::NotFound { .. } => "not_found",
            Self::Method { .. } => "method_not_allowed",
            Self::Unreachable { .. } => "upstream_unreachable",
            Self::Timeout { .. } => "upstream_timeout",
            Self::Cut { .. } => "upstream_cut",
            Self::BadBody { .. } => "upstream_bad_body",
            Self::Redirected { .. } => "upstream_redirects",
            Self::NoError { .. } => "upstream_no_error",
            Self::Endless { .. } => "upstream_endless",
            Self::Key { .. } => "upstream_key",
            Self::Internal(_) => "internal",
        }
    }

    /// The `type` of the error object, in the API's own words.
    pub fn kind(&self) -> &'static str {
        match self.status().as_u16() {
            401 => "authentication_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        }
    }

    /// The `param` of the error object.
    pub fn param(&self) -> Option<&'static str> {
        match self {
            Self::BadField { param, .. } => Some(param),
            Self::UnknownModel { .. } => Some("model"),
            _ => None,
        }
    }

    /// The error as the API writes it.
    pub fn body(&self) -> String {
        json!({ "error": {
            "message": self.to_string(),
            "type": self.kind(),
            "param": self.param(),
            "code": self.code(),
        }})
        .to_string()
    }

    /// Whether another try may help, the client not having got a byte.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Cut { .. })
    }
}

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration does not hold.
    #[error("{key}: {message}\nhint: {hint}")]
    Config {
        /// The key.
        key: String,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The port cannot be had.
    #[error(
        "cannot listen on `{addr}`: {why}\nhint: another process may hold the port; choose one with `--bind`"
    )]
    Bind {
        /// The address.
        addr: String,
        /// The system's words.
        why: std::io::Error,
    },
    /// A state folder or file cannot be had.
    #[error("cannot use the state folder `{path}`: {why}\nhint: choose another with `--state DIR`")]
    State {
        /// The path.
        path: String,
        /// The system's words.
        why: String,
    },
    /// A data file does not hold.
    #[error("{file}: {why}\nhint: compare it with the shipped files")]
    Data {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// No TLS.
    #[error("TLS cannot be set up: {0}\nhint: install the system's root certificates")]
    Tls(String),
    /// The system gives no more threads or files.
    #[error(
        "cannot start the serving threads: {0}\nhint: raise the limits of processes and open files (`ulimit -u`, `ulimit -n`)"
    )]
    Threads(String),
}

//! `kilter.toml`: what an operator says about backends, limits, tools and state.
//!
//! Every key has a default except a backend's `name` and `endpoint`. Unknown keys are errors, with
//! the line. Layers are merged by [`load`]; explained by [`check`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod check;
pub mod load;
pub mod narrow;
pub mod secret;
pub mod span;

pub use check::{Finding, Severity};
pub use load::{ConfigError, Layers};
pub use secret::Secret;
pub use span::Span;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where requests go. Several at the same time is the normal case.
    pub backends: Vec<Backend>,
    /// Short names for `backend/slot`.
    pub aliases: BTreeMap<String, String>,
    /// The listening side.
    pub gateway: GatewaySection,
    /// Which tools change nothing.
    pub tools: Tools,
    /// What the engine may do.
    pub behavior: Behavior,
    /// Extra compensation rules.
    pub compensations: Compensations,
    /// Where profiles live.
    pub state: StateSection,
    /// Raw capture.
    pub capture: Capture,
    /// Trace events.
    pub trace: Trace,
}

/// One upstream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// Requests select it as `name/slot`.
    pub name: String,
    /// Base URL with its version segment: `http://127.0.0.1:8080/v1`.
    pub endpoint: String,
    /// Its protocol.
    #[serde(default)]
    pub kind: Kind,
    /// `env:NAME`, `file:PATH` or the key itself. Sent as a bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<Secret>,
    /// Headers added to every request to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
    /// What the operator knows about it.
    #[serde(default)]
    pub capability: Capability,
    /// Backends (`name` or `name/slot`) to try, in order, when this one cannot answer.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// Requests in flight at once; further ones wait.
    #[serde(default = "default_concurrency")]
    pub concurrency: usize,
    /// Timeouts, each apart.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Retries before the first byte reached the client.
    #[serde(default)]
    pub retries: Retries,
}

fn default_concurrency() -> usize {
    256
}

/// Protocol of a backend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `POST {endpoint}/chat/completions`.
    #[default]
    ChatCompletions,
}

/// Operator knowledge; evidence overrides priors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capability {
    /// Whether reasoning of the current user turn is sent back. Unset: learn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_replay: Option<ReasoningReplay>,
    /// Most output tokens that a raised cap may ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Tokens of the window that is really served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Provenance of the weights (`sha256:…`). Without it there is no warm start; never guessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Whether reasoning goes back to the backend in history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    /// It must not: the backend refuses the field.
    Never,
    /// It must, for the turns since the last user message.
    CurrentUserTurn,
}

/// Timeouts of an upstream request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// TCP and TLS.
    pub connect: Span,
    /// From the request sent to the response headers. Minutes: local servers send them with the
    /// first token, and without streaming only after the last.
    pub headers: Span,
    /// From the headers to the first body byte.
    pub first_token: Span,
    /// Between two reads of the body.
    pub gap: Span,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Span::secs(5),
            headers: Span::secs(600),
            first_token: Span::secs(600),
            gap: Span::secs(120),
        }
    }
}

/// Retry policy: 408, 409, 429, 5xx and connection failures, before the client got a byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retries {
    /// Retries after the first try, per backend.
    pub max: u32,
    /// First pause; doubles; half of it is jitter. `retry-after` and `retry-after-ms` win.
    pub base: Span,
    /// No retry starts later than this after the request arrived.
    pub deadline: Span,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            max: 2,
            base: Span::millis(250),
            deadline: Span::secs(30),
        }
    }
}

/// The listening side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GatewaySection {
    /// Address and port. Any address but loopback needs a client key.
    pub bind: String,
    /// What happens when a request has no `x-kilter-adapt`.
    pub adapt: Adapt,
    /// Bounds.
    pub limits: Limits,
    /// How long the first turn of an unknown profile may be held back for a lone closer.
    pub hold_back: Span,
    /// Keys of clients, as SHA-256 of the key in hex.
    pub client_keys: Vec<ClientKey>,
}

impl Default for GatewaySection {
    fn default() -> Self {
        Self {
            bind: "127.0.0.1:8787".to_owned(),
            adapt: Adapt::On,
            limits: Limits::default(),
            hold_back: Span::millis(250),
            client_keys: Vec::new(),
        }
    }
}

/// One client's key, hashed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientKey {
    /// A name for logs.
    pub name: String,
    /// Lower-case hex of SHA-256 over the key (`printf %s KEY | sha256sum`).
    pub sha256: String,
}

/// How much the gateway may touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Adapt {
    /// Relay bytes.
    Off,
    /// Relay bytes, and record what would have been done.
    Observe,
    /// Touch what deviates.
    #[default]
    On,
}

impl Adapt {
    /// Reads the value of `x-kilter-adapt`.
    pub fn from_header(value: &str) -> Option<Self> {
        match value.trim() {
            "off" => Some(Self::Off),
            "observe" => Some(Self::Observe),
            "on" => Some(Self::On),
            _ => None,
        }
    }

    /// The word of the header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::On => "on",
        }
    }
}

/// Bounds on everything that a peer can make large.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Bytes of a request's headers.
    pub header_bytes: usize,
    /// Bytes of one SSE event.
    pub event_bytes: usize,
    /// Bytes of one upstream answer, streamed or not.
    pub response_bytes: u64,
    /// Requests in flight over all backends; further ones get 429.
    pub concurrent: usize,
    /// Longest time one answer may take.
    pub answer: Span,
    /// Sessions kept in memory; the least recently used one goes first.
    pub sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 100 << 20,
            header_bytes: 64 << 10,
            event_bytes: 1 << 20,
            response_bytes: 256 << 20,
            concurrent: 1024,
            answer: Span::secs(2 * 3600),
            sessions: 4096,
        }
    }
}

/// What is known of tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tools {
    /// Names of tools that change nothing; `*` at the end stands for any rest.
    pub read_only: Vec<String>,
}

impl Tools {
    /// Whether the operator calls this tool read-only.
    pub fn is_read_only(&self, name: &str) -> bool {
        self.read_only.iter().any(|p| match p.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == p,
        })
    }
}

/// What the engine may do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Behavior {
    /// Consecutive contradictions before an axis moves.
    pub contradictions: u32,
    /// Whether calls without any marker are read.
    pub weak_markers: WeakMarkers,
    /// Only these dialects, where set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialects: Option<Vec<String>>,
    /// More dialects, from files (operator scope only).
    pub dialect_files: Vec<PathBuf>,
    /// Whether an overflow may be continued once.
    pub continue_overflow: bool,
    /// A cap is raised to this many times itself, and at least by 1,024 tokens.
    pub raise_factor: u32,
    /// Uses of a learnt compensation before it is checked again.
    pub recheck_uses: u64,
    /// Age of a learnt compensation before it is checked again.
    pub recheck_after: Span,
}

impl Default for Behavior {
    fn default() -> Self {
        Self {
            contradictions: 2,
            weak_markers: WeakMarkers::Allow,
            dialects: None,
            dialect_files: Vec::new(),
            continue_overflow: true,
            raise_factor: 4,
            recheck_uses: 200,
            recheck_after: Span::secs(24 * 3600),
        }
    }
}

/// What is done with calls that have no marker at all. Later values are stricter.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WeakMarkers {
    /// Read them; every other gate still stands.
    #[default]
    Allow,
    /// Only calls to read-only tools.
    ReadOnly,
    /// Never.
    Off,
}

/// Extra compensation rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compensations {
    /// TOML files in the form of the shipped ones (operator scope only).
    pub files: Vec<PathBuf>,
    /// Names of rules that are never tried.
    pub off: Vec<String>,
}

/// Where profiles, traces and captures live.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StateSection {
    /// The folder. Unset: the platform's state folder; nothing is stored when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
}

/// Raw capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capture {
    /// Which turns are kept.
    pub mode: CaptureMode,
    /// Bytes of all capture files together; the oldest file goes first.
    pub bytes: u64,
    /// Literal words that never reach the disk, besides every configured key.
    pub redact: Vec<Secret>,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            mode: CaptureMode::Off,
            bytes: 256 << 20,
            redact: Vec::new(),
        }
    }
}

/// Which turns are captured.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CaptureMode {
    /// None.
    #[default]
    Off,
    /// Those with an error or an intervention.
    ErrorsAndInterventions,
    /// All.
    All,
}

/// Trace events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Trace {
    /// Whether events are written to `traces/`.
    pub enabled: bool,
    /// Bytes of one file before the next is begun.
    pub file_bytes: u64,
    /// Files kept.
    pub files: usize,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            enabled: true,
            file_bytes: 16 << 20,
            files: 8,
        }
    }
}

impl Config {
    /// A configuration with one backend and everything else at its default.
    pub fn with_backend(name: &str, endpoint: &str) -> Self {
        Self {
            backends: vec![Backend::new(name, endpoint)],
            ..Self::default()
        }
    }

    /// The JSON Schema of `kilter.toml`.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// Everything that can be said about the file without starting it, errors first.
    pub fn check(&self) -> Vec<Finding> {
        check::check(self)
    }
}

impl Backend {
    /// A backend with everything at its default.
    pub fn new(name: &str, endpoint: &str) -> Self {
        Self {
            name: name.to_owned(),
            endpoint: endpoint.to_owned(),
            kind: Kind::default(),
            api_key: None,
            headers: BTreeMap::new(),
            capability: Capability::default(),
            fallbacks: Vec::new(),
            concurrency: default_concurrency(),
            timeouts: Timeouts::default(),
            retries: Retries::default(),
        }
    }
}

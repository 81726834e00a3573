//! Tools: what was offered, what was called, and how we know that it was a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One function that the request offered, as in the `tools` array of the chat API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name that a call must carry, byte for byte.
    pub name: String,
    /// What the model was told about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments object; `null` when none was given.
    #[serde(default)]
    pub parameters: Value,
    /// `Some(true)` when the operator or the tool's own annotation says that it changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}

impl ToolSpec {
    /// Reads one element of a chat-API `tools` array (`{"type":"function","function":{…}}`), a
    /// Responses-API function tool or a bare `{name, parameters}` object. `None` when it is not a
    /// function (built-in tools have no arguments of ours to check).
    pub fn from_wire(value: &Value) -> Option<Self> {
        let body = value.get("function").unwrap_or(value);
        let name = body.get("name")?.as_str()?.to_owned();
        let read_only = body
            .get("annotations")
            .or_else(|| value.get("annotations"))
            .and_then(|a| a.get("readOnlyHint"))
            .and_then(Value::as_bool);
        Some(Self {
            name,
            description: body
                .get("description")
                .and_then(Value::as_str)
                .map(str::to_owned),
            parameters: body
                .get("parameters")
                .or_else(|| body.get("input_schema"))
                .or_else(|| body.get("inputSchema"))
                .cloned()
                .unwrap_or(Value::Null),
            read_only,
        })
    }

    /// Reads a whole `tools` array; elements that are no functions are left out.
    pub fn list_from_wire(value: &Value) -> Vec<Self> {
        value
            .as_array()
            .map(|a| a.iter().filter_map(Self::from_wire).collect())
            .unwrap_or_default()
    }
}

/// Whether the request asked for a call: the mirror of `tool_choice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// A call is optional. The precise reading: weak forms only as the end of the reply.
    #[default]
    Auto,
    /// The client required a call (`required`, or a named function): prose may surround weak forms.
    Required,
    /// Tools were switched off: nothing is recovered.
    None,
}

/// How much the markers around a call say that it was meant as one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// No marker at all: bare JSON, Python calls, root tags, stripped special tokens.
    Weak,
    /// Text tags that prose can also hold.
    Medium,
    /// Special tokens that ordinary text does not hold.
    Strong,
}

/// Whether the arguments of a recovered call are as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Read from text exactly as written.
    Recovered,
    /// Read from text, with at least one reported change of type or name.
    Coerced,
}

/// One change made to a recovered call, always reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coercion {
    /// JSON Pointer into the arguments (`/days`), or `name` for a restored namespace.
    pub path: String,
    /// What was written, as JSON text or as the raw text of the wire.
    pub from: String,
    /// What it became, as JSON text.
    pub to: String,
}

/// How we know that a call is a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Provenance {
    /// It came in the structured channel.
    Native,
    /// It was read from text.
    Recovered {
        /// The dialect's name, as in `dialects/*.toml`.
        dialect: String,
        /// How strong its markers are.
        strength: Strength,
        /// As written, or coerced.
        origin: Origin,
        /// What was changed; empty when `origin` is `recovered`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        coerced: Vec<Coercion>,
    },
}

/// A call, whichever way it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the model or the server gave; `None` until one is derived.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text of one object. Number literals are those of the wire.
    pub arguments: String,
    /// How we know.
    pub provenance: Provenance,
}

/// Why a candidate did not become a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// It stands verbatim in a region that nobody may call from.
    Echo,
    /// Its name was not offered.
    Undeclared,
    /// Its arguments do not fit the declared schema.
    Schema,
    /// The text contains a call but is not one: quoted, fenced, or weak with prose after it.
    Position,
    /// It was cut before its end.
    Truncated,
    /// The structured channel is proven and nobody was there to confirm.
    Guard,
    /// It has no marker, and the operator's `weak_markers` does not let such a call through.
    WeakMarkers,
}

impl RejectReason {
    /// The word of the wire and of the trace.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Undeclared => "undeclared",
            Self::Schema => "schema",
            Self::Position => "position",
            Self::Truncated => "truncated",
            Self::Guard => "guard",
            Self::WeakMarkers => "weak_markers",
        }
    }
}

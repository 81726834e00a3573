//! The JSON shapes of `kilter parse`: one request in, one result out.

use std::sync::Arc;

use kilter_core::{Coercion, Expect, Origin, Provenance, Strength, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::boundary::EchoIndex;
use crate::dialect::Registry;
use crate::reader::{ReaderConfig, Reading, TurnReader};
use crate::splitter::Split;
use crate::tools::ToolSet;

/// One line of `kilter parse --jsonl`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ParseRequest {
    /// Given back in the result.
    #[serde(default)]
    pub id: Option<Value>,
    /// The raw text; or `chunks`.
    #[serde(default)]
    pub raw: Option<String>,
    /// The raw text in the pieces in which it came.
    #[serde(default)]
    pub chunks: Option<Vec<String>>,
    /// A chat-API `tools` array; without it the declared-set and schema rules are off.
    #[serde(default)]
    pub tools: Option<Value>,
    /// Text that nobody may call from.
    #[serde(default)]
    pub untrusted: Vec<String>,
    /// Mirror of `tool_choice`.
    #[serde(default)]
    pub expect: Option<Expect>,
    /// The template had already opened the reasoning block.
    #[serde(default)]
    pub reasoning_open: Option<bool>,
}

/// Options of the command that hold for every line.
#[derive(Debug, Clone)]
pub struct ParseOptions {
    /// Dialects in use.
    pub registry: Arc<Registry>,
    /// Used where a line says nothing.
    pub expect: Expect,
    /// Used where a line says nothing.
    pub reasoning_open: bool,
    /// Echo, declared-set and schema rules.
    pub boundary: bool,
    /// Show a first turn instead of a fully learnt one.
    pub unlearnt: bool,
    /// Cut `raw` into pieces of at most this many bytes (at character boundaries).
    pub chunk: Option<usize>,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            registry: Registry::builtin(),
            expect: Expect::Auto,
            reasoning_open: false,
            boundary: true,
            unlearnt: false,
            chunk: None,
        }
    }
}

/// One recovered call as printed.
#[derive(Debug, Serialize)]
pub struct ParsedCall {
    /// The tool.
    pub name: String,
    /// The arguments object, number literals as written.
    pub arguments: Box<RawValue>,
    /// The id that the model wrote; `null` when it wrote none.
    pub id: Option<String>,
    /// The dialect.
    pub dialect: String,
    /// Strength of the markers.
    pub strength: Strength,
    /// As written or coerced.
    pub origin: Origin,
    /// What was changed.
    pub coerced: Vec<Coercion>,
}

/// One rejected candidate as printed.
#[derive(Debug, Serialize)]
pub struct ParsedRejection {
    /// The name as written.
    pub name: Option<String>,
    /// The dialect.
    pub dialect: String,
    /// Why.
    pub reason: kilter_core::RejectReason,
    /// The nearest declared name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// One result line.
#[derive(Debug, Serialize)]
pub struct ParseResult {
    /// The request's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// Visible text.
    pub content: String,
    /// Reasoning text.
    pub reasoning: Option<String>,
    /// Calls in order.
    pub tool_calls: Vec<ParsedCall>,
    /// Candidates that did not pass.
    pub rejected: Vec<ParsedRejection>,
    /// A call was cut before its end.
    pub truncated: bool,
    /// The tail of an unclosed reasoning block when there is no content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_candidate: Option<String>,
    /// Rules that were off, because no `tools` were given or by `--no-boundary`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules_off: Vec<&'static str>,
}

/// Reads one request.
pub fn parse(request: &ParseRequest, options: &ParseOptions) -> ParseResult {
    let tools = match &request.tools {
        Some(Value::Null) | None => ToolSet::undeclared(),
        Some(list) => ToolSet::new(ToolSpec::list_from_wire(list)),
    };
    let mut rules_off = Vec::new();
    if !options.boundary {
        rules_off.extend(["echo", "undeclared", "schema"]);
    } else if !tools.is_declared_rule_on() {
        rules_off.extend(["undeclared", "schema"]);
    }
    let untrusted = EchoIndex::new(request.untrusted.iter().map(String::as_str), &tools);
    let cfg = ReaderConfig {
        registry: Arc::clone(&options.registry),
        tools: Arc::new(tools),
        untrusted: Arc::new(untrusted),
        expect: request.expect.unwrap_or(options.expect),
        boundary: options.boundary,
        split: if options.unlearnt {
            Split::Unlearnt
        } else {
            Split::Armed {
                inline: true,
                leading_closer: true,
            }
        },
        reasoning_open: request.reasoning_open.unwrap_or(options.reasoning_open),
        ..ReaderConfig::new()
    };
    let mut out = Reading::default();
    let mut reader = TurnReader::new(cfg);
    if let Some(chunks) = &request.chunks {
        for c in chunks {
            reader.push(c, &mut out);
        }
    } else {
        let raw = request.raw.as_deref().unwrap_or("");
        for c in pieces(raw, options.chunk.unwrap_or(usize::MAX)) {
            reader.push(c, &mut out);
        }
    }
    let summary = reader.finish(&mut out);
    ParseResult {
        id: request.id.clone(),
        content: out.content,
        reasoning: out.reasoning,
        tool_calls: out.calls.into_iter().filter_map(parsed_call).collect(),
        rejected: out
            .rejected
            .into_iter()
            .map(|r| ParsedRejection {
                name: r.name,
                dialect: r.dialect,
                reason: r.reason,
                nearest: r.nearest,
            })
            .collect(),
        truncated: summary.truncated,
        content_candidate: summary.content_candidate,
        rules_off,
    }
}

fn parsed_call(call: kilter_core::ToolCall) -> Option<ParsedCall> {
    let Provenance::Recovered {
        dialect,
        strength,
        origin,
        coerced,
    } = call.provenance
    else {
        return None;
    };
    Some(ParsedCall {
        name: call.name,
        arguments: RawValue::from_string(one_line(call.arguments)).ok()?,
        id: call.id,
        dialect,
        strength,
        origin,
        coerced,
    })
}

/// JSON text with the line breaks between its tokens as spaces: a result is one line.
fn one_line(json: String) -> String {
    // A line break inside a JSON string is always escaped.
    if json.contains(['\n', '\r']) {
        json.replace(['\n', '\r'], " ")
    } else {
        json
    }
}

/// Pieces of at most `size` bytes, cut at character boundaries (never less than one character).
pub fn pieces(mut raw: &str, size: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if raw.is_empty() {
            return None;
        }
        let mut at = size.clamp(1, raw.len());
        while !raw.is_char_boundary(at) {
            at += 1;
        }
        let (head, tail) = raw.split_at(at);
        raw = tail;
        Some(head)
    })
}

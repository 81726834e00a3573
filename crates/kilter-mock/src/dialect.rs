//! Written forms of calls, as data: `dialects.toml` and `markers.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::behaviour::LiteralCall;
use crate::plan::nine;
use crate::seed::Rng;

/// How one dialect writes calls: templates with `«placeholders»`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dialect {
    /// One call.
    pub each: String,
    /// Between calls.
    pub between: String,
    /// Before all calls.
    pub before: String,
    /// After all calls.
    pub after: String,
    /// One argument.
    pub param: String,
    /// Between arguments.
    pub param_between: String,
    /// Text before a call.
    pub prose: Option<String>,
    /// Text without a call.
    pub answer: Option<String>,
    /// What stands around strings in the `«gm»` notation.
    pub gm_quote: String,
    /// What stands before every tag in the `«xn»` notation.
    pub xn_before: String,
}

/// A call to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCall {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Arguments as raw text, where the script says so.
    pub raw: Option<String>,
    /// The declared schema, for wire types.
    pub schema: Value,
}

impl WrittenCall {
    /// A call as the script writes it out.
    pub fn from_literal(l: &LiteralCall) -> Self {
        let arguments = match serde_json::to_value(&l.arguments) {
            Ok(Value::Object(o)) => o,
            _ => Map::new(),
        };
        Self {
            name: l.name.clone(),
            arguments,
            raw: l.raw.clone(),
            schema: Value::Null,
        }
    }

    /// Whether it has no arguments.
    pub fn is_empty(&self) -> bool {
        self.raw.is_none() && self.arguments.is_empty()
    }

    /// The arguments as compact JSON.
    pub fn compact(&self) -> String {
        self.raw
            .clone()
            .unwrap_or_else(|| Value::Object(self.arguments.clone()).to_string())
    }

    fn spaced(&self) -> String {
        self.raw
            .clone()
            .unwrap_or_else(|| spaced(&Value::Object(self.arguments.clone())))
    }
}

static DIALECTS: LazyLock<BTreeMap<String, Dialect>> =
    LazyLock::new(|| toml::from_str(include_str!("dialects.toml")).unwrap_or_default());

static MARKERS: LazyLock<BTreeMap<String, (String, String)>> =
    LazyLock::new(|| toml::from_str(include_str!("markers.toml")).unwrap_or_default());

/// A dialect by name.
pub fn find(name: &str) -> Option<&'static Dialect> {
    DIALECTS.get(name)
}

/// All names, sorted.
pub fn names() -> Vec<&'static str> {
    DIALECTS.keys().map(String::as_str).collect()
}

/// A pair of reasoning markers by name: opener and closer as written.
pub fn markers(name: &str) -> Option<(&'static str, &'static str)> {
    MARKERS.get(name).map(|(a, b)| (a.as_str(), b.as_str()))
}

/// Names of all pairs of markers, sorted.
pub fn marker_names() -> Vec<&'static str> {
    MARKERS.keys().map(String::as_str).collect()
}

impl Dialect {
    /// Writes the calls.
    pub fn write(&self, calls: &[WrittenCall], rng: &mut Rng) -> String {
        let all: Vec<String> = calls
            .iter()
            .enumerate()
            .map(|(n, c)| self.one(c, n, rng))
            .collect();
        format!("{}{}{}", self.before, all.join(&self.between), self.after)
    }

    /// Plain text as this dialect writes it.
    pub fn answer(&self, text: &str) -> String {
        wrap(self.answer.as_deref(), text)
    }

    /// Text before a call as this dialect writes it.
    pub fn prose(&self, text: &str) -> String {
        wrap(self.prose.as_deref(), text)
    }

    fn one(&self, call: &WrittenCall, n: usize, rng: &mut Rng) -> String {
        fill(&self.each, |key| match key {
            "name" => Some(call.name.clone()),
            "name_json" => Some(Value::from(call.name.as_str()).to_string()),
            "args" => Some(call.compact()),
            "args_spaced" => Some(call.spaced()),
            "args_string" => Some(Value::from(call.compact()).to_string()),
            "params" => Some(self.params(call)),
            "pyargs" => Some(
                call.arguments
                    .iter()
                    .map(|(k, v)| format!("{k}={}", python(v, '"')))
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
            "pydict" => Some(python(&Value::Object(call.arguments.clone()), '\'')),
            "gm" => Some(bare_pairs(&call.arguments, &self.gm_quote)),
            "xn" => Some(elements(&call.arguments, &self.xn_before)),
            "n" => Some(n.to_string()),
            "n1" => Some((n + 1).to_string()),
            "id9" => Some(nine(rng)),
            _ => None,
        })
    }

    fn params(&self, call: &WrittenCall) -> String {
        call.arguments
            .iter()
            .map(|(k, v)| {
                fill(&self.param, |key| match key {
                    "key" => Some(k.clone()),
                    "value" => Some(match v {
                        Value::String(s) => s.clone(),
                        other => spaced(other),
                    }),
                    "json" => Some(spaced(v)),
                    "is_string" => Some(v.is_string().to_string()),
                    "type" => Some(type_word(v, k, &call.schema)),
                    _ => None,
                })
            })
            .collect::<Vec<_>>()
            .join(&self.param_between)
    }
}

fn wrap(template: Option<&str>, text: &str) -> String {
    match template {
        Some(t) => fill(t, |k| (k == "text").then(|| text.to_owned())),
        None => text.to_owned(),
    }
}

/// Fills `«key»` by `value`; a key that it does not know stays as written.
fn fill(template: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some((head, tail)) = rest.split_once('«') {
        out.push_str(head);
        match tail.split_once('»') {
            Some((key, after)) => {
                match value(key) {
                    Some(v) => out.push_str(&v),
                    None => {
                        out.push('«');
                        out.push_str(key);
                        out.push('»');
                    }
                }
                rest = after;
            }
            None => {
                out.push('«');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

fn type_word(v: &Value, key: &str, schema: &Value) -> String {
    let declared = schema
        .get("properties")
        .and_then(|p| p.get(key))
        .and_then(|p| p.get("type"))
        .and_then(Value::as_str);
    match (declared, v) {
        (Some(t), _) => t,
        (None, Value::String(_)) => "string",
        (None, Value::Number(_)) => "number",
        (None, Value::Bool(_)) => "boolean",
        (None, Value::Array(_)) => "array",
        (None, Value::Object(_)) => "object",
        (None, Value::Null) => "null",
    }
    .to_owned()
}

/// JSON with a space after `,` and `:`, as most templates print it.
fn spaced(v: &Value) -> String {
    match v {
        Value::Object(o) => {
            let inner: Vec<String> = o
                .iter()
                .map(|(k, v)| format!("{}: {}", Value::from(k.as_str()), spaced(v)))
                .collect();
            format!("{{{}}}", inner.join(", "))
        }
        Value::Array(a) => {
            let inner: Vec<String> = a.iter().map(spaced).collect();
            format!("[{}]", inner.join(", "))
        }
        other => other.to_string(),
    }
}

/// A Python literal.
fn python(v: &Value, quote: char) -> String {
    match v {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(n) => n.to_string(),
        Value::String(s) => python_string(s, quote),
        Value::Array(a) => {
            let inner: Vec<String> = a.iter().map(|x| python(x, quote)).collect();
            format!("[{}]", inner.join(", "))
        }
        Value::Object(o) => {
            let inner: Vec<String> = o
                .iter()
                .map(|(k, x)| format!("{}: {}", python_string(k, quote), python(x, quote)))
                .collect();
            format!("{{{}}}", inner.join(", "))
        }
    }
}

fn python_string(s: &str, quote: char) -> String {
    let mut out = String::from(quote);
    for c in s.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// `key:value` pairs with bare keys and strings between a delimiter of their own.
fn bare_pairs(o: &Map<String, Value>, quote: &str) -> String {
    o.iter()
        .map(|(k, v)| format!("{k}:{}", bare(v, quote)))
        .collect::<Vec<_>>()
        .join(",")
}

fn bare(v: &Value, quote: &str) -> String {
    match v {
        Value::String(s) => format!("{quote}{s}{quote}"),
        Value::Array(a) => {
            let inner: Vec<String> = a.iter().map(|x| bare(x, quote)).collect();
            format!("[{}]", inner.join(","))
        }
        Value::Object(o) => format!("{{{}}}", bare_pairs(o, quote)),
        other => other.to_string(),
    }
}

/// One element per key, list items named `item`, each tag behind a sentinel.
fn elements(o: &Map<String, Value>, before: &str) -> String {
    o.iter().map(|(k, v)| element(k, v, before)).collect()
}

fn element(key: &str, v: &Value, before: &str) -> String {
    let inner = match v {
        Value::String(s) => s.clone(),
        Value::Object(o) => elements(o, before),
        Value::Array(a) => a.iter().map(|x| element("item", x, before)).collect(),
        other => other.to_string(),
    };
    format!("{before}<{key}>{inner}{before}</{key}>")
}

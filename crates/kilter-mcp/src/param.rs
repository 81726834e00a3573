//! One parameter of a tool: the schema that is published, and the check that agrees with it.
//!
//! The check is ours and not a schema validator's because it must say to a small model, in one line, what to send
//! instead. That both agree is a property test.

use serde_json::{Map, Value, json};

use crate::failure::ToolFailure;

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A text of `min` to `max` characters.
    Text {
        /// Fewest characters.
        min: usize,
        /// Most characters.
        max: usize,
    },
    /// An absolute http or https URL.
    Url,
    /// A whole number from `min` to `max`.
    Int {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
        /// What holds when it is left out.
        default: Option<i64>,
    },
    /// `true` or `false`.
    Flag {
        /// What holds when it is left out.
        default: bool,
    },
    /// One of some words.
    Word {
        /// The words.
        words: &'static [&'static str],
        /// What holds when it is left out.
        default: Option<&'static str>,
    },
    /// A list of texts, or one text that holds a list.
    Texts {
        /// Most entries of a list.
        max: usize,
    },
    /// A list of objects, or a text with such a list as JSON.
    Rows {
        /// Most rows of a list.
        max: usize,
    },
    /// An object, or a text that holds one.
    Document,
}

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it is for, in a line.
    pub what: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether a call without it is wrong.
    pub required: bool,
}

/// Longest text of a document or a list, in characters.
pub const DOCUMENT_MAX: usize = 4 << 20;
/// Longest URL, in characters.
pub const URL_MAX: usize = 8_192;

impl Param {
    /// A required parameter.
    pub const fn needed(name: &'static str, kind: Kind, what: &'static str) -> Self {
        Self {
            name,
            what,
            kind,
            required: true,
        }
    }

    /// An optional one.
    pub const fn optional(name: &'static str, kind: Kind, what: &'static str) -> Self {
        Self {
            name,
            what,
            kind,
            required: false,
        }
    }

    /// Its schema: no `$schema`, no `format`, nothing that costs tokens and says nothing.
    pub fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text { min: 0, max } => json!({"type": "string", "maxLength": max}),
            Kind::Text { min, max } => {
                json!({"type": "string", "minLength": min, "maxLength": max})
            }
            Kind::Url => json!({"type": "string", "minLength": 1, "maxLength": URL_MAX}),
            Kind::Int { min, max, default } => {
                let mut s = json!({"type": "integer", "minimum": min, "maximum": max});
                if let Some(d) = default {
                    s["default"] = json!(d);
                }
                s
            }
            Kind::Flag { default } => json!({"type": "boolean", "default": default}),
            Kind::Word { words, default } => {
                let mut s = json!({"type": "string", "enum": words});
                if let Some(d) = default {
                    s["default"] = json!(d);
                }
                s
            }
            Kind::Texts { max } => json!({"anyOf": [
                {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": max},
                {"type": "string", "minLength": 1, "maxLength": DOCUMENT_MAX},
            ]}),
            Kind::Rows { max } => json!({"anyOf": [
                {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": max},
                {"type": "string", "minLength": 1, "maxLength": DOCUMENT_MAX},
            ]}),
            Kind::Document => json!({"anyOf": [
                {"type": "object"},
                {"type": "string", "minLength": 1, "maxLength": DOCUMENT_MAX},
            ]}),
        };
        if let Some(map) = schema.as_object_mut() {
            map.insert("description".to_owned(), json!(self.what));
        }
        schema
    }

    /// What it takes, in words.
    pub fn takes(&self) -> String {
        match self.kind {
            Kind::Text { min: 0, max } => format!("a text of up to {max} characters"),
            Kind::Text { min, max } => format!("a text of {min} to {max} characters"),
            Kind::Url => "an absolute http or https URL as text".to_owned(),
            Kind::Int { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Flag { .. } => "`true` or `false`".to_owned(),
            Kind::Word { words, .. } => format!("one of `{}`", words.join("`, `")),
            Kind::Texts { max } => format!("a list of 1 to {max} texts"),
            Kind::Rows { max } => format!("a list of 1 to {max} objects"),
            Kind::Document => "an object, or its JSON as text".to_owned(),
        }
    }

    /// Whether a value is what it takes.
    fn fits(&self, value: &Value) -> bool {
        let text = |min: usize, max: usize| {
            value.as_str().is_some_and(|s| {
                let n = s.chars().count();
                (min..=max).contains(&n)
            })
        };
        match self.kind {
            Kind::Text { min, max } => text(min, max),
            Kind::Url => text(1, URL_MAX),
            Kind::Int { min, max, .. } => whole(value).is_some_and(|n| (min..=max).contains(&n)),
            Kind::Flag { .. } => value.is_boolean(),
            Kind::Word { words, .. } => value.as_str().is_some_and(|w| words.contains(&w)),
            Kind::Texts { max } => match value {
                Value::Array(items) => {
                    (1..=max).contains(&items.len())
                        && items
                            .iter()
                            .all(|i| i.as_str().is_some_and(|s| !s.is_empty()))
                }
                _ => text(1, DOCUMENT_MAX),
            },
            Kind::Rows { max } => match value {
                Value::Array(items) => {
                    (1..=max).contains(&items.len()) && items.iter().all(Value::is_object)
                }
                _ => text(1, DOCUMENT_MAX),
            },
            Kind::Document => value.is_object() || text(1, DOCUMENT_MAX),
        }
    }
}

/// A number without a fraction, as JSON Schema counts them: `8.0` is one.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let f = value.as_f64()?;
        // Beyond 2^53 a double no longer says which whole number was meant; no parameter goes there.
        (f.fract() == 0.0 && f.abs() < 9.0e15).then_some(f as i64)
    })
}

/// The schema of all parameters of a tool.
pub fn schema(params: &[Param]) -> Map<String, Value> {
    let properties: Map<String, Value> = params
        .iter()
        .map(|p| (p.name.to_owned(), p.schema()))
        .collect();
    let required: Vec<&str> = params
        .iter()
        .filter(|p| p.required)
        .map(|p| p.name)
        .collect();
    let mut map = Map::new();
    map.insert("type".to_owned(), json!("object"));
    map.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        map.insert("required".to_owned(), json!(required));
    }
    map.insert("additionalProperties".to_owned(), json!(false));
    map
}

/// Arguments that were checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments {
    given: Map<String, Value>,
    params: &'static [Param],
}

/// Checks the arguments of a call. `null` stands for an optional argument that was left out: small models write it.
///
/// # Errors
/// `invalid_arguments`, with what to send instead.
pub fn check(
    tool: &'static str,
    params: &'static [Param],
    given: Value,
) -> Result<Arguments, ToolFailure> {
    let mut given = match given {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => {
            return Err(ToolFailure::arguments(
                format!(
                    "the arguments of `{tool}` are {}, not an object",
                    sort(&other)
                ),
                usage(tool, params),
            ));
        }
    };
    let unknown = given
        .keys()
        .find(|k| !params.iter().any(|p| p.name == k.as_str()))
        .cloned();
    if let Some(name) = unknown {
        let shown: String = name.chars().take(60).collect();
        let hint = match nearest(&name, params) {
            Some(near) => format!("did you mean `{near}`?"),
            None => usage(tool, params),
        };
        return Err(ToolFailure::arguments(
            format!("`{tool}` takes no `{shown}`"),
            hint,
        ));
    }
    given.retain(|name, value| {
        !value.is_null() || params.iter().any(|p| p.required && p.name == name)
    });
    for param in params {
        let Some(value) = given.get(param.name) else {
            if param.required {
                return Err(ToolFailure::arguments(
                    format!("`{tool}` needs `{}`", param.name),
                    format!("`{}` is {}: {}", param.name, param.takes(), param.what),
                ));
            }
            continue;
        };
        if !param.fits(value) {
            return Err(ToolFailure::arguments(
                format!("`{}` is {}", param.name, shown(value)),
                format!("`{}` takes {}", param.name, param.takes()),
            ));
        }
        if param.kind == Kind::Url {
            url(param.name, value.as_str().unwrap_or_default())?;
        }
    }
    Ok(Arguments { given, params })
}

fn url(name: &str, text: &str) -> Result<(), ToolFailure> {
    let fits = url::Url::parse(text.trim())
        .is_ok_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
    match fits {
        true => Ok(()),
        false => Err(ToolFailure::arguments(
            format!("`{name}` is {}", shown(&json!(text))),
            format!("`{name}` takes an absolute URL that begins with `https://` or `http://`"),
        )),
    }
}

/// A tool's parameters in a line.
fn usage(tool: &str, params: &[Param]) -> String {
    if params.is_empty() {
        return format!("`{tool}` takes no arguments: send {{}}");
    }
    let list: Vec<String> = params
        .iter()
        .map(|p| match p.required {
            true => format!("`{}` (needed)", p.name),
            false => format!("`{}`", p.name),
        })
        .collect();
    format!("`{tool}` takes {}", list.join(", "))
}

/// What a value is, for a message: its sort, and itself where it is short.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 80 {
        format!("`{text}`")
    } else {
        format!("{} of {} characters", sort(value), text.chars().count())
    }
}

fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The parameter that was probably meant: by containment or a small edit distance.
fn nearest(name: &str, params: &[Param]) -> Option<&'static str> {
    let lower: String = name.to_lowercase().chars().take(40).collect();
    let flat = |s: &str| s.replace(['_', '-'], "");
    params
        .iter()
        .map(|p| (distance(&flat(&lower), &flat(p.name)), p.name))
        .filter(|(d, n)| *d <= 2 && *d < n.len() / 2)
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// Levenshtein's distance, over characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = before + usize::from(ca != *cb);
            before = row[j + 1];
            row[j + 1] = cost.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

impl Arguments {
    /// The text of an argument; for a word with a default, that.
    pub fn text(&self, name: &str) -> Option<&str> {
        match (self.given.get(name), self.kind(name)) {
            (Some(value), _) => value.as_str(),
            (None, Some(Kind::Word { default, .. })) => default,
            _ => None,
        }
    }

    /// A text that the check made sure of.
    pub fn needed(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    /// A whole number, or its default.
    pub fn int(&self, name: &str) -> Option<i64> {
        match (self.given.get(name), self.kind(name)) {
            (Some(value), _) => whole(value),
            (None, Some(Kind::Int { default, .. })) => default,
            _ => None,
        }
    }

    /// A whole number as a size, or its default; zero where there is none.
    pub fn size(&self, name: &str) -> usize {
        self.int(name)
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or_default()
    }

    /// A bound in tokens.
    pub fn tokens(&self, name: &str) -> Option<u32> {
        self.int(name).and_then(|n| u32::try_from(n).ok())
    }

    /// A flag, or its default.
    pub fn flag(&self, name: &str) -> bool {
        match (self.given.get(name), self.kind(name)) {
            (Some(value), _) => value.as_bool().unwrap_or_default(),
            (None, Some(Kind::Flag { default })) => default,
            _ => false,
        }
    }

    /// The argument as it was given.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.given.get(name)
    }

    /// A list of texts: a list, or a text that holds a JSON list or entries apart by commas, spaces or lines.
    pub fn texts(&self, name: &str) -> Vec<String> {
        match self.given.get(name) {
            Some(Value::Array(items)) => texts(items),
            Some(Value::String(text)) => match serde_json::from_str::<Value>(text) {
                Ok(Value::Array(items)) => texts(&items),
                _ => text
                    .split([',', '\n', '\t', ';'])
                    .map(str::trim)
                    .filter(|s| !s.is_empty())
                    .map(str::to_owned)
                    .collect(),
            },
            _ => Vec::new(),
        }
    }

    /// A list of objects: as given, or the JSON of the text.
    ///
    /// # Errors
    /// `invalid_arguments` when the text is no JSON list of objects, or has more rows than the parameter takes.
    pub fn rows(&self, name: &str) -> Result<Vec<Map<String, Value>>, ToolFailure> {
        let most = match self.kind(name) {
            Some(Kind::Rows { max }) => max,
            _ => usize::MAX,
        };
        let list = match self.given.get(name) {
            Some(Value::Array(items)) => Some(items.clone()),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Array(items)) => Some(items),
                _ => None,
            },
            _ => Some(Vec::new()),
        };
        let rows: Option<Vec<_>> = list.and_then(|items| {
            items
                .into_iter()
                .map(|i| match i {
                    Value::Object(map) => Some(map),
                    _ => None,
                })
                .collect()
        });
        match rows {
            Some(rows) if (1..=most).contains(&rows.len()) => Ok(rows),
            Some(rows) => Err(ToolFailure::arguments(
                format!("`{name}` has {} rows", rows.len()),
                format!("`{name}` takes 1 to {most} rows"),
            )),
            None => Err(ToolFailure::arguments(
                format!("`{name}` as text is no JSON list of objects"),
                format!("send `{name}` as a list of objects"),
            )),
        }
    }

    /// A document: the object, or the JSON of the text; a text that is no JSON stays one.
    pub fn document(&self, name: &str) -> Option<Value> {
        match self.given.get(name)? {
            Value::String(text) => {
                Some(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())))
            }
            other => Some(other.clone()),
        }
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        self.params.iter().find(|p| p.name == name).map(|p| p.kind)
    }
}

fn texts(items: &[Value]) -> Vec<String> {
    items
        .iter()
        .filter_map(Value::as_str)
        .map(|s| s.trim().to_owned())
        .filter(|s| !s.is_empty())
        .collect()
}

//! One element of a `tool_calls` array as received, whole or a fragment.

use crate::json;

/// A tool call or a piece of one. Nothing is assumed: every field may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolDelta {
    /// The `index`, where one was sent.
    pub index: Option<u64>,
    /// The `id`; `None` when missing, `null` or empty.
    pub id: Option<String>,
    /// Whether an `id` member was there but `null` or empty.
    pub id_blank: bool,
    /// The `type`, where one was sent.
    pub kind: Option<String>,
    /// The name or a piece of it; `None` when missing, `null` or empty.
    pub name: Option<String>,
    /// Arguments or a piece of them as JSON text; an object on the wire is here as its raw text.
    pub arguments: Option<String>,
    /// Whether the arguments were a JSON value instead of a string.
    pub arguments_is_value: bool,
    /// Whether name or arguments stood beside `function` instead of in it.
    pub flat: bool,
    /// The element as received.
    pub raw: String,
}

impl ToolDelta {
    /// Reads one element. Names and arguments are looked for in `function`, then beside it.
    pub fn read(raw: &str) -> Self {
        let mut d = Self {
            raw: raw.to_owned(),
            ..Self::default()
        };
        for (key, value) in json::members(raw) {
            if json::key_is(key, "index") {
                d.index = json::as_u64(value);
            } else if json::key_is(key, "id") {
                d.id = words(value);
                d.id_blank = d.id.is_none();
            } else if json::key_is(key, "type") {
                d.kind = words(value);
            } else if json::key_is(key, "function") {
                for (key, value) in json::members(value) {
                    d.call_member(key, value);
                }
            }
        }
        if d.name.is_none() && d.arguments.is_none() {
            for (key, value) in json::members(raw) {
                d.call_member(key, value);
            }
            d.flat = d.name.is_some() || d.arguments.is_some();
        }
        d
    }

    fn call_member(&mut self, key: &str, value: &str) {
        if json::key_is(key, "name") {
            self.name = words(value);
        } else if json::key_is(key, "arguments") {
            match json::kind(value) {
                Some(json::Kind::String) => {
                    self.arguments = json::decode(value).map(|t| t.into_owned());
                }
                Some(json::Kind::Null) | None => {}
                Some(_) => {
                    self.arguments = Some(value.to_owned());
                    self.arguments_is_value = true;
                }
            }
        }
    }

    /// Reads a whole array.
    pub fn list(raw: &str) -> Vec<Self> {
        json::elements(raw).map(Self::read).collect()
    }
}

/// A string that says something, or a number as text.
fn words(raw: &str) -> Option<String> {
    match json::kind(raw)? {
        json::Kind::String => json::decode(raw)
            .map(|t| t.into_owned())
            .filter(|t| !t.is_empty()),
        json::Kind::Number => Some(raw.to_owned()),
        _ => None,
    }
}

//! Reasoning under any of its names (gateways reference, wire fact 10), and content in any shape.

use crate::json;

/// Reasoning text and the field that it stood in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reasoning {
    /// The field as named on the wire; `content_parts` when it was a part of the content.
    pub field: String,
    /// The text, decoded.
    pub text: String,
}

/// Fields that hold plain reasoning text, most specific first. Where several are filled they repeat
/// one another, and the first one counts.
pub(super) const TEXT_FIELDS: [&str; 5] = [
    "reasoning_content",
    "reasoning",
    "thinking",
    "reasoning_text",
    "thinking_blocks",
];

/// Members of a delta or message that hold text.
#[derive(Clone, Copy)]
enum SaidField {
    Content,
    Details,
    /// One of [`TEXT_FIELDS`], by its place there.
    Text(usize),
}

fn said_field(key: &str) -> Option<SaidField> {
    match key {
        "content" => Some(SaidField::Content),
        "reasoning_details" => Some(SaidField::Details),
        _ => TEXT_FIELDS
            .iter()
            .position(|f| *f == key)
            .map(SaidField::Text),
    }
}

/// Text of a value: a string, or the texts inside objects and arrays of parts, joined.
pub(super) fn flat_text(raw: &str) -> String {
    match json::kind(raw) {
        Some(json::Kind::String) => json::decode(raw)
            .map(|t| t.into_owned())
            .unwrap_or_default(),
        Some(json::Kind::Array) => json::elements(raw).map(flat_text).collect(),
        Some(json::Kind::Object) => ["text", "thinking", "summary", "content", "reasoning"]
            .iter()
            .find_map(|k| json::member(raw, k))
            .map(flat_text)
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// Whether a content part holds reasoning.
pub(super) fn is_reasoning_part(part: &str) -> bool {
    json::member(part, "type")
        .and_then(json::decode)
        .is_some_and(|t| t.starts_with("thinking") || t.starts_with("reasoning"))
}

/// What a message or delta says: content, whether that was an array of parts, and reasoning.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) content: Option<String>,
    pub(super) content_is_parts: bool,
    pub(super) reasoning: Option<Reasoning>,
}

/// Reads a message or delta object.
pub(super) fn texts(said: &str) -> Texts {
    texts_and(said, |_, _| {})
}

/// Reads a message or delta object, and hands every member that is no text to `other`.
pub(super) fn texts_and<'a>(said: &'a str, mut other: impl FnMut(&'a str, &'a str)) -> Texts {
    let mut out = Texts::default();
    let mut found: [Option<&str>; TEXT_FIELDS.len()] = [None; TEXT_FIELDS.len()];
    let mut details = None;
    let mut content = None;
    for (key, value) in json::members(said) {
        if value == "null" {
            continue;
        }
        match json::key_as(key, said_field) {
            Some(SaidField::Content) => content = Some(value),
            Some(SaidField::Details) => details = Some(value),
            Some(SaidField::Text(i)) => found[i] = Some(value),
            None => other(key, value),
        }
    }
    let mut reason = |field: &str, raw: &str| {
        let text = flat_text(raw);
        if !text.is_empty() && out.reasoning.is_none() {
            out.reasoning = Some(Reasoning {
                field: field.to_owned(),
                text,
            });
        }
    };
    for (field, raw) in TEXT_FIELDS.iter().zip(found) {
        if let Some(raw) = raw {
            reason(field, raw);
        }
    }
    if let Some(raw) = details {
        reason("reasoning_details", raw);
    }
    match content {
        Some(raw) if json::kind(raw) == Some(json::Kind::Array) => {
            out.content_is_parts = true;
            let (mut plain, mut thought) = (String::new(), String::new());
            let mut any_plain = false;
            for part in json::elements(raw) {
                if is_reasoning_part(part) {
                    thought.push_str(&flat_text(part));
                } else {
                    any_plain = true;
                    plain.push_str(&flat_text(part));
                }
            }
            if !thought.is_empty() && out.reasoning.is_none() {
                out.reasoning = Some(Reasoning {
                    field: "content_parts".to_owned(),
                    text: thought,
                });
            }
            out.content = any_plain.then_some(plain);
        }
        Some(raw) => out.content = json::decode(raw).map(|t| t.into_owned()),
        None => {}
    }
    out
}

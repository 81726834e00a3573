//! Which parameter an error means, from a path or from prose.

use crate::json;

/// A `loc` array (`["body","messages",0,"reasoning_content"]`) as a dotted path. The first element
/// names the part of the request and is left out when it is `body`.
pub(super) fn from_loc(loc: &str) -> Option<String> {
    let mut parts: Vec<String> = json::elements(loc)
        .map(|e| json::decode(e).map_or_else(|| e.to_owned(), |t| t.into_owned()))
        .collect();
    if parts.first().is_some_and(|p| p == "body") && parts.len() > 1 {
        parts.remove(0);
    }
    (!parts.is_empty()).then(|| parts.join("."))
}

/// Words in front of a quoted parameter name, lower case.
const BEFORE: [&str; 18] = [
    "property",
    "properties",
    "parameter",
    "parameter:",
    "parameters:",
    "param",
    "argument",
    "argument:",
    "field",
    "field:",
    "fields:",
    "key",
    "option",
    "supplied:",
    "unrecognized",
    "unknown",
    "unsupported",
    "input:",
];

/// Words behind a quoted parameter name, lower case, that say it is refused or missing.
const AFTER: [&str; 8] = [
    "is unsupported",
    "is not supported",
    "does not support",
    "is not permitted",
    "is not allowed",
    "is required",
    "is unknown",
    "must be",
];

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 128
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'[' | b']'))
        && word.bytes().any(|b| b.is_ascii_alphabetic())
}

/// The parameter that a sentence refuses: `'messages.0' : property 'X' is unsupported` gives
/// `messages.0.X`; ``Unsupported parameter: 'max_tokens'`` gives `max_tokens`. `None` rather than a
/// guess where no quoted name stands next to a word of refusal.
pub(super) fn from_prose(message: &str) -> Option<String> {
    let mut scope: Option<&str> = None;
    let mut rest = message;
    let mut before = "";
    while let Some(open) = rest.find(['\'', '"', '`']) {
        let quote = rest[open..].chars().next()?;
        let lead = &rest[..open];
        let inner = &rest[open + 1..];
        let Some(close) = inner.find(quote) else {
            break;
        };
        let (word, tail) = (&inner[..close], &inner[close + 1..]);
        if is_name(word) {
            let near = format!("{before}{lead}").trim_end().to_lowercase();
            let last = near.rsplit(char::is_whitespace).next().unwrap_or("");
            let behind = tail.trim_start().to_lowercase();
            if BEFORE.contains(&last)
                || near.ends_with("unknown name")
                || AFTER.iter().any(|a| behind.starts_with(a))
            {
                return Some(match scope {
                    Some(s) if !word.starts_with(s) => format!("{s}.{word}"),
                    _ => word.to_owned(),
                });
            }
            // `'messages.0' : …` scopes what follows.
            if behind.starts_with(':') {
                scope = Some(word);
            }
        }
        before = "";
        rest = tail;
    }
    unquoted(message)
}

/// `unsupported parameter: X`, `unrecognized request argument supplied: X` without quotes.
fn unquoted(message: &str) -> Option<String> {
    let lower = message.to_lowercase();
    for lead in [
        "argument supplied: ",
        "arguments supplied: ",
        "parameter: ",
        "unknown field: ",
        "unrecognized field: ",
        "unexpected keyword argument ",
    ] {
        if let Some(at) = lower.find(lead) {
            let word = message
                .get(at + lead.len()..)?
                .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
                .next()?
                .trim_matches(|c| matches!(c, '\'' | '"' | '`' | '.'));
            if is_name(word) {
                return Some(word.to_owned());
            }
        }
    }
    None
}

//! Token counts wherever they stand, and their sum over two requests.

use kilter_core::Usage;
use serde_json::{Map, Value};

use crate::json;

/// Token counts of an answer, with the object as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageView {
    /// The counts that rules look at.
    pub counts: Usage,
    /// The raw object.
    pub raw: String,
}

impl UsageView {
    /// Reads a raw usage object, chat or responses names; `None` for `null` and for anything without
    /// a count.
    pub fn read(raw: &str) -> Option<Self> {
        let first = |keys: [&str; 2]| {
            keys.iter()
                .find_map(|k| json::member(raw, k).and_then(json::as_u64))
        };
        let reasoning = ["completion_tokens_details", "output_tokens_details"]
            .iter()
            .find_map(|d| json::member(json::member(raw, d)?, "reasoning_tokens"))
            .or_else(|| json::member(raw, "reasoning_tokens"))
            .and_then(json::as_u64);
        let counts = Usage {
            prompt_tokens: first(["prompt_tokens", "input_tokens"]),
            completion_tokens: first(["completion_tokens", "output_tokens"]),
            reasoning_tokens: reasoning,
        };
        (counts != Usage::default()).then(|| Self {
            counts,
            raw: raw.to_owned(),
        })
    }
}

/// Adds usage objects: numbers are added member by member, nested objects too; whatever is no number
/// is taken from the last part that has it. Parts that are no objects count as nothing.
pub fn sum_usage(parts: &[&str]) -> Value {
    let mut sum = Map::new();
    for part in parts {
        if let Ok(Value::Object(part)) = serde_json::from_str(part) {
            add(&mut sum, part);
        }
    }
    Value::Object(sum)
}

fn add(sum: &mut Map<String, Value>, part: Map<String, Value>) {
    for (key, value) in part {
        match (sum.get_mut(&key), value) {
            (Some(Value::Object(have)), Value::Object(more)) => add(have, more),
            (Some(have), Value::Number(more)) if have.is_number() => {
                *have = match (have.as_u64(), more.as_u64()) {
                    (Some(a), Some(b)) => Value::from(a.saturating_add(b)),
                    _ => Value::from(have.as_f64().unwrap_or(0.0) + more.as_f64().unwrap_or(0.0)),
                };
            }
            (Some(_), Value::Null) => {}
            (_, value) => {
                sum.insert(key, value);
            }
        }
    }
}

//! A turn as a whole body.

use serde_json::{Map, Value, json};

use crate::behaviour::{Behaviour, ReasoningField};
use crate::habits::UsageReport;
use crate::plan::{CREATED, Plan, PlannedCall, PlannedId};
use crate::request::Ask;

/// The body of `chat.completion`.
pub fn body(plan: &Plan, b: &Behaviour, ask: &Ask) -> Value {
    let message = message(plan, b);
    let choices: Vec<Value> = (0..ask.n.clamp(1, 16))
        .map(|i| {
            json!({"index": i, "message": message, "logprobs": null, "finish_reason": plan.finish})
        })
        .collect();
    let mut out = json!({
        "id": plan.id, "object": "chat.completion", "created": CREATED,
        "model": plan.model, "choices": choices
    });
    if b.usage.report.unwrap_or_default() != UsageReport::Never
        && let Some(o) = out.as_object_mut()
    {
        o.insert("usage".to_owned(), usage(plan, b));
    }
    if b.stream.extra_keys.unwrap_or(false)
        && let Some(o) = out.as_object_mut()
    {
        o.insert("x_private".to_owned(), json!({"kept": true, "n": 1.0}));
    }
    out
}

fn message(plan: &Plan, b: &Behaviour) -> Value {
    let mut m = Map::new();
    m.insert("role".to_owned(), json!("assistant"));
    let null = b.reply.null_content.unwrap_or(!plan.calls.is_empty());
    let content = match &plan.content {
        Some(c) => json!(c),
        None if null => Value::Null,
        None => json!(""),
    };
    m.insert("content".to_owned(), content);
    if let Some(r) = &plan.reasoning {
        for f in &plan.fields {
            put_reasoning(&mut m, f, r, plan.content.as_deref());
        }
    }
    if plan.function_call {
        if let Some(c) = plan.calls.first() {
            m.insert(
                "function_call".to_owned(),
                json!({"name": c.name, "arguments": c.arguments}),
            );
        }
    } else if !plan.calls.is_empty() {
        let calls: Vec<Value> = plan.calls.iter().map(|c| call(c, b)).collect();
        m.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(m)
}

fn call(c: &PlannedCall, b: &Behaviour) -> Value {
    let mut o = Map::new();
    put_id(&mut o, &c.id);
    o.insert("type".to_owned(), json!("function"));
    o.insert(
        "function".to_owned(),
        json!({"name": c.name, "arguments": arguments(&c.arguments, b)}),
    );
    Value::Object(o)
}

/// `arguments` as the habit has it.
pub(crate) fn arguments(text: &str, b: &Behaviour) -> Value {
    if b.calls.as_object.unwrap_or(false) {
        serde_json::from_str(text).unwrap_or_else(|_| json!(text))
    } else {
        json!(text)
    }
}

pub(crate) fn put_id(o: &mut Map<String, Value>, id: &PlannedId) {
    match id {
        PlannedId::Text(t) => o.insert("id".to_owned(), json!(t)),
        PlannedId::Null => o.insert("id".to_owned(), Value::Null),
        PlannedId::Missing => None,
    };
}

/// Puts reasoning (or a piece of it) where the field wants it.
pub(crate) fn put_reasoning(
    m: &mut Map<String, Value>,
    field: &ReasoningField,
    text: &str,
    content: Option<&str>,
) {
    let (key, value) = match field {
        ReasoningField::ReasoningContent => ("reasoning_content", json!(text)),
        ReasoningField::Reasoning => ("reasoning", json!(text)),
        ReasoningField::Thinking => ("thinking", json!(text)),
        ReasoningField::ReasoningDetails => (
            "reasoning_details",
            json!([{"type": "reasoning.text", "text": text, "format": null, "index": 0}]),
        ),
        ReasoningField::ContentParts => {
            let mut parts = vec![json!({
                "type": "thinking", "thinking": [{"type": "text", "text": text}]
            })];
            if let Some(c) = content {
                parts.push(json!({"type": "text", "text": c}));
            }
            ("content", Value::Array(parts))
        }
    };
    m.insert(key.to_owned(), value);
}

/// The `usage` object.
pub(crate) fn usage(plan: &Plan, b: &Behaviour) -> Value {
    let mut u = Map::new();
    if !b.usage.no_prompt_tokens.unwrap_or(false) {
        u.insert("prompt_tokens".to_owned(), json!(plan.prompt_tokens));
    }
    u.insert(
        "completion_tokens".to_owned(),
        json!(plan.completion_tokens),
    );
    u.insert(
        "total_tokens".to_owned(),
        json!(plan.prompt_tokens + plan.completion_tokens),
    );
    if let Some(n) = plan.reasoning_tokens {
        u.insert(
            "completion_tokens_details".to_owned(),
            json!({"reasoning_tokens": n}),
        );
    }
    if b.usage.extra.unwrap_or(false) {
        u.insert("x_timings".to_owned(), json!({"cache_hit": 0, "ms": 1.5}));
    }
    Value::Object(u)
}

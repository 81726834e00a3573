//! A turn as the chunks of a stream, with all their habits.

use serde_json::{Map, Value, json};

use crate::behaviour::{Behaviour, ReasoningField};
use crate::habits::{FirstDelta, IdHabit, IndexHabit, NameHabit, UsagePlace, UsageReport};
use crate::plan::{CREATED, Plan, PlannedCall, PlannedId};
use crate::request::Ask;
use crate::whole::{arguments, put_id, put_reasoning, usage};

/// Characters of one text delta when the script does not say.
const PIECE: u64 = 12;

/// The chunks of a stream, as JSON.
pub fn chunks(plan: &Plan, b: &Behaviour, ask: &Ask) -> Vec<Value> {
    let n = ask.n.clamp(1, 16);
    let per_choice = deltas(plan, b);
    let mut out = Vec::new();
    let last = per_choice.len().saturating_sub(1);
    for (i, delta) in per_choice.into_iter().enumerate() {
        let on_last = i == last && b.stream.finish_on_last.unwrap_or(false);
        for choice in 0..n {
            let finish = on_last.then_some(plan.finish.as_str());
            out.push(chunk(plan, b, choice, delta.clone(), finish));
        }
    }
    if !b.stream.finish_on_last.unwrap_or(false) && !b.stream.no_finish.unwrap_or(false) {
        for choice in 0..n {
            out.push(chunk(plan, b, choice, Map::new(), Some(&plan.finish)));
        }
    }
    report_usage(&mut out, plan, b, ask);
    out
}

fn report_usage(out: &mut Vec<Value>, plan: &Plan, b: &Behaviour, ask: &Ask) {
    let reported = match b.usage.report.unwrap_or_default() {
        UsageReport::Asked => ask.include_usage,
        UsageReport::Always => true,
        UsageReport::Never => false,
    };
    if !reported {
        return;
    }
    let place = b.usage.place.unwrap_or_default();
    if b.usage.null_before.unwrap_or(false) {
        for c in out.iter_mut() {
            set(c, "usage", Value::Null);
        }
    }
    match place {
        UsagePlace::Last => {
            let mut c = chunk(plan, b, 0, Map::new(), None);
            set(&mut c, "choices", json!([]));
            set(&mut c, "usage", usage(plan, b));
            out.push(c);
        }
        UsagePlace::Finish => {
            if let Some(c) = out.last_mut() {
                set(c, "usage", usage(plan, b));
            }
        }
        UsagePlace::Every => {
            let total = out.len() as u64;
            for (i, c) in out.iter_mut().enumerate() {
                let part = Plan {
                    completion_tokens: plan.completion_tokens * (i as u64 + 1) / total.max(1),
                    ..plan.clone()
                };
                set(c, "usage", usage(&part, b));
            }
        }
    }
}

fn set(chunk: &mut Value, key: &str, value: Value) {
    if let Some(o) = chunk.as_object_mut() {
        o.insert(key.to_owned(), value);
    }
}

fn chunk(
    plan: &Plan,
    b: &Behaviour,
    choice: u64,
    delta: Map<String, Value>,
    finish: Option<&str>,
) -> Value {
    let mut c = json!({"index": choice, "delta": delta});
    if finish.is_some() || !b.stream.bare_choices.unwrap_or(false) {
        set(&mut c, "finish_reason", json!(finish));
    }
    let mut out = json!({
        "id": plan.id, "object": "chat.completion.chunk", "created": CREATED,
        "model": plan.model, "choices": [c]
    });
    if b.stream.extra_keys.unwrap_or(false) {
        set(&mut out, "x_private", json!({"kept": true, "n": 1.0}));
    }
    out
}

fn deltas(plan: &Plan, b: &Behaviour) -> Vec<Map<String, Value>> {
    let mut out: Vec<Map<String, Value>> = Vec::new();
    let mut role = Map::new();
    role.insert("role".to_owned(), json!("assistant"));
    let first = b.stream.first.unwrap_or_default();
    match first {
        FirstDelta::Empty => {
            role.insert("content".to_owned(), json!(""));
        }
        FirstDelta::Null => {
            role.insert("content".to_owned(), Value::Null);
        }
        FirstDelta::Role | FirstDelta::Merged => {}
    }
    if first != FirstDelta::Merged {
        out.push(role.clone());
    }
    let piece = b.stream.piece.unwrap_or(PIECE).max(1) as usize;
    if let Some(r) = &plan.reasoning {
        for p in pieces(r, piece) {
            let mut d = Map::new();
            for f in &plan.fields {
                put_reasoning(&mut d, f, p, None);
            }
            out.push(d);
        }
    }
    // A server that sends content as parts does so for text as well.
    let as_parts = plan.reasoning.is_some() && plan.fields.contains(&ReasoningField::ContentParts);
    if let Some(c) = &plan.content {
        for p in pieces(c, piece) {
            let mut d = Map::new();
            let v = if as_parts {
                json!([{"type": "text", "text": p}])
            } else {
                json!(p)
            };
            d.insert("content".to_owned(), v);
            out.push(d);
        }
    }
    out.extend(call_deltas(plan, b));
    if first == FirstDelta::Merged {
        match out.first_mut() {
            Some(d) => {
                let rest = std::mem::replace(d, role);
                d.extend(rest);
            }
            None => out.push(role),
        }
    }
    out
}

fn call_deltas(plan: &Plan, b: &Behaviour) -> Vec<Map<String, Value>> {
    if plan.calls.is_empty() {
        return Vec::new();
    }
    if plan.function_call {
        return function_call_deltas(plan, b);
    }
    if b.stream.index == Some(IndexHabit::Duplicated) {
        let all: Vec<Value> = plan
            .calls
            .iter()
            .flat_map(|c| one_call(c, 0, b, true))
            .map(Value::Object)
            .collect();
        return vec![tool_calls(all)];
    }
    let whole = b.stream.whole_calls.unwrap_or(false);
    let mut per_call: Vec<Vec<Map<String, Value>>> = plan
        .calls
        .iter()
        .enumerate()
        .map(|(n, c)| one_call(c, n, b, whole))
        .collect();
    let mut out = Vec::new();
    if b.stream.interleaved.unwrap_or(false) {
        let longest = per_call.iter().map(Vec::len).max().unwrap_or(0);
        for i in 0..longest {
            for d in &mut per_call {
                if let Some(x) = d.get_mut(i) {
                    out.push(tool_calls(vec![Value::Object(std::mem::take(x))]));
                }
            }
        }
    } else {
        for d in per_call.into_iter().flatten() {
            out.push(tool_calls(vec![Value::Object(d)]));
        }
    }
    out
}

fn tool_calls(all: Vec<Value>) -> Map<String, Value> {
    let mut d = Map::new();
    d.insert("tool_calls".to_owned(), Value::Array(all));
    d
}

fn function_call_deltas(plan: &Plan, b: &Behaviour) -> Vec<Map<String, Value>> {
    let Some(c) = plan.calls.first() else {
        return Vec::new();
    };
    let mut out = vec![json!({"function_call": {"name": c.name, "arguments": ""}})];
    for p in argument_pieces(&c.arguments, b) {
        out.push(json!({"function_call": {"arguments": p}}));
    }
    out.into_iter()
        .filter_map(|v| match v {
            Value::Object(o) => Some(o),
            _ => None,
        })
        .collect()
}

/// The deltas of one call.
fn one_call(c: &PlannedCall, n: usize, b: &Behaviour, whole: bool) -> Vec<Map<String, Value>> {
    let index = match b.stream.index.unwrap_or_default() {
        IndexHabit::Right => Some(n),
        IndexHabit::FromOne => Some(n + 1),
        IndexHabit::Zero | IndexHabit::Duplicated => Some(0),
        IndexHabit::Missing => None,
    };
    let start = || {
        let mut o = Map::new();
        if let Some(i) = index {
            o.insert("index".to_owned(), json!(i));
        }
        o
    };
    let mut first = start();
    put_id(&mut first, &c.id);
    first.insert("type".to_owned(), json!("function"));
    if whole || b.calls.as_object.unwrap_or(false) {
        first.insert(
            "function".to_owned(),
            json!({"name": c.name, "arguments": arguments(&c.arguments, b)}),
        );
        return vec![first];
    }
    let name = b.stream.name.unwrap_or_default();
    let mut out = Vec::new();
    if name == NameHabit::Pieces {
        let half = crate::plan::cut(&c.name, c.name.len().div_ceil(2));
        first.insert(
            "function".to_owned(),
            json!({"name": half, "arguments": ""}),
        );
        out.push(first);
        let mut second = start();
        second.insert(
            "function".to_owned(),
            json!({"name": &c.name[half.len()..]}),
        );
        out.push(second);
    } else {
        first.insert(
            "function".to_owned(),
            json!({"name": c.name, "arguments": ""}),
        );
        out.push(first);
    }
    for p in argument_pieces(&c.arguments, b) {
        let mut d = start();
        match b.stream.id.unwrap_or_default() {
            IdHabit::Once => {}
            IdHabit::Repeated => put_id(&mut d, &c.id),
            IdHabit::ThenNull => put_id(&mut d, &PlannedId::Null),
            IdHabit::ThenEmpty => put_id(&mut d, &PlannedId::Text(String::new())),
        }
        let f = if name == NameHabit::Repeated {
            json!({"name": c.name, "arguments": p})
        } else {
            json!({"arguments": p})
        };
        d.insert("function".to_owned(), f);
        out.push(d);
    }
    out
}

fn argument_pieces<'a>(text: &'a str, b: &Behaviour) -> Vec<&'a str> {
    let n = match b.stream.argument_piece.unwrap_or(PIECE) {
        0 => usize::MAX,
        n => n as usize,
    };
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut head = crate::plan::cut(rest, n);
        if head.is_empty() {
            // One character is longer than the piece.
            head = &rest[..rest.chars().next().map_or(rest.len(), char::len_utf8)];
        }
        out.push(head);
        rest = &rest[head.len()..];
    }
    out
}

/// Pieces of `n` characters.
fn pieces(text: &str, n: usize) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(n).map_or(rest.len(), |(i, _)| i);
        out.push(&rest[..end]);
        rest = &rest[end..];
    }
    out
}

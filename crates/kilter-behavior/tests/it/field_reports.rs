//! Public reports of what other readers get wrong, each with the right behaviour: whole, in the
//! pieces in which it came, and at every single split.

use std::sync::Arc;

use kilter_behavior::{EchoIndex, ReaderConfig, ToolSet};
use kilter_core::ToolSpec;
use serde::Deserialize;
use serde_json::Value;

use crate::catalogue::{first_difference, read_pieces, root};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    id: String,
    #[serde(default, rename = "source")]
    _source: String,
    raw: String,
    tools: Value,
    calls: Vec<Value>,
    content: String,
    reasoning: String,
    chunks: Option<Vec<String>>,
    #[serde(default)]
    reasoning_open: bool,
    #[serde(default)]
    untrusted: Vec<String>,
    /// Reasons that must be reported.
    #[serde(default)]
    reasons: Vec<String>,
}

fn check(file: &str, at_least: usize) {
    let path = root().join("field-reports").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut wrong = Vec::new();
    let mut n = 0;
    for line in text.lines() {
        let r: Report = serde_json::from_str(line).unwrap();
        n += 1;
        let tools = ToolSet::new(ToolSpec::list_from_wire(&r.tools));
        let untrusted = EchoIndex::new(r.untrusted.iter().map(String::as_str), &tools);
        let cfg = ReaderConfig {
            tools: Arc::new(tools),
            untrusted: Arc::new(untrusted),
            reasoning_open: r.reasoning_open,
            ..ReaderConfig::new()
        };
        let as_it_came: Vec<&str> = match &r.chunks {
            Some(c) => c.iter().map(String::as_str).collect(),
            None => vec![&r.raw],
        };
        let got = read_pieces(&cfg, &as_it_came);
        let calls: Vec<Value> = got
            .calls
            .iter()
            .map(|c| {
                let arguments: Value = serde_json::from_str(&c.arguments).unwrap();
                serde_json::json!({ "name": c.name, "arguments": arguments })
            })
            .collect();
        let reasons: Vec<&str> = got.rejected.iter().map(|x| x.reason.as_str()).collect();
        if calls != r.calls
            || got.content != r.content
            || got.reasoning.as_deref().unwrap_or("") != r.reasoning
            || r.reasons.iter().any(|w| !reasons.contains(&w.as_str()))
        {
            wrong.push(format!("{}: {got:#?}", r.id));
        }
        if let Some(d) = first_difference(&cfg, &r.raw) {
            wrong.push(format!("{}: {d}", r.id));
        }
    }
    assert!(n >= at_least, "{n} reports in {file}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_about_dialects() {
    check("dialects.jsonl", 30);
}

#[test]
fn reports_about_gateways() {
    check("gateway.jsonl", 8);
}

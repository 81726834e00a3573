//! What is listed: names, order, schemas, instructions.

use std::collections::HashSet;

use kilter_mcp::server::{View, listing};
use kilter_mcp::{Config, Surface, ToolId};
use serde_json::Value;

use crate::bench::bench;

fn view(surface: Surface) -> View {
    View {
        surface,
        session: None,
    }
}

#[tokio::test]
async fn surfaces_are_nested_and_as_large_as_the_contract_says() {
    let bench = bench(Config::default()).await;
    let mut before: HashSet<ToolId> = HashSet::new();
    for (surface, n) in Surface::ALL.into_iter().zip([1, 3, 11, 12, 15, 18]) {
        let tools: HashSet<_> = bench.server.tools(&view(surface)).into_iter().collect();
        assert_eq!(tools.len(), n, "{surface}");
        assert!(tools.is_superset(&before), "{surface}");
        assert!(tools.iter().all(|t| !t.is_opt_in()), "{surface}");
        before = tools;
    }
}

#[tokio::test]
async fn opt_in_tools_are_shown_where_they_are_on() {
    let bench = bench(Config {
        opt_in: vec![ToolId::Watch, ToolId::FailureAtlas],
        ..Config::default()
    })
    .await;
    for surface in Surface::ALL {
        let tools = bench.server.tools(&view(surface));
        assert!(tools.contains(&ToolId::Watch) && !tools.contains(&ToolId::BatchSubmit));
    }
}

/// Every word of a text that is the name of a tool.
fn named(text: &str) -> HashSet<&'static str> {
    let words: HashSet<&str> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .collect();
    ToolId::ALL
        .into_iter()
        .map(|t| kilter_mcp::table::tool(t).name)
        .filter(|n| words.contains(n))
        .collect()
}

#[tokio::test]
async fn no_text_names_a_tool_that_its_surface_lacks() {
    for opt_in in [Vec::new(), vec![ToolId::Watch, ToolId::BatchStatus]] {
        let bench = bench(Config {
            opt_in: opt_in.clone(),
            ..Config::default()
        })
        .await;
        for surface in Surface::ALL {
            let view = view(surface);
            let shown: HashSet<_> = bench
                .server
                .tools(&view)
                .into_iter()
                .map(|t| kilter_mcp::table::tool(t).name)
                .collect();
            let mut texts = bench.server.instructions(&view);
            for tool in bench.server.tools(&view) {
                texts.push_str(&listing(tool).to_string());
            }
            let named = named(&texts);
            assert!(!named.is_empty());
            assert!(named.is_subset(&shown), "{surface}: {named:?}");
        }
    }
}

/// Keywords of a schema whose value is a text, at any depth.
fn words(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                if inner.is_string() {
                    found.push(key.clone());
                }
                words(inner, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|i| words(i, found)),
        _ => {}
    }
}

#[test]
fn schemas_are_lean_and_compile() {
    for id in ToolId::ALL {
        let listed = listing(id);
        for name in ["inputSchema", "outputSchema"] {
            let schema = &listed[name];
            let mut found = Vec::new();
            words(schema, &mut found);
            assert!(
                !found.iter().any(|k| k == "$schema" || k == "format"),
                "{listed}"
            );
            assert_eq!(schema["type"], "object");
            jsonschema::meta::validate(schema).expect("a schema");
            jsonschema::validator_for(schema).expect("a validator");
        }
        let name = listed["name"].as_str().expect("a name");
        assert!(name == "occam" || name.starts_with("occam_"));
        assert_eq!(ToolId::of(name), Some(id));
    }
}

#[test]
fn the_widest_list_costs_less_than_nine_thousand_tokens() {
    use kilter_web::budget::{O200k, Tokenizer as _};
    let cost = |s: Surface| -> usize {
        s.tools()
            .map(|t| O200k.count(&listing(t).to_string()))
            .sum()
    };
    let minimal = cost(Surface::Minimal);
    assert!(minimal < 800, "{minimal}");
    let full = cost(Surface::Full);
    assert!(full < 9_000, "{full}");
}

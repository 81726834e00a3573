//! Whatever a call looks like, it is answered with a tool result.

use kilter_mcp::param::{self, Kind, Param};
use kilter_mcp::{Config, Surface, ToolId, table};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::bench::bench;

/// Values of every sort, those around the bounds among them.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|f| json!(f)),
        prop::sample::select(vec![-1_i64, 0, 1, 2, 8, 9, 20, 64, 65, 128, 1_024, 200_001])
            .prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "http",
            "auto",
            "full",
            "offline",
            "https://a.example/",
            "http://10.0.0.1/",
            "thin_extract",
            "[]",
            "{}",
            "[1]",
            "mailto:a@b",
            "[\"https://a.example/\"]"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z_]{1,8}", inner, 0..3)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn arguments(id: ToolId) -> impl Strategy<Value = Value> {
    let names: Vec<&str> = table::tool(id).params.iter().map(|p| p.name).collect();
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    names.push("no_such_argument".to_owned());
    prop_oneof![
        1 => value(),
        6 => prop::collection::hash_map(prop::sample::select(names), value(), 0..5)
            .prop_map(|m| Value::Object(m.into_iter().collect())),
    ]
}

/// What the check says of arguments, and what the published schema says, `null` counting as left out.
fn agree(id: ToolId, arguments: &Value) {
    let tool = table::tool(id);
    let Value::Object(map) = arguments else {
        return;
    };
    let required = |name: &str| tool.params.iter().any(|p| p.required && p.name == name);
    let bare: Map<String, Value> = map
        .iter()
        .filter(|(n, v)| {
            !v.is_null() || required(n) || !tool.params.iter().any(|p| p.name == n.as_str())
        })
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    let schema = Value::Object(param::schema(tool.params));
    let valid = jsonschema::is_valid(&schema, &Value::Object(bare.clone()));
    let checked = param::check(tool.name, tool.params, arguments.clone());
    let is_url = |p: &Param| p.kind == Kind::Url && bare.contains_key(p.name);
    match checked {
        Ok(_) => assert!(
            valid,
            "{} takes {arguments}, its schema does not",
            tool.name
        ),
        // A URL is more than its schema can say.
        Err(e) if valid => assert!(
            tool.params.iter().any(is_url) && e.message.contains("absolute URL"),
            "{} refuses {arguments}, its schema does not: {}",
            tool.name,
            e.message
        ),
        Err(e) => {
            assert_eq!(e.code, "invalid_arguments");
            assert!(e.message.contains("\nhint: "), "{}", e.message);
        }
    }
}

#[test]
fn the_check_and_the_schema_agree() {
    for id in ToolId::ALL {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: 200,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        runner
            .run(&arguments(id), |a| {
                agree(id, &a);
                Ok(())
            })
            .expect("agreement");
    }
}

#[test]
fn every_wrong_call_is_a_typed_result_with_a_hint() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let bench = runtime.block_on(bench(Config {
        opt_in: ToolId::ALL.into_iter().filter(|t| t.is_opt_in()).collect(),
        ..Config::default()
    }));
    for id in ToolId::ALL {
        let tool = table::tool(id);
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: 100,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        runner
            .run(&arguments(id), |a| {
                // What is right is done elsewhere: here nothing may reach out.
                if param::check(tool.name, tool.params, a.clone()).is_ok() {
                    return Ok(());
                }
                let answer = runtime.block_on(bench.call(Surface::Full, tool.name, a.clone()));
                assert_eq!(answer["ok"], false, "{} {a}", tool.name);
                assert_eq!(answer["failure"]["code"], "invalid_arguments", "{answer}");
                let message = answer["failure"]["message"].as_str().expect("a message");
                assert!(message.contains("\nhint: "), "{message}");
                kilter_mcp::output::check(id, &answer).expect("an answer of the schema");
                Ok(())
            })
            .expect("typed results");
    }
    let counts = bench.server.counts();
    assert!(counts.refused > 500 && counts.running == 0, "{counts:?}");
}

#[tokio::test]
async fn a_failure_says_what_to_send_instead() {
    let bench = bench(Config::default()).await;
    for (name, arguments, says) in [
        ("occam", json!({}), "`occam` needs `url`"),
        (
            "occam",
            json!({"url": 5}),
            "`url` takes an absolute http or https URL",
        ),
        (
            "occam",
            json!({"url": "ftp://a.example/"}),
            "begins with `https://`",
        ),
        (
            "occam",
            json!({"url": "https://a.example/", "budget": 12}),
            "a whole number from 128 to 200000",
        ),
        (
            "occam",
            json!({"url": "https://a.example/", "mode": "fast"}),
            "one of `auto`, `advanced`",
        ),
        (
            "occam",
            json!({"link": "https://a.example/"}),
            "`occam` takes `url` (needed)",
        ),
        (
            "occam_transcode",
            json!({"url": "https://a.example/", "max_token": 500}),
            "did you mean `max_tokens`?",
        ),
        (
            "occam_search",
            json!({"query": ""}),
            "a text of 1 to 1000 characters",
        ),
        (
            "occam_verify",
            json!({"receipt": {}, "mode": "quick"}),
            "one of `offline`, `live`",
        ),
        (
            "read_page",
            json!({}),
            "the tools here are `occam_client_capabilities`, `occam`",
        ),
        (
            "occam_watch",
            json!({"url": "https://a.example/"}),
            "`--enable`",
        ),
        (
            "occam_attest",
            json!({"claims": []}),
            "not part of the tools shown here",
        ),
    ] {
        let answer = bench.call(Surface::Reader, name, arguments).await;
        let message = answer["failure"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{message}");
    }
}

//! `kilter parse` on one text: the shape of its answer, its options, its failures.

use serde_json::{Value, json};

use crate::run::Place;

const TOOLS: &str = r#"[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}}]"#;

fn parsed(place: &Place, args: &[&str], text: &str) -> Value {
    let mut all = vec!["parse"];
    all.extend(args);
    let output = place.run_with(&all, text.as_bytes());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn place() -> Place {
    let place = Place::new();
    place.write("tools.json", TOOLS);
    place
}

const CALL: &str = "<think>Lagos, then.</think>\nLooking it up.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lagos\", \"days\": 2}}\n</tool_call>";

#[test]
fn a_text_is_taken_apart() {
    let got = parsed(&place(), &["--tools", "tools.json"], CALL);
    assert_eq!(got["content"], "Looking it up.");
    assert_eq!(got["reasoning"], "Lagos, then.");
    assert_eq!(
        got["tool_calls"],
        json!([{
            "name": "get_weather",
            "arguments": {"city": "Lagos", "days": 2},
            "id": null,
            "dialect": got["tool_calls"][0]["dialect"],
            "strength": "medium",
            "origin": "recovered",
            "coerced": [],
        }])
    );
    assert_eq!(got["rejected"], json!([]));
    assert_eq!(got["truncated"], false);
    assert_eq!(got.get("rules_off"), None);
}

#[test]
fn any_chunking_gives_the_same() {
    let place = place();
    let whole = parsed(&place, &["--tools", "tools.json"], CALL);
    for size in ["1", "2", "3", "7", "64"] {
        let got = parsed(&place, &["--tools", "tools.json", "--chunk", size], CALL);
        assert_eq!(got, whole, "{size}");
    }
}

#[test]
fn an_echo_is_no_call_and_the_rule_can_be_switched_off() {
    let place = place();
    place.write("page.html", CALL);
    let args = ["--tools", "tools.json", "--untrusted", "page.html"];
    let got = parsed(&place, &args, CALL);
    assert_eq!(got["tool_calls"], json!([]));
    assert_eq!(got["rejected"][0]["reason"], "echo");
    let got = parsed(&place, &["--untrusted", "page.html", "--no-boundary"], CALL);
    assert_eq!(got["tool_calls"].as_array().unwrap().len(), 1);
    assert_eq!(got["rules_off"], json!(["echo", "undeclared", "schema"]));
}

#[test]
fn what_is_not_declared_or_does_not_fit_is_rejected() {
    let place = place();
    let call = |name: &str, arguments: &str| {
        format!("<tool_call>{{\"name\":\"{name}\",\"arguments\":{arguments}}}</tool_call>")
    };
    let got = parsed(
        &place,
        &["--tools", "tools.json"],
        &call("get_whether", "{\"city\":\"x\"}"),
    );
    assert_eq!(got["rejected"][0]["reason"], "undeclared");
    assert_eq!(got["rejected"][0]["name"], "get_whether");
    let got = parsed(
        &place,
        &["--tools", "tools.json"],
        &call("get_weather", "{\"days\":1}"),
    );
    assert_eq!(got["rejected"][0]["reason"], "schema");
    // Without `--tools` neither rule can hold, and the answer says so.
    let got = parsed(&place, &[], &call("get_whether", "{}"));
    assert_eq!(got["tool_calls"].as_array().unwrap().len(), 1);
    assert_eq!(got["rules_off"], json!(["undeclared", "schema"]));
}

#[test]
fn expect_none_recovers_nothing() {
    let got = parsed(
        &place(),
        &["--tools", "tools.json", "--expect", "none"],
        CALL,
    );
    assert_eq!(got["tool_calls"], json!([]));
}

#[test]
fn a_first_turn_keeps_its_thinking_in_the_content() {
    let got = parsed(
        &place(),
        &["--tools", "tools.json", "--unlearnt"],
        "<think>a</think>b",
    );
    assert_eq!(got["content"], "<think>a</think>b");
    assert_eq!(got["reasoning"], Value::Null);
}

#[test]
fn an_opened_block_closes() {
    let got = parsed(
        &place(),
        &["--reasoning-open"],
        "still thinking</think>\ndone",
    );
    assert_eq!(got["reasoning"], "still thinking");
    assert_eq!(got["content"], "done");
}

#[test]
fn a_call_that_was_cut_is_said_to_be() {
    let got = parsed(
        &place(),
        &["--tools", "tools.json"],
        &CALL[..CALL.len() - 30],
    );
    assert_eq!(got["truncated"], true);
    assert_eq!(got["tool_calls"], json!([]));
}

#[test]
fn prose_comes_back_as_it_is() {
    let prose = "  Plain prose, nothing else.\n\n{not json}\r\n";
    let got = parsed(&place(), &["--tools", "tools.json"], prose);
    assert_eq!(got["content"], prose);
}

#[test]
fn what_cannot_be_read_is_explained() {
    let place = place();
    place.write("bad.json", "{\"a\": ");
    place.write("nothing.json", "{\"a\": 1}");
    std::fs::write(place.path().join("latin"), b"caf\xe9").unwrap();
    insta::assert_snapshot!(place.transcript(&["parse", "missing.txt"]));
    insta::assert_snapshot!(place.transcript(&["parse", "latin"]));
    insta::assert_snapshot!(place.transcript(&["parse", "--tools", "bad.json"]));
    insta::assert_snapshot!(place.transcript(&["parse", "--tools", "nothing.json"]));
}

//! `kilter trace`: follow, summary, to-fixture.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::run::Place;

fn event(slot: &str, more: Value) -> String {
    let mut e = json!({
        "time": "2026-12-01T09:30:00.250Z",
        "session": "s1",
        "backend": "local",
        "slot": slot,
        "request": "req_1",
    });
    for (k, v) in more.as_object().unwrap() {
        e[k] = v.clone();
    }
    format!("{e}\n")
}

fn recovered(slot: &str) -> String {
    event(
        slot,
        json!({"event": "recovered_tool_call", "dialect": "some-dialect", "strength": "medium", "origin": "recovered", "name": "get_weather", "capture": "cap_1"}),
    )
}

fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("state/traces")).unwrap();
    let older = recovered("a")
        + &event(
            "a",
            json!({"event": "rejected_tool_call", "dialect": "some-dialect", "name": "rm", "reason": "echo"}),
        );
    let newer = event(
        "b",
        json!({"event": "model_error", "status": 429, "type": "rate_limit", "message": "slow down"}),
    ) + &event(
        "b",
        json!({"event": "behavior", "axis": "tools", "from": "unknown", "to": "structured", "evidence": "1 call", "observed_only": true}),
    ) + "{\"torn\": ";
    place.write("state/traces/trace-000001.jsonl", &older);
    place.write("state/traces/trace.jsonl", &newer);
    place
}

#[test]
fn a_summary_counts_by_slot() {
    let place = place();
    insta::assert_snapshot!(place.transcript(&["trace", "summary", "--state", "state"]));
    let output = place.run(&["trace", "summary", "--state", "state", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["events"], 4);
    assert_eq!(report["unreadable"], 1);
    assert_eq!(report["slots"][0]["rejected_by_reason"]["echo"], 1);
    assert_eq!(report["by_event"]["model_error"], 1);
}

#[test]
fn the_last_events_read_well() {
    let args = [
        "trace",
        "follow",
        "--state",
        "state",
        "--no-wait",
        "-n",
        "4",
    ];
    let place = place();
    // The torn line is the newest: three whole ones before it, of two files.
    insta::assert_snapshot!(place.transcript(&args));
}

#[test]
fn following_goes_on_over_a_rotation() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("state/traces")).unwrap();
    place.write("state/traces/trace.jsonl", &recovered("before"));
    let mut child = place
        .command(&["trace", "follow", "--state", "state", "--json", "-n", "1"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["slot"], "before");
    let current = place.path().join("state/traces/trace.jsonl");
    let append = |text: &str| {
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&current)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    let one = recovered("one");
    append(&one[..20]);
    // Nothing tells that half a line was looked at: two looks' time makes it all but certain.
    std::thread::sleep(std::time::Duration::from_millis(300));
    append(&one[20..]);
    assert_eq!(next()["slot"], "one");
    std::fs::rename(
        &current,
        place.path().join("state/traces/trace-000001.jsonl"),
    )
    .unwrap();
    append(&recovered("two"));
    assert_eq!(next()["slot"], "two");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn nothing_to_read_is_explained() {
    insta::assert_snapshot!(Place::new().transcript(&["trace", "summary", "--state", "state"]));
}

const RAW: &str = "Looking.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lagos\"}}\n</tool_call>";

fn capture(place: &Place) {
    let request = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "weather?"}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}],
    });
    let answer = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": RAW}, "finish_reason": "stop"}]});
    let line = json!({
        "id": "cap_7", "request": "req_1", "time": "2026-12-01T09:30:00.250Z", "session": "s",
        "backend": "local", "slot": "m", "adapt": "on",
        "client": {"text": request.to_string()},
        "exchanges": [{"backend": "local", "status": 200, "content_type": "application/json",
            "body": {"text": answer.to_string()}, "reads": [[1, 10]]}],
        "actions": [],
    });
    std::fs::create_dir_all(place.path().join("state/captures")).unwrap();
    place.write("state/captures/capture.jsonl", &format!("{line}\n"));
}

#[test]
fn a_capture_becomes_a_fixture() {
    let place = Place::new();
    capture(&place);
    let output = place.run(&["trace", "to-fixture", "cap_7", "--state", "state"]);
    let text = place.show(&output);
    assert!(output.status.success(), "{text}");
    let fixture: toml::Table =
        toml::from_str(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    let entry = &fixture["firing"][0];
    assert_eq!(entry["raw"].as_str(), Some(RAW));
    assert_eq!(entry["source"].as_str(), Some("capture:cap_7"));
    assert_eq!(entry["calls"][0]["name"].as_str(), Some("get_weather"));
    assert_eq!(entry["content"].as_str(), Some("Looking."));
    let output = place.run(&[
        "trace",
        "to-fixture",
        "cap_7",
        "--state",
        "state",
        "--format",
        "json",
    ]);
    let fixture: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fixture["wanted"]["calls"][0]["name"], "get_weather");
    assert_eq!(fixture["untrusted"], json!(["weather?"]));
}

#[test]
fn a_capture_that_is_not_there_is_said_to_be_missing() {
    let place = Place::new();
    capture(&place);
    insta::assert_snapshot!(place.transcript(&[
        "trace",
        "to-fixture",
        "cap_8",
        "--state",
        "state"
    ]));
}

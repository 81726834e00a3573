//! `kilter fit` as a person runs it.

use std::time::Duration;

use kilter_core::{Clock, SystemClock};
use serde_json::Value;

use crate::run::Place;

#[test]
fn without_a_url_the_demonstration_models_are_fitted_and_called_scripts() {
    let place = Place::new();
    let output = place.run(&["fit"]);
    assert!(output.status.success());
    assert_eq!(output.stderr, b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("They are scripts that misbehave on purpose, not models"),
        "{text}"
    );
    let cards = text.lines().filter(|l| l.contains(" · script · ")).count();
    assert!(cards >= 12, "{cards} cards");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_server_is_fitted_and_saved() {
    let place = Place::new();
    let mock = place.start(&["mock", "--demo", "steady", "--port", "0", "--json"]);
    let output = place.run(&["fit", &mock.url(), "--save", "--name", "here"]);
    let text = place.show(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("behaviour card · here/steady"), "{text}");
    assert!(text.contains("tool calls    native"), "{text}");
    assert!(
        text.contains("saved as backend `here` in kilter.toml"),
        "{text}"
    );
    let saved = place.read("kilter.toml");
    assert!(
        saved.contains(&format!("name = \"here\"\nendpoint = \"{}\"", mock.url())),
        "{saved}"
    );
    let again = place.show(&place.run(&["fit", &mock.url(), "--save", "--name", "here"]));
    assert!(again.contains("says all of this already"), "{again}");
    assert_eq!(place.read("kilter.toml"), saved);
}

#[test]
fn the_json_is_one_card() {
    let place = Place::new();
    let mock = place.start(&["mock", "--demo", "steady", "--port", "0", "--json"]);
    let output = place.run(&["fit", &mock.url(), "--json"]);
    assert_eq!(output.stderr, b"");
    let card: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(card["schema"], "kilter.behavior-card/1");
    assert_eq!(card["tool_calls"]["channel"], "structured");
    assert_eq!(card["exam"], Value::Null);
    assert_eq!(card["effort"]["partial"], Value::Null);
}

#[cfg(unix)]
#[test]
fn ctrl_c_prints_the_card_so_far() {
    let place = Place::new();
    // Four answers, then silence.
    place.write(
        "mute.toml",
        "name = \"mute\"\n[[faults]]\nkind = \"stall_headers\"\nskip = 4\n",
    );
    let mock = place.start(&[
        "mock",
        "mute.toml",
        "--port",
        "0",
        "--json",
        "--log",
        "log.jsonl",
    ]);
    let child = place
        .command(&["fit", &mock.url(), "--json"])
        .spawn()
        .unwrap();
    // The model list and four turns; then a moment for the last answer to arrive.
    let clock = SystemClock::default();
    while std::fs::read_to_string(place.path().join("log.jsonl"))
        .map_or(0, |t| t.matches("/chat/completions").count())
        < 4
    {
        assert!(clock.elapsed() < Duration::from_secs(60), "never got there");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    let sent = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let card: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(card["effort"]["partial"], "interrupted");
    assert_eq!(card["effort"]["turns"], 4);
}

#[test]
fn what_cannot_be_fitted_is_explained() {
    let place = Place::new();
    insta::assert_snapshot!(place.transcript(&["fit", "http://127.0.0.1:1/v1"]));
    insta::assert_snapshot!(place.transcript(&["fit", "localhost:8080"]));
    insta::assert_snapshot!(place.transcript(&[
        "fit",
        "http://127.0.0.1:1/v1",
        "--api-key",
        "sk-x"
    ]));
    insta::assert_snapshot!(place.transcript(&[
        "fit",
        "http://127.0.0.1:1/v1",
        "--api-key",
        "env:NOT_SET"
    ]));
    insta::assert_snapshot!(place.transcript(&["fit", "--save"]));
    let unknown = place.transcript(&["fit", "http://nobody.invalid/v1"]);
    assert!(
        unknown.contains("exit: 3") && unknown.contains("hint: check the host's name"),
        "{unknown}"
    );
}

#[test]
fn a_model_that_is_not_there_is_named_with_those_that_are() {
    let place = Place::new();
    let mock = place.start(&["mock", "--port", "0", "--json"]);
    let output = place.run(&["fit", &mock.url(), "--model", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("has no model `nobody`"), "{text}");
    assert!(text.contains("hint: it lists `steady`"), "{text}");
}

//! `kilter cascade`: the self-test of the shipped binary, and a run with its log.

use serde_json::Value;

use crate::run::Place;

#[test]
fn the_shipped_binary_proves_its_rules() {
    let place = Place::new();
    let output = place.run(&["cascade", "selftest", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["ok"], &report["failed"]),
        (&Value::Bool(true), &0.into())
    );
    assert!(
        report["assertions"].as_u64().unwrap() >= 70,
        "{}",
        report["assertions"]
    );
    let text = String::from_utf8(place.run(&["cascade", "selftest"]).stdout).unwrap();
    let shown = text.lines().filter(|l| l.starts_with("ok  ")).count();
    assert_eq!(
        Some(shown as u64),
        report["assertions"].as_u64(),
        "each assertion is printed"
    );
}

#[test]
fn a_run_shows_its_steps() {
    let place = Place::new();
    place.write("notes.md", "# Notes\n\nHigh water at 06:12.\n");
    let args = [
        "cascade",
        "run",
        "notes.md",
        "--no-receipt",
        "--json",
        "--task",
        "tides",
        "--budget",
        "512",
    ];
    let output = place.run(&args);
    assert_eq!(output.status.code(), Some(0));
    let got: Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps: Vec<_> = got["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (s["kind"].as_str().unwrap(), s["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        steps,
        [
            ("playbook_resolve", "skipped"),
            ("focus_budget", "ok"),
            ("http_extract", "ok"),
            ("browser_fallback", "skipped"),
            ("receipt", "skipped")
        ]
    );
    assert_eq!(got["maxTokens"], 512);
    let hash = got["contentHash"].as_str().unwrap();
    let again = place.run(&[
        "cascade",
        "run",
        "notes.md",
        "--no-receipt",
        "--json",
        "--if-none-match",
        hash,
    ]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        (&again["unchanged"], again.get("markdown")),
        (&Value::Bool(true), None)
    );
}

#[test]
fn what_cannot_be_read_says_so() {
    let place = Place::new();
    place.write("notes.md", "# Notes\n\nHigh water at 06:12.\n");
    assert_eq!(
        place.run(&["cascade", "run", "missing.md"]).status.code(),
        Some(1)
    );
    let small = place.run(&["cascade", "run", "notes.md", "--budget", "64", "--json"]);
    assert_eq!(small.status.code(), Some(2));
    let small: Value = serde_json::from_slice(&small.stdout).unwrap();
    assert_eq!(small["failure"]["code"], "invalid_arguments");
    let scheme = place.run(&["cascade", "run", "ftp://example.test/"]);
    assert_eq!(scheme.status.code(), Some(2));
}

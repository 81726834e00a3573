//! `kilter playbook`: what lint says, and which document holds.

use serde_json::{Value, json};

use crate::run::Place;

fn book() -> Value {
    json!({
        "schema_version": "1.0",
        "id": "tides",
        "hosts": ["tides.example.test"],
        "meta": {"title": "Tides"},
        "routing": {"preferred_backend": "telnet"},
        "extract": {"contentSelectors": ["main"]},
        "genome": {"page_classes": {"station": "/station/*"}},
        "agent_notes": "Times are local.",
    })
}

#[test]
fn lint_grades_and_explains() {
    let p = Place::new();
    p.write("usable.json", &book().to_string());
    p.write("broken.json", "{\"id\": \"x\"}");
    let code = |name: &str| p.run(&["playbook", "lint", name]).status.code();
    assert_eq!(
        (
            code("usable.json"),
            code("broken.json"),
            code("missing.json")
        ),
        (Some(0), Some(1), Some(2))
    );
    let json = p.run(&["playbook", "lint", "usable.json", "--json"]);
    let said: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&said["grade"], &said["issues"][0]["code"]),
        (&json!("usable"), &json!("invalid_backend"))
    );
    insta::assert_snapshot!(p.transcript(&["playbook", "lint", "broken.json"]));
}

#[test]
fn the_playbook_of_a_url_is_found() {
    let p = Place::new();
    std::fs::create_dir(p.path().join("books")).unwrap();
    p.write("books/tides.json", &book().to_string());
    p.write("books/broken.json", "{");
    let args = [
        "playbook",
        "resolve",
        "https://tides.example.test/station/7",
        "--dir",
        "books",
    ];
    insta::assert_snapshot!(p.transcript(&args));
    let mut all = args.to_vec();
    all.push("--json");
    let found: Value = serde_json::from_slice(&p.run(&all).stdout).unwrap();
    assert_eq!(
        (
            &found["playbookId"],
            &found["pageClass"],
            &found["provenance"]
        ),
        (&json!("tides"), &json!("station"), &json!("user"))
    );
    let none = p.run(&[
        "playbook",
        "resolve",
        "https://other.example.test/",
        "--dir",
        "books",
        "--json",
    ]);
    assert_eq!(none.status.code(), Some(1));
    let none: Value = serde_json::from_slice(&none.stdout).unwrap();
    assert_eq!(none["failure"]["code"], "playbook_not_found");
    assert_eq!(
        p.run(&["playbook", "resolve", "tides"]).status.code(),
        Some(2)
    );
}

//! `kilter config`: errors with their line, the schema, secrets that stay secret.

use serde_json::Value;

use crate::run::Place;

#[test]
fn errors_name_line_and_column() {
    let place = Place::new();
    place.write(
        "kilter.toml",
        "[[backends]]\nname = \"a\"\nendpont = \"http://127.0.0.1:1/v1\"\n",
    );
    insta::assert_snapshot!(place.transcript(&["config", "check"]));
    place.write("kilter.toml", "[gateway]\nadapt = \"maybe\"\n");
    insta::assert_snapshot!(place.transcript(&["config", "check"]));
    place.write("kilter.toml", "[gateway\n");
    insta::assert_snapshot!(place.transcript(&["config", "check"]));
}

#[test]
fn what_would_not_start_is_found() {
    let place = Place::new();
    place.write(
        "kilter.toml",
        "[[backends]]\nname = \"a\"\nendpoint = \"ftp://x\"\n[[backends]]\nname = \"a\"\nendpoint = \"http://127.0.0.1:1\"\n",
    );
    insta::assert_snapshot!(place.transcript(&["config", "check", "kilter.toml"]));
}

#[test]
fn a_good_file_is_said_to_be_good() {
    let place = Place::new();
    place.write(
        "kilter.toml",
        "[[backends]]\nname = \"a\"\nendpoint = \"http://127.0.0.1:1/v1\"\n",
    );
    insta::assert_snapshot!(place.transcript(&["config", "check"]));
}

#[test]
fn no_file_is_no_error_of_the_file() {
    insta::assert_snapshot!(Place::new().transcript(&["config", "check"]));
}

#[test]
fn the_schema_is_a_schema() {
    let output = Place::new().run(&["config", "schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["properties"].get("backends").is_some());
}

#[test]
fn keys_are_never_shown() {
    let place = Place::new();
    place.write(
        "kilter.toml",
        "[[backends]]\nname = \"a\"\nendpoint = \"http://127.0.0.1:1/v1\"\napi_key = \"sk-very-secret\"\n",
    );
    for args in [&["config", "show"][..], &["config", "show", "--json"]] {
        let text = place.transcript(args);
        assert!(text.starts_with("exit: 0"), "{text}");
        assert!(!text.contains("very-secret"), "{text}");
    }
}

#[test]
fn flags_win_over_the_environment() {
    let place = Place::new();
    place.write(
        "kilter.toml",
        "[[backends]]\nname = \"a\"\nendpoint = \"http://127.0.0.1:1/v1\"\n",
    );
    let output = place
        .command(&["config", "show", "--json", "--state", "flag"])
        .env("KILTER_STATE", "variable")
        .env("KILTER_ADAPT", "observe")
        .output()
        .unwrap();
    let config: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(config["state"]["dir"], "flag");
    assert_eq!(config["gateway"]["adapt"], "observe");
}

#[test]
fn a_key_that_has_no_value_here_is_warned_of() {
    let place = Place::new();
    place.write(
        "kilter.toml",
        "[[backends]]\nname = \"a\"\nendpoint = \"http://127.0.0.1:1/v1\"\napi_key = \"env:NOT_SET\"\n",
    );
    insta::assert_snapshot!(place.transcript(&["config", "check"]));
    insta::assert_snapshot!(place.transcript(&["serve", "--port", "0"]));
    place.write("kilter.toml", "[gateway\nbind = \"127.0.0.1:1\"\n");
    insta::assert_snapshot!(place.transcript(&["config", "check"]));
}

//! `kilter read`: a file, standard input, lines.

use crate::run::Place;

const PAGE: &str = "<!doctype html><title>Tide tables</title><nav><a href=/a>Home</a></nav><main><h1>Tide tables</h1>\
<p>High water stands at the north quay about forty minutes before the south quay, and both are listed below.</p>\
<p style='display:none'>Nobody sees this sentence, and nobody should read it.</p>\
<p>See <a href='../map'>the map</a> of all quays.</p></main>";

#[test]
fn a_file_is_read_as_markdown() {
    let place = Place::new();
    place.write("page.html", PAGE);
    let output = place.run(&["read", "page.html", "--base-url", "https://example.org/a/b"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("[the map](https://example.org/map)"),
        "{text}"
    );
    assert!(
        !text.contains("Home") && !text.contains("Nobody sees"),
        "{text}"
    );
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("left out")
    );
}

#[test]
fn json_has_blocks_and_their_selectors() {
    let place = Place::new();
    place.write("page.html", PAGE);
    let output = place.run(&["read", "--html", "page.html", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["ok"], true);
    assert_eq!(value["title"], "Tide tables");
    let selector = value["blocks"][1]["source_selector"].as_str().unwrap();
    assert!(selector.contains("main"), "{selector}");
    assert_eq!(value["omitted"][0]["reason"], "hidden");
}

#[test]
fn an_empty_page_is_a_typed_failure() {
    let place = Place::new();
    place.write(
        "page.html",
        "<!doctype html><div id=app></div><script>go()</script>",
    );
    let output = place.run(&["read", "page.html", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["failure"]["code"], "thin_extract");
    assert_eq!(value["ok"], false);
}

#[test]
fn lines_are_answered_in_order_with_their_ids() {
    let place = Place::new();
    let mut input = String::new();
    for i in 0..9 {
        let line = serde_json::json!({"id": i, "html": PAGE, "url": "https://example.org/a/b"});
        input.push_str(&format!("{line}\n"));
    }
    input.push_str("{\"id\":\"b64\",\"html_b64\":\"PHA+w7w8L3A+\"}\nnonsense\n");
    place.write("pages.jsonl", &input);
    let output = place.run(&["read", "--jsonl", "pages.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines.len(), 11);
    for (i, line) in lines.iter().take(9).enumerate() {
        assert_eq!(line["id"], i);
        assert_eq!(line["ok"], true);
        assert!(line["text"].as_str().unwrap().contains("north quay"));
    }
    assert_eq!(lines[9]["text"], "ü");
    assert!(lines[10]["error"].is_string());
}

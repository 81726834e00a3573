//! Field reports about readers of pages, where they are: `$KILTER_CORPUS/../reference/field-reports/web.jsonl`.

use std::path::PathBuf;

use kilter_web::{ReadOptions, decode, read};
use regex::Regex;
use serde_json::Value;

/// Categories that are about the content of one page.
const CONTENT: [&str; 10] = [
    "main-content",
    "list",
    "table",
    "code",
    "link",
    "hidden",
    "math",
    "dom",
    "noise-rule",
    "charset",
];

fn rows() -> Option<Vec<Value>> {
    let corpus = std::env::var("KILTER_CORPUS").map_or_else(
        |_| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let path = corpus.join("../reference/field-reports/web.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!(
            "no field reports at {}: set KILTER_CORPUS; this test checked nothing",
            path.display()
        );
        return None;
    };
    Some(
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect(),
    )
}

fn strings<'a>(expect: &'a Value, key: &str) -> Vec<&'a str> {
    expect[key]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

#[test]
fn content_reports_come_out_right() {
    let Some(rows) = rows() else { return };
    let mut checked = 0;
    let mut wrong = Vec::new();
    for row in rows {
        let about_page =
            CONTENT.iter().any(|c| row["category"] == **c) || row["expect"]["must_ok"] == true;
        let Some(html) = row["html"].as_str().filter(|_| about_page) else {
            continue;
        };
        checked += 1;
        let bytes = match row["charset"].as_str() {
            Some(name) => encoding_rs::Encoding::for_label(name.as_bytes())
                .unwrap()
                .encode(html)
                .0
                .into_owned(),
            None => html.as_bytes().to_vec(),
        };
        let text = decode::html(&bytes, None).text;
        let expect = &row["expect"];
        let page = match read::html(&text, row["url"].as_str(), &ReadOptions::default()) {
            Ok(page) => page,
            Err(_) if expect.get("contains_or_fail").is_some() => continue,
            Err(e) => {
                wrong.push(format!("{}: {e}", row["id"]));
                continue;
            }
        };
        let got = &page.markdown;
        let mut faults = Vec::new();
        for key in ["contains", "contains_or_fail"] {
            faults.extend(
                strings(expect, key)
                    .into_iter()
                    .filter(|s| !got.contains(s))
                    .map(|s| format!("lacks `{s}`")),
            );
        }
        faults.extend(
            strings(expect, "not_contains")
                .into_iter()
                .filter(|s| got.contains(s))
                .map(|s| format!("holds `{s}`")),
        );
        faults.extend(
            strings(expect, "match")
                .into_iter()
                .filter(|s| !Regex::new(s).unwrap().is_match(got))
                .map(|s| format!("does not match `{s}`")),
        );
        faults.extend(
            strings(expect, "not_match")
                .into_iter()
                .filter(|s| Regex::new(s).unwrap().is_match(got))
                .map(|s| format!("matches `{s}`")),
        );
        if !faults.is_empty() {
            wrong.push(format!("{}: {}\n{got}", row["id"], faults.join(", ")));
        }
    }
    assert!(checked >= 15, "only {checked} reports were about content");
    assert!(
        wrong.is_empty(),
        "{} of {checked}:\n{}",
        wrong.len(),
        wrong.join("\n---\n")
    );
}

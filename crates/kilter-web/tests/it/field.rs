//! Field reports about readers of pages, where they are: `$KILTER_CORPUS/../reference/field-reports/web.jsonl`.

use std::path::PathBuf;

use kilter_web::budget::{Frame, O200k, Tokenizer, fit};
use kilter_web::dom::Document;
use kilter_web::focus::{Wanted, focus};
use kilter_web::judge::Response;
use kilter_web::read::{self, By};
use kilter_web::{Page, ReadOptions, decode};
use regex::Regex;
use serde_json::{Value, json};

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

/// The page of a row, as bytes of the encoding that it names.
fn bytes(row: &Value) -> Option<Vec<u8>> {
    let html = match (row["html"].as_str(), row.get("html_repeat")) {
        (Some(html), _) => html.to_owned(),
        (None, Some(parts)) => {
            let part = |key: &str| parts[key].as_str().unwrap();
            let unit = |i: u64| part("unit").replace("{i}", &i.to_string());
            let units: String = (1..=parts["n"].as_u64().unwrap()).map(unit).collect();
            format!("{}{units}{}", part("head"), part("tail"))
        }
        (None, None) => return None,
    };
    Some(match row["charset"].as_str() {
        Some(name) => encoding_rs::Encoding::for_label(name.as_bytes())
            .unwrap()
            .encode(&html)
            .0
            .into_owned(),
        None => html.into_bytes(),
    })
}

/// What the reply to a row holds: all of the page, or what fits the budget that the row asks for.
fn reply(row: &Value, page: &Page, faults: &mut Vec<String>) -> String {
    let Some(most) = row["args"]["max_tokens"].as_u64() else {
        return page.markdown.clone();
    };
    let wanted = Wanted::question(row["args"]["focus_query"].as_str().unwrap());
    let mut frame = Frame::default();
    frame.fixed.insert("ok".to_owned(), json!(true));
    let most_tokens = u32::try_from(most).unwrap();
    let focus = focus(&page.blocks, &wanted);
    let fitted = fit(&page.blocks, &focus, &frame, Some(most_tokens), &O200k).unwrap();
    let whole = fitted.reply.to_string();
    let used = O200k.count(&whole);
    if used as u64 > row["expect"]["max_reply_tokens"].as_u64().unwrap_or(most) {
        faults.push(format!("uses {used} tokens"));
    }
    if fitted.reply.to_string().len() * 2 > page.markdown.len() {
        faults.push("nothing was left out".to_owned());
    }
    whole
}

/// What is wrong with a row, and what came out.
fn faults(row: &Value, bytes: &[u8]) -> (Vec<String>, String) {
    let expect = &row["expect"];
    let doc = Document::parse(&decode::html(bytes, None).text);
    let response = Response::ok(row["url"].as_str().unwrap());
    let read = read::judged(&doc, &response, &ReadOptions::default(), By::Http);
    let mut faults = Vec::new();
    let page = match (read, expect["must_fail"].as_str()) {
        (Ok(judged), None) => judged.page,
        (Ok(judged), Some(code)) => {
            return (vec![format!("is no {code}")], judged.page.markdown);
        }
        (Err(e), Some(code)) if e.code.as_str() == code => return (faults, String::new()),
        (Err(_), None) if expect.get("contains_or_fail").is_some() => {
            return (faults, String::new());
        }
        (Err(e), _) => return (vec![e.code.as_str().into_owned()], String::new()),
    };
    let got = reply(row, &page, &mut faults);
    let found = |s: &str| Regex::new(s).unwrap().is_match(&got);
    for s in ["contains", "contains_or_fail"]
        .map(|k| strings(expect, k))
        .concat()
    {
        if !got.contains(s) {
            faults.push(format!("lacks `{s}`"));
        }
    }
    for s in strings(expect, "not_contains") {
        if got.contains(s) {
            faults.push(format!("holds `{s}`"));
        }
    }
    for s in strings(expect, "match") {
        if !found(s) {
            faults.push(format!("does not match `{s}`"));
        }
    }
    for s in strings(expect, "not_match") {
        if found(s) {
            faults.push(format!("matches `{s}`"));
        }
    }
    (faults, got)
}

#[test]
fn every_report_about_a_page_comes_out_right() {
    let Some(rows) = rows() else { return };
    let mut checked = 0;
    let mut wrong = Vec::new();
    for row in &rows {
        // What is about the protocol has no page; it is checked where the protocol is.
        let Some(bytes) = bytes(row) else {
            assert_eq!(row["category"], "mcp", "{} has no page", row["id"]);
            continue;
        };
        checked += 1;
        let (faults, got) = faults(row, &bytes);
        if !faults.is_empty() {
            wrong.push(format!("{}: {}\n{got}", row["id"], faults.join(", ")));
        }
    }
    assert!(checked >= 22, "only {checked} reports were about pages");
    assert!(
        wrong.is_empty(),
        "{} of {checked}:\n{}",
        wrong.len(),
        wrong.join("\n---\n")
    );
}

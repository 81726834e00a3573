//! `kilter cascade`: the self-test of the shipped binary, and a run with its log.

use std::path::Path;

use kilter_web::receipt::{KeyStore, verify};
use serde_json::Value;

use crate::pages::{Pages, html, send};
use crate::run::Place;

const PAGE: &str = "<!doctype html><html lang=en><title>Tide tables</title><nav><a href=/home>Home</a></nav><main>\
<h1>Tide tables</h1><p>High water stands at the north quay about forty minutes before the south quay.</p>\
<h2>Opening hours</h2><p>The harbour office opens at seven and closes at four, on every day of the week.</p>\
<p>See <a href='../map'>the map</a>, <a href='/pilots'>the pilots</a> and <a href='#top'>the top</a>.</p>\
<h2>Depths</h2><table><tr><th>Quay<th>Depth</tr><tr><td>north<td>7 m</tr></table></main>";

/// Runs the cascade where loopback may be read and no browser is.
fn run(place: &Place, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut command = place.command(&["cascade", "run", "--json"]);
    command
        .env("KILTER_ALLOW_PRIVATE_URLS", "1")
        .env("KILTER_BROWSER", "/nowhere");
    let output = command.args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {text}"));
    (output.status.code(), value)
}

/// The log as `kind status detail`.
fn log(outcome: &Value) -> Vec<String> {
    let steps = outcome["steps"].as_array().unwrap();
    let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    steps
        .iter()
        .map(|s| {
            assert!(s["durationMs"].is_u64(), "{s}");
            format!(
                "{} {} {}",
                text(&s["kind"]),
                text(&s["status"]),
                text(&s["detail"])
            )
        })
        .collect()
}

fn keys(place: &Path) -> Vec<kilter_web::receipt::PublicKey> {
    KeyStore::open(&place.join(".local/state/kilter"), true)
        .public_keys()
        .unwrap()
}

fn site() -> Pages {
    Pages::serve(|path, stream| match path {
        "/docs/tides" => html(stream, PAGE.as_bytes()),
        "/moved" => send(stream, "301 Moved", "Location: /docs/tides\r\n", b""),
        "/app" => html(
            stream,
            b"<!doctype html><div id=app></div><script>go()</script>",
        ),
        _ => send(
            stream,
            "404 Not Found",
            "Content-Type: text/html\r\n",
            b"<p>no</p>",
        ),
    })
}

#[test]
fn a_url_is_read_with_its_log_and_a_receipt_over_its_blocks() {
    let (place, site) = (Place::new(), site());
    let (code, got) = run(&place, &[&site.url("/moved")]);
    assert_eq!(
        (code, &got["ok"], &got["partial"]),
        (Some(0), &true.into(), &false.into())
    );
    assert_eq!(
        log(&got),
        [
            "playbook_resolve skipped no_matching_playbook",
            "focus_budget skipped no_task_or_budget",
            "http_extract ok http",
            "browser_fallback skipped http_succeeded",
            "receipt ok content_hash"
        ]
    );
    assert_eq!(got["url"], site.url("/moved"));
    assert_eq!(got["finalUrl"], site.url("/docs/tides"));
    let next: Vec<_> = got["next"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["url"].clone())
        .collect();
    assert_eq!(next, [site.url("/map"), site.url("/pilots")]);
    let markdown = got["markdown"].as_str().unwrap();
    assert!(
        markdown.contains("7 m") && !markdown.contains("Home"),
        "{markdown}"
    );
    // The leaves are those of the page's own blocks: six of them, and a block can be cited by itself.
    let signed = &got["receipt"]["signed"];
    assert_eq!(
        (&signed["leafCount"], &signed["leafSetComplete"]),
        (&6.into(), &true.into())
    );
    assert_eq!(signed["contentHash"], got["contentHash"]);
    let given = verify::from_value(&got["receipt"]).unwrap();
    let keys = keys(place.path());
    assert!(
        verify::offline(&given, Some(markdown), &keys)
            .verdict
            .is_good()
    );
    assert!(
        !verify::offline(&given, Some("other"), &keys)
            .verdict
            .is_good()
    );
    let proof = verify::prove(&given, 3).unwrap();
    let proof = serde_json::to_value(&proof).unwrap();
    assert_eq!(proof["root"], signed["blockMerkleRoot"]);
    place.write("page.html", PAGE);
    let (_, read) = run(
        &place,
        &["page.html", "--base-url", &site.url("/docs/tides")],
    );
    assert_eq!(
        read["receipt"]["blockLeaves"], got["receipt"]["blockLeaves"],
        "a file has the same leaves"
    );
    assert_eq!(
        (&read["backend"], &read["contentHash"]),
        (&"file".into(), &got["contentHash"])
    );
}

#[test]
fn a_task_and_a_budget_choose_within_the_page() {
    let (place, site) = (Place::new(), site());
    let url = site.url("/docs/tides");
    let (_, got) = run(&place, &[&url, "--task", "depths", "--no-receipt"]);
    assert_eq!(log(&got)[1], "focus_budget ok focus_query");
    assert_eq!(log(&got)[4], "receipt skipped receipts_disabled");
    let markdown = got["markdown"].as_str().unwrap();
    assert!(
        markdown.contains("7 m") && !markdown.contains("opens at seven"),
        "{markdown}"
    );
    assert!(
        got["leftOut"].to_string().contains("focus: Opening hours"),
        "{got}"
    );
    assert!(
        got["contentHash"].is_string(),
        "receipts are off, the hash is there"
    );
    let (_, small) = run(&place, &[&url, "--budget", "300", "--no-receipt"]);
    assert!(
        small["compile"]["tokens"].as_u64().unwrap() <= 300,
        "{small}"
    );
    assert_eq!(small["maxTokens"], 300);
    // What was kept back is known by the hash all the same: the page did not change.
    let hash = small["contentHash"].as_str().unwrap();
    let (_, again) = run(&place, &[&url, "--if-none-match", hash, "--no-receipt"]);
    assert_eq!(
        (&again["unchanged"], again.get("markdown")),
        (&true.into(), None)
    );
}

#[test]
fn a_failed_run_has_its_whole_log_and_one_failure() {
    let (place, site) = (Place::new(), site());
    let (code, got) = run(&place, &[&site.url("/gone")]);
    assert_eq!(
        (code, &got["ok"], &got["failure"]["code"]),
        (Some(1), &false.into(), &"http_404".into())
    );
    assert_eq!(
        log(&got)[2..],
        [
            "http_extract failed http_404",
            "browser_fallback skipped http_404",
            "receipt skipped no_body"
        ]
    );
    let (_, got) = run(&place, &[&site.url("/app")]);
    assert_eq!(
        log(&got)[2..4],
        [
            "http_extract failed thin_extract",
            "browser_fallback failed browser_required"
        ]
    );
    assert_eq!(got["failure"]["code"], "browser_required");
    assert!(got["failure"]["fix"]["command"].is_string() && got.get("markdown").is_none());
    place.write(
        "app.html",
        "<!doctype html><div id=app></div><script>go()</script>",
    );
    let (code, got) = run(&place, &["app.html"]);
    assert_eq!(
        (code, &got["failure"]["code"]),
        (Some(1), &"thin_extract".into())
    );
    // The policy holds for the cascade as for everything else.
    let output = place.run(&["cascade", "run", &site.url("/docs/tides"), "--json"]);
    let got: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(got["failure"]["code"], "private_url_blocked");
}

#[test]
fn a_playbook_is_found_and_signed_where_it_was_applied() {
    let (place, site) = (Place::new(), site());
    let folder = place.path().join(".local/state/kilter/playbooks/local");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |selector: &str| {
        let book = serde_json::json!({"schema_version": "1.0", "id": "tides", "version": "2", "hosts": ["127.0.0.1"],
            "meta": {"title": "t"}, "extract": {"contentSelectors": [selector]}});
        std::fs::write(folder.join("tides.json"), book.to_string()).unwrap();
    };
    write("main table");
    let (_, got) = run(&place, &[&site.url("/docs/tides")]);
    assert_eq!(log(&got)[0], "playbook_resolve ok tides");
    assert!(
        !got["markdown"].as_str().unwrap().contains("seven"),
        "{got}"
    );
    assert_eq!(got["receipt"]["signed"]["playbook"]["version"], "2");
    write("#missing");
    let (_, got) = run(&place, &[&site.url("/docs/tides")]);
    assert!(
        got["markdown"].as_str().unwrap().contains("seven"),
        "a playbook that misses changes nothing"
    );
    assert!(got["receipt"]["signed"].get("playbook").is_none());
}

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

//! The canary: its rules, its origin, its tools.

use kilter_mcp::canary::selftest;
use kilter_mcp::{Config, Surface};
use serde_json::json;

use crate::bench::bench;
use crate::raw::send;

#[test]
fn the_selftest_finds_nothing_wrong() {
    let checks = selftest::run();
    assert!(checks.len() > 40, "{}", checks.len());
    for check in checks {
        assert!(check.ok, "{}", check.what);
    }
}

#[tokio::test]
async fn a_canary_is_issued_served_and_judged() {
    let bench = bench(Config::default()).await;
    let issued = bench
        .call(Surface::Reader, "occam_canary_issue", json!({}))
        .await;
    assert_eq!(issued["ok"], true, "{issued}");
    let session = issued["sessionId"].as_str().expect("a session");
    let url = url::Url::parse(issued["url"].as_str().expect("a URL")).expect("a URL");
    let to = format!(
        "{}:{}",
        url.host_str().expect("a host"),
        url.port().expect("a port")
    )
    .parse()
    .expect("an address");
    let verify = |sentinel: &str| {
        let arguments = json!({"session_id": session, "sentinel": sentinel});
        bench.call(Surface::Reader, "occam_canary_verify", arguments)
    };
    let early = verify("mENHHl1pbVogGlYUtGkyvSXzZosi-jQiJ6kpN5jmQhw").await;
    assert_eq!(early["verdict"], "HALLUCINATED");
    let foreign = send(to, "GET", url.path(), &[("host", "evil.example")], "").await;
    assert_eq!(foreign.status, 403);
    let scripted = send(to, "GET", url.path(), &[("origin", "http://localhost")], "").await;
    assert_eq!(scripted.status, 403);
    assert_eq!(send(to, "GET", "/canary/a%20b", &[], "").await.status, 404);
    assert_eq!(send(to, "GET", "/", &[], "").await.status, 404);
    let page = send(to, "GET", url.path(), &[], "").await;
    assert_eq!(page.status, 200);
    assert!(
        page.header("cache-control")
            .is_some_and(|v| v.contains("no-store"))
    );
    let sentinel = page
        .body
        .split_once("<code>")
        .and_then(|(_, rest)| rest.split_once("</code>"))
        .expect("a sentinel")
        .0
        .to_owned();
    assert!(
        !issued.to_string().contains(&sentinel),
        "the reply never holds the value"
    );
    let read = verify(&format!("\"{sentinel}\"\n")).await;
    assert_eq!(
        (&read["verdict"], &read["ok"]),
        (&json!("READ_VERIFIED"), &json!(true))
    );
    assert_eq!(read["bucketDistance"], 0);
    let wrong = verify(&sentinel.replace(&sentinel[..1], "*")).await;
    assert_eq!(wrong["verdict"], "HALLUCINATED");
    assert!(!wrong.to_string().contains(&sentinel));
    let malformed = json!({"session_id": "a b"});
    let malformed = bench
        .call(Surface::Reader, "occam_canary_issue", malformed)
        .await;
    assert_eq!(malformed["failure"]["code"], "invalid_arguments");
}

#[tokio::test]
async fn judging_is_limited_too() {
    let bench = bench(Config::default()).await;
    let mut last = json!(null);
    for _ in 0..31 {
        let arguments = json!({"session_id": "s", "sentinel": "guess"});
        last = bench
            .call(Surface::Reader, "occam_canary_verify", arguments)
            .await;
    }
    assert_eq!(last["failure"]["code"], "rate_limited");
    assert_eq!(last["failure"]["retryable"], true);
}

//! Failures of the provider and of the line.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use kilter_mock::{MockServer, Outcome};

use crate::client::{chat, connect, plain, request, server, with};

#[tokio::test]
async fn a_status_some_times_and_then_success() {
    let s = server(
        "[[faults]]\nkind = \"status\"\nstatus = 429\ntimes = 2\nretry_after = \"1\"\nretry_after_ms = 20",
    )
    .await;
    for _ in 0..2 {
        let r = chat(&s, plain("?", false)).await;
        assert_eq!(r.status, 429);
        assert_eq!(r.header("retry-after").as_deref(), Some("1"));
        assert_eq!(r.header("retry-after-ms").as_deref(), Some("20"));
        assert_eq!(r.json()["error"]["type"], "rate_limit_error");
    }
    assert_eq!(chat(&s, plain("?", false)).await.status, 200);
    let c = s.counters();
    assert_eq!((c.chats, c.faults, c.turns), (3, 2, 1));
    let s = server("[[faults]]\nkind = \"status\"\nstatus = 503\nskip = 1\ntimes = 1").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(chat(&s, plain("?", false)).await.status);
    }
    assert_eq!(seen, [200, 503, 200]);
}

#[tokio::test]
async fn conditions_choose_who_is_struck() {
    let s = server(
        "[[faults]]\nkind = \"status\"\nwhen = { stream = true, message_contains = \"boom\" }",
    )
    .await;
    assert_eq!(chat(&s, plain("boom", false)).await.status, 200);
    assert_eq!(chat(&s, plain("hello", true)).await.status, 200);
    assert_eq!(chat(&s, plain("BOOM", true)).await.status, 500);
}

#[tokio::test]
async fn bodies_that_are_no_answers() {
    let kind = |k: &str| format!("[[faults]]\nkind = \"{k}\"");
    let r = chat(&server(&kind("not_json")).await, plain("?", false)).await;
    assert_eq!(r.status, 200);
    assert!(serde_json::from_slice::<serde_json::Value>(&r.body).is_err());
    let r = chat(&server(&kind("html")).await, plain("?", false)).await;
    assert_eq!(
        (r.status, r.header("content-type").as_deref()),
        (502, Some("text/html"))
    );
    let r = chat(&server(&kind("empty_body")).await, plain("?", true)).await;
    assert_eq!((r.status, r.body.len()), (200, 0));
    for stream in [false, true] {
        let r = chat(&server(&kind("bad_utf8")).await, plain("?", stream)).await;
        assert!(
            r.whole && std::str::from_utf8(&r.body).is_err(),
            "{}",
            r.text()
        );
        let r = chat(
            &server("[[faults]]\nkind = \"oversized\"\nbytes = 1500000").await,
            plain("?", stream),
        )
        .await;
        assert!(r.whole && r.body.len() > 1_500_000);
        let r = chat(&server(&kind("bad_chunk")).await, plain("?", stream)).await;
        assert!(r.text().contains("\"choices\": [{"));
    }
}

#[tokio::test]
async fn an_error_inside_a_stream() {
    let s = server("[[faults]]\nkind = \"error_event\"\nafter = 2").await;
    let r = chat(&s, plain("?", true)).await;
    assert!(r.whole);
    let events = r.events();
    assert_eq!(events.len(), 3);
    assert!(events[2].starts_with("{\"error\":{\"message\""));
    assert!(!r.text().contains("[DONE]"));
    let s = server("[[faults]]\nkind = \"error_event\"\nafter = 1\nthen_done = true").await;
    assert!(
        chat(&s, plain("?", true))
            .await
            .text()
            .ends_with("data: [DONE]\n\n")
    );
}

#[tokio::test]
async fn the_line_is_cut() {
    for stream in [false, true] {
        let s = server("[[faults]]\nkind = \"cut\"\nafter = 3").await;
        let r = chat(&s, plain("?", stream)).await;
        assert_eq!(r.status, 200);
        assert!(!r.whole && !r.reset);
        if stream {
            assert_eq!(r.events().len(), 3);
        } else {
            assert_eq!(r.body, b"{\"i");
        }
        assert_eq!(s.chats()[0].outcome, Outcome::Cut);
        let s = server("[[faults]]\nkind = \"reset\"\nafter = 3").await;
        let r = chat(&s, plain("?", stream)).await;
        assert!(r.reset, "a reset, not an end");
    }
    let s = server("[[faults]]\nkind = \"refuse\"").await;
    let r = chat(&s, plain("?", false)).await;
    assert_eq!(r.status, 0);
}

/// Sends a request and reads what comes within the time.
async fn within(s: &MockServer, body: serde_json::Value, ms: u64) -> (Vec<u8>, bool) {
    let mut c = connect(s).await;
    c.write_all(&request(
        "POST",
        "/v1/chat/completions",
        &[],
        &body.to_string(),
    ))
    .await
    .expect("written");
    let mut raw = Vec::new();
    let read = tokio::time::timeout(Duration::from_millis(ms), c.read_to_end(&mut raw)).await;
    (raw, read.is_ok())
}

#[tokio::test]
async fn stalls() {
    let s = server("[[faults]]\nkind = \"stall_headers\"").await;
    let (raw, ended) = within(&s, plain("?", false), 150).await;
    assert!(raw.is_empty() && !ended);
    let s = server("[[faults]]\nkind = \"stall\"\nafter = 2").await;
    let (raw, ended) = within(&s, plain("?", true), 250).await;
    assert!(!ended);
    assert_eq!(String::from_utf8_lossy(&raw).matches("data: ").count(), 2);
    let s = server("[[faults]]\nkind = \"stall\"\nafter = 10").await;
    let (raw, ended) = within(&s, plain("?", false), 250).await;
    assert!(
        !ended && raw.ends_with(b"{\"id\":\"cha"),
        "{}",
        String::from_utf8_lossy(&raw)
    );
    let s = server("[[faults]]\nkind = \"slow_headers\"\nms = 80").await;
    assert_eq!(chat(&s, plain("?", false)).await.status, 200);
    let r = &s.chats()[0];
    assert!((r.ended.expect("an end") - r.at).as_millis() >= 80);
}

#[tokio::test]
async fn streams_without_end() {
    let s = server("[[faults]]\nkind = \"endless\"\nafter = 1").await;
    let (raw, ended) = within(&s, plain("?", true), 200).await;
    assert!(!ended);
    assert!(String::from_utf8_lossy(&raw).matches("and so on").count() > 5);
    assert!(
        s.wait_for(Duration::from_secs(5), |r| r[0].outcome
            == Outcome::ClientGone)
            .await
    );
    let s = server("[[faults]]\nkind = \"endless\"\nafter = 5").await;
    let (raw, ended) = within(&s, with(plain("?", false), json!({})), 200).await;
    assert!(!ended && raw.len() > 200);
}

//! The record of requests, and cancellation as the provider sees it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kilter_mock::{MockOptions, MockServer, Outcome, Script};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{chat, connect, plain, request, send, server};

#[tokio::test]
async fn headers_and_bodies_are_kept_as_received() {
    let s = server("name = \"m\"").await;
    let body = "{\"model\": \"m\",  \"messages\": [],\n\"x_odd\": 1.0}";
    send(
        &s,
        "POST",
        "/v1/chat/completions?a=b",
        &[("Authorization", "Bearer k"), ("X-Kilter-Session", "s1")],
        body,
    )
    .await;
    send(&s, "GET", "/v1/models", &[], "").await;
    assert_eq!(s.requests().len(), 2);
    let r = &s.chats()[0];
    assert_eq!(r.body, body.as_bytes());
    assert_eq!(r.header("authorization"), Some("Bearer k"));
    assert_eq!(
        (r.session.as_str(), r.slot.as_str(), r.status),
        ("s1", "m", 200)
    );
    assert_eq!(r.path, "/v1/chat/completions?a=b");
    assert_eq!(r.outcome, Outcome::Complete);
    assert_eq!(r.json()["x_odd"].to_string(), "1.0");
    assert!(r.ended.is_some());
    s.clear();
    assert!(s.requests().is_empty());
    assert_eq!(s.counters().requests, 2);
}

/// Opens a request, reads until `until` bytes came (0: nothing), and hangs up.
async fn hang_up(s: &MockServer, body: serde_json::Value, until: usize) {
    let mut c = connect(s).await;
    c.write_all(&request(
        "POST",
        "/v1/chat/completions",
        &[],
        &body.to_string(),
    ))
    .await
    .expect("written");
    assert!(
        s.wait_for(Duration::from_secs(5), |r| !r.is_empty()
            && !r[r.len() - 1].body.is_empty()
            || !r.is_empty())
            .await
    );
    let mut got = 0;
    let mut buf = [0; 256];
    while got < until {
        let n = c.read(&mut buf).await.expect("read");
        assert!(n > 0, "the answer ended early");
        got += n;
    }
    drop(c);
}

#[tokio::test]
async fn a_client_that_leaves_is_seen_in_every_phase() {
    for (toml, stream, until) in [
        // before the headers
        ("[[faults]]\nkind = \"stall_headers\"", true, 0),
        ("[[faults]]\nkind = \"slow_headers\"\nms = 60000", false, 0),
        // after the headers, before the first token
        ("stream.first_token_ms = 60000", true, 20),
        // in the middle of a stream
        ("stream.delay_ms = 20\nreply.tokens = 4000", true, 400),
        ("[[faults]]\nkind = \"stall\"\nafter = 2", true, 200),
        // in the middle of a whole body
        ("[[faults]]\nkind = \"stall\"\nafter = 20", false, 20),
    ] {
        let s = server(toml).await;
        hang_up(&s, plain("?", stream), until).await;
        let gone = s
            .wait_for(Duration::from_secs(5), |r| {
                r[0].outcome == Outcome::ClientGone
            })
            .await;
        assert!(gone, "{toml}: {:?}", s.requests()[0]);
        assert!(s.requests()[0].client_gone());
        assert_eq!(s.counters().client_gone, 1);
    }
}

#[tokio::test]
async fn a_client_that_stays_is_no_cancellation() {
    let s = server("").await;
    for stream in [false, true] {
        assert!(chat(&s, plain("?", stream)).await.whole);
    }
    assert!(s.requests().iter().all(|r| r.outcome == Outcome::Complete));
    assert_eq!(s.counters().client_gone, 0);
    assert!(!s.wait_for(Duration::from_millis(30), |_| false).await);
}

#[tokio::test]
async fn old_records_go_and_observers_are_told() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let options = MockOptions {
        keep: 3,
        observer: Some(Arc::new(move |r| {
            told.lock().expect("a lock").push((r.n, r.status));
        })),
        ..MockOptions::default()
    };
    let s = MockServer::start_with(Script::healthy("m"), options)
        .await
        .expect("a server");
    for _ in 0..5 {
        chat(&s, plain("?", false)).await;
    }
    let kept: Vec<u64> = s.requests().iter().map(|r| r.n).collect();
    assert_eq!(kept, [2, 3, 4]);
    assert_eq!(
        *seen.lock().expect("a lock"),
        [(0, 200), (1, 200), (2, 200), (3, 200), (4, 200)]
    );
}

#[tokio::test]
async fn a_stopped_server_is_gone() {
    let s = server("").await;
    let addr = s.addr();
    s.shutdown().await;
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
    let taken = MockServer::local(Script::healthy("m"))
        .await
        .expect("a server");
    let err = MockServer::start(Script::healthy("m"), taken.addr())
        .await
        .err()
        .expect("an error");
    assert!(err.to_string().contains("hint:"), "{err}");
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let s = server("").await;
    let mut c = connect(&s).await;
    let body = plain("?", false).to_string();
    for _ in 0..3 {
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: m\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        c.write_all(head.as_bytes()).await.expect("written");
        let mut raw = Vec::new();
        let mut buf = [0; 4096];
        while !raw.ends_with(b"}") {
            let n = c.read(&mut buf).await.expect("read");
            assert!(n > 0);
            raw.extend_from_slice(&buf[..n]);
        }
    }
    let ports: Vec<u16> = s.requests().iter().map(|r| r.peer_port).collect();
    assert!(ports.len() == 3 && ports.iter().all(|p| *p == ports[0]));
    assert_eq!(s.counters().connections, 1);
}

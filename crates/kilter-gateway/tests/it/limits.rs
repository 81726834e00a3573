//! Bounds: bodies, events, answers, places, time.

use kilter_gateway::config::Span;
use serde_json::json;

use crate::client::{ask, config, post, send, start};
use crate::raw::{Raw, Script, Step, chunk, event, stream};

#[tokio::test]
async fn a_body_over_the_cap() {
    let mut c = config("http://127.0.0.1:9/v1");
    c.gateway.limits.body_bytes = 1000;
    let g = start(c).await;
    let got = post(&g, &ask(&"x".repeat(2000), false), &[]).await;
    assert_eq!(
        (got.status, got.error_code().as_str()),
        (413, "body_too_large")
    );
}

#[tokio::test]
async fn a_large_body_is_carried_whole() {
    let ok = crate::raw::completion(&json!({ "role": "assistant", "content": "seen" }), "stop");
    let up = Raw::serve(vec![crate::raw::whole(200, &ok)]).await;
    let g = start(config(&up.url())).await;
    let mut body = ask("look", false);
    body["messages"][1]["content"] = json!([
        { "type": "text", "text": "look" },
        { "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{}", "A".repeat(8 << 20)) } }
    ]);
    let got = post(&g, &body, &[]).await;
    assert_eq!(got.turn().content, "seen");
    assert_eq!(up.seen.lock().unwrap().raw[0], body.to_string().as_bytes());
}

#[tokio::test]
async fn an_event_over_the_cap() {
    let long = event(&chunk(&json!({ "content": "y".repeat(100_000) }), None));
    let up = Raw::serve(vec![stream(&[
        event(&chunk(&json!({ "content": "a" }), None)),
        long,
    ])])
    .await;
    let mut c = config(&up.url());
    c.gateway.limits.event_bytes = 50_000;
    let t = post(&start(c).await, &ask("x", true), &[]).await.turn();
    assert_eq!(t.errors[0]["code"], "upstream_endless");
    assert_eq!((t.content.as_str(), t.done), ("a", 0));
}

fn endless() -> Script {
    let mut s = stream(&[]);
    for _ in 0..5000 {
        s.steps.push(Step::Bytes(
            event(&chunk(&json!({ "content": "again and again " }), None)).into_bytes(),
        ));
    }
    s.steps.push(Step::Hang);
    s
}

#[tokio::test]
async fn an_answer_that_does_not_end() {
    for adapt in ["off", "observe", "on"] {
        let up = Raw::serve(vec![endless()]).await;
        let mut c = config(&up.url());
        c.gateway.limits.response_bytes = 100_000;
        let got = post(
            &start(c).await,
            &ask("x", true),
            &[("x-kilter-adapt", adapt)],
        )
        .await;
        let t = got.turn();
        assert_eq!(t.errors.len(), 1, "{adapt}");
        assert_eq!(t.errors[0]["code"], "upstream_endless");
        assert_eq!(t.done, 0);
        assert!(up.wait_gone(1).await, "and nobody pays for the rest");
    }
    let up = Raw::serve(vec![Script {
        content_type: "application/json",
        ..endless()
    }])
    .await;
    let mut c = config(&up.url());
    c.gateway.limits.response_bytes = 100_000;
    let got = post(&start(c).await, &ask("x", false), &[]).await;
    assert_eq!(
        (got.status, got.error_code().as_str()),
        (502, "upstream_endless")
    );
}

#[tokio::test]
async fn silence_in_each_phase() {
    let head = Script {
        before_head: 60_000,
        ..stream(&[])
    };
    let mut first = stream(&[]);
    first.steps.push(Step::Hang);
    let mut gap = stream(&[event(&chunk(&json!({ "content": "a" }), None))]);
    gap.steps.push(Step::Hang);
    for (script, key, in_stream) in [
        (head, "headers", false),
        (first, "first_token", true),
        (gap, "gap", true),
    ] {
        let up = Raw::serve(vec![script]).await;
        let mut c = config(&up.url());
        c.backends[0].retries.max = 0;
        c.backends[0].timeouts.headers = Span::millis(200);
        c.backends[0].timeouts.first_token = Span::millis(200);
        c.backends[0].timeouts.gap = Span::millis(200);
        let got = post(&start(c).await, &ask("x", true), &[]).await;
        let error = if in_stream {
            got.turn().errors[0].clone()
        } else {
            got.json()["error"].clone()
        };
        assert_eq!(error["code"], "upstream_timeout", "{key}");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains(&format!("timeouts.{key}")),
            "{error}"
        );
        assert!(up.wait_gone(1).await);
    }
}

#[tokio::test]
async fn more_than_the_places() {
    let mut hang = stream(&[]);
    hang.steps.push(Step::Hang);
    let up = Raw::serve(vec![hang]).await;
    let mut c = config(&up.url());
    c.gateway.limits.concurrent = 1;
    let g = start(c).await;
    let url = format!("{}/chat/completions", g.url());
    let body = ask("x", true).to_string();
    let task = tokio::spawn({
        let (url, body) = (url.clone(), body.clone());
        async move { send("POST", &url, body.into(), &[]).await }
    });
    assert!(up.wait_requests(1).await);
    let got = send("POST", &url, body.into(), &[]).await;
    assert_eq!((got.status, got.error_code().as_str()), (429, "busy"));
    task.abort();
}

#[tokio::test]
async fn one_backends_places_are_waited_for() {
    let ok = crate::raw::completion(&json!({ "role": "assistant", "content": "x" }), "stop");
    let slow = Script {
        before_head: 100,
        ..crate::raw::whole(200, &ok)
    };
    let up = Raw::serve(vec![slow]).await;
    let mut c = config(&up.url());
    c.backends[0].concurrency = 1;
    let g = start(c).await;
    let (a, b) = (ask("a", false), ask("b", false));
    let (a, b) = tokio::join!(post(&g, &a, &[]), post(&g, &b, &[]));
    assert_eq!((a.status, b.status), (200, 200));
}

//! A client that goes away takes the upstream's work with it, in every phase (s17, field report gw12).

use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::json;

use crate::client::{ask, gateway, http};
use crate::raw::{Raw, Script, Step, chunk, event, stream};

fn request(url: &str, streaming: bool, adapt: &str) -> Request<Full<bytes::Bytes>> {
    Request::post(format!("{url}/chat/completions"))
        .header("content-type", "application/json")
        .header("x-kilter-adapt", adapt)
        .body(Full::new(ask("hello there", streaming).to_string().into()))
        .unwrap()
}

/// The client leaves while it waits for the head.
async fn leave_before_head(script: Script, streaming: bool) {
    for adapt in ["off", "observe", "on"] {
        let up = Raw::serve(vec![script.clone()]).await;
        let g = gateway(&up.url()).await;
        let task = tokio::spawn(http().request(request(&g.url(), streaming, adapt)));
        assert!(up.wait_requests(1).await);
        task.abort();
        assert!(
            up.wait_gone(1).await,
            "{adapt}: the upstream still works for nobody"
        );
        let m = g.state().metrics.render();
        assert!(
            m.contains("kilter_cancelled_total{backend=\"up\"} 1"),
            "{m}"
        );
    }
}

#[tokio::test]
async fn before_the_headers() {
    let script = Script {
        status: 200,
        content_type: "application/json",
        before_head: 60_000,
        steps: vec![],
    };
    leave_before_head(script.clone(), false).await;
    leave_before_head(script, true).await;
}

#[tokio::test]
async fn in_the_middle_of_a_whole_body() {
    let script = Script {
        status: 200,
        content_type: "application/json",
        before_head: 0,
        steps: vec![Step::Bytes(b"{\"id\":".to_vec()), Step::Hang],
    };
    let up = Raw::serve(vec![script]).await;
    let g = gateway(&up.url()).await;
    let task = tokio::spawn(http().request(request(&g.url(), false, "on")));
    assert!(up.wait_requests(1).await);
    assert!(up.wait_steps(1).await);
    task.abort();
    assert!(up.wait_gone(1).await);
}

#[tokio::test]
async fn before_the_first_token_and_in_mid_stream() {
    for first in [false, true] {
        for adapt in ["off", "observe", "on"] {
            let mut script = stream(&[]);
            if first {
                script.steps.push(Step::Bytes(
                    event(&chunk(&json!({ "role": "assistant" }), None)).into_bytes(),
                ));
            }
            script.steps.push(Step::Hang);
            let up = Raw::serve(vec![script]).await;
            let g = gateway(&up.url()).await;
            let answer = http()
                .request(request(&g.url(), true, adapt))
                .await
                .unwrap();
            let mut body = answer.into_body();
            if first {
                body.frame().await.unwrap().unwrap();
            }
            drop(body);
            assert!(up.wait_gone(1).await, "{adapt} {first}");
        }
    }
}

#[tokio::test]
async fn during_the_pause_before_a_retry() {
    let up = Raw::serve(vec![crate::raw::whole(
        503,
        &json!({ "error": { "message": "busy" } }),
    )])
    .await;
    let mut c = crate::client::config(&up.url());
    c.backends[0].retries.base = kilter_gateway::config::Span::millis(300);
    let g = crate::client::start(c).await;
    let task = tokio::spawn(http().request(request(&g.url(), false, "on")));
    assert!(up.wait_requests(1).await);
    task.abort();
    // The turn is gone, and the pause with it.
    let gone = "kilter_cancelled_total{backend=\"up\"} 1";
    assert!(
        crate::raw::until(|| g.state().metrics.render().contains(gone)).await,
        "the turn outlives its client"
    );
    assert_eq!(up.bodies().len(), 1, "nobody waits, nobody asks again");
}

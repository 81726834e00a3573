//! A healthy model: routes, turns, usage, sameness.

use serde_json::json;

use crate::client::{chat, plain, send, server, tide, tools, with};

#[tokio::test]
async fn models_and_health_answer() {
    let s = server("name = \"m\"\nslots = [\"m2\"]\nwindow.declared = 8192").await;
    let r = send(&s, "GET", "/v1/models", &[], "").await;
    assert_eq!(r.status, 200);
    let v = r.json();
    assert_eq!(v["data"][0]["id"], "m");
    assert_eq!(v["data"][1]["id"], "m2");
    assert_eq!(v["data"][0]["max_model_len"], 8192);
    assert_eq!(
        send(&s, "GET", "/health", &[], "").await.json()["status"],
        "ok"
    );
    assert_eq!(
        send(&s, "GET", "/v1/models/m2", &[], "").await.json()["id"],
        "m2"
    );
    assert_eq!(
        send(&s, "GET", "/v1/models/nope", &[], "").await.status,
        404
    );
    assert_eq!(send(&s, "GET", "/elsewhere", &[], "").await.status, 404);
    assert_eq!(send(&s, "GET", "/props", &[], "").await.status, 404);
}

#[tokio::test]
async fn native_calls_whole_and_streamed() {
    let s = server("name = \"m\"").await;
    let v = chat(&s, tide(false)).await.json();
    let call = &v["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "get_tide");
    assert_eq!(
        call["function"]["arguments"],
        "{\"port\":\"Brest\",\"days\":2}"
    );
    assert_eq!(v["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(v["choices"][0]["message"]["content"], json!(null));
    assert!(v["usage"]["prompt_tokens"].as_u64().expect("usage") > 20);

    let r = chat(&s, tide(true)).await;
    assert_eq!(
        r.header("content-type").as_deref(),
        Some("text/event-stream")
    );
    assert_eq!(r.events().last().map(String::as_str), Some("[DONE]"));
    assert_eq!(r.finish().as_deref(), Some("tool_calls"));
    let args: String = r
        .chunks()
        .iter()
        .filter_map(|c| {
            c["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(args, "{\"port\":\"Brest\",\"days\":2}");
    assert!(!r.text().contains("\"usage\""));
}

#[tokio::test]
async fn a_result_is_answered_and_choice_is_obeyed() {
    let s = server("name = \"m\"").await;
    let with_result = json!({
        "model": "m", "tools": tools(),
        "messages": [
            {"role": "user", "content": "tide in Brest?"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_tide", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "3.2 m at 14:05"}
        ]
    });
    let v = chat(&s, with_result).await.json();
    assert_eq!(
        v["choices"][0]["message"]["content"],
        "The tool answered: 3.2 m at 14:05"
    );
    let none = with(tide(false), json!({"tool_choice": "none"}));
    let v = chat(&s, none).await.json();
    assert_eq!(v["choices"][0]["finish_reason"], "stop");
    let hello = with(plain("Hello there", false), json!({"tools": tools()}));
    let v = chat(&s, hello.clone()).await.json();
    assert!(v["choices"][0]["message"]["tool_calls"].is_null());
    let v = chat(&s, with(hello.clone(), json!({"tool_choice": "required"})))
        .await
        .json();
    assert_eq!(
        v["choices"][0]["message"]["tool_calls"][0]["function"]["name"],
        "get_tide"
    );
    let named = json!({"tool_choice": {"type": "function", "function": {"name": "ping"}}});
    let v = chat(&s, with(hello, named)).await.json();
    assert_eq!(
        v["choices"][0]["message"]["tool_calls"][0]["function"]["name"],
        "ping"
    );
}

#[tokio::test]
async fn the_same_request_gives_the_same_bytes() {
    let toml = "name = \"m\"\nseed = 7\n[reasoning]\nchannel = \"field\"";
    let (a, b) = (server(toml).await, server(toml).await);
    for stream in [false, true] {
        let x = chat(&a, tide(stream)).await;
        let y = chat(&b, tide(stream)).await;
        assert_eq!(x.body, y.body);
    }
    let other = server("name = \"m\"\nseed = 8\n[reasoning]\nchannel = \"field\"").await;
    let z = chat(&other, tide(false)).await;
    let again = server(toml).await;
    assert_ne!(chat(&again, tide(false)).await.body, z.body);
}

#[tokio::test]
async fn usage_follows_the_rule_of_four() {
    let s = server("name = \"m\"\n[reply]\ntext = \"twelve chars\"").await;
    let v = chat(&s, plain("eight ch", false)).await.json();
    assert_eq!(v["usage"]["prompt_tokens"], 4 + 2);
    assert_eq!(v["usage"]["completion_tokens"], 3);
    let v = chat(&s, with(plain("eight ch", false), json!({"max_tokens": 2})))
        .await
        .json();
    assert_eq!(v["choices"][0]["message"]["content"], "twelve c");
    assert_eq!(v["choices"][0]["finish_reason"], "length");
    let r = chat(
        &s,
        with(
            plain("eight ch", true),
            json!({"stream_options": {"include_usage": true}}),
        ),
    )
    .await;
    let last = r.chunks().pop().expect("a chunk");
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 3);
}

#[tokio::test]
async fn bad_requests_get_typed_errors() {
    let s = server("name = \"m\"").await;
    let r = send(&s, "POST", "/v1/chat/completions", &[], "{oops").await;
    assert_eq!(r.status, 400);
    assert_eq!(r.json()["error"]["type"], "invalid_request_error");
    let two = vec![
        kilter_mock::Script::healthy("a"),
        kilter_mock::Script::healthy("b"),
    ];
    let s = kilter_mock::MockServer::local(two).await.expect("a server");
    let r = chat(&s, plain("x", false)).await;
    assert_eq!(
        (
            r.status,
            r.json()["error"]["code"].as_str().map(str::to_owned)
        ),
        (404, Some("model_not_found".to_owned()))
    );
}

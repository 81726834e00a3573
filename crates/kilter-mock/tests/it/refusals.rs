//! Requests that the provider refuses.

use serde_json::{Value, json};

use crate::client::{Reply, chat, plain, server, tide, tools, with};

async fn refused(refuse: &str, body: Value) -> Reply {
    chat(&server(&format!("[[refuse]]\n{refuse}")).await, body).await
}

#[tokio::test]
async fn tools_with_reasoning() {
    let toml = "[reasoning]\nchannel = \"hidden\"\n[[refuse]]\nkind = \"tools_with_reasoning\"";
    let s = server(toml).await;
    for body in [
        tide(false),
        with(tide(true), json!({"reasoning_effort": "low"})),
    ] {
        let r = chat(&s, body).await;
        assert_eq!(r.status, 400);
        let e = &r.json()["error"];
        assert_eq!(e["type"], "invalid_request_error");
        assert_eq!(e["param"], "reasoning_effort");
        let m = e["message"].as_str().expect("a message");
        assert!(
            m.contains("/v1/responses") && m.contains("reasoning_effort to 'none'"),
            "{m}"
        );
    }
    let r = chat(&s, with(tide(false), json!({"reasoning_effort": "none"}))).await;
    assert_eq!(r.status, 200);
    assert!(r.json()["choices"][0]["message"]["tool_calls"].is_array());
    assert_eq!(chat(&s, plain("?", false)).await.status, 200);
    let counters = s.counters();
    assert_eq!((counters.refused, counters.turns), (2, 2));
    assert_eq!(s.chats()[0].struck, "refused:reasoning_effort");
}

#[tokio::test]
async fn a_field_in_each_shape() {
    let body = with(plain("?", false), json!({"parallel_tool_calls": true}));
    let field = "kind = \"field\"\nfield = \"parallel_tool_calls\"\n";
    let r = refused(field, body.clone()).await;
    assert_eq!(r.status, 400);
    assert_eq!(r.json()["error"]["param"], "parallel_tool_calls");
    assert_eq!(r.json()["error"]["code"], "unknown_parameter");
    let r = refused(&format!("{field}shape = \"fastapi\""), body.clone()).await;
    assert_eq!(r.status, 422);
    assert_eq!(
        r.json()["detail"][0]["loc"],
        json!(["body", "parallel_tool_calls"])
    );
    assert_eq!(r.json()["detail"][0]["type"], "extra_forbidden");
    let r = refused(&format!("{field}shape = \"detail\""), body.clone()).await;
    assert_eq!(r.json()["object"], "error");
    assert_eq!(
        r.json()["message"]["detail"][0]["loc"][1],
        "parallel_tool_calls"
    );
    let r = refused(&format!("{field}shape = \"prose\""), body.clone()).await;
    assert_eq!(
        r.json(),
        json!({"error": {"message": "property 'parallel_tool_calls' is unsupported"}})
    );
    let r = refused(&format!("{field}shape = \"typed\""), body.clone()).await;
    assert_eq!(r.json()["type"], "error");
    let r = refused(&format!("{field}shape = \"status\""), body.clone()).await;
    assert_eq!(r.json()["error"]["status"], "INVALID_ARGUMENT");
    let r = refused(&format!("{field}shape = \"plain\""), body.clone()).await;
    assert!(r.json()["error"].is_string());
    let r = refused(&format!("{field}shape = \"empty\""), body.clone()).await;
    assert_eq!((r.status, r.body.len()), (400, 0));
    assert_eq!(refused(field, plain("?", false)).await.status, 200);
}

#[tokio::test]
async fn caps_temperature_roles_and_options() {
    let cap = json!({"max_tokens": 9});
    let r = refused(
        "kind = \"max_tokens\"",
        with(plain("?", false), cap.clone()),
    )
    .await;
    assert!(r.text().contains("Use 'max_completion_tokens' instead"));
    assert_eq!(r.json()["error"]["code"], "unsupported_parameter");
    let new = json!({"max_completion_tokens": 9});
    let r = refused(
        "kind = \"max_tokens\"",
        with(plain("?", false), new.clone()),
    )
    .await;
    assert_eq!(r.json()["usage"]["completion_tokens"], 9);
    let r = refused(
        "kind = \"max_completion_tokens\"",
        with(plain("?", false), new),
    )
    .await;
    assert_eq!(r.json()["error"]["param"], "max_completion_tokens");
    let r = refused(
        "kind = \"temperature\"",
        with(plain("?", false), json!({"temperature": 0})),
    )
    .await;
    assert_eq!(r.json()["error"]["code"], "unsupported_value");
    let r = refused(
        "kind = \"temperature\"",
        with(plain("?", false), json!({"temperature": 1})),
    )
    .await;
    assert_eq!(r.status, 200);
    let dev = json!({"messages": [{"role": "developer", "content": "x"}, {"role": "user", "content": "y"}]});
    let r = refused("kind = \"role\"", dev).await;
    assert!(
        r.text()
            .contains("'messages[0].role' does not support 'developer'")
    );
    let so = with(
        plain("?", true),
        json!({"stream_options": {"include_usage": true}}),
    );
    assert_eq!(refused("kind = \"stream_options\"", so).await.status, 400);
    let r = refused(
        "kind = \"tool_choice\"",
        with(tide(false), json!({"tool_choice": "required"})),
    )
    .await;
    assert_eq!(r.json()["error"]["param"], "tool_choice");
}

fn history(assistant: Value, id: &str) -> Value {
    let mut a = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "ping", "arguments": "{}"}}]});
    for (k, v) in assistant.as_object().expect("an object") {
        a[k] = v.clone();
    }
    json!({"tools": tools(), "messages": [
        {"role": "user", "content": "ping"}, a,
        {"role": "tool", "tool_call_id": id, "content": "pong"}]})
}

#[tokio::test]
async fn reasoning_in_history() {
    let with_it = history(json!({"reasoning_content": "r"}), "c1");
    let without = history(json!({}), "c1");
    let r = refused(
        "kind = \"history_reasoning\"\nshape = \"prose\"",
        with_it.clone(),
    )
    .await;
    assert_eq!(
        r.json()["error"]["message"],
        "'messages.1' : property 'reasoning_content' is unsupported"
    );
    let r = refused(
        "kind = \"history_reasoning\"\nshape = \"fastapi\"",
        with_it.clone(),
    )
    .await;
    assert_eq!(
        r.json()["detail"][0]["loc"],
        json!(["body", "messages", 1, "reasoning_content"])
    );
    assert_eq!(
        refused("kind = \"history_reasoning\"", without.clone())
            .await
            .status,
        200
    );
    let r = refused("kind = \"history_without_reasoning\"", without).await;
    assert_eq!(r.status, 400);
    assert!(r.text().contains("must be passed back"));
    assert_eq!(
        refused("kind = \"history_without_reasoning\"", with_it)
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn ids_and_null_content() {
    let nine = "kind = \"tool_call_id\"\nlength = 9\nalphanumeric = true";
    let r = refused(nine, history(json!({}), "call_0123456789abcdef")).await;
    assert!(
        r.text()
            .contains("must be a-z, A-Z, 0-9, with a length of 9")
    );
    assert_eq!(
        refused(nine, history(json!({}), "abc123XYZ")).await.status,
        200
    );
    let r = refused(
        "kind = \"tool_call_id\"\nmax_length = 40",
        history(json!({}), &"x".repeat(41)),
    )
    .await;
    assert!(r.text().contains("maximum length 40"));
    let r = refused("kind = \"null_content\"", history(json!({}), "c")).await;
    assert!(r.text().contains("got null"));
    assert_eq!(
        refused(
            "kind = \"null_content\"",
            history(json!({"content": ""}), "c")
        )
        .await
        .status,
        200
    );
}

#[tokio::test]
async fn a_script_may_write_its_own() {
    let r = refused(
        "kind = \"request\"\nwhen = { has_field = \"seed\" }\nstatus = 418\nmessage = \"no seeds\"\ntype = \"teapot\"\nparam = \"seed\"\ncode = \"x\"",
        with(plain("?", false), json!({"seed": 1})),
    )
    .await;
    assert_eq!(r.status, 418);
    assert_eq!(
        r.json(),
        json!({"error": {"message": "no seeds", "type": "teapot", "param": "seed", "code": "x"}})
    );
}

//! What is called, and how.

use kilter_mock::dialect;
use serde_json::{Value, json};

use crate::client::{chat, plain, server, tide, tools, with};

async fn message(toml: &str, body: Value) -> Value {
    chat(&server(toml).await, body).await.json()["choices"][0]["message"].clone()
}

#[tokio::test]
async fn every_dialect_goes_over_the_wire_whole_and_streamed() {
    for d in dialect::names() {
        let s = server(&format!(
            "[calls]\nchannel = \"content\"\ndialect = \"{d}\""
        ))
        .await;
        let v = chat(&s, tide(false)).await.json();
        let c = &v["choices"][0];
        let content = c["message"]["content"]
            .as_str()
            .expect("content")
            .to_owned();
        assert!(c["message"]["tool_calls"].is_null(), "{d}");
        assert_eq!(c["finish_reason"], "stop", "{d}");
        assert!(
            content.contains("get_tide") && content.contains("Brest"),
            "{d}: {content}"
        );
        let s = server(&format!(
            "[calls]\nchannel = \"content\"\ndialect = \"{d}\""
        ))
        .await;
        assert_eq!(chat(&s, tide(true)).await.delta("content"), content, "{d}");
    }
}

#[tokio::test]
async fn prose_around_and_answers_in_frames() {
    let m = message(
        "[calls]\nchannel = \"content\"\ndialect = \"hermes-json\"\nbefore = \"Let me look.\\n\"\nafter = \"\\nDone.\"",
        tide(false),
    )
    .await;
    let c = m["content"].as_str().expect("content");
    assert!(
        c.starts_with("Let me look.\n<tool_call>") && c.ends_with("</tool_call>\nDone."),
        "{c}"
    );
    let framed = "[reply]\ntext = \"Hi.\"\n[calls]\nchannel = \"content\"\ndialect = \"harmony\"";
    assert_eq!(
        message(framed, plain("?", false)).await["content"],
        "<|channel|>final<|message|>Hi.<|return|>"
    );
}

#[tokio::test]
async fn literal_calls_need_no_declaration() {
    let toml = "[calls]\nliteral = [{ name = \"rm_all\", arguments = { path = \"/\", deep = true } }, { name = \"x\", raw = \"{broken\" }]";
    let m = message(toml, tide(false)).await;
    assert_eq!(m["tool_calls"][0]["function"]["name"], "rm_all");
    assert_eq!(
        m["tool_calls"][0]["function"]["arguments"],
        "{\"deep\":true,\"path\":\"/\"}"
    );
    assert_eq!(m["tool_calls"][1]["function"]["arguments"], "{broken");
    // Without tools none is made, unless the policy says so.
    assert!(message(toml, plain("?", false)).await["tool_calls"].is_null());
    let always = format!("{toml}\npolicy = \"always\"");
    assert!(message(&always, plain("?", false)).await["tool_calls"].is_array());
}

#[tokio::test]
async fn arguments_come_from_the_words() {
    let body = with(
        plain("Call get_tide with port=\"Le Havre\" and days=5", false),
        json!({"tools": tools()}),
    );
    let m = message("", body).await;
    assert_eq!(
        m["tool_calls"][0]["function"]["arguments"],
        "{\"port\":\"Le Havre\",\"days\":5}"
    );
}

#[tokio::test]
async fn picks_counts_and_policies() {
    let first = |m: &Value| m["tool_calls"][0]["function"]["name"].clone();
    assert_eq!(
        first(&message("calls.pick = \"last\"", tide(false)).await),
        "ping"
    );
    assert_eq!(
        first(&message("calls.pick = \"ping\"", tide(false)).await),
        "ping"
    );
    let m = message("calls.count = 3", tide(false)).await;
    assert_eq!(m["tool_calls"].as_array().map(Vec::len), Some(3));
    let talk = with(plain("Hello!", false), json!({"tools": tools()}));
    assert!(message("", talk.clone()).await["tool_calls"].is_null());
    assert_eq!(
        first(&message("calls.policy = \"eager\"", talk).await),
        "get_tide"
    );
    let must = with(tide(false), json!({"tool_choice": "required"}));
    assert!(message("calls.policy = \"never\"", must).await["tool_calls"].is_null());
    let both = with(
        plain(
            "What is the tide in Paris and in Tokyo? Look both up.",
            false,
        ),
        json!({"tools": tools()}),
    );
    let m = message("", both).await;
    assert_eq!(
        m["tool_calls"][0]["function"]["arguments"],
        "{\"port\":\"Paris\"}"
    );
    assert_eq!(
        m["tool_calls"][1]["function"]["arguments"],
        "{\"port\":\"Tokyo\"}"
    );
}

#[tokio::test]
async fn ids_in_each_shape() {
    for (style, check) in [
        (
            "call",
            (|v: &Value| v.as_str().is_some_and(|s| s.len() == 29)) as fn(&Value) -> bool,
        ),
        ("nine", |v| v.as_str().is_some_and(|s| s.len() == 9)),
        ("functions", |v| v == "functions.get_tide:0"),
        ("uuid", |v| v.as_str().is_some_and(|s| s.len() == 36)),
        ("empty", |v| v == ""),
        ("null", Value::is_null),
        ("same", |v| v == "call_0"),
    ] {
        let m = message(&format!("calls.ids = \"{style}\""), tide(false)).await;
        let call = &m["tool_calls"][0];
        assert!(
            call.get("id").is_some() && check(&call["id"]),
            "{style}: {call}"
        );
    }
    let m = message("calls.ids = \"missing\"", tide(false)).await;
    assert!(m["tool_calls"][0].get("id").is_none());
}

#[tokio::test]
async fn odd_arguments() {
    let m = message("calls.as_object = true", tide(false)).await;
    assert_eq!(
        m["tool_calls"][0]["function"]["arguments"],
        json!({"port": "Brest", "days": 2})
    );
    let ping = with(plain("please ping", false), json!({"tools": tools()}));
    let m = message("", ping.clone()).await;
    assert_eq!(m["tool_calls"][0]["function"]["arguments"], "{}");
    let m = message("calls.empty_arguments = true", ping).await;
    assert_eq!(m["tool_calls"][0]["function"]["arguments"], "");
    let v = chat(
        &server("calls.cut = 9\nreply.finish = \"tool_calls\"").await,
        tide(false),
    )
    .await
    .json();
    assert_eq!(
        v["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
        "{\"port\":\""
    );
    assert_eq!(v["choices"][0]["finish_reason"], "tool_calls");
    let v = chat(
        &server("").await,
        with(tide(false), json!({"max_tokens": 4})),
    )
    .await
    .json();
    assert_eq!(v["choices"][0]["finish_reason"], "length");
    assert_eq!(
        v["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
        "{\"port\":"
    );
    let m = message("calls.channel = \"function_call\"", tide(false)).await;
    assert_eq!(m["function_call"]["name"], "get_tide");
    let m = message(
        "[calls]\nalso_in_content = true\ndialect = \"bare-json\"",
        tide(false),
    )
    .await;
    assert!(
        m["content"]
            .as_str()
            .is_some_and(|c| c.contains("get_tide"))
    );
    assert!(m["tool_calls"].is_array());
}

#[tokio::test]
async fn finish_without_calls_and_stop_with_them() {
    let v = chat(
        &server("reply.finish = \"tool_calls\"").await,
        plain("hi", false),
    )
    .await
    .json();
    assert_eq!(v["choices"][0]["finish_reason"], "tool_calls");
    assert!(v["choices"][0]["message"]["tool_calls"].is_null());
    let r = chat(&server("reply.finish = \"stop\"").await, tide(true)).await;
    assert_eq!(r.finish().as_deref(), Some("stop"));
}

#[tokio::test]
async fn a_schema_is_honoured_where_the_script_says_so() {
    let body = with(
        plain("tide in Brest", false),
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {
            "type": "object", "required": ["port"], "properties": {"port": {"type": "string"}}}}}}),
    );
    let m = message("calls.honours_schema = true", body.clone()).await;
    assert_eq!(m["content"], "{\"port\":\"Brest\"}");
    assert_ne!(message("", body).await["content"], "{\"port\":\"Brest\"}");
}

#[tokio::test]
async fn a_template_that_drops_tools_counts_none() {
    let deaf = server("template.drops_tools = true").await;
    let with_tools = chat(&deaf, with(tide(false), json!({"tool_choice": "required"})))
        .await
        .json();
    let mut bare = tide(false);
    bare.as_object_mut().expect("an object").remove("tools");
    let without = chat(&deaf, bare).await.json();
    assert_eq!(
        with_tools["usage"]["prompt_tokens"],
        without["usage"]["prompt_tokens"]
    );
    assert!(with_tools["choices"][0]["message"]["tool_calls"].is_null());
    let hearing = chat(&server("").await, tide(false)).await.json();
    assert!(
        hearing["usage"]["prompt_tokens"].as_u64() > with_tools["usage"]["prompt_tokens"].as_u64()
    );
}

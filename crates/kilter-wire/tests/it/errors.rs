//! Error shapes: wire fact 11 and field report gw06.

use kilter_wire::ApiError;
use serde_json::{Value, json};

fn read(status: u16, body: &str) -> (String, Option<String>, Option<String>, String) {
    let e = ApiError::from_response(status, body.as_bytes());
    assert_eq!(e.status, status);
    (e.kind, e.code, e.param, e.message)
}

fn some(s: &str) -> Option<String> {
    Some(s.to_owned())
}

#[test]
fn fact_11_error_object() {
    assert_eq!(
        read(
            400,
            r#"{"error":{"message":"bad","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#
        ),
        (
            "invalid_request_error".into(),
            some("unsupported_parameter"),
            some("max_tokens"),
            "bad".into()
        )
    );
    let (kind, code, param, message) = read(
        500,
        r#"{"error":{"code":500,"message":"peg","type":"server_error"}}"#,
    );
    assert_eq!(
        (kind.as_str(), code.as_deref(), param, message.as_str()),
        ("server_error", Some("500"), None, "peg")
    );
}

#[test]
fn fact_11_fastapi_list_and_string() {
    assert_eq!(
        read(
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted","input":"r"}]}"#
        ),
        (
            "invalid_request_error".into(),
            some("extra_forbidden"),
            some("messages.1.assistant.reasoning_content"),
            "messages.1.assistant.reasoning_content: Extra inputs are not permitted".into()
        )
    );
    assert_eq!(
        read(404, r#"{"detail":"Not Found"}"#),
        ("not_found_error".into(), None, None, "Not Found".into())
    );
}

#[test]
fn fact_11_object_error() {
    let (kind, code, param, message) = read(
        422,
        r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","param":null,"code":null}"#,
    );
    assert_eq!(
        (kind.as_str(), code.as_deref(), param.as_deref()),
        (
            "invalid_request_error",
            Some("extra_forbidden"),
            Some("store")
        )
    );
    assert_eq!(message, "store: Extra inputs are not permitted");
    let (kind, _, _, message) = read(
        400,
        r#"{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}"#,
    );
    assert_eq!(
        (kind.as_str(), message.as_str()),
        ("BadRequestError", "too long")
    );
}

#[test]
fn fact_11_error_in_an_error_envelope() {
    assert_eq!(
        read(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#
        ),
        ("overloaded_error".into(), None, None, "Overloaded".into())
    );
}

#[test]
fn fact_11_status_words() {
    assert_eq!(
        read(400, r#"{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"store\": Cannot find field.","status":"INVALID_ARGUMENT"}}"#).0,
        "invalid_argument"
    );
    let e = ApiError::from_response(
        429,
        br#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]"#,
    );
    assert_eq!(
        (e.code.as_deref(), e.message.as_str()),
        (Some("RESOURCE_EXHAUSTED"), "quota")
    );
}

#[test]
fn fact_11_empty_and_foreign_bodies_are_typed() {
    let (kind, _, _, message) = read(400, "");
    assert_eq!(
        (kind.as_str(), message.as_str()),
        ("empty_body", "upstream answered 400 with an empty body")
    );
    assert_eq!(
        read(502, "<html><h1>502 Bad Gateway</h1></html>").0,
        "bad_body"
    );
    assert_eq!(
        read(500, "Internal Server Error").3,
        "Internal Server Error"
    );
    assert_eq!(read(500, &"x".repeat(5000)).3.chars().count(), 401);
    assert_eq!(ApiError::from_response(500, b"\xff").kind, "bad_body");
    assert_eq!(read(500, r#"{"weird":1}"#).0, "bad_body");
}

#[test]
fn fact_11_plain_strings() {
    assert_eq!(
        read(400, r#"{"error":"model not found"}"#).3,
        "model not found"
    );
    assert_eq!(
        read(404, r#"{"message":"no such route"}"#).3,
        "no such route"
    );
    let (_, code, _, message) = read(401, r#"{"error":"unauthorized","message":"no key"}"#);
    assert_eq!(
        (code.as_deref(), message.as_str()),
        (Some("unauthorized"), "no key")
    );
}

#[test]
fn fact_11_tools_with_reasoning() {
    let m = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
    let body = json!({"error":{"message":m,"type":"invalid_request_error","param":"reasoning_effort","code":null}});
    let e = ApiError::from_response(400, body.to_string().as_bytes());
    assert_eq!(
        (e.kind.as_str(), e.param.as_deref()),
        ("invalid_request_error", Some("reasoning_effort"))
    );
    assert!(e.message.contains("/v1/responses"));
}

#[test]
fn gw06_the_path_in_prose() {
    let e = ApiError::from_response(
        400,
        br#"{"error":{"message":"'messages.0' : property 'reasoning_content' is unsupported"}}"#,
    );
    assert_eq!(e.param.as_deref(), Some("messages.0.reasoning_content"));
}

#[test]
fn gw26_replay_demanded() {
    let e = ApiError::from_response(400, br#"{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}"#);
    assert_eq!(
        e.message,
        "The reasoning_content in the thinking mode must be passed back to the API."
    );
    assert_eq!(
        e.param, None,
        "prose without a quoted name is left to the rules that know it"
    );
}

#[test]
fn params_in_prose() {
    for (message, want) in [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            Some("max_tokens"),
        ),
        (
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
            Some("temperature"),
        ),
        (
            "Unrecognized request argument supplied: stream_options",
            Some("stream_options"),
        ),
        (
            "Unknown parameter: 'messages[1].reasoning_content'.",
            Some("messages[1].reasoning_content"),
        ),
        (
            "unknown field `parallel_tool_calls`, expected one of `model`, `messages`",
            Some("parallel_tool_calls"),
        ),
        (
            "Invalid JSON payload received. Unknown name \"store\": Cannot find field.",
            Some("store"),
        ),
        ("json: unknown field \"prediction\"", Some("prediction")),
        ("Extra inputs are not permitted", None),
        ("The model said 'hello world' and stopped", None),
        ("don't know what's wrong", None),
        ("", None),
    ] {
        let body = json!({"error":{"message":message}}).to_string();
        assert_eq!(
            ApiError::from_response(400, body.as_bytes())
                .param
                .as_deref(),
            want,
            "{message}"
        );
    }
}

#[test]
fn fact_05_errors_inside_a_200_body() {
    for text in [
        r#"{"error":{"message":"boom","type":"server_error","code":500}}"#,
        r#"{"type":"error","error":{"type":"server_error","message":"boom"}}"#,
        r#"{"object":"error","message":"boom","type":"server_error","code":500}"#,
        r#"{"error":"boom"}"#,
    ] {
        assert_eq!(ApiError::in_json(text).unwrap().message, "boom", "{text}");
    }
    for text in [
        r#"{"choices":[]}"#,
        r#"{"error":null,"choices":[]}"#,
        r#"{"message":"hi"}"#,
        "7",
        "[]",
        "nonsense",
        r#"{"error":false}"#,
    ] {
        assert_eq!(ApiError::in_json(text), None, "{text}");
    }
}

#[test]
fn what_we_write_we_read() {
    let e = ApiError::new(429, "rate_limit_error", "slow \"down\"\n")
        .with_param("model")
        .with_code("slow");
    assert_eq!(ApiError::from_response(429, &e.to_body()), e);
    let v: Value = serde_json::from_slice(&e.to_body()).unwrap();
    assert_eq!(
        v,
        json!({"error":{"message":"slow \"down\"\n","type":"rate_limit_error","param":"model","code":"slow"}})
    );
    let event = String::from_utf8(e.to_event().to_vec()).unwrap();
    assert!(
        event.starts_with("data: {\"error\":")
            && event.ends_with("}\n\n")
            && event.lines().count() == 2
    );
}

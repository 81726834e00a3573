//! Each condition of a rule, met and not met.

use serde_json::{Value, json};

use crate::client::{chat, plain, send, server, tide, with};

/// Whether a rule under `when` holds for a request.
async fn holds(when: &str, body: Value) -> bool {
    let toml = format!(
        "name = \"m\"\ncalls.policy = \"never\"\nreply.text = \"no\"\n[[rules]]\nwhen = {{ {when} }}\nreply.text = \"yes\""
    );
    let v = chat(&server(&toml).await, body).await;
    let text = v.text();
    assert!(text.contains("yes") != text.contains("\"no"), "{text}");
    text.contains("yes")
}

#[tokio::test]
async fn each_condition_both_ways() {
    let p = |more: Value| with(plain("Hello World", false), more);
    let result = json!({"messages": [
        {"role": "system", "content": "Be Brief"},
        {"role": "user", "content": "x"},
        {"role": "tool", "tool_call_id": "c", "content": "r"}]});
    for (when, met, unmet) in [
        ("tools = true", tide(false), p(json!({}))),
        ("tools = false", p(json!({})), tide(false)),
        (
            "reasoning = \"on\"",
            p(json!({"reasoning_effort": "high"})),
            p(json!({})),
        ),
        (
            "reasoning = \"off\"",
            p(json!({"reasoning_effort": "none"})),
            p(json!({})),
        ),
        (
            "reasoning = \"unsaid\"",
            p(json!({})),
            p(json!({"reasoning_effort": "low"})),
        ),
        (
            "reasoning = \"not_off\"",
            p(json!({})),
            p(json!({"reasoning_effort": "none"})),
        ),
        (
            "message_contains = \"hello\"",
            p(json!({})),
            plain("bye", false),
        ),
        (
            "message_contains = [\"x\", \"WORLD\"]",
            p(json!({})),
            plain("bye", false),
        ),
        (
            "system_contains = \"be brief\"",
            result.clone(),
            p(json!({})),
        ),
        (
            "anywhere_contains = \"brief\"",
            result.clone(),
            p(json!({})),
        ),
        ("after_tool_result = true", result.clone(), p(json!({}))),
        ("after_tool_result = false", p(json!({})), result.clone()),
        (
            "tool_choice = \"required\"",
            with(tide(false), json!({"tool_choice": "required"})),
            tide(false),
        ),
        (
            "tool_choice = \"none\"",
            with(tide(false), json!({"tool_choice": "none"})),
            tide(false),
        ),
        (
            "tool_choice = \"named\"",
            with(
                tide(false),
                json!({"tool_choice": {"type": "function", "function": {"name": "ping"}}}),
            ),
            tide(false),
        ),
        (
            "cap_below = 100",
            p(json!({"max_tokens": 99})),
            p(json!({})),
        ),
        (
            "cap_below = 100",
            p(json!({"max_completion_tokens": 99})),
            p(json!({"max_tokens": 100})),
        ),
        (
            "cap_at_least = 100",
            p(json!({})),
            p(json!({"max_tokens": 99})),
        ),
        (
            "prompt_tokens_over = 50",
            plain(&"x".repeat(400), false),
            p(json!({})),
        ),
        (
            "has_field = \"seed\"",
            p(json!({"seed": 1})),
            p(json!({"seed": null})),
        ),
        (
            "has_field = [\"a\", \"b\"]",
            p(json!({"b": 1})),
            p(json!({})),
        ),
        (
            "lacks_field = \"seed\"",
            p(json!({})),
            p(json!({"seed": 1})),
        ),
        ("model = \"m\"", p(json!({})), p(json!({"model": "other"}))),
        ("turn = 1", p(json!({})), result.clone()),
        ("from_turn = 1, tools = true", tide(false), p(json!({}))),
        ("to_turn = 1, tools = true", tide(false), p(json!({}))),
        ("chance = 1.0, tools = true", tide(false), p(json!({}))),
    ] {
        assert!(holds(when, met).await, "{when}");
        if when != "turn = 1" {
            assert!(!holds(when, unmet).await, "{when}");
        }
    }
    assert!(!holds("turn = 2", p(json!({}))).await);
    assert!(!holds("from_turn = 2", p(json!({}))).await);
    assert!(!holds("to_turn = 0", p(json!({}))).await);
    assert!(!holds("chance = 0.0", p(json!({}))).await);
    assert!(!holds("stream = true", p(json!({}))).await);
    assert!(!holds("header = { \"x-a\" = \"1\" }", p(json!({}))).await);
}

#[tokio::test]
async fn a_share_of_requests_is_drawn_by_the_seed() {
    let draw = |seed: u64| async move {
        let s = server(&format!(
            "seed = {seed}\n[[faults]]\nkind = \"status\"\nwhen = {{ chance = 0.5 }}"
        ))
        .await;
        let mut out = Vec::new();
        for i in 0..40 {
            out.push(
                chat(&s, plain(&format!("question {i}"), false))
                    .await
                    .status,
            );
        }
        out
    };
    let one = draw(1).await;
    let struck = one.iter().filter(|s| **s == 500).count();
    assert!((8..=32).contains(&struck), "{struck} of 40");
    assert_eq!(one, draw(1).await);
    assert_ne!(one, draw(2).await);
}

#[tokio::test]
async fn smaller_switches() {
    let s = server("template.drops_system = true").await;
    let body = json!({"messages": [{"role": "system", "content": "x".repeat(400)}, {"role": "user", "content": "y"}]});
    assert_eq!(chat(&s, body).await.json()["usage"]["prompt_tokens"], 5);
    let v = chat(
        &server("usage.no_prompt_tokens = true\nusage.extra = true").await,
        plain("?", false),
    )
    .await
    .json();
    assert!(v["usage"].get("prompt_tokens").is_none());
    assert_eq!(v["usage"]["x_timings"]["ms"], 1.5);
    let v = chat(
        &server("reply.null_content = true\nreasoning.channel = \"field\"\nreasoning.only = true")
            .await,
        plain("?", false),
    )
    .await
    .json();
    assert!(v["choices"][0]["message"]["content"].is_null());
    let v = chat(
        &server("reply.default_cap = 2\nreply.text = \"0123456789\"").await,
        plain("?", false),
    )
    .await
    .json();
    assert_eq!(v["choices"][0]["message"]["content"], "01234567");
    assert_eq!(v["choices"][0]["finish_reason"], "length");
    let v = chat(
        &server("reply.before = \"<\"\nreply.after = \">\"\nreply.text = \"x\"").await,
        plain("?", false),
    )
    .await
    .json();
    assert_eq!(v["choices"][0]["message"]["content"], "<x>");
    let r = chat(&server("stream.index = \"from_one\"").await, tide(true)).await;
    assert!(r.text().contains("\"index\":1,\"id\""));
    let s = server("stream.headers_ms = 40").await;
    assert_eq!(
        send(
            &s,
            "POST",
            "/chat/completions",
            &[],
            &plain("?", true).to_string()
        )
        .await
        .status,
        200
    );
    let done = &s.chats()[0];
    assert!((done.ended.expect("an end") - done.at).as_millis() >= 40);
}

//! Served windows.

use crate::client::{chat, plain, server, with};
use serde_json::json;

#[tokio::test]
async fn a_full_window_is_refused_in_words() {
    let s = server("window.tokens = 100").await;
    assert_eq!(
        chat(&s, plain(&"x".repeat(4 * 96), false)).await.status,
        200
    );
    for stream in [false, true] {
        let r = chat(&s, plain(&"x".repeat(4 * 97), stream)).await;
        assert_eq!(r.status, 400);
        let e = &r.json()["error"];
        assert_eq!(e["type"], "exceed_context_size_error");
        assert_eq!(
            (&e["n_prompt_tokens"], &e["n_ctx"]),
            (&json!(101), &json!(100))
        );
    }
    let s = server("[window]\ntokens = 100\nerror = \"context_length\"").await;
    let r = chat(&s, plain(&"x".repeat(900), false)).await;
    assert_eq!(r.json()["error"]["code"], "context_length_exceeded");
    assert!(r.text().contains("maximum context length is 100 tokens"));
    let s = server("[window]\ntokens = 100\ncounts_cap = true").await;
    assert_eq!(
        chat(&s, with(plain("x", false), json!({"max_tokens": 99})))
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn a_cut_prompt_stops_counting() {
    let s = server("[window]\ntokens = 100\nmode = \"truncate\"").await;
    let mut counts = Vec::new();
    for n in [10, 50, 200, 4000] {
        let v = chat(&s, plain(&"x".repeat(4 * n), false)).await.json();
        counts.push(v["usage"]["prompt_tokens"].as_u64().expect("a count"));
    }
    assert_eq!(counts, [14, 54, 100, 100]);
}

#[tokio::test]
async fn props_only_where_the_script_has_them() {
    let s =
        server("window.tokens = 4096\ntemplate.props = true\ntemplate.drops_tools = true").await;
    let v = crate::client::send(&s, "GET", "/props", &[], "")
        .await
        .json();
    assert_eq!(v["default_generation_settings"]["n_ctx"], 4096);
    assert_eq!(v["chat_template_caps"]["supports_tools"], false);
}

#[tokio::test]
async fn a_cut_prompt_is_all_that_the_model_sees() {
    let tools = json!([{"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]);
    let script = "[window]\ntokens = 120\nmode = \"truncate\"\n[calls]\npolicy = \"apt\"\n\
        [[rules]]\nwhen.anywhere_contains = \"SECRET\"\nreply.text = \"I saw it.\"\n\
        [[rules]]\nwhen.message_contains = \"echo\"\nreply.text = \"«user»\"";
    let s = server(script).await;
    let ask = |text: &str| {
        with(
            plain(text, false),
            json!({"tools": tools, "messages": [
                {"role": "system", "content": "The word is SECRET."},
                {"role": "user", "content": text},
            ]}),
        )
    };
    let message =
        async |text: &str| chat(&s, ask(text)).await.json()["choices"][0]["message"].clone();
    // All of it fits.
    let m = message("What is the weather in Lagos?").await;
    assert_eq!(m["tool_calls"][0]["function"]["name"], "get_weather");
    let m = message("Good morning.").await;
    assert_eq!(m["content"], "I saw it.");
    // The catalogue goes first, then the system message.
    let long = format!("{} What is the weather in Lagos?", "x".repeat(4 * 112));
    let m = message(&long).await;
    assert_eq!(m.get("tool_calls"), None, "{m}");
    assert_ne!(m["content"], "I saw it.");
    // The end of the text is what is left.
    let m = message(&format!("{}echo", "abcd".repeat(300))).await;
    let seen = m["content"].as_str().unwrap();
    assert!(seen.ends_with("abcdecho"), "{seen}");
    assert_eq!(seen.chars().count(), 4 * 116);
}

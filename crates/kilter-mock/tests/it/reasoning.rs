//! Every place where reasoning can stand.

use serde_json::{Value, json};

use crate::client::{chat, plain, server, tide, with};

async fn message(toml: &str, body: Value) -> Value {
    chat(&server(toml).await, body).await.json()["choices"][0]["message"].clone()
}

#[tokio::test]
async fn fields_by_each_name() {
    for (field, key) in [
        ("reasoning_content", "reasoning_content"),
        ("reasoning", "reasoning"),
        ("thinking", "thinking"),
    ] {
        let toml = format!(
            "[reasoning]\nchannel = \"field\"\nfield = \"{field}\"\ntext = \"So it is.\"\n[reply]\ntext = \"Yes.\""
        );
        let m = message(&toml, plain("?", false)).await;
        assert_eq!(m[key], "So it is.", "{field}");
        assert_eq!(m["content"], "Yes.");
        let r = chat(&server(&toml).await, plain("?", true)).await;
        assert_eq!(r.delta(key), "So it is.");
        assert_eq!(r.delta("content"), "Yes.");
    }
}

#[tokio::test]
async fn details_and_content_parts() {
    let toml = "[reasoning]\nchannel = \"field\"\nfield = \"reasoning_details\"\nalso_field = \"reasoning\"\ntext = \"Hm.\"";
    let m = message(toml, plain("?", false)).await;
    assert_eq!(m["reasoning_details"][0]["text"], "Hm.");
    assert_eq!(m["reasoning"], "Hm.");
    let toml = "[reasoning]\nchannel = \"field\"\nfield = \"content_parts\"\ntext = \"Hm.\"\n[reply]\ntext = \"Yes.\"";
    let m = message(toml, plain("?", false)).await;
    assert_eq!(m["content"][0]["thinking"][0]["text"], "Hm.");
    assert_eq!(m["content"][1]["text"], "Yes.");
    let r = chat(&server(toml).await, plain("?", true)).await;
    let text = r.text();
    assert!(text.contains("[{\"type\":\"thinking\"") && text.contains("[{\"type\":\"text\""));
}

#[tokio::test]
async fn inside_the_content() {
    let say = "text = \"Hm.\"\n[reply]\ntext = \"Yes.\"";
    for (keys, want) in [
        ("channel = \"inline\"", "<think>\nHm.\n</think>\n\nYes."),
        ("channel = \"lone_closer\"", "Hm.\n</think>\n\nYes."),
        (
            "channel = \"inline\"\nmarkers = \"brackets\"",
            "[THINK]Hm.[/THINK]Yes.",
        ),
        ("channel = \"inline\"\nunclosed = true", "<think>\nHm.Yes."),
        (
            "channel = \"inline\"\nopen = \"<<\"\nclose = \">>\"",
            "<<Hm.>>Yes.",
        ),
        (
            "channel = \"inline\"\nmarkers = \"harmony\"",
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistantYes.",
        ),
    ] {
        let toml = format!("[reasoning]\n{keys}\n{say}");
        let m = message(&toml, plain("?", false)).await;
        assert_eq!(m["content"], want, "{keys}");
        let r = chat(&server(&toml).await, plain("?", true)).await;
        assert_eq!(r.delta("content"), want, "{keys}");
    }
}

#[tokio::test]
async fn hidden_is_only_counted() {
    let s = server("[reasoning]\nchannel = \"hidden\"\ntokens = 30").await;
    let v = chat(&s, plain("?", false)).await.json();
    assert_eq!(
        v["usage"]["completion_tokens_details"]["reasoning_tokens"],
        30
    );
    let m = v["choices"][0]["message"].as_object().expect("a message");
    assert_eq!(m.keys().collect::<Vec<_>>(), ["role", "content"]);
}

#[tokio::test]
async fn overflow_spends_the_cap_until_it_is_raised() {
    for (channel, finish) in [
        ("field", "length"),
        ("hidden", "length"),
        ("inline", "length"),
    ] {
        let toml =
            format!("[reasoning]\nchannel = \"{channel}\"\noverflow_below = 1000\ncounted = true");
        let s = server(&toml).await;
        for stream in [false, true] {
            let low = with(
                plain("?", stream),
                json!({"max_tokens": 350, "stream_options": {"include_usage": true}}),
            );
            let r = chat(&s, low).await;
            let (usage, ended, content) = if stream {
                let last = r.chunks().pop().expect("a chunk");
                (
                    last["usage"].clone(),
                    r.finish().expect("a finish"),
                    r.delta("content"),
                )
            } else {
                let v = r.json();
                let c = &v["choices"][0];
                (
                    v["usage"].clone(),
                    c["finish_reason"].as_str().expect("a finish").to_owned(),
                    c["message"]["content"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                )
            };
            assert_eq!(ended, finish, "{channel}");
            assert_eq!(usage["completion_tokens"], 350, "{channel}");
            assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 350);
            assert_eq!(
                content.is_empty(),
                channel != "inline",
                "{channel}: {content}"
            );
            assert!(!content.contains("</think>"));
        }
        let high = with(plain("?", false), json!({"max_tokens": 1000}));
        let v = chat(&s, high).await.json();
        assert_eq!(v["choices"][0]["finish_reason"], "stop", "{channel}");
        assert!(
            !v["choices"][0]["message"]["content"]
                .as_str()
                .expect("text")
                .is_empty()
        );
    }
}

#[tokio::test]
async fn stop_with_reasoning_alone() {
    let toml = "[reasoning]\nchannel = \"field\"\nonly = true\ntext = \"The answer is 4.\"";
    let v = chat(&server(toml).await, plain("2+2?", false)).await.json();
    assert_eq!(v["choices"][0]["finish_reason"], "stop");
    assert_eq!(v["choices"][0]["message"]["content"], "");
    assert_eq!(
        v["choices"][0]["message"]["reasoning_content"],
        "The answer is 4."
    );
}

#[tokio::test]
async fn effort_switches_it() {
    let toml = "[reasoning]\nchannel = \"field\"";
    for off in [
        json!({"reasoning_effort": "none"}),
        json!({"reasoning": {"enabled": false}}),
        json!({"chat_template_kwargs": {"enable_thinking": false}}),
        json!({"thinking": {"type": "disabled"}}),
    ] {
        let m = message(toml, with(plain("?", false), off.clone())).await;
        assert!(m["reasoning_content"].is_null(), "{off}");
    }
    assert!(message(toml, plain("?", false)).await["reasoning_content"].is_string());
    let stubborn = "[reasoning]\nchannel = \"field\"\nobeys_off = false";
    let off = with(plain("?", false), json!({"reasoning_effort": "none"}));
    assert!(message(stubborn, off).await["reasoning_content"].is_string());
    let asked = "[reasoning]\nchannel = \"field\"\nonly_when_asked = true";
    assert!(message(asked, plain("?", false)).await["reasoning_content"].is_null());
    let on = with(plain("?", false), json!({"reasoning_effort": "low"}));
    assert!(message(asked, on).await["reasoning_content"].is_string());
}

#[tokio::test]
async fn calls_inside_the_block() {
    let toml = "[reasoning]\nchannel = \"inline\"\ncalls_inside = true\ntext = \"Hm.\"\nmarkers = \"think-tight\"\n[calls]\nchannel = \"content\"\ndialect = \"bare-json\"";
    let m = message(toml, tide(false)).await;
    assert_eq!(
        m["content"],
        "<think>Hm.{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\", \"days\": 2}}</think>"
    );
}

//! The demonstration models against a prober that they do not know.

use kilter_mock::{MockServer, demo};
use serde_json::{Value, json};

use crate::client::{Reply, chat_as, plain, tools, with};

/// Words that `[expect]` may use.
const KEYS: [&str; 9] = [
    "reasoning",
    "marker",
    "tools",
    "dialect",
    "budget",
    "window",
    "window_tokens",
    "history",
    "constraints",
];

#[test]
fn each_says_what_it_does_and_what_to_expect() {
    let all = demo::all().unwrap_or_else(|e| panic!("{e}"));
    assert!(all.len() >= 14);
    for (script, (file, _)) in all.iter().zip(demo::SOURCES) {
        assert_eq!(script.name(), *file);
        let about = script.about().expect("an about line");
        assert!(
            !about.contains('\n') && about.len() <= 100,
            "{file}: {about}"
        );
        let expect = script.expect().expect("an [expect] table");
        for key in expect.keys() {
            assert!(
                KEYS.contains(&key.as_str()) || key == "habits",
                "{file}: {key}"
            );
        }
    }
}

/// The content and the calls of an answer, however it came.
fn said(r: &Reply, stream: bool) -> (String, usize) {
    if stream {
        let calls = r
            .chunks()
            .iter()
            .filter(|c| !c["choices"][0]["delta"]["tool_calls"].is_null())
            .count();
        return (r.delta("content"), calls);
    }
    let m = &r.json()["choices"][0]["message"];
    let calls = m["tool_calls"].as_array().map_or(0, Vec::len);
    (m["content"].as_str().unwrap_or_default().to_owned(), calls)
}

/// Sends a request as a client would that heeds each refusal.
async fn heeding(server: &MockServer, session: &str, mut body: Value) -> Reply {
    for _ in 0..4 {
        let r = chat_as(server, session, body.clone()).await;
        if r.status == 200 {
            return r;
        }
        let text = r.text();
        let o = body.as_object_mut().expect("an object");
        if text.contains("reasoning_effort") {
            o.insert("reasoning_effort".to_owned(), json!("none"));
        } else if text.contains("max_completion_tokens") {
            let cap = o.remove("max_tokens").unwrap_or_default();
            o.insert("max_completion_tokens".to_owned(), cap);
        } else if text.contains("temperature") {
            o.remove("temperature");
        } else if text.contains("stream_options") {
            o.remove("stream_options");
        } else {
            panic!("an unexpected refusal: {text}");
        }
    }
    panic!("refused again and again")
}

#[tokio::test]
async fn each_calls_when_asked_and_talks_when_not() {
    for script in demo::all().expect("demos") {
        let name = script.name().to_owned();
        let expect = script.expect().expect("expect").clone();
        let word = |k: &str| {
            expect
                .get(k)
                .and_then(|v| v.as_str())
                .unwrap_or("")
                .to_owned()
        };
        for stream in [false, true] {
            let server = MockServer::local(script.clone()).await.expect("a server");
            // A model that is swapped shows its second face only later.
            if name == "swapped" {
                for _ in 0..4 {
                    chat_as(&server, "s", plain("hello", false)).await;
                }
            }
            for choice in ["auto", "required"] {
                let mut body = json!({
                    "model": "x", "stream": stream, "tools": tools(), "tool_choice": choice,
                    "temperature": 0, "max_tokens": 512,
                    "messages": [
                        {"role": "system", "content": "You are brief."},
                        {"role": "user", "content": "How high is the tide in Brest?"}
                    ]
                });
                if stream {
                    body = with(body, json!({"stream_options": {"include_usage": true}}));
                }
                let r = heeding(&server, "s", body).await;
                let (content, calls) = said(&r, stream);
                match word("tools").as_str() {
                    "structured" => assert!(calls > 0, "{name}: {}", r.text()),
                    "in_content" => {
                        assert_eq!(calls, 0, "{name}");
                        assert!(
                            content.contains("get_tide") && content.contains("Brest"),
                            "{name}: {content}"
                        );
                    }
                    _ => assert_eq!((calls, content.contains("get_tide")), (0, false), "{name}"),
                }
            }
            let talk = with(
                plain("Say hello to the team in a sentence.", stream),
                json!({"tools": tools(), "max_tokens": 200}),
            );
            let (content, calls) = said(&heeding(&server, "s", talk).await, stream);
            assert_eq!(calls, 0, "{name}");
            assert!(!content.trim().is_empty(), "{name}");
        }
    }
}

#[tokio::test]
async fn budgets_are_as_expected() {
    for script in demo::all().expect("demos") {
        let name = script.name().to_owned();
        let budget = script
            .expect()
            .and_then(|e| e.get("budget"))
            .and_then(|v| v.as_str())
            .unwrap_or("")
            .to_owned();
        let server = MockServer::local(script).await.expect("a server");
        for stream in [false, true] {
            for (cap, room) in [(350, false), (2048, true)] {
                let body = with(
                    plain("Think hard: how many sheep are left?", stream),
                    json!({"max_tokens": cap}),
                );
                let r = heeding(&server, "b", body).await;
                let (content, _) = said(&r, stream);
                let finish = if stream {
                    r.finish().unwrap_or_default()
                } else {
                    r.json()["choices"][0]["finish_reason"]
                        .as_str()
                        .unwrap_or("")
                        .to_owned()
                };
                let overflows = budget == "overflows" && !room;
                assert_eq!(finish == "length", overflows, "{name} at {cap}: {finish}");
                assert_eq!(content.is_empty(), overflows, "{name} at {cap}: {content}");
            }
        }
    }
}

#[tokio::test]
async fn answers_of_demos_are_the_same_each_time() {
    for script in demo::all().expect("demos") {
        let name = script.name().to_owned();
        let mut bodies = Vec::new();
        for _ in 0..2 {
            let server = MockServer::local(script.clone()).await.expect("a server");
            let mut run = Vec::new();
            for i in 0..3 {
                let body = with(
                    plain(&format!("hello {i}"), i % 2 == 0),
                    json!({"tools": tools()}),
                );
                run.push(heeding(&server, "d", body).await.body);
            }
            bodies.push(run);
        }
        assert_eq!(bodies[0], bodies[1], "{name}");
    }
}

//! The eighteen scenarios in which peers were compared, streaming and not.

use serde_json::{Value, json};

use crate::client::{Got, Rig, ask, rig};

async fn both(script: &str, request: impl Fn(bool) -> Value, check: impl Fn(&Got, &Rig, bool)) {
    for stream in [false, true] {
        let r = rig(script).await;
        let got = r.ask(&request(stream), &[]).await;
        assert_eq!(got.status, 200, "{}", got.text());
        check(&got, &r, stream);
    }
}

fn literal(dialect: &str) -> String {
    format!(
        "name = \"m\"\n[calls]\nchannel = \"content\"\ndialect = \"{dialect}\"\npolicy = \"eager\"\n\
         literal = [{{ name = \"read_file\", arguments = {{ path = \"a.txt\" }} }}]\n"
    )
}

async fn recovers(dialect: &str) {
    both(
        &literal(dialect),
        |s| ask("read it", s),
        |got, _, stream| {
            let t = got.turn();
            assert_eq!(
                t.calls.len(),
                1,
                "{dialect}, stream {stream}: {}",
                got.text()
            );
            assert_eq!(t.calls[0].name, "read_file");
            assert_eq!(t.calls[0].args(), json!({ "path": "a.txt" }));
            assert!(!t.calls[0].id.is_empty());
            assert_eq!(t.finish.as_deref(), Some("tool_calls"));
            assert_eq!(t.content.trim(), "", "{}", got.text());
            assert_eq!((t.done, t.errors.len(), t.roles), (1, 0, 1));
            let actions = got.actions();
            assert!(
                actions.iter().any(|a| a.starts_with("recovered=")),
                "{actions:?}"
            );
            if !stream {
                assert!(got.header("x-kilter-actions").contains("recovered="));
            }
        },
    )
    .await;
}

#[tokio::test]
async fn s01_a_tagged_json_call_in_content() {
    recovers("hermes-json").await;
}

#[tokio::test]
async fn s02_a_tagged_element_call_in_content() {
    recovers("qwen-xml").await;
}

#[tokio::test]
async fn s03_a_fenced_json_call_in_content() {
    recovers("fenced-json").await;
}

#[tokio::test]
async fn s04_inline_thinking_is_split_once_learned() {
    for stream in [false, true] {
        let r = rig("name = \"m\"\n[reasoning]\nchannel = \"inline\"\ntext = \"Let me think.\"\n[reply]\ntext = \"Forty two.\"").await;
        let mut last = None;
        for _ in 0..4 {
            let got = r.ask(&ask("hello there", stream), &[]).await;
            last = Some(got.turn());
        }
        let t = last.unwrap();
        assert_eq!(t.content.trim(), "Forty two.", "stream {stream}");
        assert_eq!(t.reasoning.trim(), "Let me think.");
        assert_eq!(t.finish.as_deref(), Some("stop"));
    }
}

#[tokio::test]
async fn s05_a_lone_closer_is_split() {
    for stream in [false, true] {
        let r = rig("name = \"m\"\n[reasoning]\nchannel = \"lone_closer\"\ntext = \"Let me think.\"\n[reply]\ntext = \"Forty two.\"").await;
        for n in 0..4 {
            let t = r.ask(&ask("hello there", stream), &[]).await.turn();
            // The first turn is split inside its window, later ones by what was learnt.
            assert_eq!(t.content.trim(), "Forty two.", "turn {n}, stream {stream}");
            assert_eq!(t.reasoning.trim(), "Let me think.");
        }
    }
}

#[tokio::test]
async fn s06_reasoning_has_one_name() {
    for field in [
        "reasoning",
        "thinking",
        "reasoning_details",
        "content_parts",
        "reasoning_content",
    ] {
        let script = format!(
            "name = \"m\"\n[reasoning]\nchannel = \"field\"\nfield = \"{field}\"\ntext = \"Hm, so.\"\n[reply]\ntext = \"Forty two.\""
        );
        both(
            &script,
            |s| ask("hello there", s),
            |got, _, stream| {
                let t = got.turn();
                assert_eq!(
                    t.reasoning,
                    "Hm, so.",
                    "{field}, stream {stream}: {}",
                    got.text()
                );
                assert_eq!(t.content, "Forty two.");
                let said = got
                    .actions()
                    .iter()
                    .any(|a| a == &format!("reasoning_field={field}"));
                assert_eq!(said, field != "reasoning_content", "{:?}", got.actions());
            },
        )
        .await;
    }
}

const OVERFLOW: &str = "name = \"m\"\n[reasoning]\nchannel = \"field\"\ntext = \"Think think.\"\noverflow_below = 100\n[reply]\ntext = \"Forty two.\"";

#[tokio::test]
async fn s07_an_overflow_is_continued_once() {
    let request = |s| {
        let mut b = ask("hello there", s);
        b["max_tokens"] = json!(50);
        b
    };
    both(OVERFLOW, request, |got, r, stream| {
        let t = got.turn();
        assert_eq!(t.content, "Forty two.", "stream {stream}: {}", got.text());
        assert_eq!(t.finish.as_deref(), Some("stop"));
        assert_eq!((t.roles, t.done, t.ids.len()), (1, 1, 1), "{}", got.text());
        let kilter = t.kilter.unwrap();
        assert!(
            got.actions().contains(&"continued=1".to_owned()),
            "{kilter}"
        );
        let parts = kilter["usage"].as_array().expect("both parts");
        assert_eq!(parts.len(), 2);
        let sum = |k: &str| parts.iter().map(|p| p[k].as_u64().unwrap()).sum::<u64>();
        let usage = t.usage.unwrap();
        assert_eq!(
            usage["completion_tokens"].as_u64(),
            Some(sum("completion_tokens"))
        );
        assert_eq!(usage["prompt_tokens"].as_u64(), Some(sum("prompt_tokens")));
        let chats = r.mock.chats();
        assert_eq!(chats.len(), 2);
        assert!(chats[1].json()["max_tokens"].as_u64().unwrap() > 50);
        assert!(t.reasoning.contains("Think think."));
    })
    .await;
}

#[tokio::test]
async fn s08_tools_with_reasoning_are_compensated() {
    let script = "name = \"m\"\n[reasoning]\nchannel = \"hidden\"\n[[refuse]]\nkind = \"tools_with_reasoning\"";
    for stream in [false, true] {
        let r = rig(script).await;
        for n in 0..2 {
            let got = r
                .ask(&ask("what is the weather in Paris?", stream), &[])
                .await;
            assert_eq!(got.status, 200, "{}", got.text());
            assert_eq!(got.turn().calls.len(), 1, "{}", got.text());
            assert!(
                got.header("x-kilter-actions")
                    .contains("compensation=tools-with-reasoning")
            );
            // The first needs two requests; then it is known.
            assert_eq!(r.mock.chats().len(), 2 + n);
        }
    }
}

#[tokio::test]
async fn s09_parallel_calls_without_index() {
    for index in ["missing", "zero", "duplicated", "from_one"] {
        for whole in [true, false] {
            let script = format!(
                "name = \"m\"\n[calls]\npolicy = \"eager\"\nliteral = [{{ name = \"read_file\", arguments = {{ path = \"a.txt\" }} }}, {{ name = \"read_file\", arguments = {{ path = \"b.txt\" }} }}]\n[stream]\nindex = \"{index}\"\nwhole_calls = {whole}"
            );
            both(
                &script,
                |s| ask("read both", s),
                |got, _, _| {
                    let t = got.turn();
                    assert_eq!(t.calls.len(), 2, "{index} {whole}: {}", got.text());
                    assert_eq!(t.calls[0].args(), json!({ "path": "a.txt" }));
                    assert_eq!(t.calls[1].args(), json!({ "path": "b.txt" }));
                    assert_ne!(t.calls[0].id, t.calls[1].id);
                    if t.calls[0].index.is_some() {
                        assert_eq!((t.calls[0].index, t.calls[1].index), (Some(0), Some(1)));
                    }
                    assert_eq!(t.finish.as_deref(), Some("tool_calls"));
                },
            )
            .await;
        }
    }
}

#[tokio::test]
async fn s10_stop_with_calls_is_tool_calls() {
    let script = "name = \"m\"\n[reply]\nfinish = \"stop\"\n[calls]\npolicy = \"eager\"";
    both(
        script,
        |s| ask("what is the weather in Paris?", s),
        |got, _, _| {
            let t = got.turn();
            assert_eq!(t.calls.len(), 1, "{}", got.text());
            assert_eq!(t.finish.as_deref(), Some("tool_calls"), "{}", got.text());
            assert!(got.actions().contains(&"finish=tool_calls".to_owned()));
        },
    )
    .await;
}

#[tokio::test]
async fn s11_cut_arguments_say_length() {
    let script = "name = \"m\"\n[reply]\nfinish = \"tool_calls\"\n[calls]\npolicy = \"eager\"\ncut = 8\nliteral = [{ name = \"read_file\", arguments = { path = \"a.txt\" } }]";
    both(
        script,
        |s| ask("read it", s),
        |got, _, _| {
            let t = got.turn();
            assert_eq!(t.finish.as_deref(), Some("length"), "{}", got.text());
            // Braces are never closed for the model.
            assert!(serde_json::from_str::<Value>(&t.calls[0].arguments).is_err());
        },
    )
    .await;
}

#[tokio::test]
async fn s12_characters_cut_by_packets() {
    for n in [1, 2, 3, 5] {
        let script = format!(
            "name = \"m\"\n[reply]\ntext = \"北京 – naïve 🦊 ok\"\n[stream]\nwrite_bytes = {n}"
        );
        both(
            &script,
            |s| ask("hello there", s),
            |got, _, _| {
                assert_eq!(got.turn().content, "北京 – naïve 🦊 ok");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn s13_every_form_of_an_event() {
    for line_end in ["lf", "crlf", "cr"] {
        let script = format!(
            "name = \"m\"\n[reply]\ntext = \"alpha beta gamma delta\"\n[stream]\nline_end = \"{line_end}\"\nid_lines = true\nretry_line = true\ncomment_every = 2\nmulti_line = true\nbom = true\nno_last_blank = true"
        );
        both(
            &script,
            |s| ask("hello there", s),
            |got, _, stream| {
                let t = got.turn();
                assert_eq!(t.content, "alpha beta gamma delta", "{}", got.text());
                assert_eq!((t.done, t.finish.as_deref()), (1, Some("stop")));
                if stream {
                    // A comment after an id line is an event with empty data to some clients.
                    let text = got.text();
                    assert!(
                        !text.contains("\nid:") && !text.contains("retry:"),
                        "{text}"
                    );
                    assert!(!text.lines().any(|l| l.starts_with(':')), "{text}");
                }
            },
        )
        .await;
    }
}

fn history(stream: bool, reasoning: bool) -> Value {
    let mut b = ask("and now?", stream);
    let mut said = json!({ "role": "assistant", "content": "Earlier answer." });
    if reasoning {
        said["reasoning_content"] = json!("earlier thought");
    }
    b["messages"].as_array_mut().unwrap().insert(1, said);
    b["messages"]
        .as_array_mut()
        .unwrap()
        .insert(1, json!({ "role": "user", "content": "first" }));
    b
}

#[tokio::test]
async fn s14_reasoning_in_history_by_backend() {
    // One that refuses it gets it stripped; one that takes it gets it untouched.
    let refuses = "name = \"m\"\n[[refuse]]\nkind = \"history_reasoning\"\nshape = \"prose\"";
    both(
        refuses,
        |s| history(s, true),
        |got, r, _| {
            assert_eq!(got.turn().finish.as_deref(), Some("stop"));
            let last = r.mock.chats().pop().unwrap().json();
            assert!(
                last["messages"][2].get("reasoning_content").is_none(),
                "{last}"
            );
            assert!(
                got.header("x-kilter-actions")
                    .contains("compensation=reasoning-refused")
            );
        },
    )
    .await;
    both(
        "name = \"m\"",
        |s| history(s, true),
        |_, r, _| {
            let last = r.mock.chats().pop().unwrap().json();
            assert_eq!(last["messages"][2]["reasoning_content"], "earlier thought");
        },
    )
    .await;
}

#[tokio::test]
async fn s15_unknown_fields_pass_byte_for_byte() {
    for stream in [false, true] {
        let r = rig("name = \"m\"\n[stream]\nextra_keys = true\n[usage]\nextra = true").await;
        let body = format!(
            "{{ \"model\":\"m\",  \"x_future\": {{\"a\":[1.0, 1e3]}},\"messages\":[{{\"role\":\"user\",\"content\":\"h\\u00e9\",\"x\":null}}],\"store\":true,\"stream\":{stream} }}"
        );
        let url = format!("{}/chat/completions", r.gateway.url());
        let got = crate::client::send("POST", &url, body.clone().into(), &[]).await;
        assert_eq!(got.status, 200);
        assert_eq!(r.mock.chats()[0].body, body.as_bytes());
    }
}

#[tokio::test]
async fn s16_an_error_in_a_stream_is_an_error() {
    let script = "name = \"m\"\n[[faults]]\nkind = \"error_event\"\nafter = 3\nmessage = \"the engine fell over\"";
    for then_done in [false, true] {
        let script = format!(
            "{script}\nthen_done = {then_done}\n[reply]\ntext = \"one two three four five six seven eight nine ten\""
        );
        let r = rig(&script.replace("[reply]", "\n[reply]")).await;
        let got = r.ask(&ask("hello there", true), &[]).await;
        let t = got.turn();
        assert_eq!(t.errors.len(), 1, "{}", got.text());
        assert!(
            t.errors[0]["message"]
                .as_str()
                .unwrap()
                .contains("the engine fell over")
        );
        assert_eq!((t.done, t.finish), (0, None), "{}", got.text());
        assert!(!t.content.is_empty());
    }
}

#[tokio::test]
async fn s18_an_undeclared_call_in_text_stays_text() {
    let script = "name = \"m\"\n[calls]\nchannel = \"content\"\ndialect = \"hermes-json\"\npolicy = \"eager\"\nliteral = [{ name = \"rm_rf\", arguments = { path = \"/\" } }]";
    both(
        script,
        |s| ask("do it", s),
        |got, _, _| {
            let t = got.turn();
            assert_eq!(t.calls, []);
            assert!(
                t.content.contains("rm_rf") && t.content.contains("<tool_call>"),
                "{}",
                got.text()
            );
            assert_eq!(t.finish.as_deref(), Some("stop"));
        },
    )
    .await;
}

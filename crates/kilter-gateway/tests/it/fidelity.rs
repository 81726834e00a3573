//! What is healthy is not touched: `on` equals `off`, `observe` is `off` and remembers.

use kilter_core::{Clock, EventKind, SystemClock};
use kilter_mock::{MockServer, Script};
use serde_json::json;

use crate::client::{Got, ask, config, gateway, rig, start};

/// Healthy models: native calls, reasoning under its one name, or none.
const HEALTHY: &[&str] = &[
    "name = \"m\"",
    "name = \"m\"\n[calls]\npolicy = \"eager\"",
    "name = \"m\"\n[calls]\npolicy = \"eager\"\ncount = 2\n[reply]\nbefore = \"Let me look. \"",
    "name = \"m\"\n[reasoning]\nchannel = \"field\"",
    "name = \"m\"\n[reasoning]\nchannel = \"hidden\"\ntokens = 20",
    "name = \"m\"\n[reasoning]\nchannel = \"field\"\n[calls]\npolicy = \"eager\"",
    "name = \"m\"\n[reply]\ntext = \"Done.\"",
    "name = \"m\"\n[reply]\ntext = \"Use the <think> tag like this: `<think>plan</think>` in your template.\"",
    "name = \"m\"\n[reply]\ntext = \"In JSON: {\\\"name\\\": \\\"x\\\"} and a < b > c, [1, 2], `f(x)`.\"",
    "name = \"m\"\n[stream]\nextra_keys = true\npiece = 3\n[usage]\nextra = true\nplace = \"finish\"\nreport = \"always\"",
    "name = \"m\"\n[stream]\nline_end = \"crlf\"\ncomment_every = 3\n[usage]\nnull_before = true",
    "name = \"m\"\n[stream]\nfirst = \"null\"\npiece = 1",
];

async fn twice(script: &str, stream: bool, turns: usize) -> (Vec<Got>, Vec<Got>) {
    let mut out = Vec::new();
    for adapt in ["off", "on"] {
        let r = rig(script).await;
        let mut got = Vec::new();
        for _ in 0..turns {
            got.push(
                r.ask(
                    &ask("what is the weather in Paris?", stream),
                    &[("x-kilter-adapt", adapt)],
                )
                .await,
            );
        }
        out.push(got);
    }
    let on = out.pop().unwrap();
    (out.pop().unwrap(), on)
}

#[tokio::test]
async fn on_equals_off_on_healthy_models_byte_for_byte() {
    for script in HEALTHY {
        for stream in [false, true] {
            let (off, on) = twice(script, stream, 4).await;
            for (n, (a, b)) in off.iter().zip(&on).enumerate() {
                assert_eq!(a.text(), b.text(), "{script}, stream {stream}, turn {n}");
                assert_eq!(a.status, b.status);
                assert_eq!(b.header("x-kilter-actions"), "", "{script}");
            }
        }
    }
}

#[tokio::test]
async fn the_gateway_off_is_the_upstream() {
    for script in HEALTHY {
        for stream in [false, true] {
            let script = Script::from_toml(script).unwrap();
            // Two servers: an answer's id counts turns.
            let alone = MockServer::local(script.clone()).await.unwrap();
            let behind = MockServer::local(script).await.unwrap();
            let g = gateway(&behind.url()).await;
            let body = ask("what is the weather in Paris?", stream);
            let url = format!("{}/chat/completions", alone.url());
            let direct = crate::client::send("POST", &url, body.to_string().into(), &[]).await;
            let through = crate::client::post(&g, &body, &[("x-kilter-adapt", "off")]).await;
            assert_eq!(direct.text(), through.text());
            assert_eq!(
                direct.header("content-type"),
                through.header("content-type")
            );
        }
    }
}

#[tokio::test]
async fn observe_is_off_and_says_what_it_would_have_done() {
    let script = "name = \"m\"\n[calls]\nchannel = \"content\"\ndialect = \"hermes-json\"\npolicy = \"eager\"\nliteral = [{ name = \"read_file\", arguments = { path = \"a.txt\" } }]";
    for stream in [false, true] {
        let off = rig(script).await;
        let off = off
            .ask(&ask("read it", stream), &[("x-kilter-adapt", "off")])
            .await;
        let r = rig(script).await;
        let mut events = r.gateway.events();
        let seen = r
            .ask(&ask("read it", stream), &[("x-kilter-adapt", "observe")])
            .await;
        assert_eq!(off.text(), seen.text());
        assert_eq!(seen.header("x-kilter-actions"), "");
        let mut recovered = 0;
        while let Ok(e) = events.try_recv() {
            assert!(e.observed_only, "{e:?}");
            recovered += u32::from(matches!(e.kind, EventKind::RecoveredToolCall { .. }));
        }
        assert_eq!(recovered, 1, "stream {stream}");
        let m = r.gateway.state().metrics.render();
        assert!(!m.contains("kilter_interventions_total{"), "{m}");
    }
}

#[tokio::test]
async fn several_choices_pass_through() {
    for stream in [false, true] {
        let script = "name = \"m\"\n[calls]\nchannel = \"content\"\ndialect = \"hermes-json\"\npolicy = \"eager\"";
        let mut body = ask("read a file", stream);
        body["n"] = json!(2);
        let mut texts = Vec::new();
        for adapt in ["off", "on"] {
            let r = rig(script).await;
            texts.push(r.ask(&body, &[("x-kilter-adapt", adapt)]).await.text());
        }
        assert_eq!(texts[0], texts[1]);
    }
}

#[tokio::test]
async fn the_stream_and_the_whole_answer_agree() {
    for script in [
        "name = \"m\"\n[calls]\nchannel = \"content\"\ndialect = \"hermes-json\"\npolicy = \"eager\"\nbefore = \"Let me look.\\n\"\nliteral = [{ name = \"read_file\", arguments = { path = \"a.txt\" } }]",
        "name = \"m\"\n[reasoning]\nchannel = \"inline\"\ntext = \"Hm.\"\n[reply]\ntext = \"Yes.\"",
        "name = \"m\"\n[reasoning]\nchannel = \"field\"\nfield = \"reasoning\"",
    ] {
        let (a, b) = (rig(script).await, rig(script).await);
        for _ in 0..4 {
            let whole = a.ask(&ask("read it", false), &[]).await.turn();
            let stream = b.ask(&ask("read it", true), &[]).await.turn();
            assert_eq!(whole.content, stream.content, "{script}");
            assert_eq!(whole.reasoning, stream.reasoning);
            assert_eq!(whole.finish, stream.finish);
            let names = |t: &crate::client::Turn| {
                t.calls
                    .iter()
                    .map(|c| (c.name.clone(), c.arguments.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(names(&whole), names(&stream));
        }
    }
}

#[tokio::test]
async fn every_delta_is_forwarded_as_it_comes() {
    // Field report gw16: sixty argument deltas, none of them held for the rest.
    use crate::raw::{Raw, Step, chunk, event, stream};
    let mut events = vec![event(&chunk(
        &json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function", "function": { "name": "read_file", "arguments": "" } }] }),
        None,
    ))];
    for _ in 0..5 {
        events.push(event(&chunk(
            &json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "x" } }] }),
            None,
        )));
    }
    let mut script = stream(&events);
    script.steps.push(Step::Hang);
    let up = Raw::serve(vec![script]).await;
    let g = start(config(&up.url())).await;
    use http_body_util::BodyExt;
    let req = http::Request::post(format!("{}/chat/completions", g.url()))
        .body(http_body_util::Full::new(
            ask("read", true).to_string().into(),
        ))
        .unwrap();
    let mut body = crate::client::http()
        .request(req)
        .await
        .unwrap()
        .into_body();
    let mut got = Vec::new();
    let all = async {
        while got.len() < events.concat().len() {
            let f = body.frame().await.unwrap().unwrap().into_data().unwrap();
            got.extend_from_slice(&f);
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), all)
        .await
        .expect("all deltas while the stream is open");
    assert_eq!(String::from_utf8(got).unwrap(), events.concat());
}

/// Every lane keeps its own connection to the upstream, and no more than that.
#[tokio::test]
async fn connections_are_used_again() {
    let lanes = kilter_gateway::lane::count();
    for stream in [false, true] {
        for adapt in ["off", "observe", "on"] {
            let r = rig("name = \"m\"").await;
            for _ in 0..lanes + 4 {
                let got = r
                    .ask(&ask("hello there", stream), &[("x-kilter-adapt", adapt)])
                    .await;
                assert_eq!(got.status, 200);
            }
            let made = r.mock.counters().connections;
            assert!(
                (1..=lanes as u64).contains(&made),
                "{made}: {adapt}, stream {stream}"
            );
        }
    }
}

/// Texts that a marker might begin in, and that are none.
const PLAIN: &[&str] = &[
    "Use the <think> tag like this: `<think>plan</think>` in your template.",
    "a < b, b <c, <\n<<tool <tool_cal> and <tool_cat>; then [TOOL_ [1, 2] {\"name\": 3}.",
    "Stop at <|im_end or <|, or at ``` or `` or `.\n\n```json\n{\"a\": [1, {\"b\": 2}]}\n```\nThat is it.",
    "  \n Leading space, <function or <functional>, read_fil( and read_file is a name.\n",
    "Nested: {\"name\": \"nobody\", \"arguments\": {}} is no call, nor is [nobody(x=1)].",
    "Le résumé — 北京 < 東京 — </thin ki> </ think>.",
    "It ends in a bracket <",
    "It ends in a brace {\"name\": \"read",
];

/// Every piece size, and sizes that change, give the upstream's own bytes back.
#[tokio::test]
async fn a_stream_in_which_nothing_fires_is_the_upstreams_bytes_at_every_cut() {
    use crate::raw::{Raw, content};
    for text in PLAIN {
        for n in (1..=24).chain([40, 1000]) {
            let script = content(text, n);
            let want = sent(&script);
            let up = Raw::serve(vec![script]).await;
            let g = gateway(&up.url()).await;
            // The first turns of a session, while nothing is known, and later ones.
            for turn in 0..2 {
                let got = crate::client::post(&g, &ask("go", true), &[]).await;
                assert_eq!(got.text(), want, "{text:?} in pieces of {n}, turn {turn}");
                assert_eq!(got.header("x-kilter-actions"), "");
            }
        }
    }
}

fn sent(script: &crate::raw::Script) -> String {
    let mut all = Vec::new();
    for s in &script.steps {
        if let crate::raw::Step::Bytes(b) = s {
            all.extend_from_slice(b);
        }
    }
    String::from_utf8(all).unwrap()
}

/// Words in front of something that may begin a marker wait for it, but not for ever.
#[tokio::test]
async fn words_before_a_possible_marker_wait_no_longer_than_the_bound() {
    use crate::raw::{Raw, Script as Upstream, Step, chunk, event};
    use http_body_util::BodyExt;
    let piece =
        |text: &str| Step::Bytes(event(&chunk(&json!({ "content": text }), None)).into_bytes());
    let script = Upstream {
        status: 200,
        content_type: "text/event-stream",
        before_head: 0,
        steps: vec![
            piece("Well. "),
            piece("Now <"),
            Step::Pause(1500),
            piece("= 3"),
            Step::Bytes(event(&chunk(&json!({}), Some("stop"))).into_bytes()),
            Step::Bytes(b"data: [DONE]\n\n".to_vec()),
        ],
    };
    let up = Raw::serve(vec![script]).await;
    let mut c = config(&up.url());
    c.gateway.hold_back = kilter_gateway::config::Span::millis(60);
    let g = start(c).await;
    let url = format!("{}/chat/completions", g.url());
    let req = http::Request::post(url)
        .header("content-type", "application/json")
        .body(http_body_util::Full::new(bytes::Bytes::from(
            ask("go", true).to_string(),
        )))
        .unwrap();
    let mut body = crate::client::http()
        .request(req)
        .await
        .unwrap()
        .into_body();
    let clock = SystemClock::default();
    let mut text = String::new();
    let mut early = None;
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.unwrap().into_data() {
            text.push_str(&String::from_utf8_lossy(&data));
        }
        if text.contains("Now") && early.is_none() {
            early = Some((clock.elapsed(), text.contains("= 3")));
        }
    }
    let (after, too_late) = early.expect("the words came");
    assert!(
        !too_late,
        "the words came with what followed, after {after:?}"
    );
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let pieces: String = text
        .lines()
        .filter_map(|l| l.strip_prefix("data: "))
        .filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok())
        .filter_map(|v| {
            v["choices"][0]["delta"]["content"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(pieces, "Well. Now <= 3");
}

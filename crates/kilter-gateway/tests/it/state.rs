//! What is on disk: traces, captures, profiles; and that no key is.

use std::path::Path;

use kilter_core::{EventKind, TraceEvent};
use kilter_gateway::capture::CaptureLine;
use kilter_gateway::config::{CaptureMode, Config, Secret};
use kilter_mock::{MockServer, Script};
use serde_json::json;

use crate::client::{ask, config, post, start};

const CALLS: &str = "name = \"m\"\n[calls]\nchannel = \"content\"\ndialect = \"hermes-json\"\npolicy = \"eager\"\nliteral = [{ name = \"read_file\", arguments = { path = \"a.txt\" } }]";

fn with_state(url: &str, dir: &Path) -> Config {
    let mut c = config(url);
    c.state.dir = Some(dir.to_owned());
    c
}

fn trace(dir: &Path) -> Vec<TraceEvent> {
    kilter_gateway::trace::files(dir)
        .iter()
        .flat_map(|p| {
            std::fs::read_to_string(p)
                .unwrap()
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .map(|l| serde_json::from_str(&l).unwrap_or_else(|e| panic!("{e}: {l}")))
        .collect()
}

fn captures(dir: &Path) -> Vec<CaptureLine> {
    kilter_gateway::capture::files(dir)
        .iter()
        .flat_map(|p| {
            std::fs::read_to_string(p)
                .unwrap()
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .map(|l| serde_json::from_str(&l).unwrap())
        .collect()
}

#[tokio::test]
async fn events_are_on_disk_when_the_client_sees_the_end() {
    let mock = MockServer::local(Script::from_toml(CALLS).unwrap())
        .await
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut c = with_state(&mock.url(), dir.path());
    c.backends[0].capability.digest = Some("sha256:abc".into());
    c.capture.mode = CaptureMode::ErrorsAndInterventions;
    let g = start(c).await;
    for stream in [false, true] {
        post(&g, &ask("read it", stream), &[("x-kilter-session", "s1")]).await;
    }
    let events = trace(dir.path());
    let names: Vec<&str> = events.iter().map(|e| e.kind.name()).collect();
    for name in ["recovered_tool_call", "chat_completion_finish"] {
        assert_eq!(names.iter().filter(|n| **n == name).count(), 2, "{names:?}");
    }
    for e in &events {
        assert_eq!(
            (e.session.as_str(), e.backend.as_str(), e.slot.as_str()),
            ("s1", "up", "m")
        );
        assert_eq!(e.model_digest.as_deref(), Some("sha256:abc"));
        assert!(e.capture.is_some() && !e.observed_only);
        if let EventKind::ChatCompletionFinish {
            finish_reason,
            upstream_finish_reason,
            recovered_calls,
            ..
        } = &e.kind
        {
            assert_eq!(finish_reason.as_deref(), Some("tool_calls"));
            assert_eq!(
                (upstream_finish_reason.as_deref(), *recovered_calls),
                (Some("stop"), 1)
            );
        }
    }
    g.shutdown().await;
    let kept = captures(dir.path());
    assert_eq!(kept.len(), 2);
    assert_eq!(Some(&kept[0].id), events[0].capture.as_ref());
    let raw = String::from_utf8(kept[1].exchanges[0].body.bytes()).unwrap();
    assert!(raw.contains("data: [DONE]") && kept[1].exchanges[0].reads.len() > 1);
    assert!(kept[0].actions.iter().any(|a| a.starts_with("recovered=")));
}

#[tokio::test]
async fn a_healthy_turn_is_not_captured_unless_all_are() {
    let mock = MockServer::local(Script::healthy("m")).await.unwrap();
    for (mode, n) in [
        (CaptureMode::Off, 0),
        (CaptureMode::ErrorsAndInterventions, 0),
        (CaptureMode::All, 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut c = with_state(&mock.url(), dir.path());
        c.capture.mode = mode;
        let g = start(c).await;
        post(&g, &ask("hello", false), &[]).await;
        g.shutdown().await;
        assert_eq!(captures(dir.path()).len(), n, "{mode:?}");
    }
}

#[tokio::test]
async fn no_key_reaches_the_disk_or_the_client() {
    let key = "sk-upstream-0123456789";
    let script = format!(
        "name = \"m\"\n[[faults]]\nkind = \"status\"\nstatus = 401\nmessage = \"Incorrect API key provided: {key}\""
    );
    let mock = MockServer::local(Script::from_toml(&script).unwrap())
        .await
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut c = with_state(&mock.url(), dir.path());
    c.backends[0].api_key = Some(Secret::parse(key));
    c.capture.mode = CaptureMode::All;
    assert!(!format!("{c:?}").contains(key));
    assert!(!toml::to_string(&c).unwrap().contains(key));
    let g = start(c).await;
    let mut body = ask("hello", false);
    body["user"] = json!(format!("my key is {key}"));
    post(&g, &body, &[]).await;
    g.shutdown().await;
    let mut seen = 0;
    for entry in walk(dir.path()) {
        let bytes = std::fs::read(&entry).unwrap();
        let found = bytes.windows(key.len()).any(|w| w == key.as_bytes());
        // The session mark is the client's own word; no backend key may be in any file.
        assert!(!found, "{}", entry.display());
        seen += 1;
    }
    assert!(seen >= 3, "traces, captures and profiles were looked at");
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(dir)
        .unwrap()
        .filter_map(Result::ok)
        .flat_map(|e| {
            if e.path().is_dir() {
                walk(&e.path())
            } else {
                vec![e.path()]
            }
        })
        .collect()
}

#[tokio::test]
async fn what_was_learnt_survives_a_restart() {
    let script = "name = \"m\"\n[[refuse]]\nkind = \"max_tokens\"";
    let mock = MockServer::local(Script::from_toml(script).unwrap())
        .await
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut body = ask("hello", false);
    body["max_tokens"] = json!(900);
    let g = start(with_state(&mock.url(), dir.path())).await;
    post(&g, &body, &[]).await;
    assert_eq!(mock.chats().len(), 2);
    g.shutdown().await;
    let g = start(with_state(&mock.url(), dir.path())).await;
    let got = post(&g, &body, &[]).await;
    assert_eq!(got.status, 200);
    assert_eq!(mock.chats().len(), 3, "known from the start");
}

#[tokio::test]
async fn a_prior_arms_nothing() {
    let mock = MockServer::local(
        Script::from_toml("name = \"m\"\n[[refuse]]\nkind = \"max_tokens\"").unwrap(),
    )
    .await
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut c = with_state(&mock.url(), dir.path());
    c.backends[0].capability.digest = Some("sha256:abc".into());
    let g = start(c).await;
    let mut body = ask("hello", false);
    body["max_tokens"] = json!(900);
    post(&g, &body, &[("x-kilter-session", "first")]).await;
    post(&g, &body, &[("x-kilter-session", "second")]).await;
    assert_eq!(
        mock.chats().len(),
        4,
        "the second session meets the refusal itself"
    );
}

#[tokio::test]
async fn a_torn_trace_is_whole_again_on_the_next_start() {
    let mock = MockServer::local(Script::healthy("m")).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let g = start(with_state(&mock.url(), dir.path())).await;
    post(&g, &ask("hello", false), &[]).await;
    g.shutdown().await;
    let file = kilter_gateway::trace::files(dir.path()).pop().unwrap();
    let whole = std::fs::read(&file).unwrap();
    let lines = trace(dir.path()).len();
    std::fs::write(&file, [&whole[..], &whole[..whole.len() / 2]].concat()).unwrap();
    let g = start(with_state(&mock.url(), dir.path())).await;
    post(&g, &ask("hello", false), &[]).await;
    assert!(trace(dir.path()).len() > lines);
}

#[tokio::test]
async fn the_client_is_told_in_a_trailer_where_it_asks_for_one() {
    let mock = MockServer::local(Script::from_toml(CALLS).unwrap())
        .await
        .unwrap();
    let g = start(config(&mock.url())).await;
    let got = post(&g, &ask("read it", true), &[("te", "trailers")]).await;
    let t = got.trailers.expect("trailers");
    assert!(
        t["x-kilter-actions"]
            .to_str()
            .unwrap()
            .contains("recovered=")
    );
}

/// A model whose calls are answered in each way, streamed or not.
#[tokio::test]
async fn off_writes_its_finish_event_too() {
    for (script, native, finish) in [
        ("name = \"m\"\n[calls]\npolicy = \"eager\"", 1, "tool_calls"),
        (CALLS, 0, "stop"),
    ] {
        for stream in [false, true] {
            for n in [1, 2] {
                let mock = MockServer::local(Script::from_toml(script).unwrap())
                    .await
                    .unwrap();
                let dir = tempfile::tempdir().unwrap();
                let g = start(with_state(&mock.url(), dir.path())).await;
                let mut body = ask("read the file a.txt", stream);
                if n > 1 {
                    body["n"] = json!(n);
                }
                let got = post(&g, &body, &[("x-kilter-adapt", "off")]).await;
                assert_eq!(got.status, 200);
                let events = trace(dir.path());
                let what = format!("{script} {stream} {n}: {events:?}");
                assert_eq!(events.len(), 1, "{what}");
                let EventKind::ChatCompletionFinish {
                    finish_reason,
                    upstream_finish_reason,
                    native_calls,
                    recovered_calls,
                    content_chars,
                    usage,
                    streaming,
                    first_byte_ms,
                    ..
                } = &events[0].kind
                else {
                    panic!("{what}");
                };
                assert_eq!(finish_reason.as_deref(), Some(finish), "{what}");
                assert_eq!(*upstream_finish_reason, None);
                assert_eq!((*native_calls, *recovered_calls), (native * n, 0), "{what}");
                assert_eq!(*content_chars > 0, native == 0, "{what}");
                assert!(usage.completion_tokens.is_some(), "{what}");
                assert_eq!(*streaming, stream);
                assert!(first_byte_ms.is_some());
                assert!(!events[0].observed_only);
            }
        }
    }
}

#[tokio::test]
async fn a_backend_that_does_not_answer_is_an_event() {
    for adapt in ["off", "observe", "on"] {
        let dir = tempfile::tempdir().unwrap();
        let mut c = with_state("http://127.0.0.1:1/v1", dir.path());
        c.backends[0].retries.max = 0;
        let g = start(c).await;
        let got = post(&g, &ask("hello", true), &[("x-kilter-adapt", adapt)]).await;
        assert_eq!(got.status, 502);
        let events = trace(dir.path());
        assert_eq!(events.len(), 1, "{events:?}");
        let EventKind::ModelError { status, kind, .. } = &events[0].kind else {
            panic!("{events:?}");
        };
        assert_eq!((*status, kind.as_str()), (0, "upstream_unreachable"));
    }
}

#[tokio::test]
async fn what_is_refused_before_a_backend_is_asked_is_counted() {
    use crate::client::send;
    let mock = MockServer::local(Script::healthy("m")).await.unwrap();
    let mut c = config(&mock.url());
    c.gateway.limits.body_bytes = 4000;
    let second = kilter_gateway::config::Backend::new("second", &mock.url());
    c.backends.push(second);
    let g = start(c).await;
    let base = g.url();
    let chat = format!("{base}/chat/completions");
    let with = |model: &str| {
        let mut b = ask("x", false);
        b["model"] = json!(model);
        bytes::Bytes::from(b.to_string())
    };
    let big = bytes::Bytes::from(ask(&"x".repeat(9000), false).to_string());
    for (method, url, body, headers, code) in [
        ("POST", &chat, "{".into(), &[][..], "bad_json"),
        ("POST", &chat, "{\"messages\": []}".into(), &[], "bad_field"),
        ("POST", &chat, with("nowhere/m"), &[], "model_not_found"),
        ("POST", &chat, big, &[], "body_too_large"),
        (
            "POST",
            &chat,
            with("up/m"),
            &[("x-kilter-adapt", "maybe")],
            "bad_header",
        ),
        ("GET", &chat, "".into(), &[], "method_not_allowed"),
        (
            "POST",
            &format!("{base}/nothing"),
            "".into(),
            &[],
            "not_found",
        ),
        (
            "POST",
            &chat,
            with("up/m"),
            &[("origin", "http://elsewhere.example")],
            "misdirected",
        ),
    ] {
        let got = send(method, url, body, headers).await;
        assert_eq!(got.error_code(), code);
        let m = g.state().metrics.render();
        let line = format!("kilter_refused_requests_total{{backend=\"\",name=\"{code}\"}} 1");
        assert!(m.contains(&line), "{line} is not in {m}");
        let status = got.status;
        let labels = format!("{{backend=\"\",adapt=\"on\",status=\"{status}\"");
        assert!(m.contains(&labels), "{labels} is not in {m}");
    }
    assert_eq!(mock.chats().len(), 0);
}

const INLINE: &str =
    "name = \"m\"\n[reasoning]\nchannel = \"inline\"\ntext = \"Hm.\"\n[reply]\ntext = \"Yes.\"";

/// A profile that was stored under other numbers goes on under those of now.
#[tokio::test]
async fn a_stored_profile_takes_over_the_numbers_of_now() {
    for reload in [false, true] {
        let mock = MockServer::local(Script::from_toml(INLINE).unwrap())
            .await
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let with = |needed: u32| {
            let mut c = with_state(&mock.url(), dir.path());
            c.behavior.contradictions = needed;
            c
        };
        let mut g = start(with(50)).await;
        for _ in 0..3 {
            let t = post(&g, &ask("hello", false), &[]).await.turn();
            assert_eq!(t.reasoning, "", "three of fifty");
        }
        if reload {
            g.reload(with(2)).unwrap();
        } else {
            g.shutdown().await;
            g = start(with(2)).await;
        }
        post(&g, &ask("hello", false), &[]).await;
        let t = post(&g, &ask("hello", false), &[]).await.turn();
        assert_eq!(
            (t.reasoning.trim(), t.content.trim()),
            ("Hm.", "Yes."),
            "reload {reload}"
        );
    }
}

/// Two sessions that disagree leave nothing to watch for on that axis.
#[tokio::test]
async fn sessions_that_disagree_leave_no_prior() {
    let field = INLINE
        .replace("\"inline\"", "\"field\"")
        .replace("\"m\"", "\"n\"");
    let mock = MockServer::local(vec![
        Script::from_toml(INLINE).unwrap(),
        Script::from_toml(&field).unwrap(),
    ])
    .await
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut c = with_state(&mock.url(), dir.path());
    c.backends[0].capability.digest = Some("sha256:abc".into());
    let endpoint = c.backends[0].endpoint.clone();
    let g = start(c).await;
    let mut left = Vec::new();
    for (session, slot) in [("a", "m"), ("b", "m"), ("c", "n"), ("a", "m")] {
        let mut body = ask("hello", false);
        body["model"] = json!(slot);
        for _ in 0..3 {
            post(&g, &body, &[("x-kilter-session", session)]).await;
        }
        let store = g.state().store.as_ref().unwrap();
        store.flush().await;
        let prior = store
            .prior(&endpoint, "sha256:abc")
            .await
            .unwrap_or_default();
        left.push(prior.reasoning.is_some());
    }
    assert_eq!(left, [true, true, false, false]);
}

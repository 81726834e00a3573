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

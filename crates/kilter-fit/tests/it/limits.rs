//! A fit ends when it is told to, and says that its card is partial.

use std::sync::Arc;
use std::time::Duration;

use kilter_core::SystemClock;
use kilter_fit::run::{Goal, Limits, Step, Watch, fit};
use kilter_fit::save::{Backend, SaveError, Saved, save};
use kilter_mock::{MockServer, Script};
use tokio::sync::watch;

struct Stopper {
    after: u32,
    stop: watch::Sender<bool>,
}

impl Watch for Stopper {
    fn step(&self, step: &Step<'_>) {
        if step.sent >= self.after {
            self.stop.send(true).unwrap();
        }
    }
}

async fn fitted(requests: u32, stop_after: u32) -> (kilter_fit::card::BehaviorCard, usize) {
    let (card, chats) = probed(requests, stop_after, Duration::from_secs(6)).await;
    (card, chats.len())
}

async fn probed(
    requests: u32,
    stop_after: u32,
    slow: Duration,
) -> (
    kilter_fit::card::BehaviorCard,
    Vec<kilter_mock::RequestRecord>,
) {
    let server = MockServer::local(Script::healthy("steady")).await.unwrap();
    let goal = Goal {
        url: server.url(),
        model: None,
        key: None,
        backend: "local".into(),
        script: false,
    };
    let limits = Limits {
        requests,
        total: Duration::from_secs(60),
        request: Duration::from_secs(10),
        slow,
        ..Limits::default()
    };
    let (send, stop) = watch::channel(false);
    let stopper = Stopper {
        after: stop_after,
        stop: send,
    };
    let card = fit(
        goal,
        limits,
        Arc::new(SystemClock::default()),
        &stopper,
        stop,
    )
    .await
    .unwrap();
    let chats = server.chats();
    server.shutdown().await;
    (card, chats)
}

#[tokio::test]
async fn requests_are_bounded() {
    let (card, sent) = fitted(5, 99).await;
    assert_eq!((card.effort.requests, sent), (5, 5));
    assert_eq!(
        card.effort.partial.as_deref(),
        Some("the limit of 5 requests was reached")
    );
}

#[tokio::test]
async fn an_interrupted_card_keeps_what_was_seen() {
    let (card, sent) = fitted(24, 4).await;
    assert_eq!(card.effort.partial.as_deref(), Some("interrupted"));
    assert_eq!(sent, 4);
    assert_eq!(card.effort.turns, 4);
    assert_eq!(card.tool_calls.native, 2);
}

#[tokio::test]
async fn the_whole_plan_is_bounded_and_uses_both_ways() {
    let (card, sent) = fitted(24, 99).await;
    assert_eq!(card.effort.partial, None);
    assert!((10..=20).contains(&sent), "{sent} requests");
    assert!(card.probes.iter().any(|p| p.streaming));
    assert!(card.probes.iter().any(|p| !p.streaming));
}

#[tokio::test]
async fn saving_keeps_the_rest_of_the_file() {
    let (card, _) = fitted(24, 99).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kilter.toml");
    let before = "# mine\n[gateway]\nadapt = \"observe\"   # for now";
    std::fs::write(&path, before).unwrap();
    let backend = Backend {
        name: "local",
        endpoint: "http://127.0.0.1:1/v1",
        api_key: Some("env:KEY"),
    };
    assert!(matches!(
        save(&path, &backend, &card).unwrap(),
        Saved::Written { .. }
    ));
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after.starts_with(before), "{after}");
    assert!(
        after.contains("[[backends]]\nname = \"local\"\nendpoint = \"http://127.0.0.1:1/v1\"\n")
    );
    // The second time it says what would change, and changes nothing.
    let other = Backend {
        endpoint: "http://127.0.0.1:2/v1",
        ..backend
    };
    match save(&path, &other, &card).unwrap() {
        Saved::Exists {
            backend, changes, ..
        } => {
            assert_eq!(backend, "local");
            assert_eq!(
                changes,
                ["endpoint: \"http://127.0.0.1:1/v1\" -> \"http://127.0.0.1:2/v1\""]
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[tokio::test]
async fn a_partial_card_is_not_saved() {
    let (card, _) = fitted(3, 99).await;
    let dir = tempfile::tempdir().unwrap();
    let backend = Backend {
        name: "local",
        endpoint: "http://127.0.0.1:1/v1",
        api_key: None,
    };
    let path = dir.path().join("kilter.toml");
    assert!(matches!(
        save(&path, &backend, &card),
        Err(SaveError::Partial(_))
    ));
    assert!(!path.exists());
}

#[tokio::test]
async fn a_slow_server_is_asked_less_and_with_fewer_tools() {
    let (card, chats) = probed(24, 99, Duration::ZERO).await;
    assert_eq!(card.effort.partial, None);
    assert_eq!(card.probes[1].name, "plain again");
    let offered: Vec<usize> = chats
        .iter()
        .filter_map(|c| c.json()["tools"].as_array().map(Vec::len))
        .collect();
    assert!(
        !offered.is_empty() && offered.iter().all(|n| *n == 4),
        "{offered:?}"
    );
    let (whole, _) = probed(24, 99, Duration::MAX).await;
    let calls = |c: &kilter_fit::card::BehaviorCard| c.tool_calls.of;
    assert!(
        calls(&card) < calls(&whole),
        "{} {}",
        calls(&card),
        calls(&whole)
    );
    assert_eq!(card.tool_calls.channel, whole.tool_calls.channel);
}

async fn long_prompts(
    script: &str,
    long: Duration,
) -> (kilter_fit::card::BehaviorCard, Vec<String>) {
    let server = MockServer::local(Script::from_toml(script).unwrap())
        .await
        .unwrap();
    let goal = Goal {
        url: server.url(),
        model: None,
        key: None,
        backend: "local".into(),
        script: false,
    };
    let limits = Limits {
        slow: Duration::MAX,
        long,
        ..Limits::default()
    };
    let (_keep, stop) = watch::channel(false);
    let clock = Arc::new(SystemClock::default());
    let card = fit(goal, limits, clock, &kilter_fit::run::Unwatched, stop)
        .await
        .unwrap();
    server.shutdown().await;
    let names = card
        .probes
        .iter()
        .map(|p| p.name.clone())
        .filter(|n| n.starts_with("prompt "))
        .collect();
    (card, names)
}

#[tokio::test]
async fn a_long_prompt_that_would_take_too_long_is_said_to_be_left_out() {
    let script = "name = \"m\"\n[[rules]]\nwhen.prompt_tokens_over = 1400\nstream.headers_ms = 600";
    let (card, sent) = long_prompts(script, Duration::from_secs(2)).await;
    assert_eq!(sent, ["prompt of 6 kB", "prompt as long again"]);
    let said = &card.window.evidence;
    assert!(
        said.contains("the prompt of 26 kB was not sent: about ") && said.contains(" tokens/s"),
        "{said}"
    );
    assert_eq!(card.effort.partial, None);
}

#[tokio::test]
async fn one_slow_answer_is_no_slow_server() {
    let script = "name = \"m\"\n[[faults]]\nkind = \"slow_headers\"\nms = 2500\ntimes = 1\nwhen.prompt_tokens_over = 1400";
    let (card, sent) = long_prompts(script, Duration::from_secs(2)).await;
    assert_eq!(
        sent,
        [
            "prompt of 6 kB",
            "prompt as long again",
            "prompt of 26 kB",
            "prompt of 100 kB"
        ]
    );
    assert!(
        !card.window.evidence.contains("not sent"),
        "{}",
        card.window.evidence
    );
}

//! The cascade: its rules by the self-test, its driver over real timers.

use std::sync::Mutex;
use std::time::Duration;

use kilter_core::SystemClock;
use kilter_web::cascade::{
    Ask, Body, Extraction, Limits, Overlay, Pending, Reader, Request, Status, StepKind, run,
    selftest,
};
use kilter_web::hash::content_hash;
use kilter_web::{Failure, FailureCode};
use serde_json::{Value, json};

#[test]
fn every_rule_holds() {
    let checks = selftest::run();
    let broken: Vec<_> = checks.iter().filter(|c| !c.ok).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(checks.len() >= 70, "{}", checks.len());
    for rule in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        assert!(checks.iter().any(|c| c.rule == rule), "{rule}");
    }
}

/// Readers that wait for real.
struct Slow {
    http: Duration,
    asked: Mutex<Vec<Ask>>,
}

impl Extraction for Slow {
    fn playbook<'a>(&'a self, _: &'a str) -> Pending<'a, Result<Option<Overlay>, Failure>> {
        Box::pin(async { Ok(None) })
    }

    fn extract<'a>(&'a self, by: Reader, ask: &'a Ask) -> Pending<'a, Result<Body, Failure>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(ask.clone());
            if by == Reader::Http {
                tokio::time::sleep(self.http).await;
                return Err(Failure::new(FailureCode::NetworkError, "as scripted"));
            }
            Ok(Body {
                markdown: "text".to_owned(),
                backend: "browser".to_owned(),
                ..Body::default()
            })
        })
    }

    fn receipts(&self) -> bool {
        true
    }

    fn sign<'a>(
        &'a self,
        _: &'a str,
        _: &'a Body,
        content_hash: &'a str,
    ) -> Pending<'a, Result<Value, Failure>> {
        Box::pin(async move { Ok(json!({ "contentHash": content_hash })) })
    }
}

#[tokio::test]
async fn a_reader_that_hangs_is_cut_by_a_real_timer() {
    let slow = Slow {
        http: Duration::from_secs(3600),
        asked: Mutex::default(),
    };
    let request = Request {
        task: Some("tides".to_owned()),
        ..Request::new("https://example.test/")
    };
    let o = run(request, Limits::short(), &slow, &SystemClock::default())
        .await
        .unwrap();
    assert!(o.ok && o.partial);
    assert_eq!(o.omitted, [StepKind::HttpExtract]);
    assert_eq!(
        o.step(StepKind::BrowserFallback).unwrap().status,
        Status::Degraded
    );
    assert_eq!(o.content_hash, Some(content_hash("text")));
    assert_eq!(
        o.receipt,
        Some(json!({"contentHash": content_hash("text")}))
    );
    assert_eq!(slow.asked.lock().unwrap().len(), 2);
    assert_eq!(
        slow.asked.lock().unwrap()[1].focus.as_deref(),
        Some("tides")
    );
}

#[tokio::test]
async fn a_caller_that_gives_up_gets_nothing() {
    let slow = Slow {
        http: Duration::from_secs(3600),
        asked: Mutex::default(),
    };
    let clock = SystemClock::default();
    let call = run(
        Request::new("https://example.test/"),
        Limits::default(),
        &slow,
        &clock,
    );
    assert!(
        tokio::time::timeout(Duration::from_millis(20), call)
            .await
            .is_err()
    );
    assert_eq!(slow.asked.lock().unwrap().len(), 1, "no browser after that");
}

#[test]
fn the_outcome_reads_as_the_contract_says() {
    let clock = kilter_core::ManualClock::at(0);
    let script = kilter_web::cascade::drive::Script {
        playbook: kilter_web::cascade::drive::Take {
            ms: 1,
            end: Ok(None),
        },
        http: kilter_web::cascade::drive::Take {
            ms: 3,
            end: Err(Failure::new(FailureCode::Http(403), "the server said 403")),
        },
        browser: kilter_web::cascade::drive::Take {
            ms: 300_000,
            end: Ok(Body::default()),
        },
        sign: kilter_web::cascade::drive::Take {
            ms: 0,
            end: Ok(Value::Null),
        },
        receipts: true,
        cancel_after: None,
    };
    let (o, _) = kilter_web::cascade::drive::simulate(
        Request::new("https://example.test/"),
        Limits::default(),
        &script,
        &clock,
    )
    .unwrap();
    let wire = serde_json::to_value(o.unwrap()).unwrap();
    assert_eq!(
        wire,
        json!({
            "ok": false, "partial": false, "url": "https://example.test/",
            "failure": {"code": "http_403", "message": "the server said 403", "statusCode": 403, "retryable": false},
            "mode": "auto",
            "steps": [
                {"kind": "playbook_resolve", "status": "skipped", "durationMs": 1, "detail": "no_matching_playbook"},
                {"kind": "focus_budget", "status": "skipped", "durationMs": 0, "detail": "no_task_or_budget"},
                {"kind": "http_extract", "status": "failed", "durationMs": 3, "detail": "http_403"},
                {"kind": "browser_fallback", "status": "omitted", "durationMs": 120_000, "detail": "time_limit"},
                {"kind": "receipt", "status": "skipped", "durationMs": 0, "detail": "no_body"},
            ],
            "omitted": ["browser_fallback"],
        })
    );
}

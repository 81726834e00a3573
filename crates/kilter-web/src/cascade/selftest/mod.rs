//! Proves the cascade's rules without network, waiting or a test framework: `kilter cascade selftest`.

mod more;

use kilter_core::ManualClock;
use serde::Serialize;
use serde_json::json;

use super::drive::{Script, Take, simulate};
use super::outcome::{Outcome, Status, StepKind};
use super::{Action, Body, Limits, Overlay, Request};
use crate::failure::{Failure, FailureCode};
use crate::hash::content_hash;

/// One assertion and whether it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Which rule: `a` to `h` of the contract, `order`, `limits`, `arguments`, `facade`.
    pub rule: &'static str,
    /// What is asserted.
    pub says: String,
    /// Whether it held.
    pub ok: bool,
}

const URL: &str = "https://example.test/page";
const TEXT: &str = "# Tides\n\nHigh water at 06:12.";

struct Checks(Vec<Check>);

impl Checks {
    fn that(&mut self, rule: &'static str, says: impl Into<String>, ok: bool) {
        self.0.push(Check {
            rule,
            says: says.into(),
            ok,
        });
    }
}

/// Runs every check.
pub fn run() -> Vec<Check> {
    let mut c = Checks(Vec::new());
    plain(&mut c);
    cut_steps(&mut c);
    cancelled(&mut c);
    exhausted(&mut c);
    both_fail(&mut c);
    playbooks(&mut c);
    more::receipts(&mut c);
    more::facade(&mut c);
    more::arguments(&mut c);
    more::sweep(&mut c);
    c.0
}

fn body() -> Body {
    Body {
        markdown: TEXT.to_owned(),
        backend: "http".to_owned(),
        ..Body::default()
    }
}

fn overlay() -> Overlay {
    Overlay {
        id: "tides".to_owned(),
        document: json!({"id": "tides"}),
    }
}

/// A world where everything works at once and no playbook fits.
fn world() -> Script {
    Script {
        playbook: Take {
            ms: 1,
            end: Ok(None),
        },
        http: Take {
            ms: 10,
            end: Ok(body()),
        },
        browser: Take {
            ms: 20,
            end: Ok(Body {
                backend: "browser".to_owned(),
                ..body()
            }),
        },
        sign: Take {
            ms: 1,
            end: Ok(json!({"signed": {}})),
        },
        receipts: true,
        cancel_after: None,
    }
}

fn fails(code: FailureCode) -> Result<Body, Failure> {
    Err(Failure::new(code, "as scripted"))
}

fn go(request: Request, script: &Script) -> (Option<Outcome>, Vec<Action>) {
    simulate(request, Limits::short(), script, &ManualClock::at(1_000)).unwrap_or((None, vec![]))
}

fn outcome(script: &Script) -> Option<Outcome> {
    go(Request::new(URL), script).0
}

fn is(o: Option<&Outcome>, kind: StepKind, status: Status, detail: &str) -> bool {
    o.and_then(|o| o.step(kind))
        .is_some_and(|s| s.status == status && s.detail.as_deref() == Some(detail))
}

fn code(o: Option<&Outcome>) -> Option<FailureCode> {
    o.and_then(|o| o.failure.as_ref()).map(|f| f.code)
}

fn plain(c: &mut Checks) {
    let o = outcome(&world());
    let o = o.as_ref();
    let kinds: Vec<_> = o.iter().flat_map(|o| &o.steps).map(|s| s.kind).collect();
    c.that(
        "order",
        "the log is in the executed order",
        kinds == StepKind::ALL,
    );
    c.that(
        "a",
        "nothing cut: ok and not partial",
        o.is_some_and(|o| o.ok && !o.partial && o.omitted.is_empty()),
    );
    c.that(
        "order",
        "no playbook fits: skipped, no_matching_playbook",
        is(
            o,
            StepKind::PlaybookResolve,
            Status::Skipped,
            "no_matching_playbook",
        ),
    );
    c.that(
        "order",
        "no task and no budget: skipped",
        is(
            o,
            StepKind::FocusBudget,
            Status::Skipped,
            "no_task_or_budget",
        ),
    );
    c.that(
        "order",
        "HTTP read the page",
        is(o, StepKind::HttpExtract, Status::Ok, "http"),
    );
    c.that(
        "order",
        "no browser is started after HTTP",
        is(
            o,
            StepKind::BrowserFallback,
            Status::Skipped,
            "http_succeeded",
        ),
    );
    c.that(
        "order",
        "the receipt is stamped",
        is(o, StepKind::Receipt, Status::Ok, "content_hash"),
    );
    c.that(
        "order",
        "the content hash is that of the Markdown",
        o.and_then(|o| o.content_hash.clone()) == Some(content_hash(TEXT)),
    );
    c.that(
        "order",
        "durations are logged",
        o.and_then(|o| o.step(StepKind::HttpExtract))
            .map(|s| s.duration_ms)
            == Some(10),
    );

    let mut w = world();
    w.http.end = fails(FailureCode::ThinExtract);
    let o = outcome(&w);
    let o = o.as_ref();
    c.that(
        "order",
        "a browser that rescues is degraded",
        is(o, StepKind::BrowserFallback, Status::Degraded, "browser"),
    );
    c.that(
        "a",
        "a rescue without a cut is not partial",
        o.is_some_and(|o| o.ok && !o.partial),
    );
    c.that(
        "order",
        "the failed HTTP step stays in the log",
        is(o, StepKind::HttpExtract, Status::Failed, "thin_extract"),
    );
    w.http.end = Ok(Body {
        markdown: " \n".to_owned(),
        ..body()
    });
    c.that(
        "order",
        "a body of white space is no body",
        is(
            outcome(&w).as_ref(),
            StepKind::HttpExtract,
            Status::Failed,
            "thin_extract",
        ),
    );
}

fn cut_steps(c: &mut Checks) {
    let mut w = world();
    w.http.ms = 500;
    let o = outcome(&w);
    let o = o.as_ref();
    c.that(
        "a",
        "HTTP cut, browser reads: ok and partial",
        o.is_some_and(|o| o.ok && o.partial),
    );
    c.that(
        "a",
        "the cut step is listed",
        o.is_some_and(|o| o.omitted == [StepKind::HttpExtract]),
    );
    c.that(
        "limits",
        "a cut step took its limit and no more",
        o.and_then(|o| o.step(StepKind::HttpExtract))
            .map(|s| s.duration_ms)
            == Some(80),
    );
    w.browser.ms = 500;
    let o = outcome(&w);
    let o = o.as_ref();
    c.that(
        "a",
        "both cut: not ok, so not partial",
        o.is_some_and(|o| !o.ok && !o.partial && o.omitted.len() == 2),
    );
    c.that(
        "d",
        "both cut: the code is timeout",
        code(o) == Some(FailureCode::Timeout),
    );
    let mut w = world();
    w.sign.ms = 500;
    let o = outcome(&w);
    let o = o.as_ref();
    c.that(
        "a",
        "signing cut: ok, partial, body kept",
        o.is_some_and(|o| o.ok && o.partial && o.markdown.is_some()),
    );
    c.that(
        "a",
        "signing cut: the hash is there",
        o.is_some_and(|o| o.content_hash.is_some() && o.receipt.is_none()),
    );
}

fn cancelled(c: &mut Checks) {
    for ms in [0, 5, 30, 100] {
        let mut w = world();
        w.http.ms = 70;
        w.http.end = fails(FailureCode::NetworkError);
        w.browser.ms = 75;
        w.cancel_after = Some(ms);
        c.that(
            "b",
            format!("given up after {ms} ms: no outcome and nothing booked"),
            outcome(&w).is_none(),
        );
    }
}

fn exhausted(c: &mut Checks) {
    let mut w = world();
    w.playbook.ms = 49;
    let limits = Limits::of([50, 80, 80, 50, 50, 49]);
    let o = simulate(Request::new(URL), limits, &w, &ManualClock::at(0))
        .ok()
        .and_then(|r| r.0);
    let o = o.as_ref();
    c.that(
        "c",
        "time gone before the extraction: timeout",
        code(o) == Some(FailureCode::Timeout),
    );
    c.that(
        "c",
        "HTTP is omitted with total_budget",
        is(o, StepKind::HttpExtract, Status::Omitted, "total_budget"),
    );
    c.that(
        "c",
        "the browser is omitted with total_budget",
        is(
            o,
            StepKind::BrowserFallback,
            Status::Omitted,
            "total_budget",
        ),
    );
    c.that(
        "c",
        "there is no body to stamp",
        is(o, StepKind::Receipt, Status::Skipped, "no_body"),
    );
    c.that(
        "a",
        "not ok, so not partial",
        o.is_some_and(|o| !o.ok && !o.partial),
    );
    c.that(
        "c",
        "a time-out may be tried again",
        o.and_then(|o| o.failure.as_ref())
            .is_some_and(|f| f.retryable),
    );

    let limits = Limits::of([50, 80, 80, 50, 50, 90]);
    let mut w = world();
    w.http.ms = 80;
    w.http.end = fails(FailureCode::NetworkError);
    w.browser.ms = 60;
    let (o, asked) =
        simulate(Request::new(URL), limits, &w, &ManualClock::at(0)).unwrap_or((None, vec![]));
    c.that("limits", "a step may take no more than is left of the whole", asked.iter().any(|a| matches!(a, Action::Extract { by: super::Reader::Browser, within, .. } if within.as_millis() == 9)));
    c.that(
        "d",
        "a cut browser leaves the code of HTTP",
        code(o.as_ref()) == Some(FailureCode::NetworkError),
    );
}

fn both_fail(c: &mut Checks) {
    let mut w = world();
    w.http.end = fails(FailureCode::Http(503));
    w.browser.end = fails(FailureCode::CaptchaOrChallenge);
    let o = outcome(&w);
    let o = o.as_ref();
    c.that("d", "both fail: not ok", o.is_some_and(|o| !o.ok));
    c.that(
        "d",
        "the code is that of the last extraction that failed",
        code(o) == Some(FailureCode::CaptchaOrChallenge),
    );
    c.that(
        "d",
        "the whole log is kept",
        o.is_some_and(|o| o.steps.len() == 5),
    );
    c.that(
        "d",
        "both failures are in the log",
        is(o, StepKind::HttpExtract, Status::Failed, "http_503")
            && is(
                o,
                StepKind::BrowserFallback,
                Status::Failed,
                "captcha_or_challenge",
            ),
    );
    c.that(
        "d",
        "no body, no hash, no receipt",
        o.is_some_and(|o| o.markdown.is_none() && o.content_hash.is_none() && o.receipt.is_none()),
    );
    for code in [
        FailureCode::Http(404),
        FailureCode::Http(410),
        FailureCode::PrivateUrlBlocked,
    ] {
        w.http.end = fails(code);
        let (o, asked) = go(Request::new(URL), &w);
        let word = code.as_str();
        c.that(
            "d",
            format!("after {word} no browser is started"),
            asked
                .iter()
                .filter(|a| matches!(a, Action::Extract { .. }))
                .count()
                == 1,
        );
        c.that(
            "d",
            format!("after {word} the browser step says why"),
            is(
                o.as_ref(),
                StepKind::BrowserFallback,
                Status::Skipped,
                &word,
            ),
        );
    }
}

fn playbooks(c: &mut Checks) {
    let mut w = world();
    w.playbook.end = Ok(Some(overlay()));
    let (o, asked) = go(Request::new(URL), &w);
    c.that(
        "e",
        "the playbook is in the outcome",
        o.as_ref()
            .is_some_and(|o| o.playbook_id.as_deref() == Some("tides")),
    );
    c.that(
        "e",
        "the playbook is in the log",
        is(o.as_ref(), StepKind::PlaybookResolve, Status::Ok, "tides"),
    );
    c.that(
        "e",
        "the extraction is given the playbook",
        asked
            .iter()
            .any(|a| matches!(a, Action::Extract { ask, .. } if ask.overlay == Some(overlay()))),
    );
    w.playbook.ms = 500;
    let (o, asked) = go(Request::new(URL), &w);
    c.that(
        "e",
        "a late playbook: ok without it",
        o.as_ref().is_some_and(|o| {
            o.ok && o.playbook_id.is_none() && o.omitted == [StepKind::PlaybookResolve]
        }),
    );
    c.that(
        "e",
        "a late playbook is not used",
        asked
            .iter()
            .all(|a| !matches!(a, Action::Extract { ask, .. } if ask.overlay.is_some())),
    );
    w.playbook.ms = 1;
    w.playbook.end = Err(Failure::new(
        FailureCode::PlaybookSchemaInvalid,
        "as scripted",
    ));
    let o = outcome(&w);
    c.that(
        "e",
        "a broken playbook: ok, failed in the log, not partial",
        o.as_ref().is_some_and(|o| o.ok && !o.partial)
            && is(
                o.as_ref(),
                StepKind::PlaybookResolve,
                Status::Failed,
                "playbook_schema_invalid",
            ),
    );
}

//! The second half of the checks: receipts, what the facade adds, arguments, and all combinations.

use kilter_core::ManualClock;

use super::{Checks, TEXT, URL, body, fails, go, is, outcome, world};
use crate::cascade::drive::{Take, simulate};
use crate::cascade::outcome::{Mode, NextLink, Outcome, Status, StepKind};
use crate::cascade::{Action, BUDGET_MIN, Body, Limits, NEXT_LINKS, Request};
use crate::failure::{Failure, FailureCode};
use crate::hash::content_hash;

pub(super) fn receipts(c: &mut Checks) {
    let mut w = world();
    w.receipts = false;
    let (o, asked) = go(Request::new(URL), &w);
    c.that(
        "f",
        "receipts off: the step is skipped",
        is(
            o.as_ref(),
            StepKind::Receipt,
            Status::Skipped,
            "receipts_disabled",
        ),
    );
    c.that(
        "f",
        "receipts off: the hash is there",
        o.as_ref()
            .is_some_and(|o| o.content_hash == Some(content_hash(TEXT))),
    );
    c.that(
        "f",
        "receipts off: nobody is asked to sign",
        asked.iter().all(|a| !matches!(a, Action::Sign { .. })),
    );
    w.receipts = true;
    w.sign.end = Err(Failure::new(FailureCode::InvalidReceipt, "as scripted"));
    let o = outcome(&w);
    c.that(
        "f",
        "signing fails: ok, body and hash kept",
        o.as_ref()
            .is_some_and(|o| o.ok && o.markdown.is_some() && o.content_hash.is_some()),
    );
}

pub(super) fn facade(c: &mut Checks) {
    let w = world();
    let mut request = Request::new(URL);
    request.task = Some(" when is high water? ".to_owned());
    request.budget = Some(512);
    let (o, asked) = go(request.clone(), &w);
    c.that("facade", "task and budget reach the extraction", asked.iter().any(|a| matches!(a, Action::Extract { ask, .. } if ask.focus.as_deref() == Some("when is high water?") && ask.max_tokens == Some(512))));
    c.that(
        "facade",
        "task and budget are in the outcome",
        o.as_ref()
            .is_some_and(|o| o.max_tokens == Some(512) && o.focus_query.is_some()),
    );
    c.that(
        "facade",
        "the step says what it set",
        is(
            o.as_ref(),
            StepKind::FocusBudget,
            Status::Ok,
            "focus_query,max_tokens",
        ),
    );
    request.if_none_match = Some(content_hash(TEXT));
    let (o, _) = go(request.clone(), &w);
    c.that(
        "facade",
        "the same hash: unchanged and no body",
        o.as_ref()
            .is_some_and(|o| o.ok && o.unchanged == Some(true) && o.markdown.is_none()),
    );
    request.if_none_match = Some(content_hash(TEXT).trim_start_matches("sha256:").to_owned());
    let (o, _) = go(request.clone(), &w);
    c.that(
        "facade",
        "the bare hash counts as well",
        o.as_ref().is_some_and(|o| o.unchanged == Some(true)),
    );
    request.if_none_match = Some(content_hash("other"));
    let (o, _) = go(request.clone(), &w);
    c.that(
        "facade",
        "another hash: changed, with the body",
        o.as_ref()
            .is_some_and(|o| o.unchanged == Some(false) && o.markdown.is_some()),
    );

    let auto = outcome(&w);
    let mut request = Request::new(URL);
    request.mode = Some("advanced".to_owned());
    let advanced = go(request.clone(), &w).0;
    c.that(
        "h",
        "advanced gives a hint",
        advanced
            .as_ref()
            .is_some_and(|o| o.mode == Mode::Advanced && o.hints.len() == 1),
    );
    c.that(
        "h",
        "advanced changes nothing else",
        advanced.map(|o| Outcome {
            mode: Mode::Auto,
            hints: vec![],
            ..o
        }) == auto,
    );
    request.mode = Some("turbo".to_owned());
    let other = go(request, &w).0;
    c.that(
        "h",
        "another word is read as auto, and the outcome says so",
        other
            .as_ref()
            .is_some_and(|o| o.mode == Mode::Auto && o.ok && o.hints.len() == 1),
    );

    let mut w = world();
    w.http.end = Ok(Body {
        links: (0..9)
            .map(|n| NextLink {
                text: n.to_string(),
                url: format!("{URL}/{n}"),
            })
            .collect(),
        ..body()
    });
    c.that(
        "facade",
        "at most five links to go on with",
        outcome(&w).is_some_and(|o| o.next.len() == NEXT_LINKS),
    );
}

pub(super) fn arguments(c: &mut Checks) {
    for url in [
        "",
        "page",
        "/page",
        "ftp://example.test/",
        "file:///etc/passwd",
        "https://",
        "javascript:alert(1)",
    ] {
        let end = simulate(
            Request::new(url),
            Limits::short(),
            &world(),
            &ManualClock::at(0),
        );
        c.that(
            "arguments",
            format!("`{url}` is no URL to read"),
            end.is_err_and(|f| f.code == FailureCode::InvalidArguments),
        );
    }
    for (budget, good) in [
        (-1, false),
        (0, false),
        (127, false),
        (i64::from(BUDGET_MIN), true),
        (200_000, true),
    ] {
        let request = Request {
            budget: Some(budget),
            ..Request::new(URL)
        };
        let end = simulate(request, Limits::short(), &world(), &ManualClock::at(0));
        c.that(
            "arguments",
            format!(
                "a budget of {budget} is {}",
                if good { "taken" } else { "refused" }
            ),
            end.is_ok() == good,
        );
    }
}

/// Every combination of ends and durations under several totals: the rules that hold of all runs.
pub(super) fn sweep(c: &mut Checks) {
    let durations = [0, 40, 80, 81, 300];
    let ends = [
        Ok(body()),
        fails(FailureCode::NetworkError),
        fails(FailureCode::Http(403)),
        Ok(Body::default()),
    ];
    let (mut runs, mut partial, mut codes, mut log, mut limits, mut steps) =
        (0_u32, true, true, true, true, true);
    for total in [30, 90, 160, 250, 1_000] {
        for (http_ms, browser_ms) in durations
            .iter()
            .flat_map(|a| durations.iter().map(move |b| (*a, *b)))
        {
            for (http, browser) in ends.iter().flat_map(|a| ends.iter().map(move |b| (a, b))) {
                let mut w = world();
                w.http = Take {
                    ms: http_ms,
                    end: http.clone(),
                };
                w.browser = Take {
                    ms: browser_ms,
                    end: browser.clone(),
                };
                let l = Limits {
                    total: std::time::Duration::from_millis(total),
                    ..Limits::short()
                };
                let clock = ManualClock::at(0);
                let Ok((Some(o), _)) = simulate(Request::new(URL), l, &w, &clock) else {
                    log = false;
                    continue;
                };
                runs += 1;
                partial &= o.partial == (o.ok && !o.omitted.is_empty());
                log &= o.steps.iter().map(|s| s.kind).eq(StepKind::ALL);
                log &= o.omitted.iter().eq(o
                    .steps
                    .iter()
                    .filter(|s| s.status == Status::Omitted)
                    .map(|s| &s.kind));
                let last = o.steps.iter().rev().find(|s| {
                    s.status == Status::Failed
                        && s.kind != StepKind::Receipt
                        && s.kind != StepKind::PlaybookResolve
                });
                let expected = last
                    .and_then(|s| s.detail.clone())
                    .unwrap_or_else(|| "timeout".to_owned());
                codes &= o.ok == o.failure.is_none();
                codes &= o
                    .failure
                    .as_ref()
                    .is_none_or(|f| f.code.as_str() == expected);
                codes &= o.ok == o.markdown.is_some() && o.ok == o.content_hash.is_some();
                limits &= o
                    .steps
                    .iter()
                    .all(|s| u128::from(s.duration_ms) <= l.of_step(s.kind).as_millis());
                limits &= kilter_core::Clock::elapsed(&clock) <= l.total;
                steps &= o.steps.iter().all(|s| {
                    s.status == Status::Degraded
                        || s.kind != StepKind::BrowserFallback
                        || s.status != Status::Ok
                });
            }
        }
    }
    c.that(
        "a",
        format!("{runs} runs: partial is `ok and something cut`"),
        partial && runs > 0,
    );
    c.that("d", format!("{runs} runs: the code is that of the last failed extraction, and a failure carries no body"), codes);
    c.that(
        "order",
        format!("{runs} runs: the log is whole and in order, and the omitted are its omitted"),
        log,
    );
    c.that(
        "limits",
        format!("{runs} runs: no step and no run takes more than its limit"),
        limits,
    );
    c.that("g", format!("{runs} runs: nothing but the five steps is a step, and a browser that works is degraded"), steps && StepKind::ALL.len() == 5);
}

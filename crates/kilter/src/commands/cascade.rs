//! `kilter cascade`: one bounded read with its log, and the proof of its rules.

use std::path::Path;
use std::sync::Arc;

use kilter_core::{Exit, SystemClock};
use kilter_web::budget::O200k;
use kilter_web::cascade::reply::{failed, reply};
use kilter_web::cascade::{
    Limits, Live, Outcome as Read, Request, Status, run as cascade, selftest,
};
use kilter_web::{Failure as Unread, FailureCode};
use serde_json::json;

use super::playbook::shelf;
use super::receipts::store;
use super::web;
use crate::cli::Global;
use crate::cli::cascade::{Cascade, CascadeAction};
use crate::failure::Outcome;
use crate::output::{Out, Style, counted};
use crate::signals;

pub(crate) async fn run(args: &Cascade, global: &Global, out: &Out) -> Outcome {
    match &args.action {
        CascadeAction::Selftest { json } => prove(*json, out),
        CascadeAction::Run {
            target,
            task,
            budget,
            mode,
            if_none_match,
            base_url,
            no_receipt,
            json,
        } => {
            let stop = signals::stop();
            let request = Request {
                url: url_of(target, base_url.as_deref()),
                task: task.clone(),
                budget: *budget,
                mode: Some(mode.clone()),
                if_none_match: if_none_match.clone(),
            };
            let read = async {
                let live = live(target, base_url.as_deref(), !no_receipt, global)?;
                cascade(request, Limits::default(), &live, &SystemClock::default()).await
            };
            let read = tokio::select! {
                read = read => read,
                () = stop => {
                    out.note("interrupted; nothing of the page was kept");
                    return Ok(Exit::Interrupted);
                }
            };
            show(read, *json, out)
        }
    }
}

/// The URL of a run: the one that was typed, or the one that a file came from.
fn url_of(target: &str, base_url: Option<&str>) -> String {
    match (web::is_url(target), base_url) {
        (true, _) => target.to_owned(),
        (false, Some(base)) => base.to_owned(),
        (false, None) => {
            let name = Path::new(target).file_name().unwrap_or_default();
            format!("http://localhost/{}", name.to_string_lossy())
        }
    }
}

/// What the cascade reads with.
fn live(
    target: &str,
    base_url: Option<&str>,
    receipts: bool,
    global: &Global,
) -> Result<Live, Unread> {
    let operator = web::operator()?;
    let receipts = receipts && operator.receipts.unwrap_or(true);
    let keys = receipts.then(|| store(global, true));
    let reader = web::reader(&operator, keys)?;
    let live = Live::new(reader, Arc::new(shelf(global, &[])), receipts);
    if web::is_url(target) {
        return Ok(live);
    }
    let path = Path::new(target);
    let bytes = std::fs::read(path).map_err(|e| {
        Unread::new(
            FailureCode::ExtractionFailed,
            format!("cannot read `{target}`: {e}"),
        )
    })?;
    Ok(live.over(web::file(Some(path), bytes, false, base_url)?))
}

fn prove(json: bool, out: &Out) -> Outcome {
    let checks = selftest::run();
    let broken = checks.iter().filter(|c| !c.ok).count();
    if json {
        out.json(&json!({
            "ok": broken == 0,
            "assertions": checks.len(),
            "failed": broken,
            "checks": checks,
        }))?;
    } else {
        for check in &checks {
            let word = if check.ok {
                out.paint(Style::Green, "ok  ")
            } else {
                out.paint(Style::Red, "FAIL")
            };
            out.line(&format!("{word}  {:<9}  {}", check.rule, check.says))?;
        }
        out.line(&format!(
            "{}, {broken} failed",
            counted(checks.len(), "assertion")
        ))?;
    }
    Ok(if broken == 0 {
        Exit::Ok
    } else {
        Exit::Negative
    })
}

fn show(read: Result<Read, Unread>, json: bool, out: &Out) -> Outcome {
    let read = match read {
        Ok(read) => read,
        Err(failure) => {
            if json {
                out.json_line(&failed(&failure))?;
            } else {
                let said = web::said(&failure);
                out.error(&said.message, said.hint.as_deref());
            }
            return Ok(web::exit(failure.code));
        }
    };
    let answer = match reply(&read, &O200k) {
        Ok(answer) => answer,
        Err(failure) => {
            if json {
                out.json_line(&failed(&failure))?;
            } else {
                out.error(&failure.message, Some("give a larger `--budget`"));
            }
            return Ok(Exit::Usage);
        }
    };
    if json {
        // On one line: it is counted as it is sent.
        out.json_line(&answer)?;
    } else {
        for step in &read.steps {
            let style = match step.status {
                Status::Ok => Style::Green,
                Status::Failed => Style::Red,
                Status::Omitted | Status::Degraded => Style::Yellow,
                Status::Skipped => Style::Dim,
            };
            let status = out.paint(style, &format!("{:<8}", step.status.as_str()));
            let detail = step.detail.as_deref().unwrap_or_default();
            let kind = step.kind.as_str();
            out.note(&format!(
                "{kind:<16}  {status}  {:>6} ms  {detail}",
                step.duration_ms
            ));
        }
        for hint in &read.hints {
            out.hint(hint);
        }
        match (answer["markdown"].as_str(), &read.failure) {
            (Some(markdown), _) => out.line(markdown)?,
            (None, Some(failure)) => {
                out.error(
                    &format!("{}: {}", failure.code.as_str(), failure.message),
                    None,
                );
            }
            (None, None) => out.line("unchanged")?,
        }
    }
    Ok(if read.ok { Exit::Ok } else { Exit::Negative })
}

//! `kilter cascade`: one bounded read with its log, and the proof of its rules.

use std::path::PathBuf;

use kilter_core::{Clock, Exit, SystemClock};
use kilter_web::budget::O200k;
use kilter_web::cascade::reply::{failed, reply};
use kilter_web::cascade::{
    Ask, Body, Extraction, Limits, Outcome as Read, Overlay, Pending, Reader, Request, Status,
    run as cascade, selftest,
};
use kilter_web::playbook::Shelf;
use kilter_web::receipt::{Content, KeyStore, Read as Seen, extraction};
use kilter_web::{Failure as Unread, FailureCode};
use serde_json::{Value, json};

use super::playbook::shelf;
use super::receipts::store;
use crate::cli::Global;
use crate::cli::cascade::{Cascade, CascadeAction};
use crate::failure::Outcome;
use crate::output::{Out, Style, counted};

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
            let is_url = target.contains("://");
            let file = (!is_url).then(|| PathBuf::from(target));
            let url = match (&file, base_url) {
                (None, _) => target.clone(),
                (Some(_), Some(base)) => base.clone(),
                (Some(path), None) => format!(
                    "http://localhost/{}",
                    path.file_name().unwrap_or_default().to_string_lossy()
                ),
            };
            let request = Request {
                url,
                task: task.clone(),
                budget: *budget,
                mode: Some(mode.clone()),
                if_none_match: if_none_match.clone(),
            };
            let from = Source {
                file,
                keys: store(global, !no_receipt),
                receipts: !no_receipt,
                shelf: shelf(global, &[]),
                clock: SystemClock::default(),
            };
            let read = cascade(request, Limits::default(), &from, &from.clock).await;
            show(read, *json, out)
        }
    }
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
                out.error(&failure.message, None);
            }
            return Ok(Exit::Usage);
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

/// Reads files.
struct Source {
    file: Option<PathBuf>,
    keys: KeyStore,
    receipts: bool,
    shelf: Shelf,
    clock: SystemClock,
}

impl Source {
    fn file(&self, by: Reader) -> Result<Body, Unread> {
        let Some(path) = &self.file else {
            return Err(Unread::new(
                FailureCode::NetworkError,
                "this build reads files only",
            ));
        };
        if by == Reader::Browser {
            return Err(Unread::new(
                FailureCode::BrowserRequired,
                "a file is not read with a browser",
            ));
        }
        let text = std::fs::read_to_string(path).map_err(|e| {
            Unread::new(
                FailureCode::ExtractionFailed,
                format!("cannot read `{}`: {e}", path.display()),
            )
        })?;
        Ok(Body {
            markdown: text,
            backend: "file".to_owned(),
            ..Body::default()
        })
    }
}

impl Extraction for Source {
    fn playbook<'a>(&'a self, url: &'a str) -> Pending<'a, Result<Option<Overlay>, Unread>> {
        let host = url::Url::parse(url)
            .ok()
            .and_then(|u| u.host_str().map(str::to_owned));
        let held = host.and_then(|h| self.shelf.find(&h));
        let overlay = held.map(|h| Overlay {
            id: h.book.id.clone(),
            document: serde_json::to_value(&h.book).unwrap_or_default(),
        });
        Box::pin(async { Ok(overlay) })
    }

    fn extract<'a>(&'a self, by: Reader, _: &'a Ask) -> Pending<'a, Result<Body, Unread>> {
        Box::pin(async move { self.file(by) })
    }

    fn receipts(&self) -> bool {
        self.receipts
    }

    fn sign<'a>(
        &'a self,
        url: &'a str,
        body: &'a Body,
        content_hash: &'a str,
    ) -> Pending<'a, Result<Value, Unread>> {
        Box::pin(async move {
            let failed =
                |e: String| Unread::new(FailureCode::InvalidReceipt, format!("not signed: {e}"));
            let key = self.keys.signer().map_err(|e| failed(e.to_string()))?;
            let seen = Seen {
                url: url.to_owned(),
                final_url: body.final_url.clone().unwrap_or_else(|| url.to_owned()),
                backend: body.backend.clone(),
                at: self.clock.now(),
                toolchain: concat!("kilter/", env!("CARGO_PKG_VERSION")).to_owned(),
                ..Seen::default()
            };
            let content = Content {
                content_hash: content_hash.to_owned(),
                ..Content::default()
            };
            extraction(&seen, &content, &key).map_err(|e| failed(e.to_string()))
        })
    }
}

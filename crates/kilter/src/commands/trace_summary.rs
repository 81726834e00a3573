//! `kilter trace summary`: counts by event, backend and slot.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use kilter_core::{EventKind, Exit, TraceEvent};
use serde::Serialize;

use crate::cli::trace::Summary;
use crate::failure::{Failure, Outcome};
use crate::output::{Out, Style, counted};

/// What the events of one slot add up to.
#[derive(Debug, Default, Serialize)]
struct Slot {
    backend: String,
    slot: String,
    events: BTreeMap<String, u64>,
    recovered_by_dialect: BTreeMap<String, u64>,
    rejected_by_reason: BTreeMap<String, u64>,
    errors_by_status: BTreeMap<String, u64>,
    observed_only: u64,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    files: usize,
    events: u64,
    unreadable: u64,
    first: Option<String>,
    last: Option<String>,
    sessions: usize,
    by_event: BTreeMap<String, u64>,
    slots: Vec<Slot>,
}

pub(crate) fn run(args: &Summary, files: &[PathBuf], out: &Out) -> Outcome {
    let report = read(files)?;
    if args.json {
        out.json(&report)?;
    } else {
        print(&report, out)?;
    }
    Ok(Exit::Ok)
}

fn read(files: &[PathBuf]) -> Result<Report, Failure> {
    let mut report = Report {
        files: files.len(),
        ..Report::default()
    };
    let mut slots: BTreeMap<(String, String), Slot> = BTreeMap::new();
    let mut sessions = std::collections::BTreeSet::new();
    for path in files {
        let file = File::open(path).map_err(|e| Failure::reading(path, &e))?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|e| Failure::reading(path, &e))?;
            let Ok(event) = serde_json::from_str::<TraceEvent>(&line) else {
                report.unreadable += 1;
                continue;
            };
            report.events += 1;
            let name = event.kind.name().to_owned();
            *report.by_event.entry(name.clone()).or_default() += 1;
            if report.first.as_ref().is_none_or(|f| event.time < *f) {
                report.first = Some(event.time.clone());
            }
            if report.last.as_ref().is_none_or(|l| event.time > *l) {
                report.last = Some(event.time.clone());
            }
            let slot = slots
                .entry((event.backend.clone(), event.slot.clone()))
                .or_insert_with(|| Slot {
                    backend: event.backend.clone(),
                    slot: event.slot.clone(),
                    ..Slot::default()
                });
            slot.take(&name, &event);
            sessions.insert(event.session);
        }
    }
    report.sessions = sessions.len();
    report.slots = slots.into_values().collect();
    Ok(report)
}

impl Slot {
    fn take(&mut self, name: &str, event: &TraceEvent) {
        *self.events.entry(name.to_owned()).or_default() += 1;
        self.observed_only += u64::from(event.observed_only);
        let (map, key) = match &event.kind {
            EventKind::RecoveredToolCall { dialect, .. } => {
                (&mut self.recovered_by_dialect, dialect.clone())
            }
            EventKind::RejectedToolCall { reason, .. } => {
                (&mut self.rejected_by_reason, reason.as_str().to_owned())
            }
            EventKind::ModelError {
                status: 0, kind, ..
            } => (&mut self.errors_by_status, kind.clone()),
            EventKind::ModelError { status, .. } => {
                (&mut self.errors_by_status, status.to_string())
            }
            _ => return,
        };
        *map.entry(key).or_default() += 1;
    }
}

fn print(report: &Report, out: &Out) -> Result<(), Failure> {
    out.line(&format!(
        "{} of {} in {}",
        counted(report.events, "event"),
        counted(report.sessions, "session"),
        counted(report.files, "file")
    ))?;
    if let (Some(first), Some(last)) = (&report.first, &report.last) {
        out.line(&format!("from {first} to {last}"))?;
    }
    if report.unreadable > 0 {
        out.warn(
            &format!("{} could not be read", counted(report.unreadable, "line")),
            Some("a line that is being written, or a file of another version"),
        );
    }
    for slot in &report.slots {
        out.line("")?;
        let name = format!("{}/{}", slot.backend, slot.slot);
        out.line(&out.paint(Style::Bold, &name))?;
        for (event, n) in &slot.events {
            let detail = match event.as_str() {
                "recovered_tool_call" => joined(&slot.recovered_by_dialect),
                "rejected_tool_call" => joined(&slot.rejected_by_reason),
                "model_error" => joined(&slot.errors_by_status),
                _ => String::new(),
            };
            out.line(format!("  {event:<24}{n:>7}  {detail}").trim_end())?;
        }
        if slot.observed_only > 0 {
            out.line(&format!(
                "  {:<24}{:>7}",
                "(observed only)", slot.observed_only
            ))?;
        }
    }
    Ok(())
}

fn joined(map: &BTreeMap<String, u64>) -> String {
    map.iter()
        .map(|(k, n)| format!("{k} {n}"))
        .collect::<Vec<_>>()
        .join(", ")
}

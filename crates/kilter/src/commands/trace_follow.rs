//! `kilter trace follow`: events as they come.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kilter_core::{EventKind, Exit, TraceEvent};

use super::trace::files;
use crate::cli::trace::Follow;
use crate::failure::{Failure, Outcome};
use crate::output::{Out, Style};
use crate::signals;

/// How often the file is looked at.
const POLL: Duration = Duration::from_millis(150);

pub(crate) async fn run(args: &Follow, path: &Path, out: &Out) -> Outcome {
    let mut tail = Tail::default();
    // Nothing there is an error only where nothing is waited for: a gateway may yet start.
    let there = match files(path) {
        Ok(files) => files,
        Err(failure) if args.no_wait => return Err(failure),
        Err(_) => Vec::new(),
    };
    // Opened before anything is read: what comes in between is seen once, neither twice nor never.
    let mut end = None;
    if let Some(newest) = there.last().filter(|_| !args.no_wait) {
        end = tail.open_at_end(newest);
    }
    for line in last(&there, args.lines, end)? {
        show(&line, args.json, out)?;
    }
    if args.no_wait {
        return Ok(Exit::Ok);
    }
    let mut stop = std::pin::pin!(signals::stop());
    loop {
        for line in tail.more(path) {
            show(&line, args.json, out)?;
        }
        tokio::select! {
            () = &mut stop => return Ok(Exit::Ok),
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// The last `n` lines over all files, of the newest those before `end`.
fn last(files: &[PathBuf], n: usize, end: Option<u64>) -> Result<Vec<String>, Failure> {
    let mut lines: Vec<String> = Vec::new();
    for file in files.iter().rev() {
        if lines.len() >= n {
            break;
        }
        let mut bytes = std::fs::read(file).map_err(|e| Failure::reading(file, &e))?;
        if let Some(end) = end.filter(|_| Some(file) == files.last()) {
            bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut here: Vec<String> = text
            .lines()
            .rev()
            .take(n - lines.len())
            .map(str::to_owned)
            .collect();
        here.reverse();
        here.append(&mut lines);
        lines = here;
    }
    Ok(lines)
}

/// A file that grows and is renamed away when it is full.
#[derive(Default)]
struct Tail {
    open: Option<(PathBuf, BufReader<File>)>,
    partial: String,
}

impl Tail {
    /// Opens a file behind all that is in it; how much that is.
    fn open_at_end(&mut self, path: &Path) -> Option<u64> {
        let mut file = File::open(path).ok()?;
        let end = file.seek(std::io::SeekFrom::End(0)).ok()?;
        self.open = Some((path.to_owned(), BufReader::new(file)));
        Some(end)
    }

    /// Whole lines that came since the last time.
    fn more(&mut self, path: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            if self.open.is_none() {
                let newest = files(path).ok().and_then(|f| f.last().cloned());
                let Some(newest) = newest else { return lines };
                let Ok(file) = File::open(&newest) else {
                    return lines;
                };
                self.open = Some((newest, BufReader::new(file)));
            }
            let Some((name, reader)) = &mut self.open else {
                return lines;
            };
            while let Ok(n) = reader.read_line(&mut self.partial) {
                if n == 0 {
                    break;
                }
                if self.partial.ends_with('\n') {
                    lines.push(std::mem::take(&mut self.partial).trim_end().to_owned());
                }
            }
            // A shorter file under the same name is a new one: the old one was rotated away.
            let here = reader.stream_position().unwrap_or(0);
            let now = std::fs::metadata(&*name).map_or(0, |m| m.len());
            if now >= here {
                return lines;
            }
            self.partial.clear();
            self.open = None;
        }
    }
}

fn show(line: &str, json: bool, out: &Out) -> Result<(), Failure> {
    if json {
        return out.line(line);
    }
    match serde_json::from_str::<TraceEvent>(line) {
        Ok(event) => out.line(&pretty(&event, out)),
        Err(e) => out.line(&format!(
            "{} {e}: {line}",
            out.paint(Style::Red, "unreadable")
        )),
    }
}

/// One event on one line: when, where, what.
fn pretty(event: &TraceEvent, out: &Out) -> String {
    let time = event.time.get(11..19).unwrap_or(&event.time);
    let (style, what) = words(&event.kind);
    let would = if event.observed_only {
        "would have: "
    } else {
        ""
    };
    let capture = match &event.capture {
        Some(id) => out.paint(Style::Dim, &format!("  {id}")),
        None => String::new(),
    };
    format!(
        "{} {}/{} {}{would}{what}{capture}",
        out.paint(Style::Dim, time),
        event.backend,
        event.slot,
        out.paint(style, &format!("{:<22}", event.kind.name())),
    )
}

fn words(kind: &EventKind) -> (Style, String) {
    match kind {
        EventKind::ChatCompletionFinish {
            finish_reason,
            native_calls,
            recovered_calls,
            usage,
            total_ms,
            streaming,
            ..
        } => {
            let n = |v: Option<u64>| v.map_or("?".to_owned(), |v| v.to_string());
            let how = if *streaming { " streamed" } else { "" };
            (
                Style::Green,
                format!(
                    "{} native {native_calls} recovered {recovered_calls} tokens {}+{} {total_ms} ms{how}",
                    finish_reason.as_deref().unwrap_or("-"),
                    n(usage.prompt_tokens),
                    n(usage.completion_tokens),
                ),
            )
        }
        EventKind::ReasoningOverflow {
            reasoning_tokens,
            cap,
            continued,
        } => (
            Style::Yellow,
            format!(
                "{} of {} in reasoning{}",
                reasoning_tokens.map_or("all".to_owned(), |n| n.to_string()),
                cap.map_or("the server's cap".to_owned(), |n| n.to_string()),
                if *continued { ", continued once" } else { "" }
            ),
        ),
        EventKind::RecoveredToolCall {
            dialect,
            strength,
            origin,
            name,
        } => (
            Style::Cyan,
            format!("{name} · {dialect} · {} · {}", word(strength), word(origin)),
        ),
        EventKind::RejectedToolCall {
            dialect,
            name,
            reason,
            nearest,
        } => {
            let hint = match nearest {
                Some(n) => format!(" (nearest `{n}`)"),
                None => String::new(),
            };
            let name = name.as_deref().unwrap_or("?");
            (
                Style::Yellow,
                format!("{name} · {dialect} · {}{hint}", reason.as_str()),
            )
        }
        EventKind::NoParseableToolCall { openers } => {
            (Style::Yellow, format!("openers of {}", openers.join(", ")))
        }
        EventKind::NonAttempt { cause } => (Style::Yellow, cause.clone()),
        EventKind::ModelError {
            status: 0,
            kind,
            message,
        } => (Style::Red, format!("{kind}: {message}")),
        EventKind::ModelError {
            status,
            kind,
            message,
        } => (Style::Red, format!("{status} {kind}: {message}")),
        EventKind::Compensation { rule, outcome } => (Style::Cyan, format!("{rule}: {outcome}")),
        EventKind::Behavior {
            axis,
            from,
            to,
            evidence,
        } => (Style::Cyan, format!("{axis}: {from} → {to} ({evidence})")),
        other => (Style::Dim, other.name().to_owned()),
    }
}

/// The word of the wire.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

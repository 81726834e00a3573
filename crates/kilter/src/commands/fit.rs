//! `kilter fit`: probe a model, print its behaviour card, save it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kilter_core::{Clock, Exit, SystemClock};
use kilter_fit::FitError;
use kilter_fit::card::BehaviorCard;
use kilter_fit::demo::{self, DemoCard};
use kilter_fit::key;
use kilter_fit::run::{Goal, Limits, Step, Watch, fit};
use kilter_fit::save::{Backend, SaveError, Saved, backend_name, save};
use kilter_fit::table::{self, Row};
use serde::Serialize;
use tokio::sync::watch;

use crate::cli::Global;
use crate::cli::fit::Fit;
use crate::failure::{Failure, Outcome};
use crate::output::{Out, Style, counted};
use crate::{place, signals};

pub(crate) async fn run(args: &Fit, global: &Global, out: &Out) -> Outcome {
    let stop = stop_on_signal();
    match &args.url {
        Some(url) => one(args, url, global, out, stop).await,
        None => demos(args, out, stop).await,
    }
}

/// Becomes `true` at Ctrl-C; a second one ends the process at once.
fn stop_on_signal() -> watch::Receiver<bool> {
    let (send, receive) = watch::channel(false);
    let first = signals::stop();
    tokio::spawn(async move {
        first.await;
        // Nobody listens any more when the work is done: then there is nothing to stop.
        let _ = send.send(true);
        signals::stop().await;
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    receive
}

async fn one(
    args: &Fit,
    url: &str,
    global: &Global,
    out: &Out,
    stop: watch::Receiver<bool>,
) -> Outcome {
    let name = args.name.clone().unwrap_or_else(|| backend_name(url));
    let goal = Goal {
        url: url.to_owned(),
        model: args.model.clone(),
        key: args
            .api_key
            .as_deref()
            .map(key::resolve)
            .transpose()
            .map_err(fit_failed)?,
        backend: name.clone(),
        script: false,
    };
    let total = Duration::from_secs(args.timeout);
    let limits = Limits {
        requests: args.max_requests,
        total,
        request: total.min(Limits::default().request),
        ..Limits::default()
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let bar = Bar::new(&name);
    let card = fit(goal, limits, clock, &bar, stop)
        .await
        .map_err(fit_failed)?;
    bar.0.finish_and_clear();
    if args.json {
        out.json(&card)?;
    } else {
        print(&card, out)?;
    }
    let path = global
        .config
        .clone()
        .unwrap_or_else(|| PathBuf::from(place::CONFIG_FILE));
    if args.save {
        let backend = Backend {
            name: &name,
            endpoint: &card.target.endpoint,
            api_key: args.api_key.as_deref(),
        };
        report(&save(&path, &backend, &card).map_err(save_failed)?, out);
    } else if !args.json {
        out.line(&format!("  saved to {}? use --save", path.display()))?;
    }
    Ok(if card.effort.partial.as_deref() == Some("interrupted") {
        Exit::Interrupted
    } else {
        Exit::Ok
    })
}

fn fit_failed(error: FitError) -> Failure {
    let exit = match &error {
        FitError::Url { .. } | FitError::Key { .. } | FitError::NoSuchModel { .. } => Exit::Usage,
        FitError::Demo(_) => Exit::Internal,
        _ => Exit::Unavailable,
    };
    let hint = error.hint();
    Failure::new(exit, error.to_string()).hint(hint)
}

fn save_failed(error: SaveError) -> Failure {
    let hint = match &error {
        SaveError::Broken { .. } => "correct the file; `kilter config check` shows the line",
        SaveError::Io { .. } => "choose a file that can be written with `--config FILE`",
        SaveError::Partial(_) => "raise `--timeout` or `--max-requests` and run it again",
        _ => "see the message above",
    };
    Failure::new(Exit::Negative, error.to_string()).hint(hint)
}

fn report(saved: &Saved, out: &Out) {
    match saved {
        Saved::Written { path, backend } => {
            out.note(&format!(
                "saved as backend `{backend}` in {}",
                path.display()
            ));
            out.hint("next: `kilter serve`");
        }
        Saved::Exists {
            path,
            backend,
            changes,
        } if changes.is_empty() => {
            out.note(&format!(
                "backend `{backend}` in {} says all of this already",
                path.display()
            ));
        }
        Saved::Exists {
            path,
            backend,
            changes,
        } => {
            out.warn(
                &format!(
                    "backend `{backend}` is in {} already; nothing was written. It would change:",
                    path.display()
                ),
                None,
            );
            for change in changes {
                out.note(&format!("  {change}"));
            }
            out.hint("edit the file, or save under another name with `--name NAME`");
        }
    }
}

fn print(card: &BehaviorCard, out: &Out) -> Result<(), Failure> {
    let seconds = card.effort.elapsed_ms as f64 / 1000.0;
    let mut took = format!("{} requests, {seconds:.1} s", card.effort.requests);
    if let Some(speed) = card.effort.output_tokens_per_second {
        took.push_str(&format!(", {speed:.0} tokens/s"));
    }
    out.line(&format!(
        "  {}",
        out.paint(Style::Bold, &table::title(card))
    ))?;
    rows(&table::rows(card), out)?;
    out.line(&out.paint(Style::Dim, &format!("  {took}")))
}

fn rows(rows: &[Row], out: &Out) -> Result<(), Failure> {
    for row in rows {
        for (i, line) in row.lines().iter().enumerate() {
            let style = match row.axis {
                "PARTIAL" => Some(Style::Yellow),
                "fits" => Some(Style::Green),
                _ => None,
            };
            let painted = match (style, i, line.get(..16)) {
                (Some(style), _, _) => out.paint(style, line),
                (None, 0, Some(axis)) if line.is_char_boundary(16) => {
                    format!("{}{}", out.paint(Style::Cyan, axis), &line[16..])
                }
                _ => line.clone(),
            };
            out.line(&painted)?;
        }
    }
    Ok(())
}

#[derive(Debug, Serialize)]
struct DemoJson<'a> {
    /// These are scripts, not models.
    scripts: bool,
    elapsed_ms: u64,
    models: Vec<DemoModel<'a>>,
}

#[derive(Debug, Serialize)]
struct DemoModel<'a> {
    name: &'a str,
    card: Option<&'a BehaviorCard>,
    error: Option<String>,
}

async fn demos(args: &Fit, out: &Out, stop: watch::Receiver<bool>) -> Outcome {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let started = clock.elapsed();
    if !args.json {
        out.line("no URL given: fitting the demonstration models.")?;
        out.line(
            "They are scripts that misbehave on purpose, not models; the fit is not told how.",
        )?;
        out.line("")?;
    }
    let bar = Bar::new("demonstration models");
    let cards = demo::fit_all(Arc::clone(&clock), stop.clone(), |done, all| {
        bar.0.set_length(all as u64);
        bar.0.set_position(done as u64);
    })
    .await
    .map_err(fit_failed)?;
    bar.0.finish_and_clear();
    let elapsed = clock.elapsed().saturating_sub(started);
    if args.json {
        out.json(&DemoJson {
            scripts: true,
            elapsed_ms: elapsed.as_millis() as u64,
            models: cards
                .iter()
                .map(|d| DemoModel {
                    name: &d.name,
                    card: d.card.as_ref().ok(),
                    error: d.card.as_ref().err().map(ToString::to_string),
                })
                .collect(),
        })?;
    } else {
        for demo in &cards {
            print_demo(demo, out)?;
        }
        let requests: u32 = cards
            .iter()
            .filter_map(|d| d.card.as_ref().ok())
            .map(|c| c.effort.requests)
            .sum();
        out.line(&format!(
            "{}, {requests} requests, {:.1} s",
            counted(cards.len(), "script"),
            elapsed.as_secs_f64()
        ))?;
        out.line("next: `kilter doctor` finds a model server, `kilter fit URL` fits it")?;
    }
    if *stop.borrow() {
        return Ok(Exit::Interrupted);
    }
    Ok(if cards.iter().all(|d| d.card.is_ok()) {
        Exit::Ok
    } else {
        Exit::Negative
    })
}

fn print_demo(demo: &DemoCard, out: &Out) -> Result<(), Failure> {
    let name = out.paint(Style::Bold, &demo.name);
    match &demo.card {
        Ok(card) => {
            out.line(&format!(
                "{name} · script · {} requests",
                card.effort.requests
            ))?;
            rows(&table::compact_rows(card), out)?;
        }
        Err(error) => {
            out.line(&format!("{name} · script"))?;
            out.line(&format!("  no card: {error}"))?;
        }
    }
    out.line("")
}

/// Progress on a terminal; nothing elsewhere.
struct Bar(ProgressBar);

impl Bar {
    fn new(what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("  {prefix} {pos}/{len} {wide_msg} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_prefix(format!("probing {what}"));
        bar.enable_steady_tick(Duration::from_millis(500));
        Self(bar)
    }
}

impl Watch for Bar {
    fn step(&self, step: &Step<'_>) {
        self.0.set_length(u64::from(step.planned));
        self.0.set_position(u64::from(step.sent));
        self.0.set_message(step.probe);
    }
}

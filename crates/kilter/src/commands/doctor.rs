//! `kilter doctor`: what is installed, what answers, what is missing and how to get it.

use std::path::Path;

use kilter_core::Exit;
use kilter_fit::doctor::{Found, known, look, usual_ports};
use kilter_gateway::config::Severity;
use serde::Serialize;

use super::config;
use crate::cli::Global;
use crate::cli::small::Doctor;
use crate::failure::Outcome;
use crate::output::{Out, Style, counted};
use crate::place;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Missing,
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    /// Needed for kilter to work; otherwise only for what `said` names.
    needed: bool,
    said: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Serialize)]
struct Report {
    kilter: &'static str,
    servers: Vec<Found>,
    looked_at: Vec<u16>,
    checks: Vec<Check>,
}

pub(crate) async fn run(args: &Doctor, global: &Global, out: &Out) -> Outcome {
    let ports = if args.ports.is_empty() {
        usual_ports()
    } else {
        args.ports.clone()
    };
    let servers = look(&ports).await;
    let state = global.state.clone().unwrap_or_else(place::state);
    let report = Report {
        kilter: env!("CARGO_PKG_VERSION"),
        servers,
        looked_at: ports,
        checks: vec![
            configuration(global),
            state_folder(&state),
            browser(),
            building("cargo"),
            building("cc"),
        ],
    };
    let broken = report
        .checks
        .iter()
        .any(|c| c.needed && c.state != State::Ok);
    if args.json {
        out.json(&report)?;
    } else {
        print(&report, out)?;
    }
    Ok(if broken { Exit::Negative } else { Exit::Ok })
}

fn configuration(global: &Global) -> Check {
    let layers = config::layers(global, Vec::new());
    let files: Vec<String> = [&layers.operator, &layers.workspace]
        .into_iter()
        .flatten()
        .map(|p| p.display().to_string())
        .collect();
    let name = "configuration";
    if files.is_empty() {
        return Check {
            name,
            state: State::Missing,
            needed: false,
            said: format!("no {} here (only for `kilter serve`)", place::CONFIG_FILE),
            hint: Some("`kilter fit URL --save` writes one".to_owned()),
        };
    }
    let broken = |said: String, hint: Option<String>| Check {
        name,
        state: State::Broken,
        needed: true,
        said,
        hint,
    };
    match config::load(&layers) {
        Err(failure) => broken(failure.message, failure.hint),
        Ok(loaded) => {
            let findings = loaded.check();
            match findings.iter().find(|f| f.severity == Severity::Error) {
                Some(f) => broken(format!("`{}`: {}", f.key, f.message), Some(f.hint.clone())),
                None => Check {
                    name,
                    state: State::Ok,
                    needed: true,
                    said: format!(
                        "{}, {}",
                        files.join(", "),
                        counted(loaded.backends.len(), "backend")
                    ),
                    hint: None,
                },
            }
        }
    }
}

fn state_folder(path: &Path) -> Check {
    let shown = path.display();
    let tried = std::fs::create_dir_all(path).and_then(|()| {
        let probe = path.join(format!(".probe-{}", std::process::id()));
        std::fs::write(&probe, b"").and_then(|()| std::fs::remove_file(&probe))
    });
    match tried {
        Ok(()) => Check {
            name: "state folder",
            state: State::Ok,
            needed: true,
            said: format!("{shown}"),
            hint: None,
        },
        Err(e) => Check {
            name: "state folder",
            state: State::Broken,
            needed: true,
            said: format!("cannot write `{shown}`: {e}"),
            hint: Some("choose another with `--state DIR` or `KILTER_STATE`".to_owned()),
        },
    }
}

/// The browser that pages built by scripts are read with.
fn browser() -> Check {
    use kilter_web::browser::find;
    let name = "browser";
    let needed = false;
    if let Some(path) = find::browser() {
        return Check {
            name,
            state: State::Ok,
            needed,
            said: format!("{} (for pages that scripts build)", path.display()),
            hint: None,
        };
    }
    let fix = find::fix();
    let root = if fix.root_required { " as root" } else { "" };
    // A browser that was named and is not there is not replaced by another one.
    let (state, said) = match std::env::var(find::VARIABLE) {
        Ok(named) if !named.is_empty() => (
            State::Broken,
            format!("`{}` names `{named}`, which is no program", find::VARIABLE),
        ),
        _ => (
            State::Missing,
            "not found (only for pages that scripts build)".to_owned(),
        ),
    };
    Check {
        name,
        state,
        needed,
        said,
        hint: Some(format!(
            "run `{}`{root}, or name a Chromium in `{}`",
            fix.command,
            find::VARIABLE
        )),
    }
}

/// A tool that only building from source needs: the binary itself needs nothing but a kernel.
fn building(tool: &'static str) -> Check {
    let found = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .map(|d| d.join(format!("{tool}{}", std::env::consts::EXE_SUFFIX)))
            .find(|p| p.is_file())
    });
    match found {
        Some(path) => Check {
            name: tool,
            state: State::Ok,
            needed: false,
            said: format!("{} (only for building kilter)", path.display()),
            hint: None,
        },
        None => Check {
            name: tool,
            state: State::Missing,
            needed: false,
            said: "not found (only for building kilter)".to_owned(),
            hint: Some(
                match tool {
                    "cargo" => "https://rustup.rs",
                    _ => "a C compiler: `apt install build-essential`, `xcode-select --install`",
                }
                .to_owned(),
            ),
        },
    }
}

fn print(report: &Report, out: &Out) -> Result<(), crate::failure::Failure> {
    out.line(&format!("kilter {}", report.kilter))?;
    out.line("")?;
    out.line(&out.paint(Style::Bold, "model servers on 127.0.0.1"))?;
    for found in &report.servers {
        let name = found.server.as_deref().unwrap_or("unknown server");
        let mark = match found.url {
            Some(_) => out.paint(Style::Green, "✓"),
            None => out.paint(Style::Yellow, "?"),
        };
        let mut said = match found.models.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        };
        if let Some(note) = &found.note {
            if !said.is_empty() {
                said.push_str("; ");
            }
            said.push_str(note);
        }
        out.line(&format!("  {mark} {:<6}{name:<15}{said}", found.port))?;
    }
    if report.servers.is_empty() {
        let ports: Vec<String> = report.looked_at.iter().map(u16::to_string).collect();
        out.line(&format!("  none answers on {}", ports.join(", ")))?;
        out.line("  any of these would do:")?;
        for server in known().iter().take(4) {
            out.line(&format!("    {:<11}{}", server.name, server.get))?;
        }
    }
    out.line("")?;
    out.line(&out.paint(Style::Bold, "kilter itself"))?;
    for check in &report.checks {
        let mark = match check.state {
            State::Ok => out.paint(Style::Green, "✓"),
            State::Missing if !check.needed => out.paint(Style::Dim, "-"),
            State::Missing | State::Broken => out.paint(Style::Red, "✗"),
        };
        out.line(&format!("  {mark} {:<21}{}", check.name, check.said))?;
        if let Some(hint) = &check.hint {
            out.line(&format!("    {:<21}hint: {hint}", ""))?;
        }
    }
    let next = report
        .servers
        .iter()
        .find_map(|f| f.url.as_deref())
        .map_or_else(
            || "kilter fit          (no server: the demonstration models)".to_owned(),
            |url| format!("kilter fit {url}"),
        );
    out.line("")?;
    out.line(&format!("next: {next}"))
}

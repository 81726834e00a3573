//! `kilter mock`: scripted models over real HTTP.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use kilter_core::Exit;
use kilter_gateway::redact::MASK;
use kilter_mock::{
    MockOptions, MockServer, Observer, Outcome as MockOutcome, RequestRecord, Script, demo,
};
use serde_json::json;

use crate::cli::mock::Mock;
use crate::failure::{Failure, Outcome};
use crate::output::{Out, Style};
use crate::signals;

pub(crate) async fn run(args: &Mock, out: &Out) -> Outcome {
    if args.list_demos {
        return list(args, out);
    }
    let mut scripts = Vec::new();
    for path in &args.scripts {
        scripts.push(read(path)?);
    }
    if scripts.is_empty() || !args.demo.is_empty() {
        scripts.extend(demos(&args.demo)?);
    }
    if let Some(seed) = args.seed {
        scripts = scripts.into_iter().map(|s| s.seeded(seed)).collect();
    }
    let names: Vec<String> = scripts.iter().map(|s| s.name().to_owned()).collect();
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let mut options = MockOptions {
        addr,
        ..MockOptions::default()
    };
    if let Some(path) = &args.log {
        options.observer = Some(log_to(path)?);
    }
    let stop = signals::stop();
    let server = MockServer::start_with(scripts, options)
        .await
        .map_err(|e| Failure::worded(Exit::Unavailable, &e.to_string()))?;
    if args.json {
        out.json_line(&json!({"url": server.url(), "models": names}))?;
    } else {
        out.line(&format!("{} serves", out.paint(Style::Bold, &server.url())))?;
        for name in &names {
            out.line(&format!("  {name}"))?;
        }
        out.line("These are scripts, not models. Ctrl-C ends it.")?;
        out.line(&format!(
            "next: kilter fit {} --model {}",
            server.url(),
            names.first().map_or("NAME", String::as_str)
        ))?;
    }
    stop.await;
    server.shutdown().await;
    Ok(Exit::Ok)
}

/// Writes each request down when it has ended.
fn log_to(path: &Path) -> Result<Observer, Failure> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|e| Failure::reading(path, &e))?;
    let file = Mutex::new(file);
    Ok(Arc::new(move |record: &RequestRecord| {
        let outcome = match record.outcome {
            MockOutcome::Running => "running",
            MockOutcome::Complete => "complete",
            MockOutcome::ClientGone => "client_gone",
            MockOutcome::Cut => "cut",
        };
        let line = json!({
            "n": record.n, "at_ms": record.at.as_millis() as u64,
            "method": record.method, "path": record.path, "headers": shown(&record.headers),
            "body": String::from_utf8_lossy(&record.body), "session": record.session,
            "slot": record.slot, "model": record.model, "turn": record.turn,
            "status": record.status, "struck": record.struck, "sent_bytes": record.sent,
            "outcome": outcome,
        });
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writeln!(file, "{line}") {
            tracing::warn!(%error, "a request was not logged");
        }
    }))
}

/// Headers that carry a secret: a log is read by more eyes than a request.
const SECRET_HEADERS: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "cookie",
];

/// Headers as they may be written down.
fn shown(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    let mask = |name: &str| SECRET_HEADERS.iter().any(|s| name.eq_ignore_ascii_case(s));
    headers
        .iter()
        .map(|(name, value)| {
            let value = if mask(name) { MASK } else { value.as_str() };
            (name.as_str(), value)
        })
        .collect()
}

fn read(path: &Path) -> Result<Script, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::reading(path, &e))?;
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned());
    let script = Script::from_toml(&text)
        .map_err(|e| e.in_file(path.display().to_string()))
        .map_err(|e| Failure::worded(Exit::Usage, &e.to_string()))?;
    // A script without a name answers to the name of its file.
    Ok(match stem {
        Some(stem) if script.name() == "mock" => script.named(&stem),
        _ => script,
    })
}

fn all() -> Result<Vec<Script>, Failure> {
    demo::all().map_err(|e| Failure::new(Exit::Internal, e.to_string()))
}

fn demos(names: &[String]) -> Result<Vec<Script>, Failure> {
    let all = all()?;
    if names.is_empty() {
        return Ok(all);
    }
    names
        .iter()
        .map(|name| {
            all.iter()
                .find(|s| s.name() == name)
                .cloned()
                .ok_or_else(|| {
                    Failure::usage(format!("there is no demonstration model `{name}`"))
                        .hint("`kilter mock --list-demos` lists them")
                })
        })
        .collect()
}

fn list(args: &Mock, out: &Out) -> Outcome {
    let all = all()?;
    if args.json {
        let list: Vec<_> = all
            .iter()
            .map(|s| json!({"name": s.name(), "about": s.about()}))
            .collect();
        out.json(&list)?;
    } else {
        for script in &all {
            let name = format!("{:<20}", script.name());
            out.line(&format!(
                "{}{}",
                out.paint(Style::Bold, &name),
                script.about().unwrap_or_default()
            ))?;
        }
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_key_is_not_written_down() {
        let headers = [
            ("host".to_owned(), "localhost".to_owned()),
            ("Authorization".to_owned(), "Bearer sk-secret".to_owned()),
        ];
        assert_eq!(
            shown(&headers),
            [("host", "localhost"), ("Authorization", "[redacted]")]
        );
    }
}

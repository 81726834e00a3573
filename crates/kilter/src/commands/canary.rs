//! `kilter canary`: the proof of the canary's rules, and its fixed values.

use kilter_core::Exit;
use kilter_mcp::canary::{selftest, vectors};
use serde_json::json;

use crate::cli::canary::{Canary, CanaryAction};
use crate::failure::Outcome;
use crate::output::{Out, Style, counted};

pub(crate) fn run(args: &Canary, out: &Out) -> Outcome {
    match args.action {
        CanaryAction::Selftest { json } => prove(json, out),
        CanaryAction::Vectors { json } => show(json, out),
    }
}

fn prove(json: bool, out: &Out) -> Outcome {
    let checks = selftest::run();
    let broken = checks.iter().filter(|c| !c.ok).count();
    if json {
        out.json(&json!({"ok": broken == 0, "assertions": checks.len(), "failed": broken, "checks": checks}))?;
    } else {
        for check in &checks {
            let word = match check.ok {
                true => out.paint(Style::Green, "ok  "),
                false => out.paint(Style::Red, "FAIL"),
            };
            out.line(&format!("{word}  {}", check.what))?;
        }
        out.line(&format!(
            "{}, {broken} failed",
            counted(checks.len(), "assertion")
        ))?;
    }
    Ok(match broken {
        0 => Exit::Ok,
        _ => Exit::Negative,
    })
}

fn show(json: bool, out: &Out) -> Outcome {
    if json {
        let root: String = vectors::ROOT.iter().map(|b| format!("{b:02x}")).collect();
        out.json(&json!({"rootKey": root, "vectors": vectors::ALL}))?;
        return Ok(Exit::Ok);
    }
    out.line("root key: bytes 00 to 1f")?;
    for v in &vectors::ALL {
        out.line(&format!(
            "{:<28}  bucket {:>7}  {} bytes  {}",
            v.session, v.bucket, v.bytes, v.sentinel
        ))?;
    }
    Ok(Exit::Ok)
}

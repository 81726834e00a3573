//! `kilter receipts`: keys out, receipts checked, nothing asked of the network.

use std::io::Read;
use std::path::{Path, PathBuf};

use kilter_core::Exit;
use kilter_web::receipt::verify::{citation, given, offline};
use kilter_web::receipt::{KeyStore, PublicKey, Report, history, manifest};
use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::receipts::{Receipts, ReceiptsAction, VerifyMode};
use crate::failure::{Failure, Outcome};
use crate::output::{Out, Style};
use crate::place;

/// The key store of this installation.
pub(crate) fn store(global: &Global, on: bool) -> KeyStore {
    let state = global.state.clone().unwrap_or_else(place::state);
    KeyStore::open(&state, on).locked_by(|name| std::env::var(name).ok())
}

pub(crate) fn run(args: &Receipts, global: &Global, out: &Out) -> Outcome {
    match &args.action {
        ReceiptsAction::Export { create, json } => {
            export(&store(global, true), *create, *json, out)
        }
        ReceiptsAction::Rotate => {
            let key = store(global, true).rotate().map_err(|e| keys_failed(&e))?;
            out.line(&key.id())?;
            Ok(Exit::Ok)
        }
        ReceiptsAction::Verify { .. } => verify(&args.action, global, out),
    }
}

pub(crate) fn keys_failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::worded(Exit::Unavailable, &error.to_string())
}

fn export(store: &KeyStore, create: bool, json: bool, out: &Out) -> Outcome {
    if create {
        store.signer().map_err(|e| keys_failed(&e))?;
    }
    let keys = store.public_keys().map_err(|e| keys_failed(&e))?;
    if keys.is_empty() {
        return Err(Failure::new(Exit::Negative, "there is no key yet").hint(
            "the first signed read makes one, and so does `kilter receipts export --create`",
        ));
    }
    if json {
        let keys: Vec<Value> = keys
            .iter()
            .map(|k| json!({"keyId": k.id(), "publicKey": k.to_pem()}))
            .collect();
        out.json(&json!({ "keys": keys }))?;
    } else {
        for key in &keys {
            out.raw(key.to_pem().as_bytes())?;
        }
    }
    Ok(Exit::Ok)
}

fn verify(action: &ReceiptsAction, global: &Global, out: &Out) -> Outcome {
    let ReceiptsAction::Verify {
        file,
        mode,
        pubkey,
        markdown,
        text,
        selector,
        proof,
        head,
        json,
    } = action
    else {
        return Ok(Exit::Ok);
    };
    let keys = trusted(pubkey.as_deref(), global)?;
    let receipt = read(file.as_deref())?;
    let report = match mode {
        VerifyMode::Receipt => {
            let content = markdown.as_ref().map(|p| read(Some(p))).transpose()?;
            let given = given(&receipt).map_err(|e| unreadable(&e))?;
            offline(&given, content.as_deref(), &keys)
        }
        VerifyMode::Citation => {
            let (Some(text), Some(proof)) = (text, proof) else {
                return Err(Failure::usage("a citation needs `--text` and `--proof`")
                    .hint("`kilter read --json` gives the blocks; `prove` gives the proof"));
            };
            let given = given(&receipt).map_err(|e| unreadable(&e))?;
            let proof = parse(&read(Some(proof))?, "the proof")?;
            let selector = selector.as_deref().unwrap_or_default();
            citation(&given, text, selector, &proof, &keys).map_err(|e| unreadable(&e))?
        }
        VerifyMode::History => {
            let value = parse(&receipt, "the history")?;
            let entries = value.get("entries").unwrap_or(&value);
            let entries = entries.as_array().ok_or_else(|| {
                Failure::usage("the history is no list of entries")
                    .hint("it reads `[{…}, …]` or `{\"entries\": [{…}, …]}`")
            })?;
            history::check(entries, &keys, head.as_deref(), None)
        }
        VerifyMode::Manifest => manifest::check(&parse(&receipt, "the set")?, &keys),
    };
    say(&report, *json, out)
}

fn say(report: &Report, json: bool, out: &Out) -> Outcome {
    let good = report.verdict.is_good();
    if json {
        out.json(report)?;
    } else {
        let style = if good { Style::Green } else { Style::Red };
        out.line(&format!(
            "{}: {}",
            out.paint(style, report.verdict.as_str()),
            report.reason
        ))?;
        let seen = report.anchor.as_ref().map(|a| {
            let by = if a.trusted { "a trusted" } else { "an unknown" };
            format!("{} by {by} authority", a.time)
        });
        for (name, value) in [
            ("url", &report.url),
            ("made", &report.ts),
            ("seen", &seen),
            ("key", &report.key_id),
        ] {
            if let Some(v) = value {
                out.line(&format!("  {name:<4}  {}", v.escape_debug()))?;
            }
        }
    }
    Ok(if good { Exit::Ok } else { Exit::Negative })
}

fn trusted(pubkey: Option<&Path>, global: &Global) -> Result<Vec<PublicKey>, Failure> {
    if let Some(path) = pubkey {
        return PublicKey::all_from_pem(&read(Some(path))?)
            .map_err(|e| Failure::worded(Exit::Usage, &e.to_string()));
    }
    let keys = store(global, true)
        .public_keys()
        .map_err(|e| keys_failed(&e))?;
    if keys.is_empty() {
        return Err(
            Failure::usage("there is no key to check with: this installation has none")
                .hint("give the maker's key with `--pubkey KEY.pem`"),
        );
    }
    Ok(keys)
}

fn unreadable(failure: &kilter_web::Failure) -> Failure {
    Failure::usage(failure.message.clone()).hint(
        "a receipt is `{\"signed\": {…}}`, an envelope by itself, a reply with `receipt`, or a capsule",
    )
}

fn parse(text: &str, what: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|e| Failure::usage(format!("{what} is not JSON: {e}")))
}

/// The whole of a file, or of standard input.
pub(crate) fn read(path: Option<&Path>) -> Result<String, Failure> {
    let path: Option<PathBuf> = path.filter(|p| *p != Path::new("-")).map(Path::to_owned);
    let bytes = match &path {
        // A file that is not there is a wrong command line: nothing was checked.
        Some(p) => std::fs::read(p).map_err(|e| Failure {
            exit: Exit::Usage,
            ..Failure::reading(p, &e)
        })?,
        None => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes)?;
            bytes
        }
    };
    String::from_utf8(bytes).map_err(|_| Failure::usage("the input is not UTF-8"))
}

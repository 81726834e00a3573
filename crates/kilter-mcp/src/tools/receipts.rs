//! Checking receipts.

use kilter_web::receipt::verify::{self, Given};
use kilter_web::receipt::{Mode, PublicKey, Report, history, manifest};
use serde_json::{Value, json};

use super::{Call, Engines};
use crate::failure::ToolFailure;

pub(super) async fn verify(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let mode: Mode = args.text("mode").unwrap_or("offline").parse()?;
    let keys = keys(engines, args.text("public_key"))?;
    match mode {
        Mode::Offline => {
            let given = given(call)?;
            said(&verify::offline(&given, args.text("markdown"), &keys))
        }
        Mode::Prove => {
            let Some(index) = args.int("block_index") else {
                return Err(missing("prove", "block_index"));
            };
            let proof = verify::prove(&given(call)?, usize::try_from(index).unwrap_or(usize::MAX))?;
            Ok(json!({"ok": true, "proof": proof}))
        }
        Mode::Citation => {
            let (Some(text), Some(proof)) = (args.text("block_text"), args.document("proof"))
            else {
                return Err(missing("citation", "block_text` and `proof"));
            };
            let selector = args.text("block_selector").unwrap_or_default();
            let report = verify::citation(&given(call)?, text, selector, &proof, &keys)?;
            said(&report)
        }
        Mode::History => {
            let value = args.document("receipt").unwrap_or_default();
            let entries = value.get("entries").unwrap_or(&value);
            let Some(entries) = entries.as_array() else {
                return Err(invalid("the history is no list of entries"));
            };
            let head = value["head"].as_str();
            said(&history::check(entries, &keys, head, None))
        }
        Mode::Manifest => {
            let value = args.document("receipt").unwrap_or_default();
            said(&manifest::check(&value, &keys))
        }
        Mode::Live => super::reading::live(engines, call, &given(call)?, &keys).await,
    }
}

pub(super) fn invalid(message: &str) -> ToolFailure {
    ToolFailure::new(
        "invalid_receipt",
        message,
        "send the `receipt` of a reply as it is, or a capsule",
    )
}

fn missing(mode: &str, name: &str) -> ToolFailure {
    ToolFailure::arguments(
        format!("mode `{mode}` needs `{name}`"),
        "send it, or choose another `mode`",
    )
}

fn given(call: &Call<'_>) -> Result<Given, ToolFailure> {
    let given = match call.arguments.value("receipt") {
        Some(Value::String(text)) => verify::given(text),
        Some(other) => verify::from_value(other),
        None => return Err(missing("offline", "receipt")),
    };
    given.map_err(|f| invalid(&f.message))
}

fn keys(engines: &Engines, pem: Option<&str>) -> Result<Vec<PublicKey>, ToolFailure> {
    match pem {
        Some(pem) => PublicKey::all_from_pem(pem).map_err(|e| {
            ToolFailure::arguments(
                format!("`public_key` cannot be read: {e}"),
                "send a PEM block that begins with `-----BEGIN PUBLIC KEY-----`",
            )
        }),
        None => Ok(engines.keys.public_keys().unwrap_or_default()),
    }
}

pub(super) fn said(report: &Report) -> Result<Value, ToolFailure> {
    let mut reply = super::answer(report)?;
    reply["ok"] = json!(report.verdict.is_good());
    Ok(reply)
}

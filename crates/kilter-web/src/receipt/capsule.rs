//! A capsule: a receipt together with the content that it speaks of, as one line of text.

use serde_json::{Value, json};

use super::key::{b64, unb64};
use super::verify::{Given, from_value};
use crate::failure::{Failure, FailureCode};

/// How a capsule begins.
pub const SCHEME: &str = "kilter://capsule/";
/// How capsules of version 1 begin.
pub const OLD_SCHEME: &str = "occam://capsule/";
/// What a capsule says of how to check it. Another text is another capsule.
pub const RECIPE: &str = "kilter receipts verify FILE --pubkey KEY.pem";
/// Longest capsule that is opened, in characters: a page of 8 MiB with its leaves.
pub const LONGEST: usize = 16 << 20;

/// Whether a text says that it is a capsule.
pub fn is_capsule(text: &str) -> bool {
    text.starts_with(SCHEME) || text.starts_with(OLD_SCHEME)
}

/// Packs a receipt (`{signed, blockLeaves?}`) and its content.
pub fn pack(receipt: &Value, content: &str) -> String {
    let mut body = json!({
        "cap": 2,
        "kind": receipt["signed"]["kind"],
        "signed": receipt["signed"],
        "content": content,
        "verifyRecipe": RECIPE,
    });
    for beside in ["blockLeaves", "timeAnchor"] {
        if let Some(value) = receipt.get(beside) {
            body[beside] = value.clone();
        }
    }
    format!("{SCHEME}{}", b64(body.to_string().as_bytes()))
}

/// Opens a capsule; nothing is believed yet.
///
/// # Errors
/// `invalid_receipt` for a capsule that cannot be read, or that has a field which nothing vouches for.
pub fn open(text: &str) -> Result<Given, Failure> {
    let wrong = |why: &str| Failure::new(FailureCode::InvalidReceipt, format!("the capsule {why}"));
    if text.len() > LONGEST {
        return Err(wrong("is too long"));
    }
    let old = text.starts_with(OLD_SCHEME);
    let body: Value = text
        .strip_prefix(SCHEME)
        .or_else(|| text.strip_prefix(OLD_SCHEME))
        .and_then(unb64)
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or_else(|| wrong("cannot be read"))?;
    let map = body.as_object().ok_or_else(|| wrong("holds no object"))?;
    let version = map.get("cap").and_then(Value::as_u64);
    if version != Some(if old { 1 } else { 2 }) {
        return Err(wrong("is of a version that is not known"));
    }
    let fields = [
        "cap",
        "kind",
        "signed",
        "content",
        "blockLeaves",
        "verifyRecipe",
        "timeAnchor",
    ];
    if let Some(other) = map.keys().find(|k| !fields.contains(&k.as_str())) {
        return Err(wrong(&format!("has a field `{other}` that nothing signs")));
    }
    if body["kind"] != body["signed"]["kind"] {
        return Err(wrong("is of another kind than its envelope"));
    }
    if !old && body["verifyRecipe"] != RECIPE {
        return Err(wrong("tells to check it in another way"));
    }
    let content = body["content"]
        .as_str()
        .ok_or_else(|| wrong("holds no content"))?
        .to_owned();
    let mut receipt = json!({ "signed": body["signed"] });
    if let Some(token) = body.get("timeAnchor") {
        receipt["timeAnchor"] = token.clone();
    }
    let mut given = from_value(&receipt)?;
    if let Some(leaves) = body.get("blockLeaves") {
        given.leaves =
            from_value(&json!({"signed": body["signed"], "blockLeaves": leaves}))?.leaves;
    } else if body["signed"].get("leafCount").is_some() {
        return Err(wrong("lacks the leaves that its envelope speaks of"));
    }
    given.content = Some(content);
    Ok(given)
}

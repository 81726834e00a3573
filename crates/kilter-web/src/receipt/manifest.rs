//! A set of pages under one signature: each row is a leaf, and the count is signed.

use kilter_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::jcs::{JcsError, canonical};
use super::key::{PublicKey, Signer};
use super::seal::{self, Domain, Seal};
use super::verify::{Report, Verdict};
use super::{legacy, merkle};
use crate::hash::{Digest32, digest_from, hex, prefixed, sha256};

/// One page of the set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Row {
    /// The URL asked for.
    pub url: String,
    /// Where it ended.
    pub final_url: String,
    /// Whether it was read.
    pub ok: bool,
    /// Hash of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// Root over its blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_merkle_root: Option<String>,
    /// The failure's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_code: Option<String>,
}

impl Row {
    fn leaf(&self) -> Digest32 {
        let body = canonical(&json!([
            self.url,
            self.final_url,
            self.ok,
            self.content_hash,
            self.block_merkle_root,
            self.failure_code
        ]))
        .unwrap_or_default();
        merkle::leaf(&[&b"kilter-row-v2\0"[..], &body].concat())
    }

    /// The leaf of version 1: the fields by line.
    fn old_leaf(&self) -> Digest32 {
        let or = |s: &Option<String>| s.clone().unwrap_or_default();
        let text = format!(
            "{}\n{}\n{}\n{}\n{}\n{}",
            self.url,
            self.final_url,
            u8::from(self.ok),
            or(&self.content_hash),
            or(&self.block_merkle_root),
            or(&self.failure_code)
        );
        sha256(&[text.as_bytes()])
    }
}

/// How much of a set could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SetStatus {
    /// Every page.
    Complete,
    /// Some of them.
    Partial,
    /// None of them: the export has not succeeded.
    NoContent,
}

impl SetStatus {
    fn of(good: usize, rows: usize) -> Self {
        match good {
            0 => Self::NoContent,
            n if n == rows => Self::Complete,
            _ => Self::Partial,
        }
    }
}

/// The first of the set's own counts that its rows do not bear out.
fn miscounted(set: &Value, rows: &[Value]) -> Option<&'static str> {
    let good = rows.iter().filter(|r| r["ok"] == true).count();
    let status = SetStatus::of(good, rows.len());
    [
        ("ok", json!(status != SetStatus::NoContent)),
        ("status", json!(status)),
        ("successCount", json!(good)),
        ("failureCount", json!(rows.len() - good)),
    ]
    .into_iter()
    .find(|(name, said)| set.get(*name).is_some_and(|v| v != said))
    .map(|(name, _)| name)
}

/// A set with its rows and its manifest, as it is exported.
///
/// # Errors
/// [`JcsError`] when a number has no canonical form.
pub fn export(
    rows: &[Row],
    receipts: &[Option<Value>],
    at: Timestamp,
    key: Option<&Signer>,
) -> Result<Value, JcsError> {
    let leaves: Vec<Digest32> = rows.iter().map(Row::leaf).collect();
    let mut map = Map::new();
    map.insert("v".to_owned(), 2.into());
    map.insert("kind".to_owned(), "manifest".into());
    map.insert("createdAt".to_owned(), at.rfc3339().into());
    map.insert("rowCount".to_owned(), rows.len().into());
    map.insert(
        "manifestRoot".to_owned(),
        prefixed(&merkle::root(&leaves)).into(),
    );
    let manifest = match key {
        Some(key) => seal::seal(Domain::Manifest, map, key)?,
        None => Value::Object(map),
    };
    let good = rows.iter().filter(|r| r.ok).count();
    let status = SetStatus::of(good, rows.len());
    let rows: Vec<Value> = rows
        .iter()
        .zip(&leaves)
        .enumerate()
        .map(|(i, (row, leaf))| {
            let mut value = json!(row);
            value["rowLeaf"] = hex(leaf).into();
            if let Some(Some(receipt)) = receipts.get(i) {
                value["receipt"] = receipt.clone();
            }
            value
        })
        .collect();
    Ok(json!({
        "ok": status != SetStatus::NoContent,
        "status": status,
        "manifest": manifest,
        "successCount": good,
        "failureCount": rows.len() - good,
        "rows": rows,
    }))
}

/// Checks a set: the seal, the count, every row's leaf, and that each receipt speaks of its row.
pub fn check(set: &Value, keys: &[PublicKey]) -> Report {
    let manifest = &set["manifest"];
    let old = match manifest["v"].as_u64() {
        Some(2) => false,
        Some(1) => true,
        _ => {
            return Report::new(
                Verdict::UnsupportedVersion,
                manifest,
                "this version of the manifest is not known",
            );
        }
    };
    let seal = if old {
        legacy::check_manifest(manifest, keys)
    } else {
        seal::check(Domain::Manifest, manifest, keys)
    };
    match seal {
        Seal::Good => {}
        Seal::WrongKey => {
            return Report::new(
                Verdict::WrongKey,
                manifest,
                "the manifest names a key that was not given",
            );
        }
        Seal::Broken | Seal::Missing => {
            return Report::new(
                Verdict::SignatureInvalid,
                manifest,
                "the signature is not over this manifest",
            );
        }
    }
    let mismatch = |why: String| Report::new(Verdict::ContentMismatch, manifest, why);
    let Some(rows) = set["rows"].as_array() else {
        return mismatch("the set came without rows".to_owned());
    };
    let mut leaves = Vec::with_capacity(rows.len());
    for (i, value) in rows.iter().enumerate() {
        let Ok(row) = serde_json::from_value::<Row>(value.clone()) else {
            return mismatch(format!("row {i} is of no known shape"));
        };
        let leaf = if old { row.old_leaf() } else { row.leaf() };
        if value["rowLeaf"].as_str().and_then(digest_from) != Some(leaf) {
            return mismatch(format!("row {i} has another leaf than it says"));
        }
        if value["receipt"].is_object() {
            let sealed = super::verify::from_value(&value["receipt"])
                .map(|given| super::verify::offline(&given, None, keys));
            match sealed {
                Ok(report) if report.verdict.is_good() => {}
                Ok(report) => return mismatch(format!("row {i}: {}", report.reason)),
                Err(e) => return mismatch(format!("row {i}: {e}")),
            }
        }
        let speaks = |name: &str, of: &Option<String>| {
            let signed = &value["receipt"]["signed"];
            !signed.is_object() || signed[name].as_str() == of.as_deref()
        };
        if !speaks("url", &Some(row.url.clone()))
            || !speaks("contentHash", &row.content_hash)
            || !speaks("failureCode", &row.failure_code)
        {
            return mismatch(format!("row {i} has the receipt of another read"));
        }
        leaves.push(leaf);
    }
    let root = if old {
        legacy::root(&leaves)
    } else {
        Some(merkle::root(&leaves))
    };
    let same = manifest["rowCount"].as_u64() == Some(rows.len() as u64)
        && manifest["manifestRoot"].as_str().and_then(digest_from) == root;
    if let Some(name) = miscounted(set, rows) {
        return mismatch(format!("`{name}` is not what the rows say"));
    }
    if !same {
        return mismatch("the rows do not give the manifest's root and count".to_owned());
    }
    Report::new(
        Verdict::Verified,
        manifest,
        format!("{} rows agree with the signed manifest", rows.len()),
    )
}

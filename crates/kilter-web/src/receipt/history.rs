//! The states of a page over time: each entry holds the hash of the one before.

use kilter_core::Timestamp;
use serde_json::{Map, Value, json};

use super::jcs::{JcsError, canonical};
use super::key::{PublicKey, Signer};
use super::seal::{self, Domain, Seal};
use super::verify::{Report, Verdict};
use crate::hash::{prefixed, sha256};

/// The hash that the next entry holds of this one, its seal included.
///
/// # Errors
/// [`JcsError`] when a number has no canonical form.
pub fn entry_hash(entry: &Value) -> Result<String, JcsError> {
    Ok(prefixed(&sha256(&[
        b"kilter-history-entry-v2\0",
        &canonical(entry)?,
    ])))
}

/// One state of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The address.
    pub url: String,
    /// When it was seen.
    pub at: Timestamp,
    /// Hash of the content, when it was read.
    pub content_hash: Option<String>,
    /// Root over its blocks, when it has any.
    pub block_root: Option<String>,
    /// The failure's word, when it was not read.
    pub failure_code: Option<String>,
}

/// The entry that follows `previous` (nothing: the first one); sealed when a key is given.
///
/// # Errors
/// [`JcsError`] when a number has no canonical form.
pub fn append(
    previous: Option<&Value>,
    state: &State,
    key: Option<&Signer>,
) -> Result<Value, JcsError> {
    let mut map = Map::new();
    let number = previous
        .and_then(|p| p["seq"].as_u64())
        .map_or(0, |n| n + 1);
    map.insert("v".to_owned(), 2.into());
    map.insert("kind".to_owned(), "history".into());
    map.insert("seq".to_owned(), number.into());
    map.insert("url".to_owned(), state.url.clone().into());
    map.insert("ts".to_owned(), state.at.rfc3339().into());
    for (name, value) in [
        ("contentHash", &state.content_hash),
        ("blockMerkleRoot", &state.block_root),
        ("failureCode", &state.failure_code),
    ] {
        if let Some(v) = value {
            map.insert(name.to_owned(), json!(v));
        }
    }
    let prev = previous.map(entry_hash).transpose()?;
    map.insert("prev".to_owned(), prev.map_or(Value::Null, Value::from));
    match key {
        Some(key) => seal::seal(Domain::History, map, key),
        None => Ok(Value::Object(map)),
    }
}

/// Checks a chain. `head`: the hash of the last entry as the caller remembers it; without it a cut end cannot be seen.
/// `start`: the hash before the first entry, when older entries were let go.
pub fn check(
    entries: &[Value],
    keys: &[PublicKey],
    head: Option<&str>,
    start: Option<&str>,
) -> Report {
    let last = entries.last().cloned().unwrap_or(Value::Null);
    let invalid = |i: usize, why: &str| {
        Report::new(Verdict::HistoryInvalid, &last, format!("entry {i} {why}"))
    };
    if entries.is_empty() {
        return Report::new(Verdict::HistoryInvalid, &last, "there is no entry");
    }
    let mut before: Option<String> = start.map(str::to_owned);
    let first = entries[0]["seq"].as_u64();
    let url = &entries[0]["url"];
    let mut unsigned = 0;
    for (i, entry) in entries.iter().enumerate() {
        if entry["v"].as_u64() != Some(2) || entry["kind"] != "history" {
            return invalid(i, "is no entry of a known version");
        }
        let expected = first.and_then(|f| f.checked_add(i as u64));
        if entry["seq"].as_u64() != expected
            || expected.is_none()
            || (start.is_none() && first != Some(0))
        {
            return invalid(i, "is out of order");
        }
        if entry["url"] != *url {
            return invalid(i, "is of another page");
        }
        if entry.get("prev").and_then(Value::as_str) != before.as_deref() {
            return invalid(i, "is not linked to the one before");
        }
        match seal::check(Domain::History, entry, keys) {
            Seal::Good => {}
            Seal::Missing if entry.get("keyId").is_none() && entry.get("alg").is_none() => {
                unsigned += 1;
            }
            Seal::WrongKey => {
                return Report::new(
                    Verdict::HistoryWrongKey,
                    entry,
                    format!("entry {i} names a key that was not given"),
                );
            }
            Seal::Missing | Seal::Broken => return invalid(i, "has a broken seal"),
        }
        match entry_hash(entry) {
            Ok(hash) => before = Some(hash),
            Err(_) => return invalid(i, "has no canonical form"),
        }
    }
    if head.is_some_and(|h| before.as_deref() != Some(h)) {
        return Report::new(
            Verdict::HistoryInvalid,
            &last,
            "the chain does not end where it should",
        );
    }
    if unsigned > 0 {
        return Report::new(
            Verdict::HistoryChainOk,
            &last,
            format!(
                "{} entries are linked; {unsigned} are unsigned",
                entries.len()
            ),
        );
    }
    Report::new(
        Verdict::HistoryVerified,
        &last,
        format!("{} entries are linked and signed", entries.len()),
    )
}

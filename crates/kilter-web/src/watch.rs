//! Watching a page: its last state, what has changed since, and a signed chain of all states.

use kilter_core::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::again::{Diff, block_hashes, diff};
use crate::failure::{Failure, FailureCode};
use crate::hash::{content_hash, prefixed};
use crate::page::Block;
use crate::receipt::history::{State, append, entry_hash};
use crate::receipt::{Signer, leaves, merkle};
use crate::store::{Store, StoreError};

/// States of one page that are kept; the hash before the first one stays.
pub const STATES_MAX: usize = 200;
/// Pages that are watched.
pub const PAGES_MAX: usize = 500;
/// Largest record of one page.
pub const RECORD_MAX: usize = 512 << 10;
/// Blocks of a page whose hashes are kept.
const BLOCKS_MAX: usize = 4_000;

/// What a look at a watched page found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Look {
    /// `baseline` (first look), `unchanged`, `changed`, `unreadable`.
    pub status: &'static str,
    /// What has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<Diff>,
    /// The entry that was added to the chain; an unchanged page adds none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Value>,
    /// Hash of the chain's last entry: remember it, and a cut chain shows.
    pub head: String,
    /// Entries that are kept.
    pub states: usize,
}

/// A store for watched pages.
pub fn store() -> Store {
    Store::new(PAGES_MAX, RECORD_MAX)
}

/// Takes down what a look at a page found: its blocks and Markdown, or the failure.
///
/// # Errors
/// What the store says, as `extraction_failed`.
pub fn look(
    store: &mut Store,
    url: &str,
    read: Result<(&str, &[Block]), &Failure>,
    at: Timestamp,
    key: Option<&Signer>,
) -> Result<Look, Failure> {
    let failed = |e: String| Failure::new(FailureCode::ExtractionFailed, e);
    let old = store.get(url).cloned();
    let record = old.as_ref().map_or(Value::Null, |e| e.value.clone());
    let mut entries: Vec<Value> = record["entries"].as_array().cloned().unwrap_or_default();
    let mut start = record["start"].as_str().map(str::to_owned);
    let before: Option<Vec<String>> = record["blocks"].as_array().map(|list| {
        list.iter()
            .filter_map(|h| h.as_str().map(str::to_owned))
            .collect()
    });
    let mut state = State {
        url: url.to_owned(),
        at,
        ..State::default()
    };
    let (status, change, blocks) = match read {
        Ok((markdown, blocks)) => {
            let hash = content_hash(markdown);
            let same = before.is_some() && record["contentHash"].as_str() == Some(hash.as_str());
            let hashes = block_hashes(blocks.get(..BLOCKS_MAX).unwrap_or(blocks));
            state.content_hash = Some(hash);
            state.block_root = Some(prefixed(&merkle::root(&leaves(blocks))));
            match &before {
                None => ("baseline", None, hashes),
                Some(_) if same => ("unchanged", None, hashes),
                Some(old) => ("changed", Some(diff(old, blocks)), hashes),
            }
        }
        Err(failure) => {
            // The baseline stays: an unreadable page is no changed page.
            state.failure_code = Some(failure.code.as_str().into_owned());
            ("unreadable", None, before.clone().unwrap_or_default())
        }
    };
    let last_failed = entries
        .last()
        .and_then(|e| e["failureCode"].as_str())
        .map(str::to_owned);
    let adds = match status {
        "unchanged" => last_failed.is_some(),
        "unreadable" => last_failed != state.failure_code,
        _ => true,
    };
    let mut entry = None;
    if adds {
        let new = append(entries.last(), &state, key).map_err(|e| failed(e.to_string()))?;
        entries.push(new.clone());
        entry = Some(new);
    }
    while entries.len() > STATES_MAX {
        let gone = entries.remove(0);
        start = entry_hash(&gone).ok();
    }
    let head = entries
        .last()
        .and_then(|e| entry_hash(e).ok())
        .unwrap_or_default();
    let states = entries.len();
    let content = state
        .content_hash
        .clone()
        .map_or_else(|| record["contentHash"].clone(), Value::from);
    let known = before.is_some() || status != "unreadable";
    let value = json!({
        "entries": entries,
        "start": start,
        "blocks": known.then_some(blocks),
        "contentHash": content,
    });
    if adds || old.is_none() {
        let version = old.map_or(0, |e| e.version);
        store
            .put(url, version, value, at)
            .map_err(|e: StoreError| failed(e.to_string()))?;
    }
    Ok(Look {
        status,
        diff: change,
        entry,
        head,
        states,
    })
}

/// The chain of a page: its entries, and the hash before the first one.
pub fn chain(store: &Store, url: &str) -> Option<(Vec<Value>, Option<String>)> {
    let record = &store.get(url)?.value;
    Some((
        record["entries"].as_array()?.clone(),
        record["start"].as_str().map(str::to_owned),
    ))
}

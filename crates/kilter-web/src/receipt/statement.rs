//! What a receipt states about one read: version 2 of the envelope.

use kilter_core::Timestamp;
use serde_json::{Map, Value, json};

use super::jcs::{JcsError, canonical};
use super::key::Signer;
use super::merkle;
use super::seal::{Domain, seal};
use crate::failure::{Failure, FailureCode};
use crate::hash::{Digest32, hex, prefixed};
use crate::page::Block;

/// Version of the envelope.
pub const VERSION: u64 = 2;

/// The leaf of one block: its text and where it stands. What it is called elsewhere does not matter.
pub fn block_leaf(text: &str, selector: &str) -> Digest32 {
    // Two strings always have a canonical form.
    let body = canonical(&json!([text, selector])).unwrap_or_default();
    merkle::leaf(&[&b"kilter-block-v2\0"[..], &body].concat())
}

/// The leaves of a page, in order.
pub fn leaves(blocks: &[Block]) -> Vec<Digest32> {
    blocks
        .iter()
        .map(|b| block_leaf(&b.text, &b.source_selector))
        .collect()
}

/// How the read was asked for, so that it can be repeated the same way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// `http`, `browser`, `http_then_browser`.
    pub backend_policy: Option<String>,
    /// Bound of the reply.
    pub max_tokens: Option<u32>,
    /// Focus words.
    pub focus: Option<String>,
    /// Headings to keep.
    pub sections: Vec<String>,
    /// Name of the session profile; never its values.
    pub session_profile: Option<String>,
}

impl Asked {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(v) = value {
                map.insert(name.to_owned(), v);
            }
        };
        put(
            "backendPolicy",
            self.backend_policy.clone().map(Value::from),
        );
        put("maxTokens", self.max_tokens.map(Value::from));
        put("focusQuery", self.focus.clone().map(Value::from));
        put(
            "contentSelectors",
            (!self.sections.is_empty()).then(|| json!(self.sections)),
        );
        put(
            "sessionProfile",
            self.session_profile.clone().map(Value::from),
        );
        Value::Object(map)
    }

    /// What an envelope says of how it was asked; an envelope that says nothing was asked plainly.
    pub fn from_envelope(signed: &Value) -> Self {
        let asked = &signed["asked"];
        let text = |name: &str| asked[name].as_str().map(str::to_owned);
        Self {
            backend_policy: text("backendPolicy"),
            max_tokens: asked["maxTokens"]
                .as_u64()
                .and_then(|n| u32::try_from(n).ok()),
            focus: text("focusQuery"),
            sections: asked["contentSelectors"]
                .as_array()
                .iter()
                .flat_map(|a| a.iter())
                .filter_map(|s| s.as_str().map(str::to_owned))
                .collect(),
            session_profile: text("sessionProfile"),
        }
    }
}

/// What is known of every read, whether it gave a page or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// The URL asked for.
    pub url: String,
    /// Where it ended.
    pub final_url: String,
    /// What read it.
    pub backend: String,
    /// When, in UTC.
    pub at: Timestamp,
    /// Name and version of the program.
    pub toolchain: String,
    /// Identifier and version of the playbook, only if it was really applied.
    pub playbook: Option<(String, String)>,
    /// How it was asked.
    pub asked: Asked,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Content {
    /// Hash of the Markdown.
    pub content_hash: String,
    /// Leaves of the blocks, where there are blocks.
    pub leaves: Option<Vec<Digest32>>,
    /// Whether the leaves are all of the page's: nothing was cut.
    pub leaf_set_complete: bool,
    /// Tokens of the Markdown with the name of the tokenizer.
    pub tokens: Option<(u64, String)>,
    /// 0 to 1.
    pub confidence: Option<f64>,
}

fn envelope(kind: &str, read: &Read) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("v".to_owned(), VERSION.into());
    map.insert("kind".to_owned(), kind.into());
    map.insert("url".to_owned(), read.url.clone().into());
    map.insert("finalUrl".to_owned(), read.final_url.clone().into());
    map.insert("backend".to_owned(), read.backend.clone().into());
    map.insert("ts".to_owned(), read.at.rfc3339().into());
    map.insert("toolchain".to_owned(), read.toolchain.clone().into());
    if let Some((id, version)) = &read.playbook {
        map.insert("playbook".to_owned(), json!({"id": id, "version": version}));
    }
    if read.asked != Asked::default() {
        map.insert("asked".to_owned(), read.asked.to_json());
    }
    map
}

/// The receipt of a page that was read: `signed`, and beside it the leaves that `signed` commits to.
///
/// # Errors
/// [`JcsError`] when a number has no canonical form.
pub fn extraction(read: &Read, content: &Content, key: &Signer) -> Result<Value, JcsError> {
    let mut map = envelope("extraction", read);
    map.insert(
        "contentHash".to_owned(),
        content.content_hash.clone().into(),
    );
    if let Some(leaves) = &content.leaves {
        map.insert(
            "blockMerkleRoot".to_owned(),
            prefixed(&merkle::root(leaves)).into(),
        );
        map.insert("leafCount".to_owned(), leaves.len().into());
        map.insert(
            "leafSetComplete".to_owned(),
            content.leaf_set_complete.into(),
        );
    }
    if let Some((tokens, tokenizer)) = &content.tokens {
        map.insert("tokens".to_owned(), (*tokens).into());
        map.insert("tokenizer".to_owned(), tokenizer.clone().into());
    }
    if let Some(c) = content.confidence {
        map.insert("confidence".to_owned(), json!(c));
    }
    let signed = seal(Domain::Receipt, map, key)?;
    let mut receipt = json!({ "signed": signed });
    if let Some(leaves) = &content.leaves {
        receipt["blockLeaves"] = leaves.iter().map(|l| hex(l)).collect();
    }
    Ok(receipt)
}

/// Whether a failure proves that the page cannot be had: somebody answered, and the answer was a closed door.
/// A time-out, a broken connection or a thin page proves nothing.
pub fn provable(code: FailureCode) -> bool {
    use FailureCode as C;
    matches!(
        code,
        C::CaptchaOrChallenge | C::RequiresLogin | C::Paywall | C::Http(401 | 403 | 404 | 410)
    )
}

/// The receipt of a page that provably cannot be had; `None` when the failure proves nothing.
///
/// # Errors
/// [`JcsError`] when a number has no canonical form.
pub fn negative(read: &Read, failure: &Failure, key: &Signer) -> Result<Option<Value>, JcsError> {
    if !provable(failure.code) {
        return Ok(None);
    }
    let mut map = envelope("negative", read);
    map.insert(
        "failureCode".to_owned(),
        failure.code.as_str().into_owned().into(),
    );
    if let Some(status) = failure.status_code {
        map.insert("statusCode".to_owned(), status.into());
    }
    Ok(Some(json!({ "signed": seal(Domain::Receipt, map, key)? })))
}

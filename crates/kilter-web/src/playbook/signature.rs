//! The signature of a playbook: that it passed its dry run here, and has not changed since.

use kilter_core::Timestamp;
use serde::Serialize;
use serde_json::{Map, json};

use super::document::Playbook;
use crate::hash::{prefixed, sha256};
use crate::receipt::jcs::{JcsError, canonical};
use crate::receipt::seal::{Domain, Seal, check, seal};
use crate::receipt::{PublicKey, Signer};

/// What became of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// By a known key, over this document.
    Verified,
    /// By a known key, over another document, or broken.
    Invalid,
    /// By a key that is not known here.
    UnknownKey,
    /// There is none.
    Unsigned,
    /// Of a version that is not known.
    UnsupportedVersion,
}

/// A signature and what it says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Signature {
    /// Whether there is one.
    pub present: bool,
    /// What became of it.
    pub status: Status,
    /// The key it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// The score of its dry run, if it verifies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Whether it passed its dry run, if it verifies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes_gate: Option<bool>,
}

/// The hash of a playbook without its provenance.
///
/// # Errors
/// [`JcsError`] when a number has no canonical form.
pub fn content_hash(book: &Playbook) -> Result<String, JcsError> {
    let mut value = serde_json::to_value(book).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.remove("provenance");
    }
    Ok(prefixed(&sha256(&[&canonical(&value)?])))
}

/// Signs a playbook that passed its dry run.
///
/// # Errors
/// [`JcsError`] when a number has no canonical form.
pub fn sign(
    book: &mut Playbook,
    at: Timestamp,
    score: f64,
    passes_gate: bool,
    key: &Signer,
) -> Result<(), JcsError> {
    let mut map = Map::new();
    map.insert("v".to_owned(), 2.into());
    map.insert("contentHash".to_owned(), content_hash(book)?.into());
    map.insert("signedAt".to_owned(), at.rfc3339().into());
    map.insert(
        "verify".to_owned(),
        json!({"score": score, "passesGate": passes_gate}),
    );
    book.provenance = Some(seal(Domain::Playbook, map, key)?);
    Ok(())
}

/// Looks at the signature of a playbook. What an unverified one says of a score is not repeated.
pub fn signature(book: &Playbook, keys: &[PublicKey]) -> Signature {
    let mut out = Signature {
        present: book.provenance.is_some(),
        status: Status::Unsigned,
        key_id: None,
        score: None,
        passes_gate: None,
    };
    let Some(p) = &book.provenance else {
        return out;
    };
    out.key_id = p["keyId"].as_str().map(str::to_owned);
    out.status = if p["v"].as_u64() == Some(2) {
        match check(Domain::Playbook, p, keys) {
            Seal::Good if content_hash(book).is_ok_and(|h| p["contentHash"] == h) => {
                Status::Verified
            }
            Seal::Good | Seal::Broken => Status::Invalid,
            Seal::WrongKey => Status::UnknownKey,
            Seal::Missing => Status::Unsigned,
        }
    } else {
        Status::UnsupportedVersion
    };
    if out.status == Status::Verified {
        out.score = p["verify"]["score"].as_f64();
        out.passes_gate = p["verify"]["passesGate"].as_bool();
    }
    out
}

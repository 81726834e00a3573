//! The seal on a JSON object: `keyId`, `alg` and `sig` over its canonical bytes under a domain of its own.

use serde_json::{Map, Value};

use super::jcs::{JcsError, canonical};
use super::key::{PublicKey, Signer, b64, unb64};

/// The word for the signature algorithm of version 2.
pub const ALG: &str = "Ed25519";

/// What kind of object is sealed. A seal of one kind is none of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// A statement about one read.
    Receipt,
    /// An entry of a page's history.
    History,
    /// The manifest of a data set.
    Manifest,
    /// A playbook.
    Playbook,
}

impl Domain {
    /// What stands before the canonical bytes.
    fn prefix(self) -> &'static [u8] {
        match self {
            Self::Receipt => b"kilter-receipt-v2\0",
            Self::History => b"kilter-history-v2\0",
            Self::Manifest => b"kilter-manifest-v2\0",
            Self::Playbook => b"kilter-playbook-v2\0",
        }
    }

    fn message(self, body: &Value) -> Result<Vec<u8>, JcsError> {
        Ok([self.prefix(), &canonical(body)?].concat())
    }
}

/// What became of a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// It is the key's.
    Good,
    /// It was made with a key that is not among those given.
    WrongKey,
    /// It is not over this object.
    Broken,
    /// There is none.
    Missing,
}

/// Adds `keyId`, `alg` and `sig`.
///
/// # Errors
/// [`JcsError`] for a value without canonical form.
pub fn seal(domain: Domain, mut body: Map<String, Value>, key: &Signer) -> Result<Value, JcsError> {
    body.remove("sig");
    body.insert("keyId".to_owned(), key.id().into());
    body.insert("alg".to_owned(), ALG.into());
    let value = Value::Object(body);
    let sig = b64(&key.sign(&domain.message(&value)?));
    let Value::Object(mut body) = value else {
        return Ok(Value::Null);
    };
    body.insert("sig".to_owned(), sig.into());
    Ok(Value::Object(body))
}

/// Checks a seal against the keys that are trusted. Every field but `sig` is covered, known or not.
pub fn check(domain: Domain, sealed: &Value, keys: &[PublicKey]) -> Seal {
    let Some(map) = sealed.as_object() else {
        return Seal::Broken;
    };
    let text = |name: &str| map.get(name).and_then(Value::as_str);
    let Some(sig) = map.get("sig") else {
        return Seal::Missing;
    };
    let Some(key) = keys.iter().find(|k| text("keyId") == Some(k.id().as_str())) else {
        return Seal::WrongKey;
    };
    let mut body = map.clone();
    body.remove("sig");
    let good = text("alg") == Some(ALG)
        && matches!(key, PublicKey::Ed25519(_))
        && sig.as_str().and_then(unb64).is_some_and(|sig| {
            domain
                .message(&Value::Object(body))
                .is_ok_and(|m| key.verifies(&m, &sig))
        });
    if good { Seal::Good } else { Seal::Broken }
}

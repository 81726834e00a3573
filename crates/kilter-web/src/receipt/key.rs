//! Keys: Ed25519 that signs, public keys of both kinds that verify, and the PEM they travel in.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use p256::ecdsa::signature::Verifier;

use super::lock;
use crate::hash::{hex, sha256};

/// Label of a key that is locked.
const LOCKED: &str = "ENCRYPTED PRIVATE KEY";

/// DER before the 32 bytes of an Ed25519 public key (RFC 8410).
const ED25519_SPKI: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// DER before the 32 bytes of an Ed25519 private key (RFC 8410, version 1).
const ED25519_PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// DER before the 65 bytes of an uncompressed P-256 point (RFC 5480).
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// What is wrong with a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// No PEM block of the wanted kind.
    #[error("this is no {0} in PEM\nhint: it begins with `-----BEGIN {0}-----`")]
    NotPem(&'static str),
    /// Neither an Ed25519 nor a P-256 key.
    #[error("this key is neither Ed25519 nor P-256")]
    Unsupported,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
    /// The key is locked, and the passphrase does not open it.
    #[error("the passphrase does not open this key")]
    WrongPassphrase,
}

/// Unpadded base64url.
pub fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Bytes of unpadded base64url.
pub fn unb64(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

fn pem(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut out = format!("-----BEGIN {label}-----\n");
    for (i, c) in body.chars().enumerate() {
        if i > 0 && i % 64 == 0 {
            out.push('\n');
        }
        out.push(c);
    }
    out.push_str(&format!("\n-----END {label}-----\n"));
    out
}

fn unpem(label: &'static str, text: &str) -> Result<Vec<u8>, KeyError> {
    let (begin, end) = (
        format!("-----BEGIN {label}-----"),
        format!("-----END {label}-----"),
    );
    text.split_once(&begin)
        .and_then(|(_, rest)| rest.split_once(&end))
        .and_then(|(body, _)| {
            let body: String = body.split_ascii_whitespace().collect();
            STANDARD.decode(body).ok()
        })
        .ok_or(KeyError::NotPem(label))
}

/// A key that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// What this version signs with.
    Ed25519(VerifyingKey),
    /// What version 1 was signed with.
    P256(Box<p256::ecdsa::VerifyingKey>),
}

impl PublicKey {
    /// Reads `-----BEGIN PUBLIC KEY-----`.
    ///
    /// # Errors
    /// [`KeyError`] for anything but an Ed25519 or P-256 key.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        Self::from_der(&unpem("PUBLIC KEY", text)?)
    }

    /// Reads every public key of a text with several.
    ///
    /// # Errors
    /// As [`PublicKey::from_pem`]; a text without any key is an error.
    pub fn all_from_pem(text: &str) -> Result<Vec<Self>, KeyError> {
        let end = "-----END PUBLIC KEY-----";
        let keys: Vec<_> = text
            .split_inclusive(end)
            .filter(|part| part.contains("-----BEGIN"))
            .map(Self::from_pem)
            .collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(KeyError::NotPem("PUBLIC KEY"));
        }
        Ok(keys)
    }

    fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        if let Some(raw) = der.strip_prefix(&ED25519_SPKI[..]) {
            let raw: [u8; 32] = raw.try_into().map_err(|_| KeyError::Unsupported)?;
            return VerifyingKey::from_bytes(&raw)
                .map(Self::Ed25519)
                .map_err(|_| KeyError::Unsupported);
        }
        der.strip_prefix(&P256_SPKI[..])
            .and_then(|point| p256::ecdsa::VerifyingKey::from_sec1_bytes(point).ok())
            .map(|k| Self::P256(Box::new(k)))
            .ok_or(KeyError::Unsupported)
    }

    fn der(&self) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => [&ED25519_SPKI[..], key.as_bytes()].concat(),
            Self::P256(key) => [&P256_SPKI[..], key.to_sec1_point(false).as_bytes()].concat(),
        }
    }

    /// As PEM.
    pub fn to_pem(&self) -> String {
        pem("PUBLIC KEY", &self.der())
    }

    /// `ed1:` or `k1:` and the first 16 hex digits of the SHA-256 of its DER.
    pub fn id(&self) -> String {
        let digest = hex(&sha256(&[&self.der()]));
        let kind = match self {
            Self::Ed25519(_) => "ed1",
            Self::P256(_) => "k1",
        };
        format!("{kind}:{}", &digest[..16])
    }

    /// Whether `signature` is this key's over `message`. Ed25519 is verified strictly: no second signature passes.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => Signature::from_slice(signature)
                .is_ok_and(|s| key.verify_strict(message, &s).is_ok()),
            Self::P256(key) => p256::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|s| key.verify(message, &s).is_ok()),
        }
    }
}

/// Whether a text holds a key that is locked with a passphrase.
pub fn is_locked(text: &str) -> bool {
    text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----")
}

/// A key that signs.
#[derive(Clone)]
pub struct Signer(SigningKey);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signer({})", self.id())
    }
}

impl Signer {
    /// A new key from the system's random bytes.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|e| KeyError::Random(e.to_string()))?;
        Ok(Self::from_seed(&seed))
    }

    /// The key of a 32-byte seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Reads `-----BEGIN PRIVATE KEY-----` (PKCS #8).
    ///
    /// # Errors
    /// [`KeyError`] for anything but an Ed25519 key.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        Self::from_pkcs8(&unpem("PRIVATE KEY", text)?)
    }

    /// As PEM (PKCS #8): a secret.
    pub fn to_pem(&self) -> String {
        pem("PRIVATE KEY", &self.pkcs8())
    }

    /// As PEM (PKCS #8), locked with a passphrase.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn to_locked_pem(&self, passphrase: &str) -> Result<String, KeyError> {
        let locked = lock::lock(&self.pkcs8(), passphrase)
            .ok_or_else(|| KeyError::Random("the key cannot be locked".to_owned()))?;
        Ok(pem(LOCKED, &locked))
    }

    /// Reads `-----BEGIN ENCRYPTED PRIVATE KEY-----`.
    ///
    /// # Errors
    /// [`KeyError::WrongPassphrase`], and as [`Signer::from_pem`].
    pub fn from_locked_pem(text: &str, passphrase: &str) -> Result<Self, KeyError> {
        let locked = unpem(LOCKED, text)?;
        let der = lock::unlock(&locked, passphrase).ok_or(KeyError::WrongPassphrase)?;
        // A wrong passphrase gives bytes that are no key, now and then with good padding.
        Self::from_pkcs8(&der).map_err(|_| KeyError::WrongPassphrase)
    }

    fn pkcs8(&self) -> Vec<u8> {
        [&ED25519_PKCS8[..], self.0.as_bytes()].concat()
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        der.strip_prefix(&ED25519_PKCS8[..])
            .and_then(|raw| <[u8; 32]>::try_from(raw).ok())
            .map(|seed| Self::from_seed(&seed))
            .ok_or(KeyError::Unsupported)
    }

    /// The key that verifies.
    pub fn public(&self) -> PublicKey {
        PublicKey::Ed25519(self.0.verifying_key())
    }

    /// See [`PublicKey::id`].
    pub fn id(&self) -> String {
        self.public().id()
    }

    /// The signature's 64 bytes.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        use ed25519_dalek::Signer as _;
        self.0.sign(message).to_bytes()
    }
}

//! Keys of the canary, and the values made with them.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// What frames a sentinel. It changes with the framing.
const LABEL: &[u8] = b"occam-canary-v1";
/// What each key is for.
const SENTINEL_KEY: &[u8] = b"occam-canary-v1/sentinel-mac";
const PEPPER: &[u8] = b"occam-canary-v1/identifier-pepper";

/// The keys of one process. They are never shown and never kept.
pub(crate) struct Secret {
    sentinel: [u8; 32],
    pepper: [u8; 32],
}

/// HMAC-SHA256 over some parts.
fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes keys of any length, so there is always one.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return [0; 32];
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// HKDF-SHA256 (RFC 5869) with an empty salt, for one block of output.
fn hkdf(root: &[u8; 32], info: &[u8]) -> [u8; 32] {
    let extracted = mac(&[0; 32], &[root]);
    mac(&extracted, &[info, &[1]])
}

impl Secret {
    pub(crate) fn new(root: &[u8; 32]) -> Self {
        Self {
            sentinel: hkdf(root, SENTINEL_KEY),
            pepper: hkdf(root, PEPPER),
        }
    }

    /// The sentinel of a session in a bucket: the first `bytes` of the tag, base64url without padding.
    pub(crate) fn sentinel(&self, session: &str, bucket: i64, bytes: usize) -> String {
        let length = i32::try_from(session.len()).unwrap_or(i32::MAX);
        let tag = mac(
            &self.sentinel,
            &[
                LABEL,
                &[0],
                &bucket.to_be_bytes(),
                &length.to_be_bytes(),
                session.as_bytes(),
            ],
        );
        URL_SAFE_NO_PAD.encode(&tag[..bytes.clamp(16, 32)])
    }

    /// A client's address as something that cannot be turned back.
    pub(crate) fn client(&self, address: IpAddr) -> String {
        URL_SAFE_NO_PAD.encode(&mac(&self.pepper, &[address.to_string().as_bytes()])[..12])
    }
}

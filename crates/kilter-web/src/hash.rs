//! SHA-256 in the forms that leave this crate: `sha256:` with hex, and bare hex.

use sha2::{Digest, Sha256};

/// A SHA-256 digest.
pub type Digest32 = [u8; 32];

/// The digest of several pieces in a row.
pub fn sha256(pieces: &[&[u8]]) -> Digest32 {
    let mut h = Sha256::new();
    for piece in pieces {
        h.update(piece);
    }
    h.finalize().into()
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| {
            [
                char::from(DIGITS[usize::from(b >> 4)]),
                char::from(DIGITS[usize::from(b & 15)]),
            ]
        })
        .collect()
}

/// Bytes of a hex text of either case; `None` when it is none.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| {
        char::from(b)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| match pair {
            [a, b] => Some(digit(*a)? << 4 | digit(*b)?),
            _ => None,
        })
        .collect()
}

/// A digest of 32 bytes from hex, with or without `sha256:`.
pub fn digest_from(text: &str) -> Option<Digest32> {
    unhex(text.strip_prefix("sha256:").unwrap_or(text))?
        .try_into()
        .ok()
}

/// `sha256:` and the hex digest of the Markdown's UTF-8 bytes.
pub fn content_hash(markdown: &str) -> String {
    prefixed(&sha256(&[markdown.as_bytes()]))
}

/// `sha256:` and the hex digits.
pub fn prefixed(digest: &Digest32) -> String {
    format!("sha256:{}", hex(digest))
}

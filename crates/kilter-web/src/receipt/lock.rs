//! A secret key locked with a passphrase: PKCS #8 under PBES2 (RFC 8018) with PBKDF2-HMAC-SHA256 and AES-256-CBC, which
//! other programs read, too.

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{
    AES_256, DecryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2;

use super::der::{self, Der, tag};

/// Rounds of a new lock (OWASP's figure of 2023 for PBKDF2-HMAC-SHA256).
const ROUNDS: u32 = 600_000;
/// Rounds that are tried at most: a file cannot hold a process for ever.
const ROUNDS_MAX: u32 = 4_000_000;
const SALT: usize = 16;

/// Object identifiers, without tag and length.
const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
const HMAC_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x09];
const AES_256_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2a];

fn derive(passphrase: &str, salt: &[u8], rounds: u32) -> Option<[u8; 32]> {
    let rounds = NonZeroU32::new(rounds).filter(|r| r.get() <= ROUNDS_MAX)?;
    let mut key = [0; 32];
    let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
    pbkdf2::derive(algorithm, rounds, salt, passphrase.as_bytes(), &mut key);
    Some(key)
}

/// Locks the DER of a private key; `None` when the system gives no random bytes.
pub(super) fn lock(key: &[u8], passphrase: &str) -> Option<Vec<u8>> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).ok()?;
    let secret = derive(passphrase, &salt, ROUNDS)?;
    let cipher = UnboundCipherKey::new(&AES_256, &secret).ok()?;
    let cipher = PaddedBlockEncryptingKey::cbc_pkcs7(cipher).ok()?;
    let mut body = key.to_vec();
    let DecryptionContext::Iv128(iv) = cipher.encrypt(&mut body).ok()? else {
        return None;
    };
    let iv: &[u8; 16] = iv.as_ref();
    let oid = |o: &[u8]| der::value(tag::OID, o);
    let seq = |parts: &[&[u8]]| der::values(tag::SEQUENCE, parts);
    let hash = seq(&[&oid(HMAC_SHA256), &[0x05, 0x00]]);
    let how = seq(&[
        &der::value(tag::OCTETS, &salt),
        &der::integer(&ROUNDS.to_be_bytes()),
        &hash,
    ]);
    let derived = seq(&[&oid(PBKDF2), &how]);
    let enciphered = seq(&[&oid(AES_256_CBC), &der::value(tag::OCTETS, iv)]);
    let algorithm = seq(&[&oid(PBES2), &seq(&[&derived, &enciphered])]);
    Some(seq(&[&algorithm, &der::value(tag::OCTETS, &body)]))
}

/// Opens what [`lock`] made, or what another program made the same way; `None` for a wrong passphrase or another lock.
pub(super) fn unlock(locked: &[u8], passphrase: &str) -> Option<Vec<u8>> {
    let mut all = Der(locked).inside(tag::SEQUENCE)?;
    let mut algorithm = all.inside(tag::SEQUENCE)?;
    let body = all.take(tag::OCTETS)?;
    if algorithm.take(tag::OID)? != PBES2 {
        return None;
    }
    let mut both = algorithm.inside(tag::SEQUENCE)?;
    let mut derived = both.inside(tag::SEQUENCE)?;
    let mut enciphered = both.inside(tag::SEQUENCE)?;
    if derived.take(tag::OID)? != PBKDF2 || enciphered.take(tag::OID)? != AES_256_CBC {
        return None;
    }
    let mut how = derived.inside(tag::SEQUENCE)?;
    let salt = how.take(tag::OCTETS)?;
    let rounds = how.take(tag::INTEGER)?;
    let rounds = rounds
        .iter()
        .try_fold(0_u32, |n, b| n.checked_mul(256).map(|n| n | u32::from(*b)))?;
    // The length of the key may be said; it is always that of the cipher.
    how.optional(tag::INTEGER);
    let mut hash = how.inside(tag::SEQUENCE)?;
    let named = hash.take(tag::OID)? == HMAC_SHA256 && matches!(hash.0, [] | [0x05, 0x00]);
    if !named || !how.is_empty() || !all.is_empty() {
        return None;
    }
    let iv: [u8; 16] = enciphered.take(tag::OCTETS)?.try_into().ok()?;
    let secret = derive(passphrase, salt, rounds)?;
    let cipher = UnboundCipherKey::new(&AES_256, &secret).ok()?;
    let cipher = PaddedBlockDecryptingKey::cbc_pkcs7(cipher).ok()?;
    let mut body = body.to_vec();
    let context = DecryptionContext::Iv128(FixedLength::from(iv));
    cipher
        .decrypt(&mut body, context)
        .ok()
        .map(|plain| plain.to_vec())
}

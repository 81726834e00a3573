//! Time anchors: a token of a time-stamping authority (RFC 3161) over the signature of a receipt.
//!
//! A receipt's own time is its maker's word. An anchor is another's word that the signature was there at a time. It is made
//! only where the operator names an authority, and checked without asking anybody: what the token says is believed as far
//! as its signer's certificate leads to a root that the checker names.

use std::time::Duration;

use rustls::pki_types::{CertificateDer, UnixTime};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::der::{self, Der, tag};
use super::key::unb64;
use crate::acquire::{Client, ExtraHeaders};
use crate::failure::{Failure, FailureCode};
use crate::hash::{Digest32, hex, sha256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Longest token, in bytes.
pub const LONGEST: usize = 64 << 10;
/// How long an authority is waited for, unless the operator says otherwise.
pub const TIMEOUT: Duration = Duration::from_millis(3_000);
/// Certificates of one token that are looked at.
const CERTIFICATES: usize = 16;

/// Object identifiers, without tag and length.
mod oid {
    pub(super) const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
    pub(super) const SHA384: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
    pub(super) const SHA512: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];
    pub(super) const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
    pub(super) const TST_INFO: &[u8] = &[
        0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04,
    ];
    pub(super) const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
    pub(super) const MESSAGE_DIGEST: &[u8] =
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
    pub(super) const SIGNING_CERTIFICATE_V2: &[u8] = &[
        0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x02, 0x2f,
    ];
    /// Extended key usage: time stamping.
    pub(super) const TIME_STAMPING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];
}

/// What is wrong with an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnchorError {
    /// Not of the shape that RFC 3161 gives it.
    #[error("the time token cannot be read")]
    Unreadable,
    /// The authority refused.
    #[error("the authority did not grant a time stamp")]
    NotGranted,
    /// It is over something else.
    #[error("the time token is over something else")]
    OtherImprint,
    /// It answers another request.
    #[error("the time token answers another request")]
    OtherNonce,
    /// Its signature is not its signer's.
    #[error("the time token's signature is not its signer's")]
    BadSignature,
}

/// What an anchor says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchored {
    /// When the authority saw the signature, RFC 3339.
    pub time: String,
    /// The policy under which it speaks, dotted.
    pub policy: String,
    /// Number of the token, hex.
    pub serial: String,
    /// Whether its signer may stamp times by a root that was given, at that time. Without roots nobody is trusted.
    pub trusted: bool,
}

/// What is stamped: the SHA-256 of a receipt's signature bytes.
pub fn imprint(signed: &Value) -> Option<Digest32> {
    let sig = signed["sig"].as_str().and_then(unb64)?;
    Some(sha256(&[&sig]))
}

/// A request for a stamp over a digest, certificates included.
pub fn request(imprint: &Digest32, nonce: [u8; 8]) -> Vec<u8> {
    let algorithm = der::values(tag::SEQUENCE, &[&der::value(tag::OID, oid::SHA256)]);
    let message = der::values(
        tag::SEQUENCE,
        &[&algorithm, &der::value(tag::OCTETS, imprint)],
    );
    der::values(
        tag::SEQUENCE,
        &[
            &der::integer(&[1]),
            &message,
            &der::integer(&nonce),
            &der::value(0x01, &[0xff]),
        ],
    )
}

/// The token of an answer.
///
/// # Errors
/// [`AnchorError::Unreadable`], [`AnchorError::NotGranted`].
pub fn token(answer: &[u8]) -> Result<&[u8], AnchorError> {
    let read = || {
        let mut outer = Der(answer);
        let mut response = outer.inside(tag::SEQUENCE)?;
        let mut status = response.inside(tag::SEQUENCE)?;
        let status = status.take(tag::INTEGER)?;
        Some((status, response.any().map(|t| t.whole), outer.is_empty()))
    };
    match read() {
        // 0: granted, 1: granted with changes.
        Some(([0 | 1], Some(token), true)) => Ok(token),
        Some(([0 | 1], ..)) | None => Err(AnchorError::Unreadable),
        Some(_) => Err(AnchorError::NotGranted),
    }
}

/// The parts of a token.
struct Token<'a> {
    /// What was signed, as bytes.
    content: &'a [u8],
    certificates: Vec<&'a [u8]>,
    /// Issuer and serial number of the signer.
    signer: &'a [u8],
    digest: &'a [u8],
    /// The signed attributes with the tag that they are signed under.
    attributes: Vec<u8>,
    signature: &'a [u8],
}

fn parts(token: &[u8]) -> Option<Token<'_>> {
    let mut outer = Der(token);
    let mut info = outer.inside(tag::SEQUENCE)?;
    if !outer.is_empty() || info.take(tag::OID)? != oid::SIGNED_DATA {
        return None;
    }
    let mut data = info.inside(tag::CONTEXT_0)?.inside(tag::SEQUENCE)?;
    data.take(tag::INTEGER)?;
    data.take(tag::SET)?;
    let mut content = data.inside(tag::SEQUENCE)?;
    if content.take(tag::OID)? != oid::TST_INFO {
        return None;
    }
    let content = content.inside(tag::CONTEXT_0)?.take(tag::OCTETS)?;
    let mut certificates = Vec::new();
    if let Some(set) = data.optional(tag::CONTEXT_0) {
        let mut set = Der(set.body);
        while let Some(certificate) = set.any().filter(|_| certificates.len() < CERTIFICATES) {
            certificates.push(certificate.whole);
        }
    }
    data.optional(0xa1);
    let mut signers = data.inside(tag::SET)?;
    let mut signer = signers.inside(tag::SEQUENCE)?;
    // One signer, as RFC 3161 wants it.
    if !signers.is_empty() {
        return None;
    }
    signer.take(tag::INTEGER)?;
    let id = signer.any()?;
    let digest = signer.inside(tag::SEQUENCE)?.take(tag::OID)?;
    let attributes = signer.optional(tag::CONTEXT_0)?;
    signer.take(tag::SEQUENCE)?;
    Some(Token {
        content,
        certificates,
        signer: id.body,
        digest,
        attributes: der::value(tag::SET, attributes.body),
        signature: signer.take(tag::OCTETS)?,
    })
}

fn digest(algorithm: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    match algorithm {
        oid::SHA256 => Some(Sha256::digest(bytes).to_vec()),
        oid::SHA384 => Some(Sha384::digest(bytes).to_vec()),
        oid::SHA512 => Some(Sha512::digest(bytes).to_vec()),
        _ => None,
    }
}

/// The only value of an attribute.
fn attribute<'a>(attributes: &'a [u8], name: &[u8]) -> Option<Der<'a>> {
    let mut set = Der(attributes).inside(tag::SET)?;
    while let Some(one) = set.inside(tag::SEQUENCE) {
        let mut one = one;
        if one.take(tag::OID)? == name {
            return one.inside(tag::SET);
        }
    }
    None
}

/// Whether the certificate is the one that the signer names: by issuer and number, and by its hash where that is signed.
fn is_signers(token: &Token<'_>, certificate: &[u8]) -> bool {
    let named = || {
        let mut tbs = Der(certificate)
            .inside(tag::SEQUENCE)?
            .inside(tag::SEQUENCE)?;
        tbs.optional(tag::CONTEXT_0);
        let serial = tbs.any()?.whole;
        tbs.take(tag::SEQUENCE)?;
        let issuer = tbs.any()?.whole;
        Some([issuer, serial].concat() == token.signer)
    };
    let hashed = || {
        let mut list = attribute(&token.attributes, oid::SIGNING_CERTIFICATE_V2)?;
        let mut first = list
            .inside(tag::SEQUENCE)?
            .inside(tag::SEQUENCE)?
            .inside(tag::SEQUENCE)?;
        let algorithm = match first.optional(tag::SEQUENCE) {
            Some(said) => Der(said.body).take(tag::OID)?,
            None => oid::SHA256,
        };
        let hash = first.take(tag::OCTETS)?;
        Some(digest(algorithm, certificate)? == hash)
    };
    let has_hash = attribute(&token.attributes, oid::SIGNING_CERTIFICATE_V2).is_some();
    named() == Some(true) && (!has_hash || hashed() == Some(true))
}

/// What the token itself says.
struct Info {
    imprint: Vec<u8>,
    seconds: u64,
    time: String,
    policy: String,
    serial: String,
    nonce: Option<Vec<u8>>,
}

fn info(content: &[u8]) -> Option<Info> {
    let mut outer = Der(content);
    let mut all = outer.inside(tag::SEQUENCE)?;
    if !outer.is_empty() || all.take(tag::INTEGER)? != [1] {
        return None;
    }
    let policy = der::dotted(all.take(tag::OID)?)?;
    let mut message = all.inside(tag::SEQUENCE)?;
    if message.inside(tag::SEQUENCE)?.take(tag::OID)? != oid::SHA256 {
        return None;
    }
    let imprint = message.take(tag::OCTETS)?.to_vec();
    let serial = hex(all.take(tag::INTEGER)?);
    let (time, seconds) = time(all.take(tag::TIME)?)?;
    all.optional(tag::SEQUENCE);
    all.optional(0x01);
    let nonce = all.optional(tag::INTEGER).map(|n| n.body.to_vec());
    Some(Info {
        imprint,
        seconds,
        time,
        policy,
        serial,
        nonce,
    })
}

/// `YYYYMMDDHHMMSS[.f]Z` as RFC 3339, and as seconds.
fn time(text: &[u8]) -> Option<(String, u64)> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.len() != 14 || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let n = |from: usize, to: usize| whole[from..to].parse::<u64>().ok();
    let (year, month, day) = (n(0, 4)?, n(4, 6)?, n(6, 8)?);
    let (hour, minute, second) = (n(8, 10)?, n(10, 12)?, n(12, 14)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days since 1970 of a date of the Gregorian calendar, years counted from March.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    let dot = if fraction.is_empty() { "" } else { "." };
    Some((
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{dot}{fraction}Z"),
        seconds,
    ))
}

/// Checks a token over a digest. `roots`: certificates of authorities that the checker trusts.
///
/// # Errors
/// [`AnchorError`]. An authority that is not trusted is none: [`Anchored::trusted`] says so.
pub fn check(
    token: &[u8],
    imprint: &Digest32,
    roots: &[CertificateDer<'_>],
) -> Result<Anchored, AnchorError> {
    checked(token, imprint, None, roots)
}

fn checked(
    token: &[u8],
    imprint: &Digest32,
    nonce: Option<[u8; 8]>,
    roots: &[CertificateDer<'_>],
) -> Result<Anchored, AnchorError> {
    if token.len() > LONGEST {
        return Err(AnchorError::Unreadable);
    }
    let token = parts(token).ok_or(AnchorError::Unreadable)?;
    let info = info(token.content).ok_or(AnchorError::Unreadable)?;
    if info.imprint != imprint {
        return Err(AnchorError::OtherImprint);
    }
    let wanted = nonce.map(|n| der::integer(&n)[2..].to_vec());
    if wanted.is_some() && wanted != info.nonce {
        return Err(AnchorError::OtherNonce);
    }
    let bound = || {
        let kind = attribute(&token.attributes, oid::CONTENT_TYPE)?.take(tag::OID)?;
        let said = attribute(&token.attributes, oid::MESSAGE_DIGEST)?.take(tag::OCTETS)?;
        Some(kind == oid::TST_INFO && said == digest(token.digest, token.content)?)
    };
    if bound() != Some(true) {
        return Err(AnchorError::BadSignature);
    }
    let certificate = token
        .certificates
        .iter()
        .find(|c| is_signers(&token, c))
        .ok_or(AnchorError::BadSignature)?;
    let certificate = CertificateDer::from(*certificate);
    let entity =
        webpki::EndEntityCert::try_from(&certificate).map_err(|_| AnchorError::BadSignature)?;
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let algorithms = provider.signature_verification_algorithms.all;
    // Each of them is strong, and each refuses keys that are not its own.
    let signed = algorithms.iter().any(|a| {
        entity
            .verify_signature(*a, &token.attributes, token.signature)
            .is_ok()
    });
    if !signed {
        return Err(AnchorError::BadSignature);
    }
    let anchors: Vec<_> = roots
        .iter()
        .filter_map(|r| webpki::anchor_from_trusted_cert(r).ok())
        .collect();
    let between: Vec<CertificateDer<'_>> = token
        .certificates
        .iter()
        .map(|c| CertificateDer::from(*c))
        .collect();
    let trusted = entity
        .verify_for_usage(
            algorithms,
            &anchors,
            &between,
            UnixTime::since_unix_epoch(Duration::from_secs(info.seconds)),
            webpki::KeyUsage::required(oid::TIME_STAMPING),
            None,
            None,
        )
        .is_ok();
    Ok(Anchored {
        time: info.time,
        policy: info.policy,
        serial: info.serial,
        trusted,
    })
}

/// The anchor that stands beside an envelope, checked.
///
/// # Errors
/// [`AnchorError`].
pub fn check_beside(
    signed: &Value,
    anchor: &str,
    roots: &[CertificateDer<'_>],
) -> Result<Anchored, AnchorError> {
    let imprint = imprint(signed).ok_or(AnchorError::OtherImprint)?;
    let token = STANDARD
        .decode(anchor)
        .map_err(|_| AnchorError::Unreadable)?;
    check(&token, &imprint, roots)
}

/// Asks an authority for a stamp over a receipt's signature and puts it beside the envelope, as `timeAnchor`. The client is
/// the one that reads pages: an authority at a private address is refused like any other.
///
/// # Errors
/// `invalid_receipt` for a receipt without a signature or an answer that is no stamp of it, `timeout`, and the codes of
/// acquisition. The receipt is as good without: the caller goes on, and says that there is no anchor.
pub async fn attach(
    receipt: &mut Value,
    client: &Client,
    authority: &str,
    limit: Duration,
) -> Result<Anchored, Failure> {
    let wrong = |why: String| {
        Failure::new(
            FailureCode::InvalidReceipt,
            format!("no time anchor: {why}\nhint: the receipt is good without one"),
        )
    };
    let imprint =
        imprint(&receipt["signed"]).ok_or_else(|| wrong("the receipt is not signed".to_owned()))?;
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).map_err(|e| wrong(e.to_string()))?;
    let nobody = ExtraHeaders::default();
    let asked = client.post(
        authority,
        &nobody,
        "application/timestamp-query",
        request(&imprint, nonce),
    );
    let answer = match tokio::time::timeout(limit, asked).await {
        Ok(answer) => answer?.accept()?,
        Err(_) => {
            return Err(Failure::new(
                FailureCode::Timeout,
                format!("no time anchor: the authority did not answer within {limit:?}"),
            ));
        }
    };
    let token = token(&answer.body).map_err(|e| wrong(e.to_string()))?;
    let anchored = checked(token, &imprint, Some(nonce), &[]).map_err(|e| wrong(e.to_string()))?;
    receipt["timeAnchor"] = STANDARD.encode(token).into();
    Ok(anchored)
}

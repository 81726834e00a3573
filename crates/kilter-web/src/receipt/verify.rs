//! Checking receipts: which verdict, and why. Nothing here reads the network or the clock.

use rustls::pki_types::CertificateDer;
use serde::Serialize;
use serde_json::Value;

use super::anchor::{self, Anchored};
use super::key::PublicKey;
use super::merkle::{self, Proof};
use super::seal::{self, Domain, Seal};
use super::{capsule, legacy, statement};
use crate::failure::{Failure, FailureCode};
use crate::hash::{Digest32, content_hash, digest_from, prefixed};

/// What is to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The seal, and the content where it is given.
    Offline,
    /// The page as it is now, against the receipt.
    Live,
    /// Makes the proof of one block.
    Prove,
    /// One block against the receipt, without the page.
    Citation,
    /// The chain of a page's states.
    History,
    /// A set of pages.
    Manifest,
}

impl std::str::FromStr for Mode {
    type Err = Failure;

    fn from_str(word: &str) -> Result<Self, Failure> {
        Ok(match word {
            "offline" | "receipt" => Self::Offline,
            "live" => Self::Live,
            "prove" => Self::Prove,
            "citation" => Self::Citation,
            "history" => Self::History,
            "manifest" => Self::Manifest,
            other => {
                return Err(Failure::new(
                    FailureCode::InvalidArguments,
                    format!(
                        "`mode` is `{other}`; it is one of offline, live, prove, citation, history, manifest"
                    ),
                ));
            }
        })
    }
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The seal is good, and so is the content where it was given.
    Verified,
    /// Made with a key that is not trusted here.
    WrongKey,
    /// The seal is not over this object.
    SignatureInvalid,
    /// The seal is good; the content is not the one it speaks of.
    ContentMismatch,
    /// The time anchor beside the envelope is none of its signature.
    AnchorInvalid,
    /// A version that this program does not know.
    UnsupportedVersion,
    /// The block is part of the page that the receipt speaks of.
    CitationVerified,
    /// It is not.
    CitationInvalid,
    /// Every entry is linked, signed and valid.
    HistoryVerified,
    /// Every entry is linked; some are unsigned.
    HistoryChainOk,
    /// An entry was made with a key that is not trusted here.
    HistoryWrongKey,
    /// A link or a seal is broken.
    HistoryInvalid,
}

impl Verdict {
    /// Whether the answer is yes.
    pub fn is_good(self) -> bool {
        matches!(
            self,
            Self::Verified | Self::CitationVerified | Self::HistoryVerified
        )
    }

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::WrongKey => "wrong_key",
            Self::SignatureInvalid => "signature_invalid",
            Self::ContentMismatch => "content_mismatch",
            Self::AnchorInvalid => "anchor_invalid",
            Self::UnsupportedVersion => "unsupported_version",
            Self::CitationVerified => "citation_verified",
            Self::CitationInvalid => "citation_invalid",
            Self::HistoryVerified => "history_verified",
            Self::HistoryChainOk => "history_chain_ok",
            Self::HistoryWrongKey => "history_wrong_key",
            Self::HistoryInvalid => "history_invalid",
        }
    }
}

/// A verdict with its reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: String,
    /// Version of the envelope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The key that the envelope names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// The address it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// When it was made, by the maker's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<String>,
    /// When another saw it, where an anchor stands beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Box<Anchored>>,
}

impl Report {
    pub(super) fn new(verdict: Verdict, signed: &Value, reason: impl Into<String>) -> Self {
        let text = |name: &str| signed[name].as_str().map(str::to_owned);
        Self {
            verdict,
            reason: reason.into(),
            version: signed["v"].as_u64(),
            key_id: text("keyId"),
            url: text("url"),
            ts: text("ts"),
            anchor: None,
        }
    }
}

fn invalid(what: &str) -> Failure {
    Failure::new(FailureCode::InvalidReceipt, what)
}

/// A receipt in any form that it travels in.
#[derive(Debug, Clone)]
pub struct Given {
    /// The envelope.
    pub signed: Value,
    /// Leaves beside it, where they were given.
    pub leaves: Option<Vec<Digest32>>,
    /// The content of a capsule.
    pub content: Option<String>,
    /// The time anchor beside it, where there is one.
    pub anchor: Option<String>,
}

/// Takes an envelope, a receipt with `signed` in it, a whole reply with `receipt` in it, or a capsule.
///
/// # Errors
/// `invalid_receipt` when there is no envelope in it.
pub fn given(text: &str) -> Result<Given, Failure> {
    let text = text.trim();
    if capsule::is_capsule(text) {
        return capsule::open(text);
    }
    let value: Value = serde_json::from_str(text)
        .map_err(|e| invalid(&format!("this is neither JSON nor a capsule: {e}")))?;
    from_value(&value)
}

/// As [`given`], from JSON.
///
/// # Errors
/// `invalid_receipt` when there is no envelope in it.
pub fn from_value(value: &Value) -> Result<Given, Failure> {
    if let Some(text) = value.as_str() {
        return if capsule::is_capsule(text) {
            capsule::open(text)
        } else {
            Err(invalid("the text is no capsule"))
        };
    }
    let receipt = value.get("receipt").unwrap_or(value);
    if let Some(text) = receipt.get("capsule").and_then(Value::as_str) {
        return capsule::open(text);
    }
    let signed = receipt.get("signed").unwrap_or(receipt);
    if !signed.is_object() || signed.get("v").is_none() || signed.get("kind").is_none() {
        return Err(invalid("there is no envelope with `v` and `kind` in it"));
    }
    let leaves = match receipt.get("blockLeaves") {
        None => None,
        Some(list) => Some(
            list.as_array()
                .and_then(|l| {
                    l.iter()
                        .map(|h| h.as_str().and_then(digest_from))
                        .collect::<Option<Vec<_>>>()
                })
                .ok_or_else(|| invalid("`blockLeaves` is no list of SHA-256 digests"))?,
        ),
    };
    // What version 1 put there is of another shape and was never signed.
    let old = signed["v"].as_u64() == Some(legacy::VERSION);
    let anchor = match receipt.get("timeAnchor") {
        Some(Value::String(token)) if !old => Some(token.clone()),
        Some(_) if !old => return Err(invalid("`timeAnchor` is no text")),
        _ => None,
    };
    Ok(Given {
        signed: signed.clone(),
        leaves,
        content: None,
        anchor,
    })
}

/// The seal of an envelope of either version; `Err` holds a verdict of its own.
fn sealed(signed: &Value, keys: &[PublicKey]) -> Result<(), Box<Report>> {
    let seal = match signed["v"].as_u64() {
        Some(statement::VERSION) => seal::check(Domain::Receipt, signed, keys),
        Some(legacy::VERSION) => legacy::check(signed, keys),
        _ => {
            return Err(boxed(
                Verdict::UnsupportedVersion,
                signed,
                "this version of the envelope is not known",
            ));
        }
    };
    match seal {
        Seal::Good => Ok(()),
        Seal::WrongKey => Err(boxed(
            Verdict::WrongKey,
            signed,
            "the envelope names a key that was not given",
        )),
        Seal::Broken | Seal::Missing => Err(boxed(
            Verdict::SignatureInvalid,
            signed,
            "the signature is not over this envelope",
        )),
    }
}

fn boxed(verdict: Verdict, signed: &Value, reason: &str) -> Box<Report> {
    Box::new(Report::new(verdict, signed, reason))
}

/// Root and count of the leaves that an envelope commits to. Version 1 signs no count.
fn commitment(signed: &Value) -> Option<(Digest32, Option<usize>)> {
    let root = digest_from(signed["blockMerkleRoot"].as_str()?)?;
    let count = signed["leafCount"]
        .as_u64()
        .and_then(|n| usize::try_from(n).ok());
    Some((root, count))
}

fn leaves_match(signed: &Value, leaves: &[Digest32]) -> bool {
    let is_legacy = signed["v"].as_u64() == Some(legacy::VERSION);
    match commitment(signed) {
        Some((root, _)) if is_legacy => legacy::root(leaves) == Some(root),
        Some((root, Some(count))) => count == leaves.len() && merkle::root(leaves) == root,
        _ => false,
    }
}

/// Checks the seal, the leaves and the anchor that came with it, and the content where it is given. No authority's time is
/// trusted: see [`offline_by`].
pub fn offline(given: &Given, markdown: Option<&str>, keys: &[PublicKey]) -> Report {
    offline_by(given, markdown, keys, &[])
}

/// The same with the certificates of authorities whose time is trusted.
pub fn offline_by(
    given: &Given,
    markdown: Option<&str>,
    keys: &[PublicKey],
    authorities: &[CertificateDer<'_>],
) -> Report {
    let signed = &given.signed;
    if let Err(report) = sealed(signed, keys) {
        return *report;
    }
    if given
        .leaves
        .as_ref()
        .is_some_and(|l| !leaves_match(signed, l))
    {
        return Report::new(
            Verdict::ContentMismatch,
            signed,
            "the leaves beside the envelope do not give its root and count",
        );
    }
    for text in [markdown, given.content.as_deref()].into_iter().flatten() {
        let same = signed["contentHash"]
            .as_str()
            .and_then(digest_from)
            .is_some_and(|h| prefixed(&h) == content_hash(text));
        if !same {
            return Report::new(
                Verdict::ContentMismatch,
                signed,
                "the content has another hash than the envelope says",
            );
        }
    }
    let anchor = match &given.anchor {
        None => None,
        Some(token) => match anchor::check_beside(signed, token, authorities) {
            Ok(anchored) => Some(Box::new(anchored)),
            Err(e) => return Report::new(Verdict::AnchorInvalid, signed, e.to_string()),
        },
    };
    Report {
        anchor,
        ..Report::new(
            Verdict::Verified,
            signed,
            "the signature is good, and what was given agrees with it",
        )
    }
}

/// The proof of one block from the leaves that came with a receipt.
///
/// # Errors
/// `invalid_arguments` when there is no such block, `invalid_receipt` when there are no leaves or they are not the
/// envelope's.
pub fn prove(given: &Given, index: usize) -> Result<Proof, Failure> {
    let leaves = given
        .leaves
        .as_ref()
        .ok_or_else(|| invalid("the receipt came without `blockLeaves`"))?;
    if given.signed["v"].as_u64() != Some(statement::VERSION)
        || !leaves_match(&given.signed, leaves)
    {
        return Err(invalid(
            "the leaves beside the envelope do not give its root and count",
        ));
    }
    merkle::prove(leaves, index).ok_or_else(|| {
        Failure::new(
            FailureCode::InvalidArguments,
            format!(
                "`block_index` is {index}; the page has {} blocks",
                leaves.len()
            ),
        )
    })
}

/// Whether a block is part of the page that a receipt speaks of. The page itself is not needed.
///
/// # Errors
/// `invalid_arguments` when the proof is of no known shape.
pub fn citation(
    given: &Given,
    text: &str,
    selector: &str,
    proof: &Value,
    keys: &[PublicKey],
) -> Result<Report, Failure> {
    let signed = &given.signed;
    if let Err(report) = sealed(signed, keys) {
        return Ok(*report);
    }
    let wrong = |e: &str| {
        Failure::new(
            FailureCode::InvalidArguments,
            format!("`proof` is of no known shape: {e}"),
        )
    };
    let good = if signed["v"].as_u64() == Some(legacy::VERSION) {
        let path = proof.get("proof").unwrap_or(proof);
        if !path.is_array() {
            return Err(wrong("no list of steps"));
        }
        commitment(signed).is_some_and(|(root, _)| {
            legacy::holds(path, &legacy::block_leaf(text, selector), &root)
        })
    } else {
        let proof: Proof =
            serde_json::from_value(proof.clone()).map_err(|e| wrong(&e.to_string()))?;
        matches!(commitment(signed), Some((root, Some(count)))
            if merkle::holds(&proof, &statement::block_leaf(text, selector), &root, count))
    };
    Ok(if good {
        Report::new(
            Verdict::CitationVerified,
            signed,
            "the block is part of the page that was read",
        )
    } else {
        Report::new(
            Verdict::CitationInvalid,
            signed,
            "the proof does not lead from the block to the signed root",
        )
    })
}

/// What a page that was read again has in common with the one of the receipt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Live {
    /// Whether the Markdown is the same.
    pub content_hash_match: bool,
    /// Whether the blocks are the same; absent when the receipt speaks of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_root_match: Option<bool>,
    /// Blocks of the receipt, where its leaves are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_total: Option<usize>,
    /// How many of them are still on the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_still_present: Option<usize>,
    /// Whether the page has changed.
    pub drift: bool,
    /// Texts of the caller that are no longer on the page, by their place in the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale_chunks: Vec<usize>,
}

/// Compares a receipt with the page read again, the same way as [`statement::Asked::from_envelope`] says.
pub fn compare(given: &Given, markdown: &str, blocks: &[crate::Block], chunks: &[String]) -> Live {
    let signed = &given.signed;
    let is_legacy = signed["v"].as_u64() == Some(legacy::VERSION);
    let fresh: Vec<Digest32> = if is_legacy {
        blocks
            .iter()
            .map(|b| legacy::block_leaf(&b.text, &b.source_selector))
            .collect()
    } else {
        statement::leaves(blocks)
    };
    let content_hash_match = signed["contentHash"]
        .as_str()
        .and_then(digest_from)
        .is_some_and(|h| prefixed(&h) == content_hash(markdown));
    let fold = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = fold(
        &blocks
            .iter()
            .map(|b| b.text.as_str())
            .collect::<Vec<_>>()
            .join(" "),
    );
    let (md, set): (_, std::collections::HashSet<_>) = (fold(markdown), fresh.iter().collect());
    Live {
        content_hash_match,
        block_root_match: commitment(signed).map(|_| leaves_match(signed, &fresh)),
        blocks_total: given.leaves.as_ref().map(Vec::len),
        blocks_still_present: given
            .leaves
            .as_ref()
            .map(|l| l.iter().filter(|h| set.contains(h)).count()),
        drift: !content_hash_match,
        stale_chunks: chunks
            .iter()
            .enumerate()
            .filter(|(_, c)| {
                let c = fold(c);
                !page.contains(&c) && !md.contains(&c)
            })
            .map(|(i, _)| i)
            .collect(),
    }
}

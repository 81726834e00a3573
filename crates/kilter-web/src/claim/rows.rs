//! Many claims against their own sources: one row each, and what they come to.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attest::{Attested, Status};
use super::check::CLAIM_MAX;
use super::model::{Judge, attest_with};
use crate::failure::{Failure, FailureCode};
use crate::hash::{hex, prefixed};
use crate::page::Block;
use crate::receipt::leaves;
use crate::receipt::merkle::{self, Proof};

/// Claims of one call.
pub const CLAIMS_MAX: usize = 50;

/// One claim and where it is said to stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSource {
    /// The claim.
    pub claim: String,
    /// The page.
    pub source_url: String,
}

/// What is asked: the arguments of `attest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestRequest {
    /// 1 to 50 claims.
    pub claims: Vec<ClaimSource>,
    /// How pages are fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_policy: Option<String>,
    /// Name of a session profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_profile: Option<String>,
}

impl AttestRequest {
    /// Checks the claims; their pages are read afterwards.
    ///
    /// # Errors
    /// `invalid_arguments`.
    pub fn check(&self) -> Result<(), Failure> {
        let wrong = |m: String| Err(Failure::new(FailureCode::InvalidArguments, m));
        if !(1..=CLAIMS_MAX).contains(&self.claims.len()) {
            let n = self.claims.len();
            return wrong(format!(
                "`claims` has {n} entries; it has 1 to {CLAIMS_MAX}"
            ));
        }
        for (i, row) in self.claims.iter().enumerate() {
            if row.claim.trim().is_empty() || row.claim.chars().count() > CLAIM_MAX {
                return wrong(format!(
                    "`claims[{i}].claim` has 1 to {CLAIM_MAX} characters"
                ));
            }
            if row.source_url.trim().is_empty() {
                return wrong(format!("`claims[{i}].sourceUrl` is empty"));
            }
        }
        Ok(())
    }
}

/// The page of a claim, as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceRead {
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Whether they are all of it.
    pub complete: bool,
    /// Its receipt.
    pub receipt: Option<Value>,
}

/// One row of the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttestRow {
    /// The page.
    pub source_url: String,
    /// The judgement.
    #[serde(flatten)]
    pub attested: Attested,
    /// Leaf of the block that it stands on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
    /// The way from the leaf to the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The root over all blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_merkle_root: Option<String>,
    /// The page's receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Value>,
    /// Why the page could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// All rows, and what they come to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttestReport {
    /// Whether a page could be read; with none there is no answer to any claim.
    pub ok: bool,
    /// One for each claim, in its order.
    pub rows: Vec<AttestRow>,
    /// How many claims.
    pub claims_total: usize,
    /// Those that a page says.
    pub supported: usize,
    /// Those that a page denies.
    pub contradicted: usize,
    /// Those whose matter a page speaks of.
    pub related: usize,
    /// Those that the whole page does not speak of.
    pub unsupported: usize,
    /// Those that cannot be told.
    pub unknown: usize,
    /// The same as `supported`.
    pub grounded: usize,
    /// All others.
    pub unsupported_total: usize,
}

/// Judges one claim on its page, or says why there is none.
pub async fn attest_row(
    asked: &ClaimSource,
    read: Result<SourceRead, Failure>,
    judge: Option<&dyn Judge>,
) -> AttestRow {
    let bare = |attested| AttestRow {
        source_url: asked.source_url.clone(),
        attested,
        leaf: None,
        proof: None,
        block_merkle_root: None,
        receipt: None,
        failure: None,
    };
    match read {
        Err(failure) => AttestRow {
            failure: Some(failure.clone()),
            ..bare(Attested::unread(&asked.claim, &failure))
        },
        Ok(page) => {
            let attested = attest_with(&asked.claim, &page.blocks, page.complete, judge).await;
            let leaves = leaves(&page.blocks);
            let at = attested.block_index;
            AttestRow {
                leaf: at.and_then(|i| leaves.get(i)).map(|l| hex(l)),
                proof: at.and_then(|i| merkle::prove(&leaves, i)),
                block_merkle_root: Some(prefixed(&merkle::root(&leaves))),
                receipt: page.receipt,
                ..bare(attested)
            }
        }
    }
}

/// Counts rows.
pub fn report(rows: Vec<AttestRow>) -> AttestReport {
    let count = |s| rows.iter().filter(|r| r.attested.status == s).count();
    let supported = count(Status::Supported);
    AttestReport {
        ok: rows.iter().any(|r| r.failure.is_none()),
        claims_total: rows.len(),
        supported,
        contradicted: count(Status::Contradicted),
        related: count(Status::Related),
        unsupported: count(Status::Unsupported),
        unknown: count(Status::Unknown),
        grounded: supported,
        unsupported_total: rows.len() - supported,
        rows,
    }
}

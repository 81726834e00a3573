//! Which blocks of a page speak of a claim. Nothing here says whether they bear it out.

use serde::Serialize;

use super::weight;
use crate::failure::{Failure, FailureCode};
use crate::focus::Index;
use crate::hash::{hex, prefixed};
use crate::page::Block;
use crate::receipt::leaves;
use crate::receipt::merkle::{self, Proof};

/// Share of the claim's words, by weight, from which on a block speaks of it.
const COVERAGE: f64 = 0.4;
/// Longest claim, in characters.
pub const CLAIM_MAX: usize = 2_000;

/// A block that speaks of the claim, with the proof that it is of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// Which block.
    pub block_index: usize,
    /// Its text.
    pub text: String,
    /// Where it stands.
    pub source_selector: String,
    /// How well it fits.
    pub score: f64,
    /// Share of the claim's words that it has, by weight.
    pub coverage: f64,
    /// Its leaf.
    pub leaf: String,
    /// The way to the root.
    pub proof: Proof,
}

/// What a page has on a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimCheck {
    /// The claim.
    pub claim: String,
    /// Whether a block speaks of it.
    pub found: bool,
    /// The same under its old name.
    pub retrieved: bool,
    /// Always `not_evaluated`.
    pub verdict: &'static str,
    /// The root over all blocks.
    pub block_merkle_root: String,
    /// How many blocks there are.
    pub leaf_count: usize,
    /// The blocks, best first.
    pub matches: Vec<Match>,
    /// With nothing found: whether the whole page was looked at, so that it is proved that nothing speaks of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<bool>,
}

/// Looks for a claim. `complete`: the blocks are all of the page's.
///
/// # Errors
/// `invalid_arguments` for an empty or endless claim, and for `max_matches` outside 1 to 10.
pub fn check(
    claim: &str,
    blocks: &[Block],
    complete: bool,
    max_matches: usize,
) -> Result<ClaimCheck, Failure> {
    let wrong = |m: String| Err(Failure::new(FailureCode::InvalidArguments, m));
    if claim.trim().is_empty() || claim.chars().count() > CLAIM_MAX {
        return wrong(format!("`claim` has 1 to {CLAIM_MAX} characters"));
    }
    if !(1..=10).contains(&max_matches) {
        return wrong(format!("`max_matches` is {max_matches}; it is 1 to 10"));
    }
    let index = Index::new(blocks);
    let met = index.meet(claim);
    let scores = index.scores(&met);
    let total: f64 = met.iter().map(weight).sum();
    let covers = |i: usize| {
        let has: f64 = met
            .iter()
            .filter_map(|m| m.blocks.get(&i).map(|n| weight(m) * n.min(1.0)))
            .sum();
        if total > 0.0 { has / total } else { 0.0 }
    };
    let mut fit: Vec<(usize, f64)> = (0..blocks.len())
        .map(|i| (i, covers(i)))
        .filter(|(_, c)| *c >= COVERAGE)
        .collect();
    fit.sort_by(|a, b| scores[b.0].total_cmp(&scores[a.0]).then(a.0.cmp(&b.0)));
    let leaves = leaves(blocks);
    let round = |f: f64| (f * 1_000.0).round() / 1_000.0;
    let matches: Vec<Match> = fit
        .into_iter()
        .take(max_matches)
        .filter_map(|(i, coverage)| {
            let proof = merkle::prove(&leaves, i)?;
            Some(Match {
                block_index: i,
                text: blocks[i].text.clone(),
                source_selector: blocks[i].source_selector.clone(),
                score: round(scores[i]),
                coverage: round(coverage),
                leaf: hex(&leaves[i]),
                proof,
            })
        })
        .collect();
    let found = !matches.is_empty();
    Ok(ClaimCheck {
        claim: claim.to_owned(),
        found,
        retrieved: found,
        verdict: "not_evaluated",
        block_merkle_root: prefixed(&merkle::root(&leaves)),
        leaf_count: leaves.len(),
        matches,
        proven: (!found).then_some(complete),
    })
}

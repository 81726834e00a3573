//! A Merkle tree as RFC 6962 has it: leaves and nodes hash under different prefixes, and the count is part of a proof.

use serde::{Deserialize, Serialize};

use crate::hash::{Digest32, digest_from, hex, prefixed, sha256};

/// The hash of one leaf's bytes.
pub fn leaf(bytes: &[u8]) -> Digest32 {
    sha256(&[&[0], bytes])
}

fn node(left: &Digest32, right: &Digest32) -> Digest32 {
    sha256(&[&[1], left, right])
}

/// Where RFC 6962 splits `n > 1` leaves: the largest power of two below `n`.
fn split(n: usize) -> usize {
    1 << (usize::BITS - 1 - (n - 1).leading_zeros())
}

/// The root over leaf hashes in order; of nothing, the hash of nothing.
pub fn root(leaves: &[Digest32]) -> Digest32 {
    match leaves {
        [] => sha256(&[]),
        [one] => *one,
        many => {
            let (left, right) = many.split_at(split(many.len()));
            node(&root(left), &root(right))
        }
    }
}

/// That one leaf is in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proof {
    /// The root, `sha256:` and hex.
    pub root: String,
    /// Place of the leaf, from 0.
    pub leaf_index: usize,
    /// Leaves in the tree.
    pub leaf_count: usize,
    /// The leaf's hash, hex.
    pub leaf: String,
    /// The hashes beside the way up, from the leaf, hex.
    pub proof: Vec<String>,
}

/// The proof of one leaf; `None` when there is no such leaf.
pub fn prove(leaves: &[Digest32], index: usize) -> Option<Proof> {
    let leaf = leaves.get(index)?;
    let mut path = Vec::new();
    let (mut rest, mut at) = (leaves, index);
    while rest.len() > 1 {
        let (left, right) = rest.split_at(split(rest.len()));
        let beside;
        (rest, beside) = if at < left.len() {
            (left, right)
        } else {
            at -= left.len();
            (right, left)
        };
        path.push(hex(&root(beside)));
    }
    path.reverse();
    Some(Proof {
        root: prefixed(&root(leaves)),
        leaf_index: index,
        leaf_count: leaves.len(),
        leaf: hex(leaf),
        proof: path,
    })
}

/// Whether a proof leads from `leaf` to `root` in a tree of `count` leaves (RFC 9162, 2.1.3.2).
pub fn holds(proof: &Proof, leaf: &Digest32, root: &Digest32, count: usize) -> bool {
    if proof.leaf_index >= count
        || proof.leaf_count != count
        || digest_from(&proof.leaf).as_ref() != Some(leaf)
        || digest_from(&proof.root).as_ref() != Some(root)
    {
        return false;
    }
    let Some(path) = proof
        .proof
        .iter()
        .map(|h| digest_from(h))
        .collect::<Option<Vec<_>>>()
    else {
        return false;
    };
    let (mut at, mut last, mut hash) = (proof.leaf_index, count - 1, *leaf);
    for beside in &path {
        if last == 0 {
            return false;
        }
        if at % 2 == 1 || at == last {
            hash = node(beside, &hash);
            while at.is_multiple_of(2) && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node(&hash, beside);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

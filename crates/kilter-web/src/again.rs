//! Reading a page again: what it was read under, whether it changed, and which blocks came and went.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::json;

use crate::hash::{content_hash, hex, prefixed, sha256};
use crate::page::Block;
use crate::receipt::block_leaf;
use crate::receipt::jcs::canonical;

/// Version of what a read gives for the same question. It changes when the same page would read otherwise.
pub const SCHEMA: u32 = 1;

/// Everything that has a say in the content of a read, beside the page itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Materials {
    /// The URL without its fragment.
    pub url: String,
    /// `http`, `browser`, …
    pub backend_policy: String,
    /// Identifier and version of the playbook.
    pub playbook: Option<(String, String)>,
    /// Session profile.
    pub session_profile: Option<String>,
    /// Bound of the reply.
    pub max_tokens: Option<u32>,
    /// Focus words, and the fragment.
    pub focus: Option<String>,
    /// Headings to keep.
    pub sections: Vec<String>,
    /// Target language.
    pub translate_to: Option<String>,
    /// Every switch that changes the reply, by name: `fit_markdown`, `json_blocks`, `rank_blocks`, `tag_trust`,
    /// `emit_capsule`, …
    pub switches: Vec<String>,
}

/// The key under which a content hash means something: two reads with the same key differ only if the page does.
pub fn materialization_key(m: &Materials) -> String {
    let mut switches = m.switches.clone();
    switches.sort();
    switches.dedup();
    let value = json!([
        SCHEMA,
        m.url.split('#').next().unwrap_or_default(),
        m.backend_policy,
        m.playbook,
        m.session_profile,
        m.max_tokens,
        m.focus,
        m.sections,
        m.translate_to,
        switches,
    ]);
    let bytes = canonical(&value).unwrap_or_default();
    format!(
        "mk1:{}",
        &hex(&sha256(&[b"kilter-materials\0", &bytes]))[..32]
    )
}

/// Whether an `if_none_match` means this content. `sha256:` may be missing.
pub fn matches(if_none_match: &str, markdown: &str) -> bool {
    let bare = |s: &str| s.trim().trim_start_matches("sha256:").to_ascii_lowercase();
    let given = bare(if_none_match);
    !given.is_empty() && given == bare(&content_hash(markdown))
}

/// How one page differs from an earlier state.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// Blocks that are new, each with its hash.
    pub added_blocks: Vec<Added>,
    /// Hashes that are gone, as often as they are gone.
    pub removed_hashes: Vec<String>,
    /// Hashes of the page now, in order.
    pub block_hashes: Vec<String>,
    /// Hash of the Markdown that the blocks give, for checking a rebuild.
    pub content_hash: String,
}

/// A block that is new.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Added {
    /// Its hash.
    pub hash: String,
    /// Its Markdown.
    pub markdown: String,
}

/// The hash of one block: its Markdown, so that a rebuild is exact.
pub fn block_hash(block: &Block) -> String {
    hex(&block_leaf(&block.markdown, ""))
}

/// Hashes of all blocks, in order.
pub fn block_hashes(blocks: &[Block]) -> Vec<String> {
    blocks.iter().map(block_hash).collect()
}

fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.collect::<Vec<_>>().join("\n\n")
}

/// How `blocks` differ from the state with these hashes.
pub fn diff(before: &[String], blocks: &[Block]) -> Diff {
    let bare = |s: &String| s.trim().trim_start_matches("sha256:").to_ascii_lowercase();
    let mut left: HashMap<String, usize> = HashMap::new();
    for hash in before {
        *left.entry(bare(hash)).or_default() += 1;
    }
    let block_hashes = block_hashes(blocks);
    let mut added_blocks = Vec::new();
    let mut sent = HashSet::new();
    for (block, hash) in blocks.iter().zip(&block_hashes) {
        match left.get_mut(hash) {
            Some(n) if *n > 0 => *n -= 1,
            // A block that the reader has, or is being sent, is not sent again.
            Some(_) => {}
            None => {
                if sent.insert(hash.clone()) {
                    added_blocks.push(Added {
                        hash: hash.clone(),
                        markdown: block.markdown.clone(),
                    });
                }
            }
        }
    }
    let mut removed_hashes = Vec::new();
    for hash in before.iter().map(bare) {
        if let Some(n) = left.get_mut(&hash).filter(|n| **n > 0) {
            *n -= 1;
            removed_hashes.push(hash);
        }
    }
    Diff {
        added_blocks,
        removed_hashes,
        block_hashes,
        content_hash: content_hash(&join(blocks.iter().map(|b| b.markdown.as_str()))),
    }
}

/// Why a rebuild is not the page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RebuildError {
    /// A block is neither among the old ones nor among the new ones.
    #[error(
        "the block `{0}` is neither old nor new\nhint: read the page again without `diff_against`"
    )]
    Missing(String),
    /// The blocks are not the page.
    #[error("the rebuilt page has another hash\nhint: read the page again without `diff_against`")]
    Mismatch,
}

/// Builds the page from the Markdown of the old blocks and a diff, and checks it.
///
/// # Errors
/// [`RebuildError`].
pub fn rebuild(old: &[String], diff: &Diff) -> Result<String, RebuildError> {
    let hash = |markdown: &str| hex(&block_leaf(markdown, ""));
    let mut known: HashMap<String, &str> = old.iter().map(|m| (hash(m), m.as_str())).collect();
    known.extend(
        diff.added_blocks
            .iter()
            .map(|a| (hash(&a.markdown), a.markdown.as_str())),
    );
    let parts = diff
        .block_hashes
        .iter()
        .map(|h| {
            known
                .get(h)
                .copied()
                .ok_or_else(|| RebuildError::Missing(h.clone()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let markdown = join(parts.into_iter());
    if content_hash(&markdown) == prefixed_or(&diff.content_hash) {
        Ok(markdown)
    } else {
        Err(RebuildError::Mismatch)
    }
}

fn prefixed_or(hash: &str) -> String {
    crate::hash::digest_from(hash).map_or_else(String::new, |d| prefixed(&d))
}

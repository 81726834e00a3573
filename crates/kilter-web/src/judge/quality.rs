//! How good an extraction is, from the shape of its blocks. Length is no merit: half of a good page is good.

use std::collections::HashSet;

use serde::Serialize;

use super::facts::Tree;
use crate::focus::words::words;
use crate::page::{Block, BlockKind};

/// What an extraction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing, or nothing but a shell.
    Thin,
    /// Mostly links and repetition.
    Noisy,
    /// Short, and a page.
    ShortQuality,
    /// A page.
    Rich,
}

/// The figures, each 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// All of it.
    pub score: f64,
    /// Share of links and repeated lines.
    pub noise: f64,
    /// Share of running text.
    pub content_density: f64,
    /// Variety of words.
    pub semantic_richness: f64,
    /// What it comes to.
    pub verdict: Verdict,
}

fn share(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "lengths of pages")]
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Judges blocks; `tree` tells whether a program would have filled the page.
pub fn quality(blocks: &[Block], tree: &Tree) -> Quality {
    let chars = |b: &Block| b.text.chars().count();
    let total: usize = blocks.iter().map(chars).sum();
    let linked: usize = blocks
        .iter()
        .flat_map(|b| &b.links)
        .map(|l| l.text.chars().count())
        .sum();
    let prose: usize = blocks
        .iter()
        .filter(|b| b.kind != BlockKind::Heading)
        .map(|b| {
            chars(b).saturating_sub(
                b.links
                    .iter()
                    .map(|l| l.text.chars().count())
                    .sum::<usize>(),
            )
        })
        .sum();
    let mut seen = HashSet::new();
    let repeated: usize = blocks
        .iter()
        .filter(|b| !b.text.is_empty() && !seen.insert(b.text.as_str()))
        .map(chars)
        .sum();
    let noise = (share(linked, total) * 0.7 + share(repeated, total)).min(1.0);
    let density = share(prose, total);
    // Variety over a window of fixed size, so that a long page is not poorer for its length.
    let sample: Vec<String> = blocks
        .iter()
        .flat_map(|b| words(&b.text))
        .take(200)
        .collect();
    let different: HashSet<&String> = sample.iter().collect();
    let richness = (share(different.len(), sample.len()) * 1.6).min(1.0);
    let figures = blocks.iter().any(|b| {
        matches!(
            b.kind,
            BlockKind::Table | BlockKind::Code | BlockKind::Figure | BlockKind::ListItem
        )
    });
    let score = if total == 0 {
        0.0
    } else {
        0.4 * (1.0 - noise) + 0.35 * density + 0.25 * richness
    };
    let shell = tree.empty_app
        || (tree.scripts > 0 || tree.noscript > 0) && tree.script_bytes > 40 * tree.visible.max(1);
    let only_headings = !blocks.is_empty() && blocks.iter().all(|b| b.kind == BlockKind::Heading);
    let verdict =
        if total == 0 || prose < 40 && !figures && (shell || only_headings && tree.scripts > 0) {
            Verdict::Thin
        } else if noise >= 0.7 && !figures {
            Verdict::Noisy
        } else if total < 500 {
            Verdict::ShortQuality
        } else {
            Verdict::Rich
        };
    let round = |f: f64| (f * 1_000.0).round() / 1_000.0;
    Quality {
        score: round(score),
        noise: round(noise),
        content_density: round(density),
        semantic_richness: round(richness),
        verdict,
    }
}

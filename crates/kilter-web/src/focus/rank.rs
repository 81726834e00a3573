//! BM25F over blocks: each block is a document of two fields, its own text and the headings above it.

use std::collections::HashMap;

use super::words::{likeness, words};
use crate::page::{Block, BlockKind};

/// Term saturation and length normalisation, the usual values (Robertson and Zaragoza, 2009).
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A word in a heading above says what a block is about, but less than a word in it.
const HEADING_WEIGHT: f64 = 0.7;
/// Longest question that is looked at, in words.
const QUESTION: usize = 64;

/// The words of all blocks, ready for questions.
#[derive(Debug)]
pub struct Index {
    /// Word → (block, weighted count), by block.
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean: f64,
}

/// What one word of the question meets.
#[derive(Debug, Clone, PartialEq)]
pub struct Met {
    /// The word.
    pub word: String,
    /// Blocks with it, with its weighted count.
    pub blocks: HashMap<usize, f64>,
    /// How rare it is.
    pub idf: f64,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of words are far below 2^52"
)]
fn float(n: usize) -> f64 {
    n as f64
}

impl Index {
    /// Reads the blocks.
    pub fn new(blocks: &[Block]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::with_capacity(blocks.len());
        let mut above: Vec<(u8, Vec<String>)> = Vec::new();
        for (i, block) in blocks.iter().enumerate() {
            let own = words(&block.text);
            if block.kind == BlockKind::Heading {
                let level = block.level.unwrap_or(1);
                above.retain(|(l, _)| *l < level);
            }
            let mut counts: HashMap<&str, f64> = HashMap::new();
            for w in &own {
                *counts.entry(w).or_default() += 1.0;
            }
            for w in above.iter().flat_map(|(_, w)| w) {
                *counts.entry(w).or_default() += HEADING_WEIGHT;
            }
            for (w, n) in counts {
                postings.entry(w.to_owned()).or_default().push((i, n));
            }
            lengths.push(float(own.len()));
            if block.kind == BlockKind::Heading {
                above.push((block.level.unwrap_or(1), own));
            }
        }
        let mean = lengths.iter().sum::<f64>() / float(lengths.len().max(1));
        Self {
            postings,
            lengths,
            mean: mean.max(1.0),
        }
    }

    /// What each different word of a question meets.
    pub fn meet(&self, question: &str) -> Vec<Met> {
        let mut asked: Vec<String> = Vec::new();
        for w in words(question) {
            if !asked.contains(&w) && asked.len() < QUESTION {
                asked.push(w);
            }
        }
        let n = float(self.lengths.len());
        asked
            .into_iter()
            .map(|word| {
                let mut blocks: HashMap<usize, f64> = HashMap::new();
                let mut add = |like: f64, list: &[(usize, f64)]| {
                    for (i, count) in list {
                        *blocks.entry(*i).or_default() += like * count;
                    }
                };
                if let Some(list) = self.postings.get(&word) {
                    add(1.0, list);
                }
                if word.chars().count() >= 4 && !word.chars().any(char::is_numeric) {
                    for (found, list) in &self.postings {
                        let like = likeness(&word, found);
                        if like > 0.0 && like < 1.0 {
                            add(like, list);
                        }
                    }
                }
                let df = float(blocks.len());
                Met {
                    word,
                    blocks,
                    idf: (1.0 + (n - df + 0.5) / (df + 0.5)).ln(),
                }
            })
            .collect()
    }

    /// The score of every block.
    pub fn scores(&self, met: &[Met]) -> Vec<f64> {
        let mut scores = vec![0.0; self.lengths.len()];
        for m in met {
            for (i, count) in &m.blocks {
                let length = 1.0 - B + B * self.lengths[*i] / self.mean;
                scores[*i] += m.idf * count * (K1 + 1.0) / (count + K1 * length);
            }
        }
        scores
    }
}

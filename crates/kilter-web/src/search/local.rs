//! A folder of documents as a search provider: for tests, and for what is on the machine.

use std::collections::HashMap;

use unicode_segmentation::UnicodeSegmentation;

use super::Hit;

/// Documents with the counts of their words.
#[derive(Debug, Clone, Default)]
pub struct LocalIndex {
    documents: Vec<Document>,
}

#[derive(Debug, Clone)]
struct Document {
    url: String,
    title: String,
    text: String,
    counts: HashMap<String, f64>,
    length: f64,
}

/// BM25 with its usual constants (Robertson and Zaragoza, 2009); a word of the title counts three times.
const K1: f64 = 1.2;
const B: f64 = 0.75;
const TITLE: f64 = 3.0;

fn words(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words().map(str::to_lowercase)
}

impl LocalIndex {
    /// Adds a document.
    pub fn add(
        &mut self,
        url: impl Into<String>,
        title: impl Into<String>,
        text: impl Into<String>,
    ) {
        let (title, text) = (title.into(), text.into());
        let mut counts: HashMap<String, f64> = HashMap::new();
        for word in words(&title) {
            *counts.entry(word).or_default() += TITLE;
        }
        for word in words(&text) {
            *counts.entry(word).or_default() += 1.0;
        }
        self.documents.push(Document {
            url: url.into(),
            title,
            text,
            length: counts.values().sum(),
            counts,
        });
    }

    /// The best documents for a question.
    pub fn ask(&self, query: &str, most: usize) -> Vec<Hit> {
        let n = self.documents.len() as f64;
        let mean = self.documents.iter().map(|d| d.length).sum::<f64>() / n.max(1.0);
        let wanted: Vec<String> = words(query).collect();
        let rarity = |word: &String| {
            let with = self
                .documents
                .iter()
                .filter(|d| d.counts.contains_key(word))
                .count() as f64;
            ((n - with + 0.5) / (with + 0.5) + 1.0).ln()
        };
        let weights: Vec<f64> = wanted.iter().map(rarity).collect();
        let mut scored: Vec<(f64, &Document)> = self
            .documents
            .iter()
            .map(|d| {
                let of_word = |(word, weight): (&String, &f64)| {
                    let count = d.counts.get(word).copied().unwrap_or(0.0);
                    weight * count * (K1 + 1.0)
                        / (count + K1 * (1.0 - B + B * d.length / mean.max(1.0)))
                };
                (wanted.iter().zip(&weights).map(of_word).sum(), d)
            })
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored
            .into_iter()
            .take(most)
            .map(|(_, d)| Hit {
                title: d.title.clone(),
                url: d.url.clone(),
                snippet: snippet(&d.text, &wanted),
            })
            .collect()
    }
}

/// The text around the first wanted word.
fn snippet(text: &str, wanted: &[String]) -> String {
    let at = text
        .unicode_word_indices()
        .find(|(_, w)| wanted.contains(&w.to_lowercase()))
        .map_or(0, |(at, _)| at);
    let before = text[..at]
        .chars()
        .rev()
        .take(80)
        .map(char::len_utf8)
        .sum::<usize>();
    text[at - before..]
        .chars()
        .take(240)
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

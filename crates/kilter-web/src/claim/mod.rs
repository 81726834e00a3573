//! Claims and what a page says to them: where it speaks of them ([`check`]), and whether it bears them out ([`attest`]),
//! by rules, and by a model where the operator allows it ([`attest_with`]).

pub mod attest;
pub mod check;
pub mod model;
pub mod rows;

pub use attest::{Attested, Status, attest};
pub use check::{ClaimCheck, Match, check};
pub use model::{ChatJudge, Judge, attest_with};
pub use rows::{
    AttestReport, AttestRequest, AttestRow, ClaimSource, SourceRead, attest_row, report,
};

use unicode_segmentation::UnicodeSegmentation;

use crate::focus::Met;

/// How much a word of a claim counts: by its rarity on the page; short words of alphabets are mostly grammar.
fn weight(met: &Met) -> f64 {
    let n = met.word.chars().count();
    let first = met.word.chars().next().unwrap_or(' ');
    let alphabet = first.is_alphabetic() && first < '\u{2e80}';
    let grammar = match n {
        _ if !alphabet => 1.0,
        0..=2 => 0.1,
        3 => 0.3,
        4 => 0.7,
        _ => 1.0,
    };
    met.idf * grammar
}

/// Sentences of a text as Unicode has them.
fn sentences(text: &str) -> Vec<&str> {
    text.unicode_sentences().collect()
}

//! Whether a page bears a claim out. The rules know numbers, denial and the order of names; what they cannot tell, they
//! say they cannot.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{sentences, weight};
use crate::failure::Failure;
use crate::focus::words::{likeness, words};
use crate::focus::{Index, Met};
use crate::page::{Block, BlockKind};

/// What the page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A sentence says it.
    Supported,
    /// A sentence says otherwise.
    Contradicted,
    /// It speaks of the matter, and says neither.
    Related,
    /// The whole page does not speak of it.
    Unsupported,
    /// Not to be told.
    Unknown,
}

/// The judgement on one claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attested {
    /// The claim.
    pub claim: String,
    /// What the page says.
    pub status: Status,
    /// Whether it is supported.
    pub grounded: bool,
    /// Who judged: `rules`, or the name of a model that the operator allows.
    pub judge: String,
    /// The block it stands on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_index: Option<usize>,
    /// The sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Share of the claim's words in it, by weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Why, in words.
    pub reason: String,
    /// Why a judge that was asked did not count: the code of its failure, or `no_citation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_failure: Option<String>,
}

impl Attested {
    /// The judgement where the page could not be read.
    pub fn unread(claim: &str, failure: &Failure) -> Self {
        Self {
            claim: claim.to_owned(),
            status: Status::Unknown,
            grounded: false,
            judge: "rules".to_owned(),
            block_index: None,
            text: None,
            score: None,
            reason: format!("the page could not be read: {}", failure.code.as_str()),
            judge_failure: None,
        }
    }
}

/// From here on a sentence has all that the claim is about.
const SAYS: f64 = 0.85;
/// From here on it speaks of the matter.
const SPEAKS: f64 = 0.45;

/// Words that deny, in the languages most pages are in. A language that is missing here is judged without denial.
const DENIALS: &[&str] = &[
    "not",
    "no",
    "never",
    "none",
    "neither",
    "nor",
    "without",
    "cannot",
    "isn't",
    "wasn't",
    "aren't",
    "weren't",
    "doesn't",
    "don't",
    "didn't",
    "won't",
    "can't",
    "hasn't",
    "haven't",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "keiner",
    "keinem",
    "nie",
    "niemals",
    "ohne",
    "pas",
    "jamais",
    "aucun",
    "aucune",
    "sans",
    "nunca",
    "jamás",
    "sin",
    "ningún",
    "ninguna",
    "non",
    "mai",
    "senza",
    "nessun",
    "não",
    "sem",
    "nenhum",
    "niet",
    "geen",
    "nooit",
    "zonder",
    "не",
    "нет",
    "никогда",
    "без",
    "ни",
    "inte",
    "aldrig",
    "utan",
    "ikke",
    "aldri",
    "ei",
    "değil",
    "لا",
    "ليس",
    "لم",
    "不",
    "没",
];

/// Judges a claim on a page. `complete`: the blocks are all of the page's.
pub fn attest(claim: &str, blocks: &[Block], complete: bool) -> Attested {
    let answer = |status, reason: &str, at: Option<(usize, &str, f64)>| Attested {
        claim: claim.to_owned(),
        status,
        grounded: status == Status::Supported,
        judge: "rules".to_owned(),
        block_index: at.map(|a| a.0),
        text: at.map(|a| a.1.trim().to_owned()),
        score: at.map(|a| (a.2 * 1_000.0).round() / 1_000.0),
        reason: reason.to_owned(),
        judge_failure: None,
    };
    let index = Index::new(blocks);
    let met: Vec<Met> = index
        .meet(claim)
        .into_iter()
        .filter(|m| !DENIALS.contains(&m.word.as_str()) && numbers(&m.word).is_empty())
        .collect();
    let total: f64 = met.iter().map(weight).sum();
    let asked = numbers(claim);
    if total <= 0.0 || met.len() < 2 {
        return answer(
            Status::Unknown,
            "the claim names too little to look for",
            None,
        );
    }
    let mut best: Option<(Status, &str, usize, &str, f64)> = None;
    let mut heading = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        if block.kind == BlockKind::Heading {
            heading = words(&block.text);
            continue;
        }
        for sentence in sentences(&block.text) {
            let own = words(sentence);
            let has = |m: &Met, all: &[String]| {
                all.iter().map(|w| likeness(&m.word, w)).fold(0.0, f64::max) >= 0.6
            };
            let inside: f64 = met.iter().filter(|m| has(m, &own)).map(weight).sum::<f64>() / total;
            // What the heading names need not be said again, but a sentence that says nothing itself says nothing.
            let cover: f64 = met
                .iter()
                .filter(|m| has(m, &own) || inside >= 0.3 && has(m, &heading))
                .map(weight)
                .sum::<f64>()
                / total;
            if cover < SPEAKS {
                continue;
            }
            let (status, reason) = judge(claim, sentence, cover, &asked);
            let rank = |s: Status| match s {
                Status::Supported => 3,
                Status::Contradicted => 2,
                _ => 1,
            };
            let better = best.is_none_or(|b| (rank(status), cover) > (rank(b.0), b.4));
            if better {
                best = Some((status, reason, i, sentence, cover));
            }
        }
    }
    // A page that says it and says otherwise is not a page that bears it out.
    match best {
        Some((status, reason, i, sentence, cover)) => {
            let disputed = status == Status::Supported
                && denied_elsewhere(claim, blocks, i, &met, total, &asked);
            if disputed {
                return answer(
                    Status::Unknown,
                    "the page says it, and says otherwise in another place",
                    Some((i, sentence, cover)),
                );
            }
            answer(status, reason, Some((i, sentence, cover)))
        }
        None if complete => answer(
            Status::Unsupported,
            "no sentence of the page speaks of it",
            None,
        ),
        None => answer(
            Status::Unknown,
            "no sentence speaks of it, but the page was not read to its end",
            None,
        ),
    }
}

fn denied_elsewhere(
    claim: &str,
    blocks: &[Block],
    but: usize,
    met: &[Met],
    total: f64,
    asked: &HashSet<String>,
) -> bool {
    blocks
        .iter()
        .enumerate()
        .filter(|(i, b)| *i != but && b.kind != BlockKind::Heading)
        .any(|(_, b)| {
            sentences(&b.text).into_iter().any(|s| {
                let own = words(s);
                let cover = met
                    .iter()
                    .filter(|m| own.iter().any(|w| likeness(&m.word, w) >= 0.6))
                    .map(weight)
                    .sum::<f64>()
                    / total;
                cover >= SAYS && judge(claim, s, cover, asked).0 == Status::Contradicted
            })
        })
}

fn judge(
    claim: &str,
    sentence: &str,
    cover: f64,
    asked: &HashSet<String>,
) -> (Status, &'static str) {
    if cover < SAYS {
        return (
            Status::Related,
            "it speaks of the matter, and says neither this nor its opposite",
        );
    }
    if is_question(sentence) {
        return (Status::Related, "the page asks it; it does not say it");
    }
    let found = numbers(sentence);
    if !asked.is_subset(&found) {
        let comparable = asked
            .difference(&found)
            .any(|a| found.difference(asked).any(|f| alike(a, f)));
        return if comparable {
            (Status::Contradicted, "the page has another number")
        } else {
            (Status::Related, "the number is not there")
        };
    }
    if denies(claim) != denies(sentence) {
        return (
            Status::Contradicted,
            "one of the two denies what the other says",
        );
    }
    if turned(claim, sentence) {
        return (
            Status::Related,
            "the names stand in another order, so that the roles may differ",
        );
    }
    (Status::Supported, "a sentence of the page says it")
}

fn is_question(sentence: &str) -> bool {
    sentence.trim_end().ends_with(['?', '？', '؟'])
}

fn denies(text: &str) -> bool {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let mut count = words(&text)
        .iter()
        .filter(|w| DENIALS.contains(&w.as_str()))
        .count();
    // A verb's own denial in Japanese.
    count += usize::from(text.contains("ない") || text.contains("ません"));
    count % 2 == 1
}

/// Names: words that begin with a capital inside a sentence.
fn names(text: &str) -> Vec<String> {
    use unicode_segmentation::UnicodeSegmentation;
    text.unicode_words()
        .filter(|w| w.chars().next().is_some_and(char::is_uppercase) && w.chars().count() > 1)
        .map(str::to_lowercase)
        .collect()
}

/// Whether two names that both texts have stand the other way round.
fn turned(claim: &str, sentence: &str) -> bool {
    let (a, b) = (names(claim), names(sentence));
    let places: Vec<usize> = a
        .iter()
        .filter_map(|n| b.iter().position(|m| m == n))
        .collect();
    places.len() >= 2 && !places.is_sorted()
}

/// Numbers of a text, written one way: digits with a point before decimals, without grouping.
pub fn numbers(text: &str) -> HashSet<String> {
    let mut out = HashSet::new();
    let mut run = String::new();
    let mut finish = |run: &mut String| {
        let bare = run.trim_matches([',', '.', '\'', '\u{a0}', '\u{202f}', ':']);
        if bare.chars().any(|c| c.is_ascii_digit()) {
            out.insert(normal(bare));
        }
        run.clear();
    };
    let mut before = ' ';
    for c in text.chars() {
        let digit = c.to_digit(10).or_else(|| other_digit(c));
        // A number inside a name is part of the name.
        let in_name = before.is_alphanumeric() && before < '\u{2e80}';
        match digit {
            Some(d) if !run.is_empty() || !in_name => {
                run.push(char::from_digit(d, 10).unwrap_or('0'));
            }
            _ if !run.is_empty() && matches!(c, ',' | '.' | '\'' | '\u{a0}' | '\u{202f}' | ':') => {
                run.push(c)
            }
            _ => finish(&mut run),
        }
        before = c;
    }
    finish(&mut run);
    out
}

/// Digits of other scripts in common use.
fn other_digit(c: char) -> Option<u32> {
    [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10]
        .into_iter()
        .find_map(|zero| (u32::from(c)).checked_sub(zero).filter(|d| *d < 10))
}

fn normal(run: &str) -> String {
    if run.contains(':') {
        return run.to_owned();
    }
    let last = run.rfind(['.', ',']);
    let decimals = last.map_or(0, |i| run.len() - i - 1);
    let marks = run.matches(['.', ',']).count();
    // A single mark before exactly three digits groups thousands, unless nothing stands before it.
    let decimal = last.filter(|i| {
        let same = run.matches(&run[*i..=*i]).count();
        same == 1 && (decimals != 3 || marks > 1 || run.starts_with('0'))
    });
    let digits = |s: &str| s.chars().filter(char::is_ascii_digit).collect::<String>();
    match decimal {
        Some(i) => {
            let fraction = digits(&run[i + 1..]);
            let fraction = fraction.trim_end_matches('0');
            let whole = digits(&run[..i]);
            if fraction.is_empty() {
                whole
            } else {
                format!("{whole}.{fraction}")
            }
        }
        None => digits(run),
    }
}

/// Whether two numbers are of one kind, so that one can stand for the other: both years, both times, or both neither.
fn alike(a: &str, b: &str) -> bool {
    let year =
        |s: &str| s.len() == 4 && (s.starts_with('1') || s.starts_with('2')) && !s.contains('.');
    let time = |s: &str| s.contains(':');
    year(a) == year(b) && time(a) == time(b)
}

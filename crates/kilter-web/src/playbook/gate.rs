//! What a playbook must do before it is kept: read its own page, and keep of it what the page is made of.
//!
//! The measure is the page itself, in whatever language and of whatever length: how much of its running text the
//! selectors keep, how much of what they keep is running text, and whether headings and tables survive.

use serde::Serialize;

use super::document::{LESSON_LENGTH, Playbook};
use super::lint::{Grade, Lint, parse};
use crate::failure::{Failure, FailureCode};
use crate::page::{Block, BlockKind};

/// Score from which on a playbook is kept.
pub const SCORE_MIN: f64 = 70.0;
/// Share of links and repetition up to which it is kept.
pub const NOISE_MAX: f64 = 0.35;
/// Characters that its dry run must give.
pub const LENGTH_MIN: usize = 100;

/// How a dry run went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    /// Whether it may be kept.
    pub passes_gate: bool,
    /// 0 to 100.
    pub score: f64,
    /// Share of what is kept that is links or said twice, 0 to 1.
    pub noise_leakage: f64,
}

fn chars(blocks: &[Block]) -> usize {
    blocks.iter().map(|b| b.text.chars().count()).sum()
}

fn ratio(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "lengths of pages")]
    if whole == 0 {
        1.0
    } else {
        (part as f64 / whole as f64).min(1.0)
    }
}

/// Judges a dry run: `kept` are the blocks that the playbook's selectors gave, `whole` those of the page without them.
///
/// # Errors
/// `playbook_verify_failed` when the selectors give next to nothing.
pub fn gate(kept: &[Block], whole: &[Block]) -> Result<Gate, Failure> {
    let verify = |code: FailureCode, message: String| {
        Failure::new(code, message).then(
            "revise_playbook",
            "choose selectors that hold the page's own text",
        )
    };
    if chars(kept) < LENGTH_MIN.min(chars(whole)) || kept.is_empty() {
        return Err(verify(
            FailureCode::PlaybookVerifyFailed,
            format!("the selectors gave {} characters", chars(kept)),
        ));
    }
    let prose = |b: &&Block| {
        b.kind != BlockKind::Heading
            && b.links.iter().map(|l| l.text.len()).sum::<usize>() * 2 < b.text.len().max(1)
    };
    let running = |blocks: &[Block]| {
        blocks
            .iter()
            .filter(prose)
            .map(|b| b.text.chars().count())
            .sum::<usize>()
    };
    let retention = ratio(running(kept), running(whole));
    let linked: usize = kept
        .iter()
        .flat_map(|b| &b.links)
        .map(|l| l.text.chars().count())
        .sum();
    let mut seen = std::collections::HashSet::new();
    let repeated: usize = kept
        .iter()
        .filter(|b| !seen.insert(b.text.as_str()))
        .map(|b| b.text.chars().count())
        .sum();
    let noise = (ratio(linked + repeated, chars(kept).max(1)) * 1_000.0).round() / 1_000.0;
    let of = |kind: BlockKind, blocks: &[Block]| blocks.iter().filter(|b| b.kind == kind).count();
    let structure = [BlockKind::Heading, BlockKind::Table, BlockKind::Code]
        .map(|k| ratio(of(k, kept), of(k, whole)))
        .into_iter()
        .fold(1.0, f64::min);
    let begins = whole
        .iter()
        .find(prose)
        .is_none_or(|first| kept.iter().any(|b| b.text == first.text));
    let ends = whole
        .iter()
        .rfind(prose)
        .is_none_or(|last| kept.iter().any(|b| b.text == last.text));
    let completeness = if begins && ends {
        1.0
    } else if begins || ends {
        0.6
    } else {
        0.2
    };
    let score = 45.0 * retention + 25.0 * (1.0 - noise) + 15.0 * structure + 15.0 * completeness;
    Ok(Gate {
        passes_gate: score >= SCORE_MIN && noise <= NOISE_MAX,
        score: (score * 10.0).round() / 10.0,
        noise_leakage: noise,
    })
}

/// Checks a document before anything is fetched for it: the same parser as lint, and the host of the page it is to be
/// tried on. Returns the document.
///
/// # Errors
/// `playbook_schema_invalid` with what lint says, `playbook_save_rejected`, `invalid_arguments`.
pub fn admit(
    text: &str,
    verify_url: &str,
    lesson: Option<&str>,
) -> Result<(Playbook, Lint), Failure> {
    let (book, lint) = parse(text);
    let said = || {
        lint.issues
            .iter()
            .filter(|i| i.severity == super::lint::Severity::Error)
            .map(|i| i.message.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let Some(book) = book.filter(|_| lint.grade != Grade::Broken) else {
        let secret = lint.issues.iter().any(|i| i.code == "secret");
        let code = if secret {
            FailureCode::PlaybookSaveRejected
        } else {
            FailureCode::PlaybookSchemaInvalid
        };
        return Err(Failure::new(code, said())
            .then("revise_playbook", "mend what lint says and save again"));
    };
    let host = url::Url::parse(verify_url)
        .ok()
        .and_then(|u| u.host_str().map(str::to_lowercase));
    let bare = |h: &str| h.strip_prefix("www.").unwrap_or(h).to_owned();
    let fits = host.as_deref().is_some_and(|host| {
        book.hosts
            .iter()
            .any(|h| bare(h) == bare(host) || bare(host).ends_with(&format!(".{}", bare(h))))
    });
    if !fits {
        return Err(Failure::new(
            FailureCode::PlaybookSaveRejected,
            "the host of the page is not among the playbook's `hosts`",
        )
        .then("revise_playbook", "name the host, or try another page"));
    }
    if lesson.is_some_and(|l| l.chars().count() > LESSON_LENGTH) {
        return Err(Failure::new(
            FailureCode::InvalidArguments,
            format!("a lesson has at most {LESSON_LENGTH} characters"),
        ));
    }
    Ok((book, lint))
}

/// What a dry run that did not pass comes to.
pub fn refusal(gate: &Gate) -> Option<Failure> {
    if gate.passes_gate {
        return None;
    }
    let (code, message) = if gate.noise_leakage > NOISE_MAX {
        (
            FailureCode::PlaybookVerifyHighNoise,
            format!(
                "{:.0} % of what the selectors keep is links or said twice",
                gate.noise_leakage * 100.0
            ),
        )
    } else {
        (
            FailureCode::PlaybookVerifyLowScore,
            format!(
                "the dry run scored {} of 100; {SCORE_MIN} is needed",
                gate.score
            ),
        )
    };
    Some(Failure::new(code, message).then(
        "revise_playbook",
        "choose selectors that hold the page's own text",
    ))
}

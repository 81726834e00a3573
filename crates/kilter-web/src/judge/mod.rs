//! Judging a page: is it the page that was asked for, or a door before it?
//!
//! Everything is decided by structure: status, headers, redirects, forms, frames, where the text stands and how much of
//! it there is. Words can only confirm what the structure says already.

pub mod challenge;
pub mod closed;
pub mod facts;
mod gather;
mod marks;
pub mod quality;

use serde::Serialize;

pub use facts::{Form, Response, Tree};
pub use gather::gather;
pub use quality::Quality;

use crate::failure::{Failure, FailureCode};
use crate::page::Block;

/// Whether the page is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// The page was given.
    Open,
    /// A door stands before it.
    Restricted,
    /// Not to be told.
    Unknown,
}

/// Whether the page is open, and what that is told by.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// The answer.
    pub disposition: Disposition,
    /// 0 to 1.
    pub confidence: f64,
    /// What it is told by.
    pub evidence_codes: Vec<&'static str>,
    /// What the caller may do.
    pub recommended_action: &'static str,
}

/// The judgement on one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Whether the page is open.
    pub access: Access,
    /// How good the extraction is.
    pub quality: Quality,
    /// Why the content is not the page, when it is not.
    pub failure: Option<Failure>,
}

/// Judges an answer: its response, its tree, and the blocks that were taken from it. `browser`: it was read with one,
/// so that nothing more can be hoped for from scripts.
pub fn judge(response: &Response, tree: &Tree, blocks: &[Block], browser: bool) -> Judgement {
    let quality = quality::quality(blocks, tree);
    let shut = |evidence: Vec<&'static str>, action, failure: Failure| Judgement {
        access: Access {
            disposition: Disposition::Restricted,
            confidence: 0.95,
            evidence_codes: evidence,
            recommended_action: action,
        },
        quality,
        failure: Some(with_status(failure, response)),
    };
    if let Some((kind, evidence)) = challenge::challenge(response, tree) {
        let failure = if kind == challenge::Kind::RateLimit {
            Failure::new(
                FailureCode::Http(429),
                "the server says that there were too many requests",
            )
        } else {
            Failure::new(
                FailureCode::CaptchaOrChallenge,
                "a check for humans stands before the page",
            )
        };
        let failure = match kind.recommended() {
            "try_browser" if browser => {
                failure.then("stop", "the check stands before the browser, too")
            }
            "try_browser" => failure.then("try_browser", "the check may let a browser pass"),
            "retry_later" => failure.then("retry_transcode", "later, and more slowly"),
            "session_cookies" => failure.then(
                "configure_session_profile",
                "a session in which somebody has passed the check may be let in",
            ),
            other => failure.then("stop", format!("nothing here passes it ({other})")),
        };
        return shut(evidence, kind.recommended(), failure);
    }
    if let Some(evidence) = closed::login(response, tree) {
        let failure = Failure::new(
            FailureCode::RequiresLogin,
            "a sign-in stands before the page",
        )
        .then(
            "configure_session_profile",
            "a session profile that is signed in may be let in",
        );
        return shut(vec![evidence], "configure_session_profile", failure);
    }
    if response.status >= 400 && response.status != 402 {
        let status = response.status;
        let action = if status == 404 || status == 410 {
            "stop"
        } else {
            "inform_user"
        };
        let failure = Failure::new(
            FailureCode::Http(status),
            format!("the server answered with status {status}"),
        )
        .then(action, "the answer is not the page");
        return Judgement {
            access: Access {
                disposition: if status == 403 {
                    Disposition::Restricted
                } else {
                    Disposition::Unknown
                },
                confidence: if status == 403 { 0.95 } else { 0.25 },
                evidence_codes: vec!["status_error"],
                recommended_action: action,
            },
            quality,
            failure: Some(failure),
        };
    }
    if let Some(evidence) = closed::paywall(response, tree) {
        let failure = Failure::new(FailureCode::Paywall, "a payment stands before the page").then(
            "configure_session_profile",
            "a session profile with a subscription may be let in",
        );
        return shut(vec![evidence], "configure_session_profile", failure);
    }
    if let Some(evidence) = closed::soft_404(response, tree) {
        let failure = Failure::new(
            FailureCode::SoftNotFound,
            "the page says that it is not there, with status 200",
        )
        .then("stop", "look for another address of it");
        return Judgement {
            access: Access {
                disposition: Disposition::Unknown,
                confidence: 0.25,
                evidence_codes: vec![evidence],
                recommended_action: "stop",
            },
            quality,
            failure: Some(with_status(failure, response)),
        };
    }
    if quality.verdict == quality::Verdict::Thin {
        let failure = Failure::new(
            FailureCode::ThinExtract,
            "the page gave no text worth the name",
        );
        let mut failure = if browser {
            failure.then("stop", "a browser got no more")
        } else {
            failure.then("try_browser", "the page may be filled by its scripts")
        };
        failure.retryable = !browser;
        return Judgement {
            access: Access {
                disposition: Disposition::Unknown,
                confidence: 0.25,
                evidence_codes: vec!["thin"],
                recommended_action: if browser { "stop" } else { "try_browser" },
            },
            quality,
            failure: Some(with_status(failure, response)),
        };
    }
    let mut evidence_codes = vec!["usable_content"];
    if tree.forms.iter().any(|f| f.passwords > 0) {
        evidence_codes.push("login_form_beside_content");
    }
    if tree.free == Some(false) {
        evidence_codes.push("declared_not_free");
    }
    Judgement {
        access: Access {
            disposition: Disposition::Open,
            confidence: 0.85,
            evidence_codes,
            recommended_action: "continue",
        },
        quality,
        failure: None,
    }
}

fn with_status(mut failure: Failure, response: &Response) -> Failure {
    failure.status_code = failure
        .status_code
        .or((response.status != 0).then_some(response.status));
    failure
}

/// How much a failure tells, for choosing between two: the higher one is returned (contract of the ladder).
pub fn informative(code: FailureCode) -> u8 {
    use FailureCode as C;
    match code {
        C::Http(401 | 403) | C::RequiresLogin | C::Paywall => 100,
        C::CaptchaOrChallenge => 90,
        C::TlsError => 85,
        C::Http(400..=499) | C::SoftNotFound => 80,
        C::Http(_) => 70,
        C::ThinExtract => 60,
        C::Timeout | C::NetworkError | C::DnsError => 50,
        C::ContentSelectorsMiss => 40,
        _ => 10,
    }
}

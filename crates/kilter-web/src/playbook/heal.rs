//! When a failed read may be mended by a playbook, and what somebody needs to write one.

use crate::failure::{Failure, FailureCode};

/// Nodes of a skeleton.
pub const SKELETON_MAX: usize = 600;
/// How often a playbook is tried again.
pub const RETRIES: u32 = 3;

/// The words of failures that a playbook can mend.
const MENDABLE: &[&str] = &[
    "thin_extract",
    "extraction_failed",
    "content_extraction_failed",
    "content_selectors_miss",
    "playbook_verify_failed",
    "playbook_verify_low_score",
    "playbook_verify_high_noise",
];
/// The words of failures that it can mend for somebody who is let in.
const WITH_SESSION: &[&str] = &["requires_login", "http_401", "http_403"];

/// Whether a playbook can help.
///
/// # Errors
/// `invalid_failure_reason` for a word that is no failure, `captcha_or_challenge` for checks, `heal_not_applicable` for
/// the rest.
pub fn eligible(url: &str, reason: &str, session: bool) -> Result<(), Failure> {
    let no = |code, message: &str| {
        Err(Failure::new(code, message).then("stop", "no playbook mends this"))
    };
    if reason == "captcha_or_challenge" || is_challenge_address(url) {
        return no(
            FailureCode::CaptchaOrChallenge,
            "a check for humans is not mended by a playbook",
        );
    }
    if MENDABLE.contains(&reason) || session && WITH_SESSION.contains(&reason) {
        return Ok(());
    }
    if is_failure_word(reason) {
        return no(
            FailureCode::HealNotApplicable,
            "a playbook does not mend this failure",
        );
    }
    no(
        FailureCode::InvalidFailureReason,
        "`failure_reason` is the code of a failed read",
    )
}

fn is_failure_word(word: &str) -> bool {
    let known = [
        "timeout",
        "network_error",
        "dns_error",
        "tls_error",
        "redirect_loop",
        "private_url_blocked",
        "robots_disallowed",
        "response_too_large",
        "response_truncated",
        "unsupported_content_type",
        "requires_login",
        "paywall",
        "soft_404",
        "browser_required",
        "invalid_arguments",
        "invalid_url",
        "session_profile_not_found",
        "invalid_session_profile",
        "playbook_not_found",
        "playbook_schema_invalid",
        "playbook_save_rejected",
    ];
    known.contains(&word)
        || word
            .strip_prefix("http_")
            .is_some_and(|n| n.len() == 3 && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether an address is one of a check itself.
fn is_challenge_address(url: &str) -> bool {
    let Ok(url) = url::Url::parse(url) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let labels = || host.split(['.', '-']);
    labels().any(|l| l == "captcha")
        || host == "challenges.cloudflare.com"
        || url.path().starts_with("/cdn-cgi/challenge-platform")
        || url
            .path_segments()
            .is_some_and(|mut s| s.any(|s| s == "challenge"))
        || url.query_pairs().any(|(k, _)| k.starts_with("__cf_chl"))
}

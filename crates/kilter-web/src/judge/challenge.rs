//! Checks for humans, told by what they are built of: frames, scripts, forms, headers. A page that has one beside its
//! content is a page; a page that has words about them is a page.

use serde::Serialize;

use super::facts::{Form, Response, Tree};
use super::marks::{MAKERS, Maker};

/// What kind of check it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Too many requests.
    RateLimit,
    /// Cloudflare Turnstile.
    Turnstile,
    /// hCaptcha.
    Hcaptcha,
    /// reCAPTCHA.
    Recaptcha,
    /// DataDome.
    Datadome,
    /// A script that must run first.
    JsChallenge,
    /// Another one.
    GenericChallenge,
}

impl Kind {
    /// What the caller may do.
    pub fn recommended(self) -> &'static str {
        match self {
            Self::RateLimit => "retry_later",
            Self::Turnstile | Self::Hcaptcha | Self::Recaptcha => "session_cookies",
            Self::JsChallenge => "try_browser",
            Self::Datadome | Self::GenericChallenge => "skip_url",
        }
    }
}

/// Prose from which on a page is a page, whatever else is on it.
const CONTENT: usize = 500;
/// Prose up to which a page may be nothing but a check.
const THIN: usize = 280;

/// Text up to which nothing is shown at all.
const BLANK: usize = 40;

/// The check that stands before the page, if one does, with what it is told by.
pub fn challenge(response: &Response, tree: &Tree) -> Option<(Kind, Vec<&'static str>)> {
    let mut evidence = Vec::new();
    let kind = parts(tree).or_else(|| {
        let url = &response.final_url;
        (url.contains("__cf_chl") || url.contains("/cdn-cgi/challenge-platform"))
            .then_some(Kind::JsChallenge)
    });
    let said = header(response);
    let refused = matches!(response.status, 403 | 429 | 503);
    let content = tree.prose >= CONTENT && (tree.prose_blocks >= 2 || tree.main);
    if content && said.is_none() && !refused {
        return None;
    }
    if let Some(kind) = said {
        evidence.push("challenge_header");
        return Some((kind, evidence));
    }
    if response.status == 429 {
        evidence.push("status_429");
        return Some((kind.unwrap_or(Kind::RateLimit), evidence));
    }
    if let Some(kind) = kind {
        let little = tree.prose < THIN && tree.prose_blocks <= 3;
        // A form to write in has a check beside it, not before it; unless it is the check that is written into.
        let asks = |f: &Form| f.passwords > 0 || f.texts > 0 && !f.checks();
        let alone = little && !tree.forms.iter().any(asks) && !rich(tree);
        if alone || refused && tree.prose < CONTENT {
            evidence.push("challenge_parts");
            return Some((kind, evidence));
        }
        return None;
    }
    // A page that sets a mark in the browser and loads itself again: nobody is meant to see it.
    let blank = tree.visible < BLANK && tree.links == 0 && !rich(tree) && !tree.empty_app;
    if tree.reloads && blank {
        evidence.push("marks_and_reloads");
        return Some((Kind::JsChallenge, evidence));
    }
    // No maker is known: a page that is nothing but machinery, and says so in its title.
    let shell = tree.prose < THIN
        && tree.prose_blocks <= 2
        && tree.links <= 3
        && !rich(tree)
        && (tree.scripts > 0 || tree.noscript > 0 || tree.refresh || unlabelled_form(tree));
    if shell && (refused || waits(&tree.title) || waits(&tree.first_heading)) {
        evidence.push(if refused {
            "refused_shell"
        } else {
            "waiting_shell"
        });
        return Some((Kind::GenericChallenge, evidence));
    }
    None
}

fn rich(tree: &Tree) -> bool {
    tree.figures > 1 || tree.headings > 2 || tree.links > 8
}

/// A form with nothing to type in: it only wants to be sent.
fn unlabelled_form(tree: &Tree) -> bool {
    tree.forms
        .iter()
        .any(|f| f.passwords == 0 && f.texts == 0 && !f.search)
}

fn parts(tree: &Tree) -> Option<Kind> {
    let stands = |maker: &&Maker| {
        tree.sources
            .iter()
            .any(|s| maker.sources.iter().any(|part| s.contains(part)))
            || tree.names.iter().any(|n| maker.names.contains(&n.as_str()))
    };
    let sent = tree.forms.iter().any(Form::checks);
    MAKERS
        .iter()
        .find(stands)
        .map(|maker| maker.kind)
        .or_else(|| sent.then_some(Kind::GenericChallenge))
}

fn header(response: &Response) -> Option<Kind> {
    let is = |name: &str, value: &str| {
        response
            .header(name)
            .is_some_and(|v| v.eq_ignore_ascii_case(value))
    };
    if is("cf-mitigated", "challenge") {
        return Some(Kind::JsChallenge);
    }
    if is("x-vercel-mitigated", "challenge") {
        return Some(Kind::JsChallenge);
    }
    if is("x-amzn-waf-action", "captcha") || is("x-amzn-waf-action", "challenge") {
        return Some(Kind::GenericChallenge);
    }
    let datadome = response.header("x-datadome").is_some() || response.header("x-dd-b").is_some();
    (datadome && response.status == 403).then_some(Kind::Datadome)
}

/// Titles that checks have while they wait. They count on a shell only, and only as the whole title or its beginning.
const WAITING: &[&str] = &[
    "just a moment",
    "one moment",
    "attention required",
    "checking your browser",
    "verify you are human",
    "verifying you are human",
    "are you a robot",
    "are you human",
    "security check",
    "access denied",
    "ddos-guard",
    "please wait",
    "nur einen moment",
    "einen moment",
    "un instant",
    "un momento",
    "um momento",
    "один момент",
    "подождите",
    "请稍候",
    "少々お待ちください",
    "잠시만",
];

fn waits(title: &str) -> bool {
    let title = title.trim().to_lowercase();
    WAITING.iter().any(|w| title.starts_with(w)) && title.chars().count() <= 60
}

//! What the parts of known doors are called: addresses, elements and script variables, from their makers' own
//! documentation and from the pages that they serve. A mark decides only on a page that holds nothing else.
//!
//! Only what stands on the door itself is listed. Scripts that the same makers put on every page of a site are not.

use super::challenge::Kind;

/// One maker's marks.
pub(super) struct Maker {
    /// What kind of check it is.
    pub(super) kind: Kind,
    /// Parts of addresses of scripts and frames, and script variables.
    pub(super) sources: &'static [&'static str],
    /// Whole ids, classes and element names.
    pub(super) names: &'static [&'static str],
}

/// The makers; the first that fits is named.
pub(super) const MAKERS: &[Maker] = &[
    Maker {
        kind: Kind::JsChallenge,
        sources: &[
            "orchestrate/chl_page",
            "orchestrate/jsch",
            "orchestrate/managed",
            "__cf_chl",
            "_cf_chl_opt",
        ],
        names: &[
            "challenge-running",
            "challenge-form",
            "challenge-stage",
            "cf-challenge-running",
            "cf-browser-verification",
            "challenge-error-text",
        ],
    },
    Maker {
        kind: Kind::Turnstile,
        sources: &["challenges.cloudflare.com"],
        names: &["cf-turnstile"],
    },
    Maker {
        kind: Kind::Hcaptcha,
        sources: &["hcaptcha.com"],
        names: &["h-captcha"],
    },
    Maker {
        kind: Kind::Recaptcha,
        sources: &["google.com/recaptcha", "recaptcha.net/recaptcha"],
        names: &["g-recaptcha"],
    },
    Maker {
        kind: Kind::Datadome,
        sources: &["captcha-delivery.com"],
        names: &["datadome-captcha"],
    },
    Maker {
        kind: Kind::JsChallenge,
        sources: &[
            "gokuProps",
            "awswaf.com",
            "_Incapsula_Resource",
            "/_sec/cp_challenge",
            "KPSDK",
            "sucuri_cloudproxy",
            "/.well-known/ddos-guard",
            "/TSPD/",
            "/.within.website/x/cmd/anubis",
            "acw_sc__v2",
        ],
        names: &[
            "sec-if-cpt-container",
            "sec-cpt-if",
            "anubis_challenge",
            "main-iframe-incapsula",
        ],
    },
    Maker {
        kind: Kind::GenericChallenge,
        sources: &[
            "funcaptcha.com",
            "arkoselabs.com",
            "captcha.px-cdn.net",
            "captcha.px-cloud.net",
            "captcha.perimeterx.net",
            "px-captcha",
            "geetest.com",
            "smartcaptcha",
            "/showcaptcha",
            "/checkcaptcha",
            "TencentCaptcha",
        ],
        names: &[
            "px-captcha",
            "captcha-box",
            "captcha-container",
            "captcha-form",
            "geetest_captcha",
            "frc-captcha",
            "smart-captcha",
            "altcha-widget",
            "mcaptcha__widget-container",
        ],
    },
];

/// What is looked for in scripts that stand in the page itself; each is a source of [`MAKERS`].
pub(super) const INLINE: &[&str] = &[
    "orchestrate/chl_page",
    "orchestrate/jsch",
    "_cf_chl_opt",
    "__cf_chl",
    "captcha-delivery.com",
    "gokuProps",
    "_Incapsula_Resource",
    "KPSDK",
    "sucuri_cloudproxy",
    "/TSPD/",
    "acw_sc__v2",
    "TencentCaptcha",
];

/// Whether a maker's door has an element of this name.
pub(super) fn known(name: &str) -> bool {
    MAKERS.iter().any(|maker| maker.names.contains(&name))
}

/// Whether a text has a word, in whatever case. The word is in lower case.
pub(super) fn has(text: &str, word: &str) -> bool {
    text.as_bytes()
        .windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// Names of barriers that are one word.
const BARRIERS: [&str; 4] = ["paywall", "regwall", "paygate", "meterwall"];
/// Those of makers.
const OFFERS: [&str; 3] = ["piano-offer", "tp-modal", "tp-container-inner"];

/// Whether an id or a class calls its element a barrier: `paywall`, `article-paywall`, `c-regwall__inner`, but not
/// `no-paywall`.
pub(super) fn barrier(name: &str) -> bool {
    if OFFERS.contains(&name) {
        return true;
    }
    if !BARRIERS.iter().any(|word| has(name, word)) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let mut before = "";
    name.split(['-', '_']).any(|part| {
        let denied = matches!(before, "no" | "not" | "non" | "without" | "hide" | "free");
        before = part;
        BARRIERS.contains(&part) && !denied
    })
}

//! Doors that are shut in other ways: sign-in, payment, and pages that are not there although the status says 200.

use super::facts::{Response, Tree};

/// Prose beside a sign-in form up to which the form is the page.
const BESIDE_LOGIN: usize = 280;
/// Prose up to which a page that is declared to be paid for has not been given.
const TEASER: usize = 900;
/// Prose up to which a page may be nothing but an error.
const ERROR: usize = 300;

/// Segments that addresses of sign-in pages have. They count on redirects and form targets, never on the page asked for.
const LOGIN_SEGMENTS: &[&str] = &[
    "login",
    "log-in",
    "signin",
    "sign-in",
    "sign_in",
    "auth",
    "oauth",
    "oauth2",
    "sso",
    "authorize",
    "authenticate",
    "session",
    "sessions",
    "account-login",
];

fn path(url: &str) -> Vec<String> {
    let parsed = url::Url::parse(url);
    let path = parsed.as_ref().map_or(url, |u| u.path());
    path.split(['?', '#'])
        .next()
        .unwrap_or_default()
        .split('/')
        .filter(|s| !s.is_empty())
        .map(|s| {
            let s = s.to_ascii_lowercase();
            let stem = s.split('.').next().unwrap_or_default();
            stem.to_owned()
        })
        .collect()
}

fn is_login_address(url: &str) -> bool {
    path(url)
        .iter()
        .any(|s| LOGIN_SEGMENTS.contains(&s.as_str()))
}

/// Why the page wants a sign-in, if it does.
pub fn login(response: &Response, tree: &Tree) -> Option<&'static str> {
    if response.status == 401 || response.status == 407 {
        return Some("status_401");
    }
    if response.header("www-authenticate").is_some() && response.status != 200 {
        return Some("auth_challenge_header");
    }
    let in_page: Vec<_> = tree
        .forms
        .iter()
        .filter(|f| !f.aside && !f.dialog)
        .collect();
    let asks = in_page.iter().any(|f| f.passwords > 0)
        // Two-step sign-in asks for the name first.
        || in_page
            .iter()
            .any(|f| f.texts > 0 && !f.search && is_login_address(&f.action));
    let little = tree.prose < BESIDE_LOGIN && tree.figures <= 1;
    let sent = response.requested != response.final_url
        && !is_login_address(&response.requested)
        && is_login_address(&response.final_url);
    if sent && (asks || little) {
        return Some("redirect_to_login");
    }
    if asks && little && tree.headings <= 4 {
        return Some("blocking_login_form");
    }
    // A sign-in in a dialog blocks only what holds nothing else.
    let dialog = tree.forms.iter().any(|f| f.dialog && f.passwords > 0);
    (dialog && tree.prose < 40 && tree.figures == 0 && tree.links <= 5)
        .then_some("blocking_login_dialog")
}

/// Why the page wants a payment, if it does.
pub fn paywall(response: &Response, tree: &Tree) -> Option<&'static str> {
    if response.status == 402 {
        return Some("status_402");
    }
    if tree.prose >= TEASER {
        return None;
    }
    if tree.free == Some(false) {
        return Some("declared_not_free");
    }
    if tree.tier.as_deref() == Some("locked") {
        return Some("declared_locked");
    }
    (tree.barrier && tree.prose > 0).then_some("paywall_element")
}

/// Headings that pages have which are not there: the whole heading, in the languages that most servers speak.
const NOT_THERE: &[&str] = &[
    "not found",
    "page not found",
    "404 not found",
    "404 page not found",
    "file not found",
    "nothing found",
    "this page does not exist",
    "this page isn't available",
    "page does not exist",
    "oops",
    "seite nicht gefunden",
    "nicht gefunden",
    "page non trouvée",
    "page introuvable",
    "página no encontrada",
    "no encontrado",
    "página não encontrada",
    "pagina non trovata",
    "pagina niet gevonden",
    "страница не найдена",
    "strona nie znaleziona",
    "nie znaleziono strony",
    "ページが見つかりません",
    "页面不存在",
];

/// Why the page is not there although the status says so, if it is not.
pub fn soft_404(response: &Response, tree: &Tree) -> Option<&'static str> {
    if !(200..300).contains(&response.status) || tree.prose >= ERROR || tree.figures > 2 {
        return None;
    }
    let number = |text: &str| {
        text.chars().count() <= 80
            && text
                .split(|c: char| !c.is_alphanumeric())
                .any(|w| w == "404" || w == "410")
    };
    let said = |text: &str| {
        let text = text
            .trim()
            .trim_end_matches(['!', '.', '…', ':', '('])
            .trim()
            .to_lowercase();
        NOT_THERE.contains(&text.as_str())
            || text
                .split([':', '|', '–', '—', '·'])
                .map(str::trim)
                .any(|part| NOT_THERE.contains(&part))
    };
    let (head, title) = (&tree.first_heading, &tree.title);
    let error_head = number(head) || said(head);
    let error_title = number(title) || said(title);
    // A short page may well be about an error: one sign is not enough unless the page denies itself otherwise.
    let denies = tree.noindex || tree.prose_blocks <= 1;
    // A number is less than words: whoever explains it in three paragraphs has a page about it.
    let both = error_head && error_title && (said(head) || said(title) || tree.prose_blocks <= 2);
    if both || error_head && denies || error_title && head.is_empty() {
        return Some("error_heading");
    }
    if error_title && denies {
        return Some("error_title");
    }
    let (asked, got) = (path(&response.requested), path(&response.final_url));
    let sent_home = asked.len() >= 2 && got.is_empty() && tree.prose < 120;
    sent_home.then_some("redirect_to_root")
}

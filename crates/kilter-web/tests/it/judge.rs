//! Judging pages: structure decides, words do not.

use kilter_web::judge::challenge::Kind;
use kilter_web::judge::quality::Verdict;
use kilter_web::judge::{Disposition, Form, Response, Tree, challenge, informative, judge};
use kilter_web::{Block, BlockKind, FailureCode};

use crate::receipt::block;

const URL: &str = "https://docs.example.test/guide/page.html";

fn text(n: usize) -> Vec<Block> {
    (0..n)
        .map(|i| {
            block(
                BlockKind::Paragraph,
                &format!("Paragraph {i} explains one step of the harbour survey in plain words, long enough to be read."),
                "p",
            )
        })
        .collect()
}

fn article(prose: usize) -> Tree {
    Tree {
        title: "Harbour survey".to_owned(),
        first_heading: "Harbour survey".to_owned(),
        headings: 1,
        visible: prose + 20,
        prose,
        prose_blocks: (prose / 90).max(1),
        main: true,
        ..Tree::default()
    }
}

fn login_form() -> Form {
    Form {
        passwords: 1,
        texts: 1,
        action: "/login".to_owned(),
        ..Form::default()
    }
}

fn code(response: &Response, tree: &Tree, blocks: &[Block]) -> Option<FailureCode> {
    judge(response, tree, blocks, false).failure.map(|f| f.code)
}

#[test]
fn a_page_about_checks_is_a_page() {
    // As `about-captcha` of the field reports: two paragraphs, no machinery.
    let mut tree = article(260);
    tree.title = "What a CAPTCHA is".to_owned();
    assert_eq!(code(&Response::ok(URL), &tree, &text(2)), None);
    // Even under the title of a waiting page.
    tree.title = "Just a moment...".to_owned();
    assert_eq!(
        code(&Response::ok(URL), &tree, &text(2)),
        None,
        "words alone never decide"
    );
    tree.scripts = 9;
    tree.prose = 2_000;
    assert_eq!(code(&Response::ok(URL), &tree, &text(20)), None);
    // An article with a check in its comment form.
    tree.names = vec!["g-recaptcha".to_owned()];
    tree.sources = vec!["https://www.google.com/recaptcha/api.js".to_owned()];
    assert_eq!(code(&Response::ok(URL), &tree, &text(20)), None);
}

#[test]
fn a_check_is_told_by_its_parts() {
    let shell = |sources: &[&str], names: &[&str]| Tree {
        title: "example.test".to_owned(),
        visible: 90,
        prose: 60,
        prose_blocks: 1,
        scripts: 2,
        sources: sources.iter().map(|s| (*s).to_owned()).collect(),
        names: names.iter().map(|s| (*s).to_owned()).collect(),
        ..Tree::default()
    };
    for (sources, names, kind) in [
        (
            &["https://challenges.cloudflare.com/turnstile/v0/api.js"][..],
            &[][..],
            Kind::Turnstile,
        ),
        (&[], &["cf-turnstile"], Kind::Turnstile),
        (&["https://js.hcaptcha.com/1/api.js"], &[], Kind::Hcaptcha),
        (&[], &["g-recaptcha"], Kind::Recaptcha),
        (
            &["https://geo.captcha-delivery.com/captcha/?x=1"],
            &[],
            Kind::Datadome,
        ),
        (
            &["/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"],
            &[],
            Kind::JsChallenge,
        ),
        (&[], &["challenge-running"], Kind::JsChallenge),
        (
            &["https://client.px-captcha.net/x.js"],
            &[],
            Kind::GenericChallenge,
        ),
    ] {
        // With status 200: the status does not decide either.
        let tree = shell(sources, names);
        let (got, _) = challenge::challenge(&Response::ok(URL), &tree).unwrap();
        assert_eq!(got, kind);
        assert_eq!(
            code(&Response::ok(URL), &tree, &text(1)),
            Some(FailureCode::CaptchaOrChallenge)
        );
    }
    let waiting = Tree {
        title: "Just a moment...".to_owned(),
        visible: 120,
        prose: 100,
        prose_blocks: 1,
        scripts: 1,
        noscript: 60,
        ..Tree::default()
    };
    assert_eq!(
        code(&Response::ok(URL), &waiting, &text(1)),
        Some(FailureCode::CaptchaOrChallenge)
    );
    let moved = Response {
        final_url: format!("{URL}?__cf_chl_tk=1"),
        ..Response::ok(URL)
    };
    assert_eq!(
        code(&moved, &shell(&[], &[]), &text(1)),
        Some(FailureCode::CaptchaOrChallenge)
    );
    let header = Response {
        headers: vec![("CF-Mitigated".to_owned(), "challenge".to_owned())],
        status: 403,
        ..Response::ok(URL)
    };
    assert_eq!(
        code(&header, &article(100), &text(1)),
        Some(FailureCode::CaptchaOrChallenge)
    );
    let busy = Response {
        status: 429,
        ..Response::ok(URL)
    };
    let judged = judge(&busy, &article(100), &text(1), false);
    assert_eq!(
        judged.failure.as_ref().map(|f| (f.code, f.retryable)),
        Some((FailureCode::Http(429), true))
    );
    assert_eq!(judged.access.recommended_action, "retry_later");
}

#[test]
fn a_sign_in_blocks_only_where_nothing_else_is() {
    // As `login-page` of the field reports.
    let blocking = Tree {
        title: "Sign in".to_owned(),
        first_heading: "Sign in to continue".to_owned(),
        headings: 1,
        visible: 40,
        prose: 0,
        main: true,
        forms: vec![login_form()],
        ..Tree::default()
    };
    assert_eq!(
        code(
            &Response::ok(URL),
            &blocking,
            &[block(BlockKind::Heading, "Sign in to continue", "h1")]
        ),
        Some(FailureCode::RequiresLogin)
    );
    // In another language, or none: the shape is the same.
    let silent = Tree {
        title: String::new(),
        first_heading: "ログイン".to_owned(),
        ..blocking.clone()
    };
    assert_eq!(
        code(&Response::ok(URL), &silent, &[]),
        Some(FailureCode::RequiresLogin)
    );
    // As `docs-about-login`: words, no form.
    let mut docs = article(700);
    docs.first_heading = "Password rules: sign in, login, authentication".to_owned();
    assert_eq!(
        code(
            &Response::ok("https://docs.example.test/login"),
            &docs,
            &text(5)
        ),
        None
    );
    // A sign-in beside an article, and one in the header of a short page.
    docs.forms = vec![login_form()];
    let judged = judge(&Response::ok(URL), &docs, &text(5), false);
    assert_eq!(judged.failure, None);
    assert!(
        judged
            .access
            .evidence_codes
            .contains(&"login_form_beside_content")
    );
    let mut short = article(120);
    short.forms = vec![Form {
        aside: true,
        ..login_form()
    }];
    assert_eq!(code(&Response::ok(URL), &short, &text(1)), None);
    // A search form is no sign-in.
    short.forms = vec![Form {
        texts: 1,
        search: true,
        action: "/search".to_owned(),
        ..Form::default()
    }];
    assert_eq!(code(&Response::ok(URL), &short, &text(1)), None);
    let refused = Response {
        status: 401,
        ..Response::ok(URL)
    };
    assert_eq!(
        code(&refused, &article(900), &text(9)),
        Some(FailureCode::RequiresLogin)
    );
    let sent = Response {
        final_url: "https://id.example.test/oauth2/authorize?next=x".to_owned(),
        ..Response::ok(URL)
    };
    assert_eq!(
        code(&sent, &article(60), &text(1)),
        Some(FailureCode::RequiresLogin)
    );
    assert_eq!(
        code(&sent, &article(900), &text(9)),
        None,
        "a redirect alone does not decide"
    );
}

#[test]
fn a_paywall_is_declared_and_short() {
    let mut teaser = article(400);
    assert_eq!(code(&Response::ok(URL), &teaser, &text(4)), None);
    teaser.free = Some(false);
    assert_eq!(
        code(&Response::ok(URL), &teaser, &text(4)),
        Some(FailureCode::Paywall)
    );
    let whole = Tree {
        free: Some(false),
        ..article(4_000)
    };
    assert_eq!(
        code(&Response::ok(URL), &whole, &text(40)),
        None,
        "declared, and given all the same"
    );
    let locked = Tree {
        tier: Some("locked".to_owned()),
        ..article(300)
    };
    assert_eq!(
        code(&Response::ok(URL), &locked, &text(3)),
        Some(FailureCode::Paywall)
    );
    let pay = Response {
        status: 402,
        ..Response::ok(URL)
    };
    assert_eq!(
        code(&pay, &article(2_000), &text(20)),
        Some(FailureCode::Paywall)
    );
}

#[test]
fn a_page_that_denies_itself_is_not_there() {
    let error = |heading: &str, title: &str| Tree {
        title: title.to_owned(),
        first_heading: heading.to_owned(),
        visible: 80,
        prose: 50,
        prose_blocks: 1,
        headings: 1,
        ..Tree::default()
    };
    for (heading, title) in [
        ("404", "example.test"),
        ("Page not found", "Page not found | Example"),
        ("Seite nicht gefunden", "Fehler"),
        ("ページが見つかりません", "404"),
        ("", "404 Not Found"),
        ("Oops!", "Error 404"),
    ] {
        assert_eq!(
            code(&Response::ok(URL), &error(heading, title), &text(1)),
            Some(FailureCode::SoftNotFound),
            "{heading} {title}"
        );
    }
    // A page about the number, and a short page that has nothing to do with it.
    let about = Tree {
        first_heading: "What 404 means".to_owned(),
        title: "HTTP 404".to_owned(),
        ..article(900)
    };
    assert_eq!(code(&Response::ok(URL), &about, &text(9)), None);
    assert_eq!(code(&Response::ok(URL), &article(80), &text(1)), None);
    let home = Response {
        final_url: "https://docs.example.test/".to_owned(),
        ..Response::ok(URL)
    };
    assert_eq!(
        code(&home, &article(60), &text(1)),
        Some(FailureCode::SoftNotFound)
    );
    assert_eq!(code(&home, &article(600), &text(6)), None);
    for status in [404, 410, 403, 500] {
        let response = Response {
            status,
            ..Response::ok(URL)
        };
        assert_eq!(
            code(&response, &article(900), &text(9)),
            Some(FailureCode::Http(status))
        );
    }
}

#[test]
fn short_is_not_thin_and_long_is_not_good() {
    let short = [
        block(BlockKind::Heading, "Opening hours", "h1"),
        block(BlockKind::Paragraph, "Monday to Friday, 9 to 17.", "p"),
    ];
    let judged = judge(&Response::ok(URL), &article(26), &short, false);
    assert_eq!(
        (judged.failure, judged.quality.verdict),
        (None, Verdict::ShortQuality)
    );
    assert_eq!(judged.access.disposition, Disposition::Open);
    // Half of a page is as good as all of it.
    let (half, whole) = (text(10), text(20));
    let q = |b: &[Block]| judge(&Response::ok(URL), &article(2_000), b, false).quality;
    assert_eq!(q(&half).verdict, q(&whole).verdict);
    assert!(
        (q(&half).score - q(&whole).score).abs() < 0.05,
        "{} {}",
        q(&half).score,
        q(&whole).score
    );
    // Nothing at all, and a shell that a program fills.
    let judged = judge(&Response::ok(URL), &Tree::default(), &[], false);
    assert_eq!(
        judged.failure.as_ref().map(|f| (f.code, f.retryable)),
        Some((FailureCode::ThinExtract, true))
    );
    assert_eq!(judged.failure.unwrap().decisions[0].action, "try_browser");
    let again = judge(&Response::ok(URL), &Tree::default(), &[], true)
        .failure
        .unwrap();
    assert_eq!(
        (again.retryable, again.decisions[0].action.as_str()),
        (false, "stop")
    );
    let app = Tree {
        empty_app: true,
        scripts: 3,
        visible: 12,
        ..Tree::default()
    };
    assert_eq!(
        code(
            &Response::ok(URL),
            &app,
            &[block(BlockKind::Paragraph, "Loading…", "p")]
        ),
        Some(FailureCode::ThinExtract)
    );
    // The same page in three languages is judged the same.
    for words in [
        "Cookies, login, captcha, subscribe.",
        "Cookies, Anmeldung, Captcha, Abo.",
        "クッキー、ログイン、購読。",
    ] {
        let b = [block(BlockKind::Paragraph, words, "p")];
        assert_eq!(
            judge(&Response::ok(URL), &article(35), &b, false).failure,
            None,
            "{words}"
        );
    }
}

#[test]
fn the_more_informative_failure_wins() {
    let order = [
        FailureCode::RequiresLogin,
        FailureCode::CaptchaOrChallenge,
        FailureCode::TlsError,
        FailureCode::Http(404),
        FailureCode::Http(503),
        FailureCode::ThinExtract,
        FailureCode::Timeout,
        FailureCode::ContentSelectorsMiss,
        FailureCode::BrowserRequired,
    ];
    assert!(
        order
            .windows(2)
            .all(|w| informative(w[0]) > informative(w[1]))
    );
}

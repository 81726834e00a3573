//! Opening URLs: robots asked first, the ladder from HTTP to the browser, the failure that says more.

use std::sync::atomic::Ordering;

use kilter_core::SystemClock;
use kilter_web::acquire::GetOptions;
use kilter_web::browser::Browser;
use kilter_web::open::{Backend, Body, Opened, Opener, Reached};
use kilter_web::robots::gate::RobotsGate;
use kilter_web::{Failure, FailureCode, ReadOptions};

use crate::acquire::open_client;
use crate::browser::quick;
use crate::site::{Say, Site, answer, page, to};

/// Opens pages of loopback, without a browser.
pub(crate) fn opener() -> Opener {
    let client = open_client();
    Opener {
        browser: Browser::with_program(client.clone(), quick(), None),
        client,
        pdf: None,
        robots: None,
    }
}

/// One that asks `robots.txt` first.
fn polite() -> Opener {
    Opener {
        robots: Some(RobotsGate::default()),
        ..opener()
    }
}

/// Reads a path of a site.
async fn read(opener: &Opener, site: &Site, path: &str, backend: Backend) -> Reached<String> {
    let (url, options) = (site.url(path), GetOptions::default());
    let clock = SystemClock::default();
    opener.read(&url, backend, &options, &clock, words).await
}

/// The words of a page; a page without any is thin.
fn words(opened: Opened) -> Result<String, Failure> {
    let html = match opened.body {
        Body::Html(html) => html,
        Body::Page(page) => page.text,
    };
    match html.contains("words") {
        true => Ok(html),
        false => Err(Failure::new(
            FailureCode::ThinExtract,
            "no text\nhint: none",
        )),
    }
}

#[tokio::test]
async fn robots_are_asked_once_and_kept_to() {
    let site = Site::start(|r| match r.path.as_str() {
        "/robots.txt" => answer(
            "200 OK",
            "Content-Type: text/plain\r\n",
            "User-agent: *\nDisallow: /private\nAllow: /private/open\n",
        ),
        _ => page("words"),
    })
    .await;
    let opener = polite();
    for (path, ok) in [
        ("/a", true),
        ("/private/x", false),
        ("/private/open/x", true),
        ("/private?x", false),
    ] {
        let got = read(&opener, &site, path, Backend::Http).await;
        assert_eq!(got.outcome.is_ok(), ok, "{path}");
        if let Err(failure) = got.outcome {
            assert_eq!(failure.code, FailureCode::RobotsDisallowed);
        }
    }
    let asked = site.paths();
    assert_eq!(asked, ["/robots.txt", "/a", "/private/open/x"]);
}

#[tokio::test]
async fn an_unreachable_robots_file_closes_a_site_and_a_missing_one_opens_it() {
    for (status, ok) in [
        ("404 No", true),
        ("401 No", true),
        ("500 Broken", false),
        ("503 Busy", false),
    ] {
        let site = Site::start(move |r| match r.path.as_str() {
            "/robots.txt" => answer(status, "", "User-agent: *\nDisallow: /"),
            _ => page("words"),
        })
        .await;
        let opener = polite();
        let got = read(&opener, &site, "/a", Backend::Http).await;
        assert_eq!(got.outcome.is_ok(), ok, "{status}");
    }
    let site = Site::start(|r| match r.path.as_str() {
        "/robots.txt" => to("/robots.txt"),
        _ => page("words"),
    })
    .await;
    let opener = polite();
    let got = read(&opener, &site, "/a", Backend::Http).await;
    assert!(
        got.outcome.is_ok(),
        "a redirect that leads nowhere is a missing file"
    );
}

#[tokio::test]
async fn the_ladder_stops_where_a_browser_cannot_help_and_names_what_would() {
    let site = Site::start(|r| match r.path.as_str() {
        "/words" => page("words"),
        "/empty" => page("<div id=app></div>"),
        "/json" => answer(
            "200 OK",
            "Content-Type: application/json\r\n",
            "{\"a\":\"words\"}",
        ),
        "/reset" => Say::Bytes(Vec::new()),
        p => answer(&format!("{} X", &p[1..]), "", ""),
    })
    .await;
    let opener = opener();
    let read = async |path: &str, backend| read(&opener, &site, path, backend).await;
    let got = read("/words", Backend::HttpThenBrowser).await;
    assert!(got.outcome.is_ok() && got.attempts.len() == 1);
    assert!(
        read("/json", Backend::Http)
            .await
            .outcome
            .expect("a page")
            .contains("\"a\": \"words\"")
    );
    let before = site.connections.load(Ordering::SeqCst);
    for (path, code, fixable) in [
        ("/404", FailureCode::Http(404), false),
        ("/410", FailureCode::Http(410), false),
        ("/403", FailureCode::Http(403), true),
        ("/empty", FailureCode::ThinExtract, true),
        ("/reset", FailureCode::ResponseTruncated, true),
    ] {
        let got = read(path, Backend::HttpThenBrowser).await;
        let failure = got.outcome.expect_err(path);
        assert_eq!(failure.code, code, "{path}: {failure}");
        assert_eq!(failure.fix.is_some(), fixable, "{path}");
        assert_eq!(
            failure.message.contains("chromium"),
            fixable,
            "{path}: {failure}"
        );
        assert_eq!(got.attempts.len(), 1, "{:?}", got.attempts);
        assert_eq!(
            got.attempts[0].failure_code.as_deref(),
            Some(&*code.as_str())
        );
    }
    assert_eq!(site.connections.load(Ordering::SeqCst) - before, 5);
    let got = read("/words", Backend::Browser).await;
    assert_eq!(
        got.outcome.expect_err("no browser").code,
        FailureCode::BrowserRequired
    );
    for word in ["http", "browser", "http_then_browser", "http-then-browser"] {
        assert!(word.parse::<Backend>().is_ok());
    }
    assert_eq!(
        "curl".parse::<Backend>().expect_err("unknown").code,
        FailureCode::InvalidArguments
    );
}

#[tokio::test]
async fn a_door_is_told_by_its_page_whatever_its_status() {
    let html = |text: &str, status: &str, headers: &str| {
        answer(
            status,
            &format!("Content-Type: text/html\r\n{headers}"),
            text,
        )
    };
    let site = Site::start(move |r| match r.path.as_str() {
        "/check" => html(
            "<title>x</title><script>window._cf_chl_opt={};</script>",
            "403 Forbidden",
            "",
        ),
        "/mitigated" => html("<p>x</p>", "403 Forbidden", "cf-mitigated: challenge\r\n"),
        "/members" => html("<h1>Nein</h1>", "401 Unauthorized", ""),
        "/pay" => html("<h1>402</h1>", "402 Payment Required", ""),
        "/gone" => html("<h1>Gone</h1><p>It is gone.</p>", "410 Gone", ""),
        "/plain" => answer("403 Forbidden", "Content-Type: text/plain\r\n", "captcha"),
        "/login" => page(
            "<title>x</title><form action=/in><input name=u><input type=password name=p></form>",
        ),
        "/moved" => to("/login"),
        "/lost" => page("<title>404</title><h1>404</h1><p>Nichts hier.</p>"),
        _ => page("<main><h1>Tide tables</h1><p>High water at the north quay: 04:12.</p></main>"),
    })
    .await;
    let opener = opener();
    for (path, want) in [
        ("/check", "captcha_or_challenge"),
        ("/mitigated", "captcha_or_challenge"),
        ("/members", "requires_login"),
        ("/pay", "paywall"),
        ("/gone", "http_410"),
        ("/plain", "http_403"),
        ("/login", "requires_login"),
        ("/moved", "requires_login"),
        ("/lost", "soft_404"),
        ("/tides", "open"),
    ] {
        let judged = opener
            .read(
                &site.url(path),
                Backend::Http,
                &GetOptions::default(),
                &SystemClock::default(),
                |opened| opened.judged(&ReadOptions::default()),
            )
            .await;
        match judged.outcome {
            Ok(got) => {
                assert_eq!(want, "open", "{path}");
                assert!(got.page.markdown.contains("04:12"));
                assert_eq!(got.judgement.access.confidence, 0.85);
            }
            Err(failure) => {
                assert_eq!(failure.code.as_str(), want, "{path}: {failure}");
                assert!(failure.status_code.is_some(), "{path}");
            }
        }
    }
}

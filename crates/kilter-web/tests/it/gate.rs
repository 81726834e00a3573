//! Opening URLs: robots asked first, the ladder from HTTP to the browser, the failure that says more.

use std::sync::atomic::Ordering;

use kilter_core::SystemClock;
use kilter_web::acquire::GetOptions;
use kilter_web::browser::Browser;
use kilter_web::open::{Backend, Body, Opened, Opener};
use kilter_web::robots::gate::RobotsGate;
use kilter_web::{Failure, FailureCode};

use crate::acquire::open_client;
use crate::browser::quick;
use crate::site::{Say, Site, answer, page, to};

fn opener() -> Opener {
    let client = open_client();
    Opener {
        browser: Browser::with_program(client.clone(), quick(), None),
        client,
        pdf: None,
        robots: None,
    }
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
    let opener = Opener {
        robots: Some(RobotsGate::default()),
        ..opener()
    };
    let clock = SystemClock::default();
    for (path, ok) in [
        ("/a", true),
        ("/private/x", false),
        ("/private/open/x", true),
        ("/private?x", false),
    ] {
        let got = opener
            .read(
                &site.url(path),
                Backend::Http,
                &GetOptions::default(),
                &clock,
                words,
            )
            .await;
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
    let clock = SystemClock::default();
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
        let opener = Opener {
            robots: Some(RobotsGate::default()),
            ..opener()
        };
        let got = opener
            .read(
                &site.url("/a"),
                Backend::Http,
                &GetOptions::default(),
                &clock,
                words,
            )
            .await;
        assert_eq!(got.outcome.is_ok(), ok, "{status}");
    }
    let site = Site::start(|r| match r.path.as_str() {
        "/robots.txt" => to("/robots.txt"),
        _ => page("words"),
    })
    .await;
    let opener = Opener {
        robots: Some(RobotsGate::default()),
        ..opener()
    };
    let got = opener
        .read(
            &site.url("/a"),
            Backend::Http,
            &GetOptions::default(),
            &clock,
            words,
        )
        .await;
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
    let clock = SystemClock::default();
    let opener = opener();
    let read = async |path: &str, backend| {
        opener
            .read(
                &site.url(path),
                backend,
                &GetOptions::default(),
                &clock,
                words,
            )
            .await
    };
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

//! Session profiles: what a name may be, what a file may hold, where its headers go, and that no value is ever shown.

use std::path::Path;

use kilter_core::SystemClock;
use kilter_web::acquire::GetOptions;
use kilter_web::browser::Browser;
use kilter_web::open::{Backend, Body, Opener};
use kilter_web::session::{Session, Sessions};
use kilter_web::{Failure, FailureCode};

use crate::acquire::open_client;
use crate::browser::{browser, quick};
use crate::gate::opener;
use crate::site::{Site, page, to};

const SECRET: &str = "s3cr3t-value";

fn put(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

fn code(got: Result<Session, Failure>) -> FailureCode {
    let failure = got.unwrap_err();
    assert!(!failure.to_string().contains(SECRET), "{failure}");
    assert!(failure.message.contains("hint:"), "{failure}");
    failure.code
}

#[test]
fn a_profile_is_a_file_with_a_plain_name() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("sessions");
    std::fs::create_dir(&root).unwrap();
    put(
        &root,
        "members.json",
        &format!(r#"{{"Authorization": "Bearer {SECRET}", "X-Club": "{SECRET}"}}"#),
    );
    put(dir.path(), "outside.json", "{}");
    let sessions = Sessions::at(&root);
    let got = sessions.session(Some("members")).unwrap();
    assert!(got.report.profile_found && !got.report.browser_state);
    assert_eq!(got.report.headers_applied, ["authorization", "x-club"]);
    let shown = format!("{got:?} {}", serde_json::to_string(&got.report).unwrap());
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(shown.contains("headersApplied"));
    // No name: nothing, whatever lies in the folder.
    let none = sessions.session(None).unwrap();
    assert!(none.report.headers_applied.is_empty() && !none.report.profile_found);
    for name in [
        "",
        "..",
        "../outside",
        "a/b",
        "a\\b",
        ".hidden",
        "a..b",
        "mem bers",
        "членам",
        "x\0",
        "%2e%2e",
        &"x".repeat(65),
    ] {
        let got = code(sessions.session(Some(name)));
        assert_eq!(got, FailureCode::InvalidSessionProfile, "{name:?}");
    }
    for sessions in [&sessions, &Sessions::default()] {
        let got = code(sessions.session(Some("nobody")));
        assert_eq!(got, FailureCode::SessionProfileNotFound);
    }
}

#[test]
fn a_file_that_is_none_is_refused_without_its_words() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("sessions");
    std::fs::create_dir(&root).unwrap();
    put(dir.path(), "state.json", "{}");
    put(&root, "broken-state.json", SECRET);
    put(
        &root,
        "no-domain.json",
        r#"{"cookies": [{"name": "a", "value": "b"}]}"#,
    );
    let state = |path: &str| format!(r#"{{"storageState": "{path}"}}"#);
    let outside = dir.path().join("state.json").display().to_string();
    let mut bad = vec![
        SECRET.to_owned(),
        format!("[\"{SECRET}\"]"),
        format!("{{\"X-A\": [\"{SECRET}\"]}}"),
        format!("{{\"X-A\": \"{SECRET}\\n\"}}"),
        format!("{{\"X A\": \"{SECRET}\"}}"),
        state("../state.json"),
        state(&outside),
        state("missing.json"),
        state("broken-state.json"),
        state("no-domain.json"),
        state(""),
    ];
    for name in [
        "Host",
        "Content-Length",
        "content-type",
        "Transfer-Encoding",
        "Connection",
        "Expect",
        "Upgrade",
    ] {
        bad.push(format!("{{\"{name}\": \"{SECRET}\"}}"));
    }
    #[cfg(unix)]
    {
        let link = root.join("link.json");
        std::os::unix::fs::symlink(dir.path().join("state.json"), link).unwrap();
        bad.push(state("link.json"));
    }
    bad.push(format!("{{\"X-A\": \"{}\"}}", "x".repeat(300_000)));
    for text in bad {
        put(&root, "p.json", &text);
        let got = code(Sessions::at(&root).session(Some("p")));
        assert_eq!(got, FailureCode::InvalidSessionProfile, "{text:.80}");
    }
}

#[test]
fn the_profile_goes_before_the_operator() {
    let dir = tempfile::tempdir().unwrap();
    let all = dir.path().join("headers.json");
    std::fs::write(&all, r#"{"X-From": "operator", "X-Also": "operator"}"#).unwrap();
    put(dir.path(), "p.json", r#"{"x-from": "profile"}"#);
    let sessions = Sessions::at(dir.path()).with_headers(&all).unwrap();
    let names = |s: Session| s.report.headers_applied;
    assert_eq!(names(sessions.session(None).unwrap()), ["x-from", "x-also"]);
    assert_eq!(
        names(sessions.session(Some("p")).unwrap()),
        ["x-also", "x-from"]
    );
    std::fs::write(&all, r#"{"Host": "x"}"#).unwrap();
    let refused = Sessions::default().with_headers(&all).unwrap_err();
    assert_eq!(refused.code, FailureCode::InvalidSessionProfile);
}

/// A server that says what it was sent.
async fn mirror() -> Site {
    Site::start(|r| {
        if let Some(away) = r.path.strip_prefix("/to/") {
            return to(&format!("http://{away}/seen"));
        }
        let said = |name: &str| r.header(name).unwrap_or("none").to_owned();
        page(&format!(
            "<main><h1>What was sent</h1><p>club: {} cookie: {}</p><p id=s></p></main>\
             <script>document.getElementById('s').textContent='stored: '+localStorage.getItem('k')</script>",
            said("x-club"),
            said("cookie")
        ))
    })
    .await
}

async fn seen(opener: &Opener, url: &str, backend: Backend, options: &GetOptions) -> String {
    let clock = SystemClock::default();
    let read = opener.read(url, backend, options, &clock, |opened| match opened.body {
        Body::Html(html) => Ok(html),
        Body::Page(page) => Ok(page.markdown),
    });
    read.await.outcome.unwrap()
}

fn members(dir: &Path, host: &str, origin: &str) -> Session {
    let state = format!(
        r#"{{"cookies": [{{"name": "sid", "value": "kept", "domain": "{host}", "path": "/", "expires": -1,
        "httpOnly": true, "secure": false, "sameSite": "Lax"}}],
        "origins": [{{"origin": "{origin}", "localStorage": [{{"name": "k", "value": "filled"}}]}}]}}"#
    );
    put(dir, "members-state.json", &state);
    put(
        dir,
        "members.json",
        r#"{"X-Club": "members", "Cookie": "own=1", "storageState": "members-state.json"}"#,
    );
    Sessions::at(dir).session(Some("members")).unwrap()
}

#[tokio::test]
async fn headers_go_to_the_site_that_was_asked_and_no_further() {
    let (site, other) = (mirror().await, mirror().await);
    let dir = tempfile::tempdir().unwrap();
    let session = members(dir.path(), "127.0.0.1", "http://127.0.0.1");
    assert!(session.report.browser_state);
    let opener = opener();
    let http =
        async |url: &str, options: &GetOptions| seen(&opener, url, Backend::Http, options).await;
    let got = http(&site.url("/seen"), &session.options()).await;
    assert!(
        got.contains("club: members cookie: own=1<"),
        "cookies of a browser stay with it: {got}"
    );
    let got = http(
        &site.url(&format!("/to/{}", other.addr)),
        &session.options(),
    )
    .await;
    assert!(got.contains("club: none cookie: none"), "{got}");
    // The next read is nobody's.
    let got = http(&site.url("/seen"), &GetOptions::default()).await;
    assert!(got.contains("club: none cookie: none"), "{got}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_brings_a_session_to_one_read_alone() {
    let (site, other) = (mirror().await, mirror().await);
    let client = open_client();
    let test = "a_browser_brings_a_session_to_one_read_alone";
    let Some(found) = browser(test, client.clone(), quick()) else {
        return;
    };
    let opener = Opener {
        browser: Browser::clone(&found),
        client,
        pdf: None,
        robots: None,
    };
    let dir = tempfile::tempdir().unwrap();
    let origin = format!("http://{}", site.addr);
    let session = members(dir.path(), "127.0.0.1", &origin);
    let read =
        async |url: &str, options: &GetOptions| seen(&opener, url, Backend::Browser, options).await;
    let got = read(&site.url("/seen"), &session.options()).await;
    assert!(got.contains("club: members"), "{got}");
    assert!(got.contains("sid=kept") && got.contains("own=1"), "{got}");
    assert!(got.contains("stored: filled"), "{got}");
    // Another origin gets no header and no storage; cookies are a host's, whatever its port.
    let got = read(
        &site.url(&format!("/to/{}", other.addr)),
        &session.options(),
    )
    .await;
    assert!(
        got.contains("club: none") && got.contains("stored: null"),
        "{got}"
    );
    let got = read(&site.url("/seen"), &GetOptions::default()).await;
    assert!(
        got.contains("club: none cookie: none") && got.contains("stored: null"),
        "nothing is left for the next read: {got}"
    );
}

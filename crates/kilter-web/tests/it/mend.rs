//! Mending and keeping playbooks: the frame of a page, selectors that hold on it, the dry run, the file.

use kilter_core::{SystemClock, Timestamp};
use kilter_web::acquire::GetOptions;
use kilter_web::dom::Document;
use kilter_web::playbook::anchors::{anchors, held};
use kilter_web::playbook::heal::survey;
use kilter_web::playbook::save::{check, write};
use kilter_web::playbook::signature::Status;
use kilter_web::playbook::skeleton::{Node, skeleton};
use kilter_web::playbook::{
    HealRequest, ResolveRequest, SaveRequest, Shelf, Source, Tier, find, heal, save,
};
use kilter_web::{Failure, FailureCode};
use serde_json::{Value, json};

use crate::gate::opener;
use crate::receipt::signer;
use crate::site::{Site, answer, page, to};

/// A page whose content moved from `.old-body` to `#tide-report`; in any language.
fn tides(words: &str) -> String {
    let paragraphs: String = (0..6)
        .map(|i| {
            format!(
                "<h2>{words} {i}</h2><p>{}</p>",
                format!("{words} {i} ").repeat(30)
            )
        })
        .collect();
    format!(
        "<!doctype html><title>{words}</title><body><header class=site-head><a href=/>{words}</a></header>\
         <nav><a href=/a>{words} a</a><a href=/b>{words} b</a></nav>\
         <div class=css-1x9f2k7><div id=tide-report class=report-body data-testid=report><h1>{words}</h1>{paragraphs}\
         <button>x</button></div></div><aside class=related-links><a href=/c>{words} c</a></aside></body>"
    )
}

fn book(host: &str, selectors: &[&str]) -> Value {
    json!({
        "schema_version": "1.0",
        "id": "tide-tables",
        "hosts": [host],
        "meta": {"title": "Tide tables"},
        "routing": {"preferred_backend": "http"},
        "extract": {"contentSelectors": selectors},
        "knowledge_schema": {"default": {"head": {"selector": "h1"}, "gone": {"selector": ".lost"}}},
        "agent_notes": "Times are local.",
    })
}

fn request(url: &str, book: &Value) -> SaveRequest {
    serde_json::from_value(json!({"url": url, "playbook_json": book.to_string()})).unwrap()
}

fn count(node: &Node) -> usize {
    1 + node.children.iter().map(count).sum::<usize>()
}

#[test]
fn a_skeleton_is_bounded_and_keeps_what_is_heavy() {
    let doc = Document::parse(&tides("Hochwasser"));
    let whole = skeleton(&doc, 600);
    let root = whole.root.unwrap();
    assert_eq!(
        (root.tag.as_str(), count(&root)),
        ("body", whole.stats.node_count)
    );
    assert_eq!(whole.stats.interactive_count, 5);
    let order: Vec<&str> = root.children.iter().map(|c| c.tag.as_str()).collect();
    assert_eq!(order, ["header", "nav", "div", "aside"], "as on the page");
    let report = &root.children[2].children[0];
    assert_eq!(
        (report.id.as_str(), report.test_id.as_str()),
        ("tide-report", "report")
    );
    assert!(report.chars > 1_000 && report.link_chars == 0);
    // A small one has the content, not the frame.
    let small = skeleton(&doc, 4);
    assert_eq!(small.stats.node_count, 4);
    let root = small.root.unwrap();
    assert_eq!(root.children[0].children[0].id, "tide-report");
    assert_eq!(root.more, 3, "what is left out is counted");
    assert_eq!(skeleton(&doc, 0).root, None);
    // Deep and wide pages stay within the bounds.
    let deep = format!(
        "<body>{}{}",
        "<div>".repeat(3_000),
        "<p>x</p>".repeat(3_000)
    );
    let got = skeleton(&Document::parse(&deep), 10_000);
    assert!(
        got.stats.node_count <= 600 && got.stats.max_depth <= 40,
        "{:?}",
        got.stats
    );
    assert!(serde_json::to_string(&got).unwrap().len() < 100_000);
}

#[test]
fn selectors_that_hold_are_proposed_with_what_they_give() {
    for words in ["high water", "Hochwasser", "прилив", "満潮", "login cookie"] {
        let doc = Document::parse(&tides(words));
        let found = anchors(&doc);
        let best = &found.main_candidates[0];
        assert!(
            [
                "#tide-report",
                "[data-testid=\"report\"]",
                "div.report-body"
            ]
            .contains(&best.selector.as_str()),
            "{words}: {:?}",
            found.main_candidates
        );
        assert!(
            best.gate.passes_gate && best.score > 90.0 && best.matches == 1,
            "{best:?}"
        );
        assert!(best.text_anchor.contains(words.split(' ').next().unwrap()));
        // What a build named is not proposed.
        assert!(
            found
                .main_candidates
                .iter()
                .all(|c| !c.selector.contains("1x9f2k7"))
        );
        assert!(found.landmarks.iter().any(|l| l.selector == "nav"));
        assert_eq!(found.data_test_ids, ["[data-testid=\"report\"]"]);
    }
    let doc = Document::parse(&tides("x"));
    let states = held(
        &doc,
        &[
            ".old-body".to_owned(),
            "#tide-report".to_owned(),
            "p >".to_owned(),
        ],
    );
    assert_eq!(
        states.iter().map(|s| s.matches).collect::<Vec<_>>(),
        [0, 1, 0]
    );
    assert!(
        states[2]
            .error
            .as_deref()
            .is_some_and(|e| e.contains("hint:"))
    );
}

async fn server() -> Site {
    Site::start(|r| match r.path.as_str() {
        "/tides" | "/deep/tides" => page(&tides("high water")),
        "/check" => answer(
            "403 Forbidden",
            "Content-Type: text/html\r\n",
            "<script>window._cf_chl_opt={};</script>",
        ),
        "/json" => answer(
            "200 OK",
            "Content-Type: application/json\r\n",
            "{\"a\": \"b\"}",
        ),
        "/links" => page(&format!(
            "<main><ul>{}</ul></main>",
            "<li><a href=/x>Station</a></li>".repeat(40)
        )),
        _ => answer("404 Not Found", "", ""),
    })
    .await
}

async fn mend(
    site: &Site,
    path: &str,
    reason: &str,
    shelf: &Shelf,
) -> Result<kilter_web::playbook::Healed, Failure> {
    let request: HealRequest =
        serde_json::from_value(json!({"url": site.url(path), "failure_reason": reason})).unwrap();
    let clock = SystemClock::default();
    heal(&request, &opener(), &GetOptions::default(), shelf, &clock).await
}

#[tokio::test]
async fn healing_says_what_broke_and_what_would_hold() {
    let site = server().await;
    let mut shelf = Shelf::default();
    shelf.add(
        Tier::Local,
        None,
        &book("127.0.0.1", &[".old-body"]).to_string(),
    );
    let got = mend(&site, "/tides", "content_selectors_miss", &shelf)
        .await
        .unwrap();
    assert_eq!(got.playbook_id.as_deref(), Some("tide-tables"));
    assert_eq!(got.current_selectors[0].matches, 0);
    assert_eq!(got.lost_fields, ["gone"]);
    assert_eq!(
        (got.agent_hints.max_verify_retries, got.backend.as_str()),
        (3, "http")
    );
    let value = serde_json::to_value(&got).unwrap();
    for key in ["domSkeleton", "anchors", "agentHints", "currentSelectors"] {
        assert!(value.get(key).is_some(), "{key}");
    }
    assert!(value["anchors"]["mainCandidates"][0]["gate"]["passesGate"] == true);
    // The proposed selector, saved, passes the gate.
    let best = got.anchors.main_candidates[0].selector.clone();
    let dir = tempfile::tempdir().unwrap();
    let saved = save(
        &request(&site.url("/tides"), &book("127.0.0.1", &[&best])),
        &opener(),
        &GetOptions::default(),
        dir.path(),
        Some(&signer()),
        &SystemClock::default(),
    )
    .await
    .unwrap();
    assert!(saved.verify.unwrap().passes_gate);
    // What no playbook mends, and what is no page.
    let code =
        async |path: &str, reason: &str| mend(&site, path, reason, &shelf).await.unwrap_err().code;
    assert_eq!(
        code("/tides", "http_404").await,
        FailureCode::HealNotApplicable
    );
    assert_eq!(
        code("/tides", "nonsense").await,
        FailureCode::InvalidFailureReason
    );
    assert_eq!(
        code("/check", "thin_extract").await,
        FailureCode::CaptchaOrChallenge
    );
    assert_eq!(
        code("/json", "thin_extract").await,
        FailureCode::UnsupportedContentType
    );
    assert_eq!(code("/none", "thin_extract").await, FailureCode::Http(404));
    let opened = opener()
        .http(&site.url("/tides"), &GetOptions::default())
        .await
        .unwrap();
    assert_eq!(
        survey(&opened, &Shelf::default(), 5)
            .unwrap()
            .dom_skeleton
            .stats
            .node_count,
        5
    );
}

#[tokio::test]
async fn only_what_passes_its_dry_run_is_kept() {
    let site = server().await;
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("playbooks/local");
    let keep = async |request: &SaveRequest| {
        let clock = SystemClock::default();
        save(
            request,
            &opener(),
            &GetOptions::default(),
            &place,
            Some(&signer()),
            &clock,
        )
        .await
    };
    let url = site.url("/tides");
    let host = "127.0.0.1";
    for (selectors, code) in [
        (&[".old-body"][..], FailureCode::PlaybookVerifyFailed),
        (&["nav"], FailureCode::PlaybookVerifyFailed),
        (&["h1"], FailureCode::PlaybookVerifyFailed),
        (&["p:nth-of-type(1)"], FailureCode::PlaybookVerifyLowScore),
        (&["p >"], FailureCode::PlaybookVerifyFailed),
    ] {
        let got = keep(&request(&url, &book(host, selectors))).await;
        let failure = got
            .err()
            .unwrap_or_else(|| panic!("{selectors:?} was kept"));
        assert_eq!(failure.code, code, "{selectors:?}: {failure}");
        assert!(!failure.decisions.is_empty());
    }
    let links = keep(&request(&site.url("/links"), &book(host, &["ul"])))
        .await
        .unwrap_err();
    assert!(
        matches!(
            links.code,
            FailureCode::PlaybookVerifyHighNoise | FailureCode::PlaybookVerifyFailed
        ),
        "{links:?}"
    );
    for (change, code) in [
        (
            json!({"url": "https://else.example.test/"}),
            FailureCode::PlaybookSaveRejected,
        ),
        (
            json!({"verify_url": "https://else.example.test/"}),
            FailureCode::PlaybookSaveRejected,
        ),
        (
            json!({"verify_url": site.url("/check")}),
            FailureCode::PlaybookVerifyFailed,
        ),
        (
            json!({"verify_url": site.url("/none")}),
            FailureCode::PlaybookVerifyFailed,
        ),
        (
            json!({"playbook_json": "{"}),
            FailureCode::PlaybookSchemaInvalid,
        ),
        (
            json!({"lesson_note": "x".repeat(501)}),
            FailureCode::InvalidArguments,
        ),
        (
            json!({"failure_reason": "TypeError"}),
            FailureCode::InvalidFailureReason,
        ),
        (json!({"host_id": "a b"}), FailureCode::InvalidArguments),
    ] {
        let mut value =
            serde_json::to_value(request(&url, &book(host, &["#tide-report"]))).unwrap();
        value
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let got = keep(&serde_json::from_value(value).unwrap())
            .await
            .unwrap_err();
        assert_eq!(got.code, code, "{change}: {got}");
    }
    let secret = json!({"token": "9f8e7d6c5b4a39281706f5e4d3c2b1a0"});
    let mut with_secret = book(host, &["#tide-report"]);
    with_secret["x"] = secret;
    assert_eq!(
        keep(&request(&url, &with_secret)).await.unwrap_err().code,
        FailureCode::PlaybookSaveRejected
    );
    assert!(!place.exists(), "nothing was written by what was refused");

    let mut good = request(&url, &book(host, &["#tide-report"]));
    good.lesson_note = Some("the report moved to #tide-report".to_owned());
    good.failure_reason = Some("content_selectors_miss".to_owned());
    good.host_id = Some("night-watch".to_owned());
    let saved = keep(&good).await.unwrap();
    assert!(saved.lesson_appended && saved.signature.status == Status::Verified);
    assert_eq!(saved.signature.score, saved.verify.map(|g| g.score));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |p: &std::path::Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&saved.written_path), mode(&place)), (0o600, 0o700));
    }
    let names: Vec<_> = std::fs::read_dir(&place)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["tide-tables.json"], "no half file is left");
    // It is found, and it says what was learnt; saving again keeps that.
    good.lesson_note = Some("second".to_owned());
    keep(&good).await.unwrap();
    let shelf = Shelf::read(&[Source {
        tier: Tier::Local,
        dir: place.clone(),
    }]);
    let found = kilter_web::playbook::resolve(&shelf, &url, true, &[signer().public()]).unwrap();
    let lessons = found.lessons.unwrap();
    assert_eq!(lessons.len(), 2);
    assert_eq!(
        (lessons[0].note.as_str(), lessons[1].by.as_str()),
        ("second", "night-watch")
    );
    assert_eq!(lessons[1].reason, "content_selectors_miss");
    assert_eq!(found.signature.status, Status::Verified);
    // Another site cannot take its place, and a signature is never brought along.
    let mut other = book("other.example.test", &["main"]);
    other["provenance"] = json!({"v": 2, "sig": "x", "keyId": "ed1:0"});
    let mut brought = request("https://other.example.test/", &other);
    brought.verify = false;
    let admitted = check(&brought).unwrap();
    let taken = write(admitted.clone(), None, &place, None, Timestamp(0)).unwrap_err();
    assert_eq!(taken.code, FailureCode::PlaybookSaveRejected);
    let elsewhere = dir.path().join("elsewhere");
    let unsigned = write(admitted, None, &elsewhere, Some(&signer()), Timestamp(0)).unwrap();
    assert_eq!(
        unsigned.signature.status,
        Status::Unsigned,
        "what was not tried is not signed"
    );
    // A folder that is a file: a typed refusal.
    std::fs::write(dir.path().join("file"), "").unwrap();
    let blocked = write(
        check(&good).unwrap(),
        None,
        &dir.path().join("file"),
        None,
        Timestamp(0),
    );
    assert_eq!(blocked.unwrap_err().code, FailureCode::PlaybookSaveRejected);
}

#[tokio::test]
async fn a_site_may_have_a_playbook_of_its_own() {
    let mut own = book("127.0.0.1", &["main"]);
    own["schema_version"] = json!("1.4");
    own["hosts"] = json!(["127.0.0.1", "bank.example.test"]);
    own["browser"] = json!({"js_before_wait": "steal()"});
    let text = own.to_string();
    let kept = move |path: &str| match path {
        "/.well-known/agent-genome.v1.json" => {
            answer("200 OK", "Content-Type: application/json\r\n", text.clone())
        }
        _ => page("<p>x</p>"),
    };
    let site = Site::start(move |r| kept(&r.path)).await;
    let bare = Site::start(|_| answer("404 Not Found", "", "")).await;
    let other = book("other.example.test", &["main"]).to_string();
    let foreign = Site::start(move |_| {
        answer(
            "200 OK",
            "Content-Type: application/json\r\n",
            other.clone(),
        )
    })
    .await;
    let endless = Site::start(|_| {
        answer(
            "200 OK",
            "Content-Type: application/json\r\n",
            "x".repeat(40_000),
        )
    })
    .await;
    let away = Site::start(|_| to("https://other.example.test/x")).await;
    let client = opener().client;
    let ask = async |url: &str, fetch: bool, shelf: &Shelf| {
        let request = json!({"url": url, "fetch_site_genome": fetch});
        let request: ResolveRequest = serde_json::from_value(request).unwrap();
        find(&request, shelf, &[], Some(&client)).await
    };
    let none = Shelf::default();
    let got = ask(&site.url("/a"), true, &none).await.unwrap();
    assert_eq!(
        (got.provenance, got.playbook_id.as_str()),
        (Tier::Site, "tide-tables")
    );
    assert!(got.genome_fetch.unwrap().ok && got.schema_version_warning.is_some());
    assert_eq!(got.knowledge_schema.unwrap().len(), 2);
    // Not asked for: not asked.
    let before = site.touched();
    let got = ask(&site.url("/a"), false, &none).await.unwrap_err();
    assert_eq!(
        (got.code, site.touched()),
        (FailureCode::PlaybookNotFound, before)
    );
    // What is here goes before what the site says, and the site is not even asked.
    let mut shelf = Shelf::default();
    shelf.add(
        Tier::Community,
        None,
        &book("127.0.0.1", &["article"]).to_string(),
    );
    let got = ask(&site.url("/a"), true, &shelf).await.unwrap();
    assert_eq!((got.provenance, site.touched()), (Tier::Community, before));
    for (site, why) in [
        (&bare, "http_404"),
        (&foreign, "does not name"),
        (&endless, "response_too_large"),
        (&away, ""),
    ] {
        let got = ask(&site.url("/a"), true, &none).await.unwrap_err();
        assert_eq!(got.code, FailureCode::PlaybookNotFound);
        assert!(got.message.contains(why), "{got}");
    }
}

//! The one entry: from a URL to a typed result, its reply within a budget, its receipt.

use std::sync::Arc;

use kilter_core::SystemClock;
use kilter_web::acquire::Client;
use kilter_web::browser::Browser;
use kilter_web::budget::{O200k, Tokenizer};
use kilter_web::focus::FocusStatus;
use kilter_web::hash::content_hash;
use kilter_web::open::{Backend, Opener};
use kilter_web::playbook::lint::parse;
use kilter_web::reading::{Beside, Bytes, Operator, Reader, Request, failed};
use kilter_web::receipt::{KeyStore, verify};
use kilter_web::{FailureCode, block};
use serde_json::{Value, json};

use crate::acquire::open_client;
use crate::browser::quick;
use crate::site::{Site, answer, page};

const TIDES: &str = "<!doctype html><html lang=en><title>Tide tables</title><nav><a href=/home>Home</a></nav><main>
<h1>Tide tables</h1><p>High water stands at the north quay about forty minutes before the south quay.</p>
<h2>Opening hours</h2><p>The harbour office opens at seven and closes at four, on every day of the week.</p>
<ul><li>Pilots call before six.</li><li>See <a href='/pilots'>the list of pilots</a>.</li></ul>
<h2>Depths</h2><table><tr><th>Quay<th>Depth</tr><tr><td>north<td>7 m</tr></table>
<p style='display:none'>Nobody sees this sentence, and nobody should read it.</p></main>";

fn reader(client: Client, keys: Option<KeyStore>) -> Reader {
    let opener = Opener {
        browser: Browser::with_program(client.clone(), quick(), None),
        client,
        pdf: None,
        robots: None,
    };
    Reader::new(opener, keys, Arc::new(SystemClock::default()))
}

async fn site() -> Site {
    Site::start(|r| match r.path.as_str() {
        "/tides" => page(TIDES),
        "/shell" => page("<!doctype html><div id=app></div><script>go()</script>"),
        "/notes.md" => answer(
            "200 OK",
            "Content-Type: text/plain\r\n",
            "# Notes\n\nHigh *water*\nat six.\n\n\n- a\n- b\n",
        ),
        "/gone" => answer("410 Gone", "Content-Type: text/html\r\n", "<p>gone</p>"),
        "/in" => answer(
            "401 No",
            "WWW-Authenticate: Basic\r\nContent-Type: text/html\r\n",
            "<p>in</p>",
        ),
        _ => answer("404 Not Found", "Content-Type: text/html\r\n", "<p>no</p>"),
    })
    .await
}

#[tokio::test]
async fn a_page_is_read_from_its_url_to_its_reply() {
    let (site, dir) = (site().await, tempfile::tempdir().unwrap());
    let keys = KeyStore::open(dir.path(), true);
    let reader = reader(open_client(), Some(keys.clone()));
    let request = Request {
        receipt: true,
        ..Request::new(site.url("/tides"))
    };
    let done = reader.read(&request).await;
    let got = done.outcome.expect("a page");
    assert_eq!((got.backend, got.status, got.complete), ("http", 200, true));
    assert_eq!(got.content_hash, content_hash(&got.page.markdown));
    assert_eq!(got.page.markdown, block::markdown(&got.page.blocks));
    assert!(!got.page.markdown.contains("Nobody sees"));
    let links: Vec<&str> = got.links().iter().map(|l| l.href.as_str()).collect();
    assert_eq!(links, [site.url("/pilots")]);
    let reply = got
        .reply(
            &Beside {
                blocks: true,
                tables: true,
                ..Beside::default()
            },
            None,
            &O200k,
        )
        .unwrap();
    assert_eq!(reply["ok"], true);
    assert_eq!(reply["markdown"], got.page.markdown.as_str());
    assert_eq!(reply["tables"][0]["rows"], json!([["north", "7 m"]]));
    assert_eq!(
        reply["blocks"].as_array().unwrap().len(),
        got.page.blocks.len()
    );
    assert_eq!(reply["omitted"][0]["reason"], "hidden");
    // The receipt is of these very blocks.
    let receipt = reply["receipt"].clone();
    assert_eq!(receipt["signed"]["leafCount"], got.page.blocks.len());
    let given = verify::from_value(&receipt).unwrap();
    let report = verify::offline(
        &given,
        Some(&got.page.markdown),
        &keys.public_keys().unwrap(),
    );
    assert!(report.verdict.is_good(), "{report:?}");
    // What was not asked for is not there, and costs nothing.
    let bare = reader
        .read(&Request::new(site.url("/tides")))
        .await
        .outcome
        .unwrap();
    let bare = bare.reply(&Beside::default(), None, &O200k).unwrap();
    assert!(bare.get("blocks").is_none() && bare.get("receipt").is_none());
}

#[tokio::test]
async fn a_budget_holds_and_says_what_is_missing() {
    let site = site().await;
    let reader = reader(open_client(), None);
    let url = site.url("/tides");
    for (max, focus) in [
        (128, None),
        (170, Some("depths of the quays")),
        (260, None),
        (4_000, None),
    ] {
        let request = Request {
            max_tokens: Some(max),
            focus: focus.map(str::to_owned),
            ..Request::new(&url)
        };
        let got = reader.read(&request).await.outcome.unwrap();
        let beside = Beside {
            blocks: true,
            ..Beside::default()
        };
        let reply = got.reply(&beside, Some(max), &O200k).unwrap();
        let tokens = O200k.count(&reply.to_string());
        assert!(tokens <= max as usize, "{tokens} of {max}");
        assert_eq!(reply["compile"]["tokens"], tokens);
        if focus.is_some() {
            assert!(
                reply["markdown"].as_str().unwrap().contains("7 m"),
                "{reply}"
            );
        }
        if max == 4_000 {
            // Whole, it is the text that the hash is of.
            assert_eq!(
                content_hash(reply["markdown"].as_str().unwrap()),
                got.content_hash
            );
            assert_eq!(reply["compile"]["truncated"], false);
        }
    }
    let small = Request {
        max_tokens: Some(64),
        ..Request::new(&url)
    };
    let failure = reader.read(&small).await.outcome.expect_err("too small");
    assert_eq!(failure.code, FailureCode::InvalidArguments);
}

#[tokio::test]
async fn a_question_keeps_what_answers_it_and_lists_the_rest() {
    let site = site().await;
    let reader = reader(open_client(), None);
    let ask = |focus: &str, prune| Request {
        focus: Some(focus.to_owned()),
        prune,
        ..Request::new(site.url("/tides"))
    };
    let whole = reader
        .read(&ask("opening hours", false))
        .await
        .outcome
        .unwrap();
    let pruned = reader
        .read(&ask("opening hours", true))
        .await
        .outcome
        .unwrap();
    assert_eq!(
        (whole.answered, pruned.answered),
        (FocusStatus::Hit, FocusStatus::Hit)
    );
    assert!(pruned.page.markdown.contains("opens at seven"));
    assert!(!pruned.page.markdown.contains("7 m") && whole.page.markdown.contains("7 m"));
    assert!(
        pruned
            .page
            .omitted
            .iter()
            .any(|o| o.reason == "focus" && o.what == "Depths" && o.chars > 5)
    );
    assert_eq!(pruned.content_hash, content_hash(&pruned.page.markdown));
    assert!(!pruned.complete && whole.complete);
    assert_ne!(pruned.materialization_key, whole.materialization_key);
    // A page that answers nowhere is kept whole, and that is said.
    let miss = reader
        .read(&ask("zebra xylophone", true))
        .await
        .outcome
        .unwrap();
    assert_eq!(miss.page.markdown, whole.page.markdown);
    assert_eq!(miss.warnings, ["focus_not_found"]);
    // A fragment is a hint, and never sent.
    let hint = Request::new(format!("{}#depths", site.url("/tides")));
    let hinted = reader.read(&hint).await.outcome.unwrap();
    assert_eq!(hinted.focus.anchor.as_deref(), Some("Depths"));
    assert!(site.paths().iter().all(|p| !p.contains('#')));
}

#[tokio::test]
async fn sections_by_heading_and_the_same_page_again() {
    let site = site().await;
    let reader = reader(open_client(), None);
    let named = |names: &[&str]| Request {
        sections: names.iter().map(|n| (*n).to_owned()).collect(),
        ..Request::new(site.url("/tides"))
    };
    for name in ["Opening hours", "opening-hours", "HOURS"] {
        let got = reader.read(&named(&[name])).await.outcome.unwrap();
        let text = got.page.markdown;
        assert!(
            text.starts_with("## Opening hours") && !text.contains("7 m"),
            "{name}: {text}"
        );
        assert!(text.contains("- Pilots call before six.\n- See"), "{text}");
    }
    let both = reader
        .read(&named(&["depths", "nothing", "opening hours"]))
        .await
        .outcome
        .unwrap();
    assert!(both.page.markdown.contains("7 m") && both.page.markdown.contains("seven"));
    let miss = reader
        .read(&named(&["nothing"]))
        .await
        .outcome
        .expect_err("a miss");
    assert_eq!(miss.code, FailureCode::ContentSelectorsMiss);

    let first = reader
        .read(&Request::new(site.url("/tides")))
        .await
        .outcome
        .unwrap();
    let bare = first.content_hash.trim_start_matches("sha256:").to_owned();
    let again = Request {
        if_none_match: Some(bare),
        ..Request::new(site.url("/tides"))
    };
    let again = reader.read(&again).await.outcome.unwrap();
    assert!(again.unchanged);
    let reply = again
        .reply(
            &Beside {
                blocks: true,
                ..Beside::default()
            },
            None,
            &O200k,
        )
        .unwrap();
    assert_eq!(reply["unchanged"], true);
    assert!(reply.get("markdown").is_none() && reply.get("blocks").is_none());
}

#[tokio::test]
async fn a_playbook_is_applied_or_said_to_miss() {
    let site = site().await;
    let reader = reader(open_client(), None);
    let book = |selector: &str| {
        let text = json!({"schema_version": "1.0", "id": "tides", "version": "3", "hosts": ["127.0.0.1"],
            "routing": {"preferred_backend": "http"}, "extract": {"contentSelectors": [selector]}});
        parse(&text.to_string()).0
    };
    let request = |selector: &str| Request {
        playbook: book(selector),
        ..Request::new(site.url("/tides"))
    };
    let got = reader.read(&request("main ul")).await.outcome.unwrap();
    assert_eq!(got.playbook, Some(("tides".to_owned(), "3".to_owned())));
    assert!(
        got.page.markdown.starts_with("- Pilots call"),
        "{}",
        got.page.markdown
    );
    let got = reader.read(&request("#missing")).await.outcome.unwrap();
    assert_eq!(
        (got.playbook.as_ref(), got.warnings[0].as_str()),
        (None, "playbook_selectors_miss")
    );
    assert!(got.page.markdown.contains("High water"));
    assert_eq!(request("main").policy(), Backend::Http);
}

#[tokio::test]
async fn a_failure_has_one_shape_and_proves_what_it_can() {
    let (site, dir) = (site().await, tempfile::tempdir().unwrap());
    let keys = KeyStore::open(dir.path(), true);
    let reader = reader(open_client(), Some(keys.clone()));
    for (path, code, proven) in [
        ("/gone", "http_410", true),
        ("/in", "requires_login", true),
        ("/shell", "thin_extract", false),
    ] {
        let url = site.url(path);
        let request = Request {
            receipt: true,
            ..Request::new(&url)
        };
        let done = reader.read(&request).await;
        let failure = done.outcome.as_ref().expect_err(path).clone();
        let reply = failed(&url, &done, &failure);
        assert_eq!(
            (&reply["ok"], &reply["failure"]["code"]),
            (&Value::Bool(false), &json!(code)),
            "{reply}"
        );
        assert!(reply["decisions"].is_array() && reply.get("markdown").is_none());
        assert_eq!(done.receipt.is_some(), proven, "{path}");
        if let Some(receipt) = &done.receipt {
            assert_eq!(receipt["signed"]["kind"], "negative");
            let keys = keys.public_keys().unwrap();
            let given = verify::from_value(receipt).unwrap();
            assert!(verify::offline(&given, None, &keys).verdict.is_good());
        }
    }
    let denied = self::reader(
        Client::new(kilter_web::acquire::Settings::default()).unwrap(),
        None,
    );
    let done = denied.read(&Request::new(site.url("/tides"))).await;
    assert_eq!(
        done.outcome.expect_err("denied").code,
        FailureCode::PrivateUrlBlocked
    );
}

#[tokio::test]
async fn bytes_that_are_here_are_read_like_a_url() {
    let site = site().await;
    let reader = reader(open_client(), None);
    let served = reader
        .read(&Request::new(site.url("/tides")))
        .await
        .outcome
        .unwrap();
    let source = Bytes {
        bytes: TIDES.as_bytes().to_vec(),
        name: "tides.html".to_owned(),
        base: Some(site.url("/tides").parse().unwrap()),
        ..Bytes::default()
    };
    let got = reader
        .read_bytes(source, &Request::default())
        .await
        .outcome
        .unwrap();
    assert_eq!(got.page.markdown, served.page.markdown);
    assert_eq!(
        (got.backend, got.url.as_str()),
        ("file", served.url.as_str())
    );
    // A document that passes through as it is keeps its very text within a budget.
    let notes = reader
        .read(&Request::new(site.url("/notes.md")))
        .await
        .outcome
        .unwrap();
    let reply = notes
        .reply(&Beside::default(), Some(1_000), &O200k)
        .unwrap();
    assert_eq!(
        reply["markdown"],
        "# Notes\n\nHigh *water*\nat six.\n\n\n- a\n- b"
    );
    assert_eq!(
        content_hash(reply["markdown"].as_str().unwrap()),
        notes.content_hash
    );
}

#[test]
fn the_operator_is_read_from_the_environment_alone() {
    let of = |vars: &'static [(&'static str, &'static str)]| {
        Operator::from_env(|name| {
            vars.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        })
    };
    let plain = of(&[]).unwrap();
    assert!(!plain.allow_private && !plain.robots && plain.receipts.is_none());
    let set = of(&[
        ("KILTER_ALLOW_PRIVATE_URLS", "1"),
        ("OCCAM_RESPECT_ROBOTS", "true"),
        ("KILTER_FETCH_TIMEOUT_MS", "2000"),
        ("KILTER_RECEIPTS", "0"),
    ])
    .unwrap();
    assert!(set.allow_private && set.robots && set.receipts == Some(false));
    assert_eq!(set.limits.total.as_millis(), 2_000);
    let both = of(&[
        ("KILTER_ALLOW_PRIVATE_URLS", "0"),
        ("OCCAM_ALLOW_PRIVATE_URLS", "1"),
    ])
    .unwrap();
    assert!(!both.allow_private, "the newer name holds");
    for wrong in [
        &[("KILTER_ALLOW_PRIVATE_URLS", "maybe")],
        &[("KILTER_MAX_RESPONSE_BYTES", "12")],
    ] as [&'static [_]; 2]
    {
        let failure = of(wrong).expect_err("no such value");
        assert!(
            failure.message.contains(wrong[0].0) && failure.message.contains("hint:"),
            "{failure}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_reader_answers_after_every_hostile_page() {
    let site = Site::start(|r| match r.path.as_str() {
        "/good" => page(TIDES),
        "/nested" => page(&"<div>".repeat(1_000_000)),
        "/attributes" => page(&format!("<p{}>x", " a=1".repeat(500_000))),
        "/huge" => answer("200 OK", "Content-Type: text/html\r\n", vec![b'a'; 9 << 20]),
        "/noise" => answer(
            "200 OK",
            "Content-Type: text/html\r\n",
            (0..=255_u8).cycle().take(1 << 20).collect::<Vec<_>>(),
        ),
        _ => crate::site::to(&format!("{}x", r.path)),
    })
    .await;
    let reader = reader(open_client(), None);
    for path in ["/nested", "/attributes", "/huge", "/noise", "/loop"] {
        let (hostile, good) = (
            Request::new(site.url(path)),
            Request::new(site.url("/good")),
        );
        // Beside the hostile read, and after it.
        let (bad, beside) = tokio::join!(reader.read(&hostile), reader.read(&good));
        if let Err(failure) = bad.outcome {
            assert_ne!(
                failure.code,
                FailureCode::ExtractionFailed,
                "{path}: {failure}"
            );
        }
        assert!(beside.outcome.is_ok(), "{path}");
        assert!(reader.read(&good).await.outcome.is_ok(), "{path}");
    }
}

//! The tools over pages of a site on loopback.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kilter_mcp::link::http::{Options, serve};
use kilter_mcp::{Config, Surface, ToolId};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::bench::{Bench, bench, open_bench};
use crate::pages;
use crate::raw::{NEW, OldSession, new_era, read_until, write};

async fn call(bench: &Bench, name: &str, arguments: Value) -> Value {
    bench.call(Surface::Full, name, arguments).await
}

#[tokio::test]
async fn the_cascade_reads_a_page_and_knows_it_again() {
    let (bench, site) = (open_bench(Config::default()).await, pages::open().await);
    let url = site.url("/article/4");
    let read = call(&bench, "occam", json!({"url": url})).await;
    assert_eq!(read["ok"], true, "{read}");
    let markdown = read["markdown"].as_str().expect("markdown");
    assert!(markdown.contains("fourteen years") && !markdown.contains("imprint"));
    assert_eq!(
        read["receipt"]["signed"]["contentHash"],
        read["contentHash"]
    );
    let again = json!({"url": url, "if_none_match": read["contentHash"]});
    let again = call(&bench, "occam", again).await;
    assert_eq!(again["unchanged"], true, "{again}");
    assert!(again.get("markdown").is_none());
    let small = json!({"url": url, "task": "opening hours of the lighthouse", "budget": 200});
    let small = call(&bench, "occam", small).await;
    use kilter_web::budget::{O200k, Tokenizer as _};
    assert!(O200k.count(&small.to_string()) <= 200, "{small}");
    assert!(
        small["markdown"]
            .as_str()
            .is_some_and(|m| m.contains("nine to five")),
        "{small}"
    );
    let gone = call(&bench, "occam", json!({"url": site.url("/gone")})).await;
    assert_eq!(gone["failure"]["code"], "http_410", "{gone}");
    assert!(gone.get("markdown").is_none());
}

#[tokio::test]
async fn the_window_bounds_a_reply_by_default() {
    let (bench, site) = (open_bench(Config::default()).await, pages::open().await);
    let served = serve(
        &bench.server,
        "127.0.0.1:0".parse().expect("at"),
        &Options::default(),
    )
    .await
    .expect("a port");
    let mut session = OldSession::open(served.address(), "/mcp").await;
    session
        .call(
            "occam_client_capabilities",
            json!({"context_tokens": 1_024}),
        )
        .await;
    let read = session
        .call("occam_transcode", json!({"url": site.url("/article/1")}))
        .await;
    let tokens = read["structuredContent"]["compile"]["tokens"].as_u64();
    assert!(tokens.is_some_and(|t| t <= 512), "{read}");
    served.shutdown().await;
}

#[tokio::test]
async fn the_full_reader_gives_what_is_asked_and_nothing_else() {
    let (bench, site) = (open_bench(Config::default()).await, pages::open().await);
    let url = site.url("/article/2");
    let plain = call(&bench, "occam_transcode", json!({"url": url})).await;
    assert_eq!(plain["ok"], true, "{plain}");
    for name in ["blocks", "tables", "chunks", "diff"] {
        assert!(plain.get(name).is_none(), "{name}");
    }
    let all = json!({
        "url": url, "json_blocks": true, "json_tables": true, "semantic_chunking": true,
        "rank_blocks": true, "focus_query": "tides on monday", "emit_capsule": true,
    });
    let all = call(&bench, "occam_transcode", all).await;
    assert_eq!(
        all["tables"][0]["rows"][0],
        json!(["Monday", "06:12"]),
        "{all}"
    );
    assert!(all["blocks"][0]["salience"].is_number(), "{all}");
    assert_eq!(all["chunks"][1]["headers"], json!(["Opening hours"]));
    let capsule = all["receipt"]["capsule"].as_str().expect("a capsule");
    let checked = call(&bench, "occam_verify", json!({"receipt": capsule})).await;
    assert_eq!(checked["verdict"], "verified", "{checked}");
    let tampered = json!({"receipt": plain["receipt"], "markdown": "something else"});
    let tampered = call(&bench, "occam_verify", tampered).await;
    assert_eq!(
        (&tampered["ok"], &tampered["verdict"]),
        (&json!(false), &json!("content_mismatch"))
    );
    let section = json!({"url": url, "content_selectors": ["Opening hours"]});
    let section = call(&bench, "occam_transcode", section).await;
    assert!(
        section["markdown"]
            .as_str()
            .is_some_and(|m| !m.contains("granite")),
        "{section}"
    );
    let missed = json!({"url": url, "content_selectors": ["No such heading"]});
    let missed = call(&bench, "occam_transcode", missed).await;
    assert_eq!(missed["failure"]["code"], "content_selectors_miss");
}

#[tokio::test]
async fn a_page_that_changed_is_told_from_its_receipt_and_its_blocks() {
    let (bench, site) = (
        open_bench(Config {
            opt_in: vec![ToolId::Watch],
            ..Config::default()
        })
        .await,
        pages::open().await,
    );
    let url = site.url("/changing");
    let first = call(
        &bench,
        "occam_transcode",
        json!({"url": url, "diff_against": ["0"]}),
    )
    .await;
    let hashes = first["diff"]["blockHashes"].clone();
    let live = json!({"receipt": first["receipt"], "mode": "live"});
    let same = call(&bench, "occam_verify", live.clone()).await;
    assert_eq!(
        (&same["verdict"], &same["live"]["drift"]),
        (&json!("verified"), &json!(false))
    );
    let seen = call(&bench, "occam_watch", json!({"url": url})).await;
    assert_eq!(seen["status"], "baseline", "{seen}");
    site.site.edition.store(2, Ordering::Relaxed);
    let drifted = call(&bench, "occam_verify", live).await;
    assert_eq!(drifted["verdict"], "drifted", "{drifted}");
    let delta = json!({"url": url, "diff_against": hashes, "delta_only": true});
    let delta = call(&bench, "occam_transcode", delta).await;
    assert!(delta.get("markdown").is_none(), "{delta}");
    assert_eq!(
        delta["diff"]["addedBlocks"].as_array().map(Vec::len),
        Some(1),
        "{delta}"
    );
    let seen = call(&bench, "occam_watch", json!({"url": url})).await;
    assert_eq!(
        (&seen["status"], &seen["states"]),
        (&json!("changed"), &json!(2)),
        "{seen}"
    );
}

#[tokio::test]
async fn a_digest_reads_what_can_be_read() {
    let (bench, site) = (open_bench(Config::default()).await, pages::open().await);
    let urls = [
        site.url("/article/1"),
        site.url("/gone"),
        site.url("/article/2"),
    ];
    let digest = call(
        &bench,
        "occam_digest",
        json!({"urls": urls, "focus_query": "lighthouse"}),
    )
    .await;
    assert_eq!(digest["stats"]["succeeded"], 2, "{digest}");
    assert_eq!(digest["items"][1]["failure"]["code"], "http_410");
    assert!(
        digest["combined"]
            .as_str()
            .is_some_and(|c| c.contains("## Article 2"))
    );
    let same =
        json!({"urls": urls, "focus_query": "lighthouse", "if_none_match": digest["contentHash"]});
    assert_eq!(call(&bench, "occam_digest", same).await["unchanged"], true);
    let from = json!({"source_url": site.url("/"), "max_links": 3});
    let from = call(&bench, "occam_digest", from).await;
    assert_eq!(from["stats"]["succeeded"], 3, "{from}");
    assert_eq!(from["discoveredLinks"].as_array().map(Vec::len), Some(3));
    let none = call(&bench, "occam_digest", json!({"urls": [site.url("/gone")]})).await;
    assert_eq!(none["failure"]["code"], "digest_failed");
    let nothing = call(&bench, "occam_digest", json!({})).await;
    assert_eq!(nothing["failure"]["code"], "invalid_arguments");
}

#[tokio::test]
async fn maps_claims_sets_and_playbooks() {
    let (bench, site) = (open_bench(Config::default()).await, pages::open().await);
    let map = call(
        &bench,
        "occam_map",
        json!({"url": site.url("/"), "max_links": 5}),
    )
    .await;
    assert_eq!(map["linkCount"], 5, "{map}");
    let url = site.url("/article/3");
    let claim = json!({"claim": "the lighthouse is open from nine to five", "url": url});
    let claim = call(&bench, "occam_claim_check", claim).await;
    assert_eq!(
        (&claim["found"], &claim["verdict"]),
        (&json!(true), &json!("not_evaluated")),
        "{claim}"
    );
    let cited = json!({
        "receipt": claim["receipt"], "mode": "citation", "block_text": claim["matches"][0]["text"],
        "block_selector": claim["matches"][0]["sourceSelector"], "proof": claim["matches"][0]["proof"],
    });
    let cited = call(&bench, "occam_verify", cited).await;
    assert_eq!(cited["verdict"], "citation_verified", "{cited}");
    let claims = json!({"claims": [
        {"claim": "the outer wall took fourteen years", "sourceUrl": url},
        {"claim": "anything", "sourceUrl": site.url("/gone")},
    ]});
    let attested = call(&bench, "occam_attest", claims).await;
    assert_eq!(attested["claimsTotal"], 2, "{attested}");
    assert_eq!(attested["rows"][1]["status"], "unknown");
    let set = call(
        &bench,
        "occam_dataset_export",
        json!({"urls": [url, site.url("/gone")]}),
    )
    .await;
    assert_eq!(
        (&set["status"], &set["successCount"]),
        (&json!("partial"), &json!(1)),
        "{set}"
    );
    let checked = call(
        &bench,
        "occam_verify",
        json!({"receipt": set, "mode": "manifest"}),
    )
    .await;
    assert_eq!(checked["verdict"], "verified", "{checked}");
    let none = call(&bench, "occam_playbook_resolve", json!({"url": url})).await;
    assert_eq!(none["failure"]["code"], "playbook_not_found");
    let lint = call(&bench, "occam_playbook_lint", json!({"playbook_json": "{"})).await;
    assert_eq!(
        (&lint["ok"], &lint["grade"]),
        (&json!(true), &json!("broken")),
        "{lint}"
    );
}

#[tokio::test]
async fn a_playbook_is_written_tried_kept_and_used() {
    let (bench, site) = (open_bench(Config::default()).await, pages::open().await);
    let url = site.url("/article/3");
    let probe = call(&bench, "occam_probe", json!({"url": url})).await;
    assert_eq!(probe["classification"]["pageClass"], "page", "{probe}");
    assert_eq!(probe["recommendation"]["backend"], "http");
    let gone = call(&bench, "occam_probe", json!({"url": site.url("/gone")})).await;
    assert_eq!(
        (&gone["statusCode"], &gone["recommendation"]["backend"]),
        (&json!(410), &json!("none"))
    );
    let no = json!({"url": url, "failure_reason": "http_404"});
    let no = call(&bench, "occam_playbook_heal", no).await;
    assert_eq!(no["failure"]["code"], "heal_not_applicable", "{no}");
    let heal = json!({"url": url, "failure_reason": "thin_extract", "max_skeleton_nodes": 40});
    let heal = call(&bench, "occam_playbook_heal", heal).await;
    assert_eq!(heal["ok"], true, "{heal}");
    assert!(
        heal["domSkeleton"]["stats"]["nodeCount"]
            .as_u64()
            .is_some_and(|n| n > 5),
        "{heal}"
    );
    let none = call(&bench, "occam_extract_knowledge", json!({"url": url})).await;
    assert_eq!(none["failure"]["code"], "playbook_not_found");
    let book = json!({
        "schema_version": "1.0", "id": "harbours", "hosts": ["127.0.0.1"], "meta": {"title": "Harbours"},
        "extract": {"contentSelectors": ["article"]},
        "knowledge_schema": {"default": {
            "title": {"selector": "h1"},
            "next": {"selector": "article p a", "attr": "href"},
            "days": {"selector": "td:first-child", "multiple": true},
        }},
        "agent_notes": "articles about harbours",
    });
    let save =
        json!({"url": url, "playbook_json": book, "lesson_note": "articles stand in article"});
    let saved = call(&bench, "occam_playbook_save", save).await;
    assert_eq!(
        (&saved["ok"], &saved["verify"]["passesGate"]),
        (&json!(true), &json!(true)),
        "{saved}"
    );
    let held = call(&bench, "occam_playbook_resolve", json!({"url": url})).await;
    assert_eq!(
        (&held["playbookId"], &held["signature"]["status"]),
        (&json!("harbours"), &json!("verified")),
        "{held}"
    );
    let known = call(&bench, "occam_extract_knowledge", json!({"url": url})).await;
    assert_eq!(known["facts"].as_array().map(Vec::len), Some(4), "{known}");
    assert!(
        known.to_string().contains(&site.url("/article/4")),
        "{known}"
    );
    let read = call(&bench, "occam_transcode", json!({"url": url})).await;
    assert_eq!(read["playbook"]["id"], "harbours", "{read}");
    let bad = json!({"url": url, "playbook_json": {"schema_version": "1.0", "id": "x", "hosts": ["127.0.0.1"],
        "extract": {"contentSelectors": ["nav"]}}});
    let bad = call(&bench, "occam_playbook_save", bad).await;
    assert!(
        bad["failure"]["code"]
            .as_str()
            .is_some_and(|c| c.starts_with("playbook_verify")),
        "{bad}"
    );
}

#[tokio::test]
async fn a_batch_is_read_in_the_background_and_outlives_the_process() {
    let opt_in = vec![
        ToolId::BatchSubmit,
        ToolId::BatchStatus,
        ToolId::BatchResults,
    ];
    let config = Config {
        opt_in,
        ..Config::default()
    };
    let (bench, site) = (open_bench(config.clone()).await, pages::open().await);
    let urls: Vec<_> = (1..=6)
        .map(|i| site.url(&format!("/article/{i}")))
        .collect();
    let submit = json!({"urls": urls, "idempotency_key": "k"});
    let begun = call(&bench, "occam_batch_submit", submit.clone()).await;
    let id = begun["batchId"].as_str().expect("an id").to_owned();
    assert_eq!(
        call(&bench, "occam_batch_submit", submit).await["repeated"],
        true
    );
    for _ in 0..100 {
        let standing = call(&bench, "occam_batch_status", json!({"batch_id": id})).await;
        if standing["status"] == "done" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let page = json!({"batch_id": id, "offset": 4, "limit": 1});
    let page = call(&bench, "occam_batch_results", page).await;
    assert_eq!(
        (&page["status"], &page["nextOffset"]),
        (&json!("done"), &json!(5)),
        "{page}"
    );
    assert!(
        page["results"][0]["reply"]["markdown"]
            .as_str()
            .is_some_and(|m| m.contains("town number 5")),
        "{page}"
    );
    let later = bench.again(config).await;
    let standing = call(&later, "occam_batch_status", json!({"batch_id": id})).await;
    assert_eq!(
        (&standing["status"], &standing["succeeded"]),
        (&json!("done"), &json!(6))
    );
}

#[tokio::test]
async fn the_canary_page_is_read_although_it_lies_on_loopback() {
    let bench = bench(Config::default()).await;
    let issued = call(&bench, "occam_canary_issue", json!({})).await;
    let page = call(&bench, "occam", json!({"url": issued["url"]})).await;
    assert_eq!(page["ok"], true, "{page}");
    let markdown = page["markdown"].as_str().expect("markdown");
    let sentinel = markdown
        .split_once('`')
        .and_then(|(_, rest)| rest.split_once('`'))
        .expect("a value")
        .0;
    let verdict = json!({"session_id": issued["sessionId"], "sentinel": sentinel});
    assert_eq!(
        call(&bench, "occam_canary_verify", verdict).await["verdict"],
        "READ_VERIFIED"
    );
    // The rest of loopback stays closed, the same port included.
    let url = issued["url"].as_str().expect("a URL");
    let beside = url.replace("/canary/", "/other/");
    for closed in [beside.as_str(), "http://127.0.0.1:9/"] {
        let read = call(&bench, "occam", json!({"url": closed})).await;
        assert_eq!(read["failure"]["code"], "private_url_blocked", "{read}");
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_stops_its_work() {
    let (bench, site) = (open_bench(Config::default()).await, pages::open().await);
    let served = serve(
        &bench.server,
        "127.0.0.1:0".parse().expect("at"),
        &Options::default(),
    )
    .await
    .expect("a port");
    let to = served.address();
    // Older era: a notification.
    let session = OldSession::open(to, "/mcp").await;
    let params = json!({"name": "occam_transcode", "arguments": {"url": site.url("/slow")}, "_meta": {"progressToken": 7}});
    let body = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params});
    let mut stream = TcpStream::connect(to).await.expect("connect");
    write(
        &mut stream,
        to,
        "POST",
        "/mcp",
        &session.headers(),
        &body.to_string(),
    )
    .await;
    read_until(&mut stream, "notifications/progress").await;
    until(|| bench.server.counts().running == 1).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77, "reason": "enough"}});
    session.post(&cancel).await;
    until(|| bench.server.counts().cancelled == 1).await;
    // Newer era: the stream is closed.
    let arguments = json!({"name": "occam_transcode", "arguments": {"url": site.url("/slow")}});
    let body = new_era(5, "tools/call", arguments).to_string();
    let headers = [
        ("mcp-protocol-version", NEW),
        ("mcp-method", "tools/call"),
        ("mcp-name", "occam_transcode"),
    ];
    let mut stream = TcpStream::connect(to).await.expect("connect");
    write(&mut stream, to, "POST", "/mcp", &headers, &body).await;
    until(|| bench.server.counts().running == 1).await;
    stream.shutdown().await.expect("close");
    drop(stream);
    until(|| bench.server.counts().cancelled == 2).await;
    assert_eq!(bench.server.counts().running, 0);
    assert_eq!(site.site.slow_began.load(Ordering::Relaxed), 2);
    assert_eq!(site.site.slow_ended.load(Ordering::Relaxed), 0);
    served.shutdown().await;
}

async fn until(holds: impl Fn() -> bool) {
    for _ in 0..100 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it did not come to that within five seconds");
}

//! Knowledge, digests, batches, watching, vantages: the engines behind the tools.

use kilter_core::Timestamp;
use kilter_web::batch::{Batches, Job};
use kilter_web::digest::{Item, assemble, wanted};
use kilter_web::dom::Document;
use kilter_web::focus::FocusStatus;
use kilter_web::hash::content_hash;
use kilter_web::knowledge::{extract, of_page};
use kilter_web::playbook::Playbook;
use kilter_web::receipt::{Verdict, extraction, history, verify};
use kilter_web::store::{Store, StoreError};
use kilter_web::vantage::{Atlas, Consensus, HOSTS_MAX, Seen, crosscheck};
use kilter_web::watch::{STATES_MAX, chain, look, store};
use kilter_web::{Block, BlockKind, Failure, FailureCode};
use serde_json::{Value, json};

use crate::receipt::{block, blocks, keys, read, signer};

const HOUR: u64 = 3_600_000;

fn book() -> Playbook {
    serde_json::from_value(json!({
        "schema_version": "1.0", "id": "tides", "hosts": ["tides.test"], "extract": {"contentSelectors": ["main"]},
        "genome": {"page_classes": {"station": "/station/*", "plain": "/plain"}},
        "knowledge_schema": {"station": {
            "kind": {"attr": "const", "value": "tide"},
            "name": {"selector": "h1"},
            "high": {"selector": ".h", "multiple": true},
            "low": {"selector": ".l", "multiple": true},
            "note": {"selector": ".note"},
        }},
    }))
    .unwrap()
}

#[test]
fn knowledge_has_a_confidence_and_rows() {
    let find = |f: &kilter_web::playbook::Field| match f.selector.as_str() {
        "h1" => vec!["Lindau".to_owned(), "second".to_owned()],
        ".h" => vec!["06:12".to_owned(), "18:40".to_owned()],
        ".l" => vec!["00:01".to_owned(), "12:20".to_owned()],
        _ => vec![],
    };
    let got = extract(&book(), "/station/7", find).unwrap();
    assert_eq!(got.confidence, 0.8);
    assert_eq!(got.missing, ["note"]);
    assert_eq!(
        got.rows,
        [
            json!({"high": "06:12", "low": "00:01"}),
            json!({"high": "18:40", "low": "12:20"})
        ]
    );
    assert_eq!(
        got.facts.iter().filter(|f| f.name == "name").count(),
        1,
        "one value unless several are asked"
    );
    assert_eq!(
        got.facts_hash,
        extract(&book(), "/station/7", find).unwrap().facts_hash
    );
    let uneven = |f: &kilter_web::playbook::Field| {
        if f.selector == ".h" {
            vec!["a".to_owned()]
        } else {
            find(f)
        }
    };
    let got = extract(&book(), "/station/7", uneven).unwrap();
    assert!(
        got.rows.is_empty(),
        "columns of different lengths are not paired"
    );
    let none = |_: &kilter_web::playbook::Field| vec![];
    assert_eq!(
        extract(&book(), "/station/7", none).unwrap_err().code,
        FailureCode::KnowledgeSchemaEmpty
    );
    assert_eq!(
        extract(&book(), "/plain", find).unwrap_err().code,
        FailureCode::PageClassUnmatched
    );
    assert_eq!(
        extract(&Playbook::default(), "/", find).unwrap_err().code,
        FailureCode::KnowledgeSchemaMissing
    );
}

#[test]
fn fields_are_found_on_the_page_itself() {
    let doc = Document::parse(
        "<base href='https://tides.test/charts/'><main><h1> Lindau  <b>harbour</b></h1>\
         <p class=note>Depth: 7.5 m at low water</p><a class=map href='lindau.png'>map</a>\
         <table><tr><td class=h>06:12<td class=l>00:01<tr><td class=h>18:40<td class=l>12:20</table>\
         <time datetime='2026-12-01'>today</time></main>",
    );
    let mut book = book();
    let fields = book.knowledge_schema.get_mut("station").unwrap();
    for (name, field) in [
        (
            "depth",
            json!({"selector": ".note", "attr": "regex", "value": "([0-9.]+) m"}),
        ),
        (
            "unit",
            json!({"selector": ".note", "attr": "regex", "value": "Depth"}),
        ),
        ("map", json!({"selector": "a.map", "attr": "href"})),
        ("day", json!({"selector": "time", "attr": "datetime"})),
        ("broken", json!({"selector": "p >"})),
        (
            "endless",
            json!({"selector": ".note", "attr": "regex", "value": "("}),
        ),
    ] {
        fields.insert(name.to_owned(), serde_json::from_value(field).unwrap());
    }
    let url = url::Url::parse("https://tides.test/station/7").unwrap();
    let got = of_page(&book, &doc, &url).unwrap();
    let value = |name: &str| {
        got.facts
            .iter()
            .find(|f| f.name == name)
            .map(|f| f.value.as_str())
    };
    assert_eq!(value("name"), Some("Lindau harbour"));
    assert_eq!(value("depth"), Some("7.5"));
    assert_eq!(value("unit"), Some("Depth"));
    assert_eq!(value("map"), Some("https://tides.test/charts/lindau.png"));
    assert_eq!(value("day"), Some("2026-12-01"));
    assert_eq!(got.missing, ["broken", "endless"]);
    assert_eq!(got.rows[1], json!({"high": "18:40", "low": "12:20"}));
    // A receipt of the facts is a receipt.
    let receipt = extraction(&read(), &got.content(), &signer()).unwrap();
    let given = verify::from_value(&receipt).unwrap();
    assert!(verify::offline(&given, None, &keys()).verdict.is_good());
    assert_eq!(receipt["signed"]["contentHash"], got.facts_hash.as_str());
    // Lint says what finds nothing, and why.
    let said = kilter_web::playbook::lint(&serde_json::to_string(&book).unwrap());
    let codes: Vec<&str> = said.issues.iter().map(|i| i.code).collect();
    assert!(
        codes.contains(&"bad_selector") && codes.contains(&"bad_pattern"),
        "{codes:?}"
    );
}

fn item(url: &str, matched: Option<bool>) -> Item {
    Item {
        url: url.to_owned(),
        ok: true,
        title: Some(format!("Title of {url}")),
        excerpt: Some("text".to_owned()),
        backend: Some("http".to_owned()),
        tokens: 10,
        focus_matched: matched,
        receipt: None,
        failure: None,
    }
}

fn failed(url: &str) -> Item {
    Item {
        ok: false,
        title: None,
        excerpt: None,
        backend: None,
        tokens: 0,
        focus_matched: None,
        failure: Some(Failure::new(FailureCode::Timeout, "slow")),
        ..item(url, None)
    }
}

#[test]
fn a_digest_is_honest_about_its_pages() {
    let got = assemble(vec![item("a", None), failed("b")], true, None).unwrap();
    assert_eq!(
        (
            got.stats.requested,
            got.stats.succeeded,
            got.stats.failed,
            got.stats.total_tokens
        ),
        (2, 1, 1, 10)
    );
    assert_eq!(
        (got.suggested_read_order, got.decisions[0].action.as_str()),
        ("combined", "skip_failed")
    );
    assert!(
        got.combined
            .as_ref()
            .unwrap()
            .starts_with("## Title of a\n\ntext")
    );
    let again = assemble(
        vec![item("a", None), failed("b")],
        true,
        Some(&got.content_hash),
    )
    .unwrap();
    assert_eq!(
        (
            again.unchanged,
            again.combined.is_none(),
            again.items[0].excerpt.is_none()
        ),
        (Some(true), true, true)
    );
    let missed = assemble(
        vec![item("a", Some(false)), item("b", Some(false))],
        true,
        None,
    )
    .unwrap();
    assert!(
        missed.ok
            && missed.warnings == ["focus_not_found"]
            && missed.suggested_read_order == "items_only"
    );
    let hit = assemble(
        vec![item("a", Some(false)), item("b", Some(true))],
        false,
        None,
    )
    .unwrap();
    assert_eq!(hit.suggested_read_order, "items_by_focusMatched");
    assert_eq!(
        assemble(vec![failed("a"), failed("b")], true, None)
            .unwrap_err()
            .code,
        FailureCode::DigestFailed
    );
    assert_eq!(
        (
            Item::matched(FocusStatus::Hit),
            Item::matched(FocusStatus::NotRequested)
        ),
        (Some(true), None)
    );
}

#[test]
fn urls_come_in_two_shapes_and_no_third() {
    let urls =
        |v: Value, max| wanted(&v, max).map(|w| w.into_iter().map(|w| w.url).collect::<Vec<_>>());
    assert_eq!(urls(json!(["a", " b ", "a"]), 8).unwrap(), ["a", "b"]);
    assert_eq!(urls(json!("a, b c\nd"), 3).unwrap(), ["a", "b", "c"]);
    assert_eq!(
        urls(
            json!("[\"a\", {\"url\": \"b\", \"focus_query\": \"x\"}]"),
            8
        )
        .unwrap(),
        ["a", "b"]
    );
    assert_eq!(
        wanted(&json!("[{\"url\": \"b\", \"focus_query\": \"x\"}]"), 8).unwrap()[0]
            .focus
            .as_deref(),
        Some("x")
    );
    for bad in [
        json!([]),
        json!(["a", 3]),
        json!(["a", ""]),
        json!(""),
        json!(3),
        json!({"a": 1}),
        json!("{\"a\": 1}"),
        json!(vec!["a"; 257]),
        json!("x".repeat(65_537)),
    ] {
        assert_eq!(
            wanted(&bad, 8).unwrap_err().code,
            FailureCode::InvalidArguments
        );
    }
    assert!(wanted(&json!(["a"]), 0).is_err() && wanted(&json!(["a"]), 9).is_err());
}

#[test]
fn a_batch_is_asked_for_once_and_bounded() {
    let urls: Vec<String> = (0..10).map(|i| format!("https://a.test/{i}")).collect();
    let mut batches = Batches::default();
    let first = batches.submit(&urls, Some("key"), Timestamp(0)).unwrap();
    assert_eq!(
        (first.status, first.total, first.repeated),
        ("queued", 10, false)
    );
    let again = batches.submit(&urls, Some("key"), Timestamp(HOUR)).unwrap();
    assert_eq!(
        (again.batch_id.as_str(), again.repeated),
        (first.batch_id.as_str(), true)
    );
    assert!(
        batches
            .submit(&urls[1..], Some("key"), Timestamp(HOUR))
            .is_err(),
        "the key stands for its URLs"
    );
    let running: Vec<_> = std::iter::from_fn(|| batches.next_page()).collect();
    assert_eq!(running.len(), 4, "four at a time");
    assert!(batches.done(&first.batch_id, running[0].1, json!({"ok": true})));
    assert!(
        !batches.done(&first.batch_id, running[0].1, json!({"ok": false})),
        "a reply is taken down once"
    );
    assert!(
        !batches.done(&first.batch_id, 9, json!({"ok": true})),
        "nobody was reading it"
    );
    let standing = batches.standing(&first.batch_id).unwrap();
    assert_eq!(
        (standing.status, standing.done, standing.succeeded),
        ("running", 1, 1)
    );
    assert_eq!(batches.next_page().unwrap().1, 4);
    let (page, next) = batches.results(&first.batch_id, 0, 4).unwrap();
    assert!(matches!(page[0].1, Job::Done { .. }) && page[1].1 == Job::Running && next == Some(4));
    assert_eq!(batches.results(&first.batch_id, 8, 200).unwrap().1, None);
    assert!(
        batches
            .results(&first.batch_id, 99, 4)
            .unwrap()
            .0
            .is_empty()
    );
    for limit in [0, 201] {
        assert!(batches.results(&first.batch_id, 0, limit).is_err());
    }
    assert!(batches.submit(&[], None, Timestamp(0)).is_err());
    assert!(
        batches
            .submit(&vec!["u".to_owned(); 65], None, Timestamp(0))
            .is_err()
    );
    let later = batches
        .submit(&urls, Some("key"), Timestamp(25 * HOUR))
        .unwrap();
    assert!(
        !later.repeated && later.batch_id != first.batch_id,
        "a day later it is another"
    );
    assert_eq!(
        batches.standing(&first.batch_id).unwrap_err().code,
        FailureCode::InvalidArguments
    );
    for i in 0..127 {
        batches
            .submit(&urls[..1], None, Timestamp(25 * HOUR + i))
            .unwrap();
    }
    assert!(
        batches.submit(&urls, None, Timestamp(26 * HOUR)).is_err(),
        "what is not done never gives way"
    );
}

#[test]
fn no_writer_loses_to_a_later_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("sub").join("store.json");
    let mut a = Store::open(&file, 3, 100).unwrap();
    assert_eq!(a.put("x", 0, json!(1), Timestamp(1)), Ok(1));
    assert_eq!(a.put("x", 1, json!(2), Timestamp(2)), Ok(2));
    let late = a.put("x", 1, json!(3), Timestamp(3));
    assert!(matches!(
        late,
        Err(StoreError::Conflict {
            expected: 1,
            found: 2,
            ..
        })
    ));
    assert!(matches!(
        a.put("y", 0, json!("z".repeat(200)), Timestamp(3)),
        Err(StoreError::TooLarge { .. })
    ));
    for (i, key) in ["b", "c", "d"].iter().enumerate() {
        a.put(key, 0, json!(i), Timestamp(10 + i as u64)).unwrap();
    }
    assert_eq!(
        a.keys().collect::<Vec<_>>(),
        ["b", "c", "d"],
        "the oldest is let go"
    );
    let b = Store::open(&file, 2, 100).unwrap();
    assert_eq!(
        (b.len(), b.get("d").map(|e| e.value.clone())),
        (2, Some(json!(2)))
    );
    assert!(!b.is_empty());
    assert!(a.remove("d").unwrap().is_some() && a.remove("d").unwrap().is_none());
    std::fs::write(&file, "{").unwrap();
    assert!(matches!(
        Store::open(&file, 2, 100),
        Err(StoreError::Io { .. })
    ));
}

fn texts(list: &[&str]) -> Vec<Block> {
    list.iter()
        .map(|t| block(BlockKind::Paragraph, t, "p"))
        .collect()
}

#[test]
fn a_watched_page_keeps_a_chain_of_what_it_was() {
    let mut s = store();
    let url = "https://a.test/";
    let mut at = 0;
    let mut see = |s: &mut Store, read: Result<&[&str], &Failure>| {
        at += 1;
        let blocks = read.map(texts);
        let read = match &blocks {
            Ok(b) => Ok((
                b.iter()
                    .map(|b| b.text.clone())
                    .collect::<Vec<_>>()
                    .join("\n\n"),
                b,
            )),
            Err(e) => Err(*e),
        };
        let read = read
            .as_ref()
            .map(|(m, b)| (m.as_str(), b.as_slice()))
            .map_err(|e| *e);
        look(s, url, read, Timestamp(at), Some(&signer())).unwrap()
    };
    assert_eq!(see(&mut s, Ok(&["a", "b"])).status, "baseline");
    let same = see(&mut s, Ok(&["a", "b"]));
    assert_eq!(
        (same.status, same.entry.is_none(), same.states),
        ("unchanged", true, 1)
    );
    let changed = see(&mut s, Ok(&["a", "c"]));
    assert_eq!(changed.status, "changed");
    let d = changed.diff.unwrap();
    assert_eq!(
        (d.added_blocks[0].markdown.as_str(), d.removed_hashes.len()),
        ("c", 1)
    );
    let slow = Failure::new(FailureCode::Timeout, "slow");
    assert_eq!(see(&mut s, Err(&slow)).status, "unreadable");
    assert!(
        see(&mut s, Err(&slow)).entry.is_none(),
        "the same failure is not said twice"
    );
    let back = see(&mut s, Ok(&["a", "c"]));
    assert_eq!(
        (back.status, back.entry.is_some(), back.states),
        ("unchanged", true, 4),
        "an unreadable page is no changed page"
    );
    let (entries, start) = chain(&s, url).unwrap();
    assert_eq!(
        history::check(&entries, &keys(), Some(&back.head), start.as_deref()).verdict,
        Verdict::HistoryVerified
    );
    for i in 0..STATES_MAX + 5 {
        see(&mut s, Ok(&[&format!("v{i}")]));
    }
    let last = see(&mut s, Ok(&["end"]));
    let (entries, start) = chain(&s, url).unwrap();
    assert_eq!((entries.len(), start.is_some()), (STATES_MAX, true));
    assert_eq!(
        history::check(&entries, &keys(), Some(&last.head), start.as_deref()).verdict,
        Verdict::HistoryVerified,
        "what is let go leaves its hash"
    );
    assert_eq!(entries.last().unwrap()["contentHash"], content_hash("end"));
}

#[test]
fn vantages_agree_differ_or_are_not_let_in() {
    let seen = |reads: &[Result<&[&str], FailureCode>]| {
        let list: Vec<Seen> = reads
            .iter()
            .map(|r| Seen {
                vantage: "v".to_owned(),
                read: r.map(texts),
            })
            .collect();
        crosscheck(&list).0
    };
    let (one, other): (&[&str], &[&str]) = (&["a", "b", "c"], &["x", "y"]);
    assert_eq!(seen(&[Ok(one), Ok(one)]), Consensus::Consensus);
    assert_eq!(
        seen(&[Ok(one), Ok(&["a", "b  ", "c"])]),
        Consensus::Consensus
    );
    assert_eq!(seen(&[Ok(one), Ok(other)]), Consensus::Divergent);
    assert_eq!(seen(&[Ok(one), Ok(one), Ok(other)]), Consensus::Divergent);
    assert_eq!(
        seen(&[Ok(one), Err(FailureCode::Http(403))]),
        Consensus::AccessDivergent
    );
    assert_eq!(
        seen(&[Ok(one), Err(FailureCode::Timeout)]),
        Consensus::Inconclusive
    );
    assert_eq!(
        seen(&[Err(FailureCode::Http(403)), Err(FailureCode::Http(403))]),
        Consensus::Inconclusive
    );
}

#[test]
fn the_atlas_knows_walls_and_is_bounded() {
    let mut atlas = Atlas::default();
    for _ in 0..3 {
        atlas.record("Wall.test", Some(FailureCode::CaptchaOrChallenge));
    }
    atlas.record("wall.test", Some(FailureCode::Timeout));
    assert!(atlas.host("WALL.test").unwrap().is_walled());
    atlas.record("wall.test", None);
    assert!(
        !atlas.host("wall.test").unwrap().is_walled(),
        "it was read once"
    );
    for _ in 0..3 {
        atlas.record("slow.test", Some(FailureCode::Timeout));
        atlas.record("gone.test", Some(FailureCode::Http(404)));
    }
    assert!(
        !atlas.host("slow.test").unwrap().is_walled()
            && !atlas.host("gone.test").unwrap().is_walled()
    );
    for i in 0..HOSTS_MAX + 10 {
        atlas.record(&format!("h{i}.test"), None);
    }
    assert_eq!(atlas.hosts().count(), HOSTS_MAX);
    assert!(
        atlas.host("wall.test").is_none(),
        "the one asked longest ago is let go"
    );
    assert_eq!(blocks().len(), 3);
}

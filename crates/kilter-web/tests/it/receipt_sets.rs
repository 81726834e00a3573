//! Receipts over time and over many pages: history chains and manifests.

use kilter_core::Timestamp;
use kilter_web::FailureCode;
use kilter_web::hash::content_hash;
use kilter_web::receipt::history::{State, append, check, entry_hash};
use kilter_web::receipt::manifest::{self, Row};
use kilter_web::receipt::{Signer, Verdict, negative};
use serde_json::{Value, json};

use crate::receipt::{MARKDOWN, keys, read, receipt, signer, tampered};

fn chain(n: usize, key: Option<&Signer>) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    for i in 0..n {
        let state = State {
            url: "https://example.test/a".to_owned(),
            at: Timestamp(1_796_000_000_000 + i as u64),
            content_hash: (i % 2 == 0).then(|| content_hash(&i.to_string())),
            block_root: None,
            failure_code: (i % 2 == 1).then(|| "timeout".to_owned()),
        };
        entries.push(append(entries.last(), &state, key).unwrap());
    }
    entries
}

#[test]
fn a_chain_is_linked_and_signed() {
    let entries = chain(4, Some(&signer()));
    let head = entry_hash(&entries[3]).unwrap();
    assert_eq!(
        check(&entries, &keys(), Some(&head), None).verdict,
        Verdict::HistoryVerified
    );
    assert_eq!(
        check(&entries[..3], &keys(), Some(&head), None).verdict,
        Verdict::HistoryInvalid,
        "a cut end"
    );
    assert_eq!(
        check(&entries[..3], &keys(), None, None).verdict,
        Verdict::HistoryVerified
    );
    assert_eq!(
        check(&entries[1..], &keys(), None, None).verdict,
        Verdict::HistoryInvalid,
        "a cut beginning"
    );
    let start = entry_hash(&entries[0]).unwrap();
    assert_eq!(
        check(&entries[1..], &keys(), None, Some(&start)).verdict,
        Verdict::HistoryVerified
    );
    assert_eq!(
        check(&[], &keys(), None, None).verdict,
        Verdict::HistoryInvalid
    );
    assert_eq!(
        check(
            &entries,
            &[Signer::from_seed(&[1; 32]).public()],
            None,
            None
        )
        .verdict,
        Verdict::HistoryWrongKey
    );

    let mut mixed = chain(2, Some(&signer()));
    let state = State {
        url: "https://example.test/a".to_owned(),
        ..State::default()
    };
    mixed.push(append(mixed.last(), &state, None).unwrap());
    assert_eq!(
        check(&mixed, &keys(), None, None).verdict,
        Verdict::HistoryChainOk
    );
    assert!(!Verdict::HistoryChainOk.is_good());
    let mut stripped = entries.clone();
    stripped[3].as_object_mut().unwrap().remove("sig");
    assert_eq!(
        check(&stripped, &keys(), None, None).verdict,
        Verdict::HistoryInvalid,
        "a seal taken off shows"
    );
}

#[test]
fn no_altered_field_of_a_chain_passes() {
    let entries = Value::Array(chain(3, Some(&signer())));
    let head = entry_hash(&entries[2]).unwrap();
    let all = tampered(&entries);
    assert!(all.len() > 60, "{}", all.len());
    for (what, value) in all {
        let got = check(value.as_array().unwrap(), &keys(), Some(&head), None).verdict;
        assert!(!got.is_good(), "{what}: {got:?}");
    }
}

fn rows() -> (Vec<Row>, Vec<Option<Value>>) {
    let first = receipt();
    let row = |url: &str| Row {
        url: url.to_owned(),
        final_url: url.to_owned(),
        ..Row::default()
    };
    let mut gone = read();
    gone.url = "https://example.test/gone".to_owned();
    let failure = kilter_web::Failure::new(FailureCode::Http(410), "gone");
    let second = negative(&gone, &failure, &signer()).unwrap();
    (
        vec![
            Row {
                ok: true,
                content_hash: Some(content_hash(MARKDOWN)),
                block_merkle_root: first["signed"]["blockMerkleRoot"]
                    .as_str()
                    .map(str::to_owned),
                ..row("https://example.test/a")
            },
            Row {
                failure_code: Some("http_410".to_owned()),
                ..row("https://example.test/gone")
            },
            Row {
                failure_code: Some("timeout".to_owned()),
                ..row("https://example.test/slow")
            },
        ],
        vec![Some(first), second, None],
    )
}

#[test]
fn a_set_says_how_much_of_it_was_read() {
    let (rows, receipts) = rows();
    let at = Timestamp(1_796_000_000_000);
    let set = manifest::export(&rows, &receipts, at, Some(&signer())).unwrap();
    assert_eq!(
        (&set["ok"], &set["status"]),
        (&json!(true), &json!("partial"))
    );
    assert_eq!(
        (&set["successCount"], &set["failureCount"]),
        (&json!(1), &json!(2))
    );
    let report = manifest::check(&set, &keys());
    assert_eq!(report.verdict, Verdict::Verified, "{}", report.reason);
    let none = manifest::export(&rows[1..], &receipts[1..], at, Some(&signer())).unwrap();
    assert_eq!(
        (&none["ok"], &none["status"]),
        (&json!(false), &json!("no_content")),
        "nothing read is no success"
    );
    let all = manifest::export(&rows[..1], &receipts[..1], at, None).unwrap();
    assert_eq!(all["status"], "complete");
    assert_eq!(
        manifest::check(&all, &keys()).verdict,
        Verdict::SignatureInvalid,
        "unsigned is not verified"
    );
}

#[test]
fn no_altered_field_of_a_set_passes() {
    let (rows, receipts) = rows();
    let set = manifest::export(&rows, &receipts, Timestamp(1), Some(&signer())).unwrap();
    let all = tampered(&set);
    assert!(all.len() > 250, "{}", all.len());
    let harmless = |what: &str| {
        // A count, a receipt or a leaf list that is not there says nothing; a field that nobody knows neither.
        what.ends_with(" removed")
            && [
                "/ok",
                "/status",
                "/successCount",
                "/failureCount",
                "/receipt",
                "/blockLeaves",
            ]
            .iter()
            .any(|f| what.ends_with(&format!("{f} removed")))
            && !what.ends_with("rows/0/ok removed")
            && !what.ends_with("rows/1/ok removed")
            && !what.ends_with("rows/2/ok removed")
            || what.ends_with("/extra added")
                && !what.contains("signed")
                && !what.contains("manifest")
    };
    let mut passed = Vec::new();
    for (what, value) in all {
        let got = manifest::check(&value, &keys()).verdict;
        if got.is_good() && !harmless(&what) {
            passed.push(what);
        }
    }
    // Row 1 and 2 are not ok; `ok` taken away reads as not ok and changes no leaf.
    passed.retain(|w| w != "/rows/1/ok removed" && w != "/rows/2/ok removed");
    assert!(passed.is_empty(), "{passed:#?}");
}

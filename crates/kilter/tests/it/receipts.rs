//! `kilter receipts`: keys out, receipts checked, and an exit code for each answer.

use kilter_web::hash::content_hash;
use kilter_web::receipt::history::{State, append};
use kilter_web::receipt::manifest::{self, Row};
use kilter_web::receipt::verify::{from_value, prove};
use kilter_web::receipt::{Content, Read, Signer, block_leaf, capsule, extraction};
use serde_json::{Value, json};

use crate::run::Place;

const MARKDOWN: &str = "# Harbour\n\nThe crane was built in 1911.";

fn key() -> Signer {
    Signer::from_seed(&[7; 32])
}

fn receipt() -> Value {
    let read = Read {
        url: "https://example.test/harbour".to_owned(),
        final_url: "https://example.test/harbour".to_owned(),
        backend: "http".to_owned(),
        at: kilter_core::Timestamp(1_796_000_000_000),
        toolchain: "kilter/0.1.0".to_owned(),
        ..Read::default()
    };
    let content = Content {
        content_hash: content_hash(MARKDOWN),
        leaves: Some(vec![
            block_leaf("Harbour", "h1"),
            block_leaf("The crane was built in 1911.", "p"),
        ]),
        leaf_set_complete: true,
        ..Content::default()
    };
    extraction(&read, &content, &key()).unwrap()
}

fn place() -> Place {
    let place = Place::new();
    let receipt = receipt();
    place.write("key.pem", &key().public().to_pem());
    place.write("other.pem", &Signer::from_seed(&[8; 32]).public().to_pem());
    place.write("page.md", MARKDOWN);
    place.write("receipt.json", &receipt.to_string());
    place.write("capsule.txt", &capsule::pack(&receipt, MARKDOWN));
    let mut altered = receipt.clone();
    altered["signed"]["url"] = json!("https://example.test/other");
    place.write("altered.json", &altered.to_string());
    let mut newer = receipt.clone();
    newer["signed"]["v"] = json!(9);
    place.write("newer.json", &newer.to_string());
    let proof = prove(&from_value(&receipt).unwrap(), 1).unwrap();
    place.write("proof.json", &serde_json::to_string(&proof).unwrap());
    let mut entries: Vec<Value> = Vec::new();
    for hash in ["a", "b"] {
        let state = State {
            url: "https://example.test/harbour".to_owned(),
            content_hash: Some(content_hash(hash)),
            ..State::default()
        };
        entries.push(append(entries.last(), &state, Some(&key())).unwrap());
    }
    place.write("history.json", &json!({ "entries": entries }).to_string());
    entries.swap(0, 1);
    place.write("turned.json", &json!(entries).to_string());
    let rows = [Row {
        url: "https://example.test/harbour".to_owned(),
        final_url: "https://example.test/harbour".to_owned(),
        ok: true,
        content_hash: Some(content_hash(MARKDOWN)),
        ..Row::default()
    }];
    let set = manifest::export(&rows, &[], kilter_core::Timestamp(0), Some(&key())).unwrap();
    place.write("set.json", &set.to_string());
    place
}

fn exit(place: &Place, args: &[&str]) -> Option<i32> {
    let mut all = vec!["receipts", "verify"];
    all.extend(args);
    place.run(&all).status.code()
}

#[test]
fn a_verified_receipt_ends_with_0() {
    let p = place();
    for args in [
        &["receipt.json", "--pubkey", "key.pem"][..],
        &[
            "receipt.json",
            "--pubkey",
            "key.pem",
            "--markdown",
            "page.md",
        ],
        &["capsule.txt", "--pubkey", "key.pem"],
        &["history.json", "--mode", "history", "--pubkey", "key.pem"],
        &["set.json", "--mode", "manifest", "--pubkey", "key.pem"],
    ] {
        assert_eq!(exit(&p, args), Some(0), "{args:?}");
    }
    let cite = |text| {
        let args = [
            "receipt.json",
            "--mode",
            "citation",
            "--pubkey",
            "key.pem",
            "--text",
            text,
            "--selector",
            "p",
            "--proof",
            "proof.json",
        ];
        exit(&p, &args)
    };
    assert_eq!(cite("The crane was built in 1911."), Some(0));
    assert_eq!(cite("The crane was built in 1912."), Some(1));
    insta::assert_snapshot!(p.transcript(&[
        "receipts",
        "verify",
        "receipt.json",
        "--pubkey",
        "key.pem"
    ]));
    insta::assert_snapshot!(p.transcript(&[
        "receipts",
        "verify",
        "receipt.json",
        "--pubkey",
        "key.pem",
        "--json"
    ]));
}

#[test]
fn what_is_not_verified_ends_with_1() {
    let p = place();
    for args in [
        &["altered.json", "--pubkey", "key.pem"][..],
        &["newer.json", "--pubkey", "key.pem"],
        &["receipt.json", "--pubkey", "other.pem"],
        &[
            "receipt.json",
            "--pubkey",
            "key.pem",
            "--markdown",
            "key.pem",
        ],
        &["turned.json", "--mode", "history", "--pubkey", "key.pem"],
    ] {
        assert_eq!(exit(&p, args), Some(1), "{args:?}");
    }
    insta::assert_snapshot!(p.transcript(&[
        "receipts",
        "verify",
        "altered.json",
        "--pubkey",
        "key.pem"
    ]));
}

#[test]
fn what_cannot_be_checked_ends_with_2() {
    let p = place();
    for args in [
        &["receipt.json"][..],
        &["missing.json", "--pubkey", "key.pem"],
        &["page.md", "--pubkey", "key.pem"],
        &["receipt.json", "--pubkey", "page.md"],
        &["receipt.json", "--pubkey", "key.pem", "--mode", "ofline"],
        &["receipt.json", "--pubkey", "key.pem", "--mode", "citation"],
        &["receipt.json", "--mode", "history", "--pubkey", "key.pem"],
        &["receipt.json", "--pubky", "key.pem"],
    ] {
        assert_eq!(exit(&p, args), Some(2), "{args:?}");
    }
    insta::assert_snapshot!(p.transcript(&["receipts", "verify", "receipt.json"]));
    insta::assert_snapshot!(
        p.transcript(&["receipts", "verify", "page.md", "--pubkey", "key.pem"])
    );
}

#[test]
fn keys_are_exported_and_made_only_when_asked() {
    let p = Place::new();
    let none = p.run(&["receipts", "export"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(!p.path().join(".local").exists(), "looking makes nothing");
    let made = p.run(&["receipts", "export", "--create"]);
    assert_eq!(made.status.code(), Some(0));
    let pem = String::from_utf8(made.stdout).unwrap();
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----"));
    assert!(p.run(&["receipts", "rotate"]).status.success());
    let both = String::from_utf8(p.run(&["receipts", "export"]).stdout).unwrap();
    assert_eq!(both.matches("BEGIN PUBLIC KEY").count(), 2);
    assert!(both.contains(&pem), "the old public key stays");
    assert!(!both.contains("PRIVATE"));
}

#[test]
fn a_read_is_signed_and_verifies_here_and_elsewhere() {
    let p = Place::new();
    p.write("page.md", MARKDOWN);
    let read = p.run(&["cascade", "run", "page.md", "--json"]);
    assert_eq!(
        read.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    let reply = String::from_utf8(read.stdout).unwrap();
    p.write("reply.json", &reply);
    assert_eq!(exit(&p, &["reply.json"]), Some(0));
    let export = p.run(&["receipts", "export"]);
    p.write("mine.pem", &String::from_utf8(export.stdout).unwrap());
    assert_eq!(exit(&p, &["reply.json", "--pubkey", "mine.pem"]), Some(0));
    let off = Place::new();
    off.write("page.md", MARKDOWN);
    let read = off.run(&["cascade", "run", "page.md", "--no-receipt", "--json"]);
    let reply: Value = serde_json::from_slice(&read.stdout).unwrap();
    assert!(reply["contentHash"].is_string() && reply.get("receipt").is_none());
    assert!(!off.path().join(".local").exists(), "no key is minted");
}

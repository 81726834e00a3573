//! Receipts: canonical form, trees, keys, statements, and that no altered field passes.

use kilter_core::Timestamp;
use kilter_web::hash::{content_hash, digest_from};
use kilter_web::receipt::verify::{Given, citation, compare, from_value, given, offline, prove};
use kilter_web::receipt::{
    Acquaintance, Asked, Content, KeyStore, Mode, PublicKey, Read, Signer, StoreError, Verdict,
    capsule, extraction, leaves, negative, provable,
};
use kilter_web::{Block, BlockKind, Failure, FailureCode};
use serde_json::{Value, json};

pub(crate) fn signer() -> Signer {
    Signer::from_seed(&[7; 32])
}

pub(crate) fn keys() -> Vec<PublicKey> {
    vec![signer().public()]
}

pub(crate) fn block(kind: BlockKind, text: &str, selector: &str) -> Block {
    Block {
        kind,
        text: text.to_owned(),
        markdown: text.to_owned(),
        links: vec![],
        source_selector: selector.to_owned(),
        level: None,
        glue: "\n\n".into(),
        table: None,
    }
}

pub(crate) fn blocks() -> Vec<Block> {
    vec![
        block(BlockKind::Heading, "Harbour", "h1"),
        block(
            BlockKind::Paragraph,
            "The crane was built in 1911.",
            "p:nth-of-type(1)",
        ),
        block(
            BlockKind::Paragraph,
            "Hochwasser um 06:12 – täglich.",
            "p:nth-of-type(2)",
        ),
    ]
}

pub(crate) const MARKDOWN: &str =
    "# Harbour\n\nThe crane was built in 1911.\n\nHochwasser um 06:12 – täglich.";

pub(crate) fn read() -> Read {
    Read {
        url: "https://example.test/a".to_owned(),
        final_url: "https://example.test/hafen".to_owned(),
        backend: "http".to_owned(),
        at: Timestamp(1_796_000_000_123),
        toolchain: "kilter/0.1.0".to_owned(),
        playbook: Some(("harbour".to_owned(), "1.2".to_owned())),
        asked: Asked {
            backend_policy: Some("http_then_browser".to_owned()),
            max_tokens: Some(2_000),
            focus: Some("crane".to_owned()),
            sections: vec!["Harbour".to_owned()],
            session_profile: Some("work".to_owned()),
        },
    }
}

pub(crate) fn content() -> Content {
    Content {
        content_hash: content_hash(MARKDOWN),
        leaves: Some(leaves(&blocks())),
        leaf_set_complete: true,
        tokens: Some((21, "o200k_base".to_owned())),
        confidence: Some(0.87),
    }
}

pub(crate) fn receipt() -> Value {
    extraction(&read(), &content(), &signer()).unwrap()
}

/// Every value that differs from `value` in one place: each scalar changed, each key taken away or renamed, a key added
/// to each object, each list shortened, lengthened and turned round.
pub(crate) fn tampered(value: &Value) -> Vec<(String, Value)> {
    fn walk(value: &Value, path: &str, out: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(map) => {
                for (k, v) in map {
                    let mut without = map.clone();
                    without.remove(k);
                    out.push((format!("{path}/{k} removed"), Value::Object(without)));
                    let mut inner = Vec::new();
                    walk(v, &format!("{path}/{k}"), &mut inner);
                    for (p, changed) in inner {
                        let mut copy = map.clone();
                        copy.insert(k.clone(), changed);
                        out.push((p, Value::Object(copy)));
                    }
                }
                let mut more = map.clone();
                more.insert("extra".to_owned(), json!(1));
                out.push((format!("{path}/extra added"), Value::Object(more)));
            }
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    let mut inner = Vec::new();
                    walk(item, &format!("{path}/{i}"), &mut inner);
                    for (p, changed) in inner {
                        let mut copy = items.clone();
                        copy[i] = changed;
                        out.push((p, Value::Array(copy)));
                    }
                    let mut without = items.clone();
                    without.remove(i);
                    out.push((format!("{path}/{i} removed"), Value::Array(without)));
                }
                if let Some(last) = items.last() {
                    let mut more = items.clone();
                    more.push(last.clone());
                    out.push((format!("{path} last doubled"), Value::Array(more)));
                }
                if items.len() > 1 {
                    let mut turned = items.clone();
                    turned.swap(0, 1);
                    if turned != *items {
                        out.push((format!("{path} swapped"), Value::Array(turned)));
                    }
                }
            }
            Value::String(s) => {
                let mut longer = s.clone();
                longer.push('x');
                out.push((format!("{path} longer"), json!(longer)));
                let mut chars: Vec<char> = s.chars().collect();
                if let Some(c) = chars.first_mut() {
                    *c = if *c == 'b' { 'c' } else { 'b' };
                    out.push((format!("{path} first"), json!(String::from_iter(chars))));
                }
                out.push((format!("{path} empty"), json!("")));
                out.push((format!("{path} null"), Value::Null));
            }
            Value::Number(n) => {
                out.push((format!("{path} +1"), json!(n.as_f64().unwrap() + 1.0)));
                out.push((format!("{path} as text"), json!(n.to_string())));
            }
            Value::Bool(b) => {
                out.push((format!("{path} turned"), json!(!b)));
                out.push((format!("{path} null"), Value::Null));
            }
            Value::Null => out.push((format!("{path} not null"), json!("x"))),
        }
    }
    let mut out = Vec::new();
    walk(value, "", &mut out);
    out.retain(|(_, v)| v != value);
    out
}

fn verdict(value: &Value, markdown: Option<&str>, keys: &[PublicKey]) -> Option<Verdict> {
    from_value(value)
        .ok()
        .map(|g| offline(&g, markdown, keys).verdict)
}

#[test]
fn a_receipt_verifies_with_and_without_its_content() {
    let receipt = receipt();
    assert_eq!(verdict(&receipt, None, &keys()), Some(Verdict::Verified));
    assert_eq!(
        verdict(&receipt["signed"], Some(MARKDOWN), &keys()),
        Some(Verdict::Verified)
    );
    assert_eq!(
        verdict(
            &json!({"ok": true, "receipt": receipt}),
            Some(MARKDOWN),
            &keys()
        ),
        Some(Verdict::Verified)
    );
    assert_eq!(
        verdict(&receipt, Some("# Harbour"), &keys()),
        Some(Verdict::ContentMismatch)
    );
    let signed = &receipt["signed"];
    assert_eq!(signed["leafCount"], 3);
    assert_eq!(signed["leafSetComplete"], true);
    assert_eq!(signed["ts"], "2026-11-30T00:53:20.123Z");
    assert_eq!(
        Asked::from_envelope(signed),
        read().asked,
        "a live check asks the same again"
    );
}

#[test]
fn no_altered_field_of_a_receipt_passes() {
    let receipt = receipt();
    let all = tampered(&receipt["signed"]);
    assert!(all.len() > 90, "{}", all.len());
    for (what, value) in &all {
        let got = verdict(value, None, &keys());
        assert!(got.is_none_or(|v| !v.is_good()), "{what}: {got:?}");
    }
    // Beside the envelope: the leaves. Taking them all away leaves a sound envelope; anything else shows.
    for (what, value) in tampered(&receipt["blockLeaves"]) {
        let mut copy = receipt.clone();
        copy["blockLeaves"] = value;
        let got = verdict(&copy, None, &keys());
        assert!(got.is_none_or(|v| !v.is_good()), "{what}: {got:?}");
    }
}

#[test]
fn a_wrong_key_and_an_unknown_version_have_verdicts_of_their_own() {
    let receipt = receipt();
    let other = Signer::from_seed(&[8; 32]);
    assert_eq!(
        verdict(&receipt, None, &[other.public()]),
        Some(Verdict::WrongKey)
    );
    assert_eq!(verdict(&receipt, None, &[]), Some(Verdict::WrongKey));
    let mut claimed = receipt.clone();
    claimed["signed"]["keyId"] = json!(other.id());
    assert_eq!(
        verdict(&claimed, None, &[other.public(), signer().public()]),
        Some(Verdict::SignatureInvalid)
    );
    for version in [json!(0), json!(3), json!("2"), json!(2.5)] {
        let mut newer = receipt.clone();
        newer["signed"]["v"] = version;
        assert_eq!(
            verdict(&newer, None, &keys()),
            Some(Verdict::UnsupportedVersion)
        );
    }
    for text in [
        "",
        "{}",
        "[]",
        "null",
        "\"x\"",
        "{\"signed\":{}}",
        "kilter://capsule/",
        "kilter://capsule/AAAA",
    ] {
        assert_eq!(
            given(text).unwrap_err().code,
            FailureCode::InvalidReceipt,
            "{text}"
        );
    }
}

#[test]
fn only_a_closed_door_is_proved() {
    let status = |n| FailureCode::Http(n);
    let closed = [
        FailureCode::CaptchaOrChallenge,
        FailureCode::RequiresLogin,
        FailureCode::Paywall,
        status(401),
        status(403),
        status(404),
        status(410),
    ];
    let open = [
        FailureCode::Timeout,
        FailureCode::NetworkError,
        FailureCode::DnsError,
        FailureCode::TlsError,
        FailureCode::ThinExtract,
        FailureCode::SoftNotFound,
        FailureCode::InvalidArguments,
        FailureCode::BrowserRequired,
        FailureCode::PrivateUrlBlocked,
        FailureCode::RobotsDisallowed,
        status(400),
        status(429),
        status(500),
        status(503),
    ];
    for code in closed {
        assert!(provable(code));
        let receipt = negative(&read(), &Failure::new(code, "closed"), &signer())
            .unwrap()
            .unwrap();
        assert_eq!(receipt["signed"]["kind"], "negative");
        assert_eq!(receipt["signed"].get("contentHash"), None);
        assert_eq!(verdict(&receipt, None, &keys()), Some(Verdict::Verified));
        assert_eq!(
            verdict(&receipt, Some("text"), &keys()),
            Some(Verdict::ContentMismatch),
            "no content goes with it"
        );
    }
    for code in open {
        assert!(!provable(code));
        assert_eq!(
            negative(&read(), &Failure::new(code, "no"), &signer()).unwrap(),
            None
        );
    }
}

#[test]
fn a_block_is_cited_without_the_page() {
    let receipt = receipt();
    let whole = from_value(&receipt).unwrap();
    let proof = prove(&whole, 1).unwrap();
    assert_eq!(
        prove(&whole, 3).unwrap_err().code,
        FailureCode::InvalidArguments
    );
    let proof = serde_json::to_value(proof).unwrap();
    let envelope = from_value(&receipt["signed"]).unwrap();
    let b = &blocks()[1];
    let check = |text: &str, selector: &str, proof: &Value| {
        citation(&envelope, text, selector, proof, &keys()).map(|r| r.verdict)
    };
    assert_eq!(
        check(&b.text, &b.source_selector, &proof).unwrap(),
        Verdict::CitationVerified
    );
    assert_eq!(
        check("The crane was built in 1912.", &b.source_selector, &proof).unwrap(),
        Verdict::CitationInvalid
    );
    assert_eq!(
        check(&b.text, "p", &proof).unwrap(),
        Verdict::CitationInvalid
    );
    for (what, value) in tampered(&proof) {
        let got = check(&b.text, &b.source_selector, &value);
        assert!(
            got.as_ref().map_or(true, |v| !v.is_good()),
            "{what}: {got:?}"
        );
    }
    for (what, value) in tampered(&receipt["signed"]) {
        let Ok(envelope) = from_value(&value) else {
            continue;
        };
        let got = citation(&envelope, &b.text, &b.source_selector, &proof, &keys()).unwrap();
        assert!(!got.verdict.is_good(), "{what}: {got:?}");
    }
    let bare = Given {
        leaves: None,
        ..whole
    };
    assert_eq!(
        prove(&bare, 0).unwrap_err().code,
        FailureCode::InvalidReceipt
    );
}

#[test]
fn a_page_read_again_is_compared_block_by_block() {
    let whole = from_value(&receipt()).unwrap();
    let same = compare(
        &whole,
        MARKDOWN,
        &blocks(),
        &["crane was  built".to_owned()],
    );
    assert!(same.content_hash_match && !same.drift && same.stale_chunks.is_empty());
    assert_eq!(
        (same.block_root_match, same.blocks_still_present),
        (Some(true), Some(3))
    );
    let mut now = blocks();
    now[1].text = "The crane was torn down.".to_owned();
    let drifted = compare(
        &whole,
        "# Harbour",
        &now,
        &["built in 1911".to_owned(), "Harbour".to_owned()],
    );
    assert!(drifted.drift && drifted.block_root_match == Some(false));
    assert_eq!(
        (drifted.blocks_total, drifted.blocks_still_present),
        (Some(3), Some(2))
    );
    assert_eq!(drifted.stale_chunks, [0]);
}

#[test]
fn a_capsule_goes_wherever_a_receipt_goes() {
    let text = capsule::pack(&receipt(), MARKDOWN);
    let open = given(&text).unwrap();
    assert_eq!(offline(&open, None, &keys()).verdict, Verdict::Verified);
    assert_eq!(prove(&open, 2).unwrap().leaf_count, 3);
    let in_reply = given(&json!({"receipt": {"capsule": text}}).to_string()).unwrap();
    assert_eq!(offline(&in_reply, None, &keys()).verdict, Verdict::Verified);

    let body: Value = serde_json::from_slice(
        &kilter_web::receipt::key::unb64(text.strip_prefix(capsule::SCHEME).unwrap()).unwrap(),
    )
    .unwrap();
    let all = tampered(&body);
    assert!(all.len() > 120, "{}", all.len());
    for (what, value) in all {
        let text = format!(
            "{}{}",
            capsule::SCHEME,
            kilter_web::receipt::key::b64(value.to_string().as_bytes())
        );
        let got = given(&text).map(|g| offline(&g, None, &keys()).verdict);
        assert!(
            got.as_ref().map_or(true, |v| !v.is_good()),
            "{what}: {got:?}"
        );
    }
}

#[test]
fn old_envelopes_verify() {
    let old: Value = serde_json::from_str(include_str!("fixtures/receipts-v1.json")).unwrap();
    let keys = PublicKey::all_from_pem(old["publicKey"].as_str().unwrap()).unwrap();
    let markdown = old["markdown"].as_str().unwrap();
    assert!(keys[0].id().starts_with("k1:"));
    for name in ["plain", "escaped", "negative"] {
        assert_eq!(
            verdict(&old[name], None, &keys),
            Some(Verdict::Verified),
            "{name}"
        );
        for (what, value) in tampered(&old[name]["signed"]) {
            let got = verdict(&value, None, &keys);
            assert!(got.is_none_or(|v| !v.is_good()), "{name} {what}: {got:?}");
        }
        assert_eq!(
            verdict(&old[name], None, &super::receipt::keys()),
            Some(Verdict::WrongKey)
        );
    }
    assert_eq!(
        verdict(&old["plain"], Some(markdown), &keys),
        Some(Verdict::Verified)
    );
    assert_eq!(
        verdict(&old["plain"], Some("x"), &keys),
        Some(Verdict::ContentMismatch)
    );
    let b = &old["blocks"][1];
    let envelope = from_value(&old["plain"]["signed"]).unwrap();
    let cite = |text: &str| {
        citation(
            &envelope,
            text,
            b["selector"].as_str().unwrap(),
            &old["proof"],
            &keys,
        )
        .unwrap()
        .verdict
    };
    assert_eq!(cite(b["text"].as_str().unwrap()), Verdict::CitationVerified);
    assert_eq!(
        cite("The crane was built in 1912."),
        Verdict::CitationInvalid
    );
    let open = given(old["capsule"].as_str().unwrap()).unwrap();
    assert_eq!(offline(&open, None, &keys).verdict, Verdict::Verified);
    let set = kilter_web::receipt::manifest::check(&old["set"], &keys);
    assert_eq!(set.verdict, Verdict::Verified, "{}", set.reason);
    for (what, value) in tampered(&old["set"]["rows"]) {
        // A row that was not read is not `ok`, whether it says so or not; what nobody knows is not looked at.
        if what.ends_with("extra added") || what == "/1/ok removed" {
            continue;
        }
        let mut copy = old["set"].clone();
        copy["rows"] = value;
        let got = kilter_web::receipt::manifest::check(&copy, &keys).verdict;
        assert!(!got.is_good(), "{what}: {got:?}");
    }
    // An old envelope under a new key id, and a new one under the old algorithm, are nothing.
    let mut crossed = receipt()["signed"].clone();
    crossed["v"] = json!(1);
    assert!(
        !verdict(&crossed, None, &super::receipt::keys())
            .unwrap()
            .is_good()
    );
}

#[test]
fn an_unknown_mode_is_an_error() {
    for (word, mode) in [
        ("offline", Mode::Offline),
        ("live", Mode::Live),
        ("prove", Mode::Prove),
        ("citation", Mode::Citation),
        ("history", Mode::History),
    ] {
        assert_eq!(word.parse::<Mode>().unwrap(), mode);
    }
    for word in ["", "Offline", "ofline", "all"] {
        assert_eq!(
            word.parse::<Mode>().unwrap_err().code,
            FailureCode::InvalidArguments,
            "{word}"
        );
    }
}

#[test]
fn a_key_is_made_on_first_use_and_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let off = KeyStore::open(dir.path(), false);
    assert!(matches!(off.signer(), Err(StoreError::Off)));
    assert!(matches!(off.rotate(), Err(StoreError::Off)));
    let store = KeyStore::open(dir.path(), true);
    assert!(store.public_keys().unwrap().is_empty() && store.current().unwrap().is_none());
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        0,
        "looking makes nothing"
    );

    let ids: Vec<String> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..8)
            .map(|_| s.spawn(|| store.signer().unwrap().id()))
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|id| *id == ids[0]), "one key wins: {ids:?}");
    let keys_dir = dir.path().join("keys");
    let secrets = || {
        std::fs::read_dir(&keys_dir)
            .unwrap()
            .flatten()
            .filter(|e| e.path().extension().is_some_and(|x| x == "pem"))
            .collect::<Vec<_>>()
    };
    assert_eq!(secrets().len(), 1);
    assert_eq!(store.public_keys().unwrap().len(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |p: &std::path::Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&secrets()[0].path()), 0o600);
        assert_eq!(mode(&keys_dir), 0o700);
        std::fs::set_permissions(secrets()[0].path(), std::fs::Permissions::from_mode(0o640))
            .unwrap();
        assert!(matches!(store.signer(), Err(StoreError::Exposed { .. })));
        std::fs::set_permissions(secrets()[0].path(), std::fs::Permissions::from_mode(0o600))
            .unwrap();
    }
    let before = store.signer().unwrap();
    let old = extraction(&read(), &content(), &before).unwrap();
    let after = store.rotate().unwrap();
    assert_ne!(before.id(), after.id());
    assert_eq!(store.signer().unwrap().id(), after.id());
    assert_eq!(secrets().len(), 1, "the old secret is gone");
    let all = store.public_keys().unwrap();
    assert_eq!((all.len(), all[0].id()), (2, after.id()));
    assert_eq!(
        verdict(&old, None, &all),
        Some(Verdict::Verified),
        "old receipts verify"
    );
}

#[test]
fn the_first_key_of_an_origin_is_noted_and_another_one_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let store = KeyStore::open(dir.path(), true);
    let (a, b) = (signer().public(), Signer::from_seed(&[9; 32]).public());
    let now = Timestamp(1_796_000_000_000);
    assert_eq!(
        store.note("reader.example.test", &a, now).unwrap(),
        Acquaintance::New
    );
    assert!(matches!(
        store.note("reader.example.test", &a, now).unwrap(),
        Acquaintance::Known { .. }
    ));
    assert!(
        matches!(store.note("reader.example.test", &b, now).unwrap(), Acquaintance::Changed { known, .. } if known == a.id())
    );
    assert_eq!(
        store.note("other.example.test", &b, now).unwrap(),
        Acquaintance::New
    );
    assert!(store.current().unwrap().is_none(), "noting mints nothing");
    assert!(digest_from("sha256:00").is_none());
}

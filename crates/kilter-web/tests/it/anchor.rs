//! Time anchors: tokens of another program, an authority of the test's own, and everything that a token may not be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kilter_core::SystemClock;
use kilter_web::FailureCode;
use kilter_web::address::AddressPolicy;
use kilter_web::hash::sha256;
use kilter_web::reading::{Operator, Request};
use kilter_web::receipt::anchor::{AnchorError, attach, check, imprint, token};
use kilter_web::receipt::verify::{from_value, given, offline, offline_by};
use kilter_web::receipt::{KeyStore, Verdict, capsule};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use rustls::pki_types::CertificateDer;
use serde_json::json;

use crate::acquire::{client, open_client};
use crate::gate::opener;
use crate::receipt::{MARKDOWN, keys, receipt, tampered};
use crate::site::{Say, Site, answer, page};

/// Made once with OpenSSL: a root, an authority under it, a server under it, and two answers over the digest of `SAID`.
const ROOT: &[u8] = include_bytes!("data/tsa/ca.cert.der");
const AUTHORITY: &[u8] = include_bytes!("data/tsa/ec.cert.der");
const AUTHORITY_KEY: &[u8] = include_bytes!("data/tsa/ec.key.der");
const SERVER: &[u8] = include_bytes!("data/tsa/web.cert.der");
const SERVER_KEY: &[u8] = include_bytes!("data/tsa/web.key.der");
const BY_EC: &[u8] = include_bytes!("data/tsa/ec.tsr");
const BY_RSA: &[u8] = include_bytes!("data/tsa/rsa.tsr");
const SAID: &[u8] = b"what was signed";

fn roots() -> Vec<CertificateDer<'static>> {
    vec![CertificateDer::from(ROOT)]
}

#[test]
fn tokens_of_another_program_are_read() {
    let digest = sha256(&[SAID]);
    for answer in [BY_EC, BY_RSA] {
        let token = token(answer).unwrap();
        let got = check(token, &digest, &roots()).unwrap();
        assert!(
            got.trusted && got.time.starts_with("2026-11-30T17:36:"),
            "{got:?}"
        );
        assert_eq!(got.policy, "1.2.3.4.1");
        // Without a root its words are the same, and nobody's.
        assert!(!check(token, &digest, &[]).unwrap().trusted);
        let other = vec![CertificateDer::from(SERVER)];
        assert!(!check(token, &digest, &other).unwrap().trusted);
        assert_eq!(
            check(token, &sha256(&[b"else"]), &roots()),
            Err(AnchorError::OtherImprint)
        );
    }
}

#[test]
fn no_changed_byte_is_believed() {
    let digest = sha256(&[SAID]);
    let token = token(BY_EC).unwrap();
    let whole = check(token, &digest, &roots()).unwrap();
    let mut refused = 0;
    for at in 0..token.len() {
        for flip in [0x01, 0x80] {
            let mut changed = token.to_vec();
            changed[at] ^= flip;
            match check(&changed, &digest, &roots()) {
                Err(_) => refused += 1,
                // Bytes that nobody signs (a version, an algorithm's name beside the signed one) say nothing.
                Ok(got) => assert_eq!(
                    (got.time, got.policy, got.serial),
                    (
                        whole.time.clone(),
                        whole.policy.clone(),
                        whole.serial.clone()
                    ),
                    "byte {at}"
                ),
            }
        }
        assert!(
            check(&token[..at], &digest, &roots()).is_err(),
            "cut at {at}"
        );
    }
    assert!(refused > token.len(), "{refused} of {}", token.len() * 2);
    for bad in [
        &[][..],
        &[0x30, 0x80],
        &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        b"text",
    ] {
        assert_eq!(check(bad, &digest, &roots()), Err(AnchorError::Unreadable));
        assert!(kilter_web::receipt::anchor::token(bad).is_err());
    }
}

fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let mut out = vec![tag];
    match body.len() {
        n @ 0..=127 => out.push(n as u8),
        n @ 128..=255 => out.extend([0x81, n as u8]),
        n => out.extend([0x82, (n >> 8) as u8, n as u8]),
    }
    out.extend(body);
    out
}

fn oid(dotted: &str) -> Vec<u8> {
    let parts: Vec<u64> = dotted.split('.').map(|p| p.parse().unwrap()).collect();
    let mut body = vec![(parts[0] * 40 + parts[1]) as u8];
    for part in &parts[2..] {
        let mut bytes = vec![(part & 0x7f) as u8];
        let mut rest = part >> 7;
        while rest > 0 {
            bytes.insert(0, (rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        body.extend(bytes);
    }
    value(0x06, &[&body])
}

/// Issuer and number of a certificate.
fn named(certificate: &[u8]) -> Vec<u8> {
    fn next(bytes: &[u8]) -> (&[u8], &[u8], &[u8]) {
        let (head, n) = match bytes[1] {
            0x82 => (4, usize::from(bytes[2]) << 8 | usize::from(bytes[3])),
            0x81 => (3, usize::from(bytes[2])),
            n => (2, usize::from(n)),
        };
        (
            &bytes[..head + n],
            &bytes[head..head + n],
            &bytes[head + n..],
        )
    }
    let tbs = next(next(certificate).1).1;
    let (serial, _, rest) = next(next(tbs).2);
    let (issuer, ..) = next(next(rest).2);
    value(0x30, &[issuer, serial])
}

/// An authority's answer to a request: over its imprint and with its nonce, at a time, by a certificate and its key.
fn stamp(request: &[u8], time: &str, certificate: &[u8], key: &[u8]) -> Vec<u8> {
    // SEQUENCE, version, then the imprint with a digest of 32 bytes, then the nonce.
    let at = request.windows(2).position(|w| w == [0x04, 0x20]).unwrap();
    let imprint = &request[at + 2..at + 34];
    let nonce_length = usize::from(request[at + 35]) + 2;
    let nonce = &request[at + 34..at + 34 + nonce_length];
    stamp_over(imprint, nonce, time, certificate, key)
}

fn stamp_over(imprint: &[u8], nonce: &[u8], time: &str, certificate: &[u8], key: &[u8]) -> Vec<u8> {
    let sha256_name = value(0x30, &[&oid("2.16.840.1.101.3.4.2.1")]);
    let tst = oid("1.2.840.113549.1.9.16.1.4");
    let info = value(
        0x30,
        &[
            &[2, 1, 1],
            &oid("1.2.3.4.1"),
            &value(0x30, &[&sha256_name, &value(4, &[imprint])]),
            &[2, 1, 42],
            &value(0x18, &[time.as_bytes()]),
            nonce,
        ],
    );
    let attribute = |name: &str, body: &[u8]| value(0x30, &[&oid(name), &value(0x31, &[body])]);
    let hash = value(4, &[&sha256(&[certificate])]);
    let signing = value(0x30, &[&value(0x30, &[&value(0x30, &[&hash])])]);
    let attributes = [
        attribute("1.2.840.113549.1.9.3", &tst),
        attribute("1.2.840.113549.1.9.4", &value(4, &[&sha256(&[&info])])),
        attribute("1.2.840.113549.1.9.16.2.47", &signing),
    ]
    .concat();
    // The key's 32 bytes stand behind the version of the inner structure.
    let at = key
        .windows(5)
        .position(|w| w == [2, 1, 1, 4, 0x20])
        .unwrap()
        + 3;
    let secret = SigningKey::from_slice(&key[at + 2..at + 34]).unwrap();
    let signature: Signature = secret.sign(&value(0x31, &[&attributes]));
    let signer = value(
        0x30,
        &[
            &[2, 1, 1],
            &named(certificate),
            &sha256_name,
            &value(0xa0, &[&attributes]),
            &value(0x30, &[&oid("1.2.840.10045.4.3.2")]),
            &value(4, &[signature.to_der().as_bytes()]),
        ],
    );
    let data = value(
        0x30,
        &[
            &[2, 1, 3],
            &value(0x31, &[&sha256_name]),
            &value(0x30, &[&tst, &value(0xa0, &[&value(4, &[&info])])]),
            &value(0xa0, &[certificate]),
            &value(0x31, &[&signer]),
        ],
    );
    let token = value(
        0x30,
        &[&oid("1.2.840.113549.1.7.2"), &value(0xa0, &[&data])],
    );
    value(0x30, &[&value(0x30, &[&[2, 1, 0]]), &token])
}

/// An authority on loopback: what it answers to each request.
async fn authority(answers: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Site {
    Site::start(move |asked| {
        assert_eq!(
            asked.header("content-type"),
            Some("application/timestamp-query")
        );
        let bytes = answers(&asked.body);
        answer(
            "200 OK",
            "Content-Type: application/timestamp-reply\r\n",
            bytes,
        )
    })
    .await
}

const LATER: &str = "20270601120000Z";

#[tokio::test]
async fn a_receipt_is_anchored_and_checked_without_asking_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let site = authority(move |request| {
        count.fetch_add(1, Ordering::SeqCst);
        stamp(request, LATER, AUTHORITY, AUTHORITY_KEY)
    })
    .await;
    let mut anchored = receipt();
    let limit = Duration::from_secs(5);
    let said = attach(&mut anchored, &open_client(), &site.url("/"), limit)
        .await
        .unwrap();
    assert_eq!(
        (said.time.as_str(), said.trusted),
        ("2027-06-01T12:00:00Z", false)
    );
    let got = from_value(&anchored).unwrap();
    let report = offline_by(&got, Some(MARKDOWN), &keys(), &roots());
    assert_eq!(report.verdict, Verdict::Verified);
    let seen = report.anchor.unwrap();
    assert!(seen.trusted && seen.serial == "2a", "{seen:?}");
    let unknown = offline(&got, None, &keys());
    assert_eq!(unknown.verdict, Verdict::Verified);
    assert!(!unknown.anchor.unwrap().trusted);
    // In a capsule, too.
    let packed = capsule::pack(&anchored, MARKDOWN);
    let opened = given(&packed).unwrap();
    let report = offline_by(&opened, None, &keys(), &roots());
    assert!(report.anchor.unwrap().trusted);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "checking asks nobody");
    // An anchor of one receipt is none of another.
    let token = anchored["timeAnchor"].as_str().unwrap().to_owned();
    let mut other = receipt();
    other["signed"]["sig"] = json!("AAAA");
    assert_ne!(imprint(&other["signed"]), imprint(&anchored["signed"]));
    for (what, changed) in tampered(&anchored) {
        let good = from_value(&changed).is_ok_and(|g| {
            let report = offline_by(&g, Some(MARKDOWN), &keys(), &roots());
            report.verdict.is_good() && report.anchor.is_some()
        });
        let beside = what.starts_with("/extra") || what.starts_with("/blockLeaves removed");
        assert!(!good || beside, "{what}");
    }
    let mut swapped = receipt();
    let elsewhere = stamp_over(&[9; 32], &[], LATER, AUTHORITY, AUTHORITY_KEY);
    swapped["timeAnchor"] = STANDARD
        .encode(kilter_web::receipt::anchor::token(&elsewhere).unwrap())
        .into();
    let report = offline(&from_value(&swapped).unwrap(), None, &keys());
    assert_eq!(report.verdict, Verdict::AnchorInvalid);
    assert!(!token.is_empty());
}

#[test]
fn not_everybody_may_stamp_times() {
    let digest = sha256(&[SAID]);
    let by = |certificate: &[u8], key: &[u8], time: &str| {
        let answer = stamp_over(&digest, &[], time, certificate, key);
        check(token(&answer).unwrap(), &digest, &roots())
    };
    assert!(by(AUTHORITY, AUTHORITY_KEY, LATER).unwrap().trusted);
    // The certificate of a web server, of the same root.
    assert!(!by(SERVER, SERVER_KEY, LATER).unwrap().trusted);
    // A time at which the certificate did not hold yet.
    assert!(
        !by(AUTHORITY, AUTHORITY_KEY, "20200101000000Z")
            .unwrap()
            .trusted
    );
    // Somebody else's key.
    assert_eq!(
        by(AUTHORITY, SERVER_KEY, LATER),
        Err(AnchorError::BadSignature)
    );
    for time in [
        "20270601120000",
        "20271301120000Z",
        "20270601250000Z",
        "2027Z",
        "20270601120000.xZ",
    ] {
        assert_eq!(
            by(AUTHORITY, AUTHORITY_KEY, time),
            Err(AnchorError::Unreadable),
            "{time}"
        );
    }
    let exact = by(AUTHORITY, AUTHORITY_KEY, "20280229235959.25Z").unwrap();
    assert_eq!(exact.time, "2028-02-29T23:59:59.25Z");
}

#[tokio::test]
async fn an_authority_that_fails_leaves_the_receipt_as_it_was() {
    let limit = Duration::from_millis(800);
    let other_nonce = |request: &[u8]| {
        let at = request.windows(2).position(|w| w == [0x04, 0x20]).unwrap();
        stamp_over(
            &request[at + 2..at + 34],
            &[2, 1, 7],
            LATER,
            AUTHORITY,
            AUTHORITY_KEY,
        )
    };
    let answers: [(&str, Box<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>); 4] = [
        ("another nonce", Box::new(other_nonce)),
        ("nothing", Box::new(|_| Vec::new())),
        ("a refusal", Box::new(|_| vec![0x30, 5, 0x30, 3, 2, 1, 2])),
        ("another digest", Box::new(|_| BY_EC.to_vec())),
    ];
    for (what, answers) in answers {
        let site = authority(answers).await;
        let mut bare = receipt();
        let got = attach(&mut bare, &open_client(), &site.url("/"), limit)
            .await
            .unwrap_err();
        assert_eq!(got.code, FailureCode::InvalidReceipt, "{what}: {got}");
        assert!(got.message.contains("hint:"), "{what}");
        assert_eq!(bare, receipt(), "{what}");
    }
    let silent = Site::start(|_| Say::Nothing).await;
    let mut bare = receipt();
    let got = attach(&mut bare, &open_client(), &silent.url("/"), limit)
        .await
        .unwrap_err();
    assert_eq!(got.code, FailureCode::Timeout);
    // An authority at a private address is refused like any other page there.
    let closed = client(AddressPolicy::public());
    let got = attach(&mut bare, &closed, &silent.url("/"), limit)
        .await
        .unwrap_err();
    assert_eq!(got.code, FailureCode::PrivateUrlBlocked);
    let mut unsigned = json!({"signed": {"v": 2}});
    let got = attach(&mut unsigned, &open_client(), &silent.url("/"), limit)
        .await
        .unwrap_err();
    assert_eq!(got.code, FailureCode::InvalidReceipt);
    assert_eq!(bare, receipt());
}

#[tokio::test]
async fn a_reader_shows_its_receipts_where_the_operator_says_so_and_nowhere_else() {
    let time = authority(|request| stamp(request, LATER, AUTHORITY, AUTHORITY_KEY)).await;
    let site = Site::start(|r| match r.path.as_str() {
        "/tides" => page("<main><h1>Tides</h1><p>High water at the north quay: 04:12.</p></main>"),
        _ => answer("404 Not Found", "Content-Type: text/html\r\n", "<p>no</p>"),
    })
    .await;
    let state = tempfile::tempdir().unwrap();
    let url = time.url("/");
    let operator = |on: &'static str, url: &str| {
        let url = url.to_owned();
        Operator::from_env(move |name| match name {
            "KILTER_TIME_ANCHOR" => Some(on.to_owned()),
            "KILTER_TSA_URL" => Some(url.clone()),
            _ => None,
        })
    };
    let read = async |operator: &Operator, path: &str| {
        let keys = KeyStore::open(state.path(), true);
        let clock = Arc::new(SystemClock::default());
        let reader = operator.reader(opener(), Some(keys), clock);
        let request = Request {
            receipt: true,
            ..Request::new(site.url(path))
        };
        reader.read(&request).await
    };
    let on = operator("1", &url).unwrap();
    let got = read(&on, "/tides").await.outcome.unwrap();
    assert!(got.warnings.is_empty(), "{:?}", got.warnings);
    let keys = KeyStore::open(state.path(), true).public_keys().unwrap();
    let receipt = from_value(got.receipt.as_ref().unwrap()).unwrap();
    let report = offline_by(&receipt, Some(&got.page.markdown), &keys, &roots());
    assert!(report.anchor.unwrap().trusted);
    let closed = read(&on, "/none").await.receipt.unwrap();
    assert!(closed["timeAnchor"].is_string());
    // By default nobody is asked; a switch without an address is no switch.
    let before = time.touched();
    let off = read(&operator("0", &url).unwrap(), "/tides")
        .await
        .outcome
        .unwrap();
    assert!(off.receipt.unwrap().get("timeAnchor").is_none());
    assert_eq!(time.touched(), before);
    assert!(operator("1", "").is_err() && operator("1", "file:///x").is_err());
    // Where the authority is not there, the page is, with its receipt.
    let gone = operator("1", "http://127.0.0.1:9/").unwrap();
    let got = read(&gone, "/tides").await.outcome.unwrap();
    assert!(got.receipt.is_some());
    assert!(
        got.warnings[0].starts_with("time_anchor_missing"),
        "{:?}",
        got.warnings
    );
}

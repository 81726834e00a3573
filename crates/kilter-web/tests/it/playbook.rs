//! Playbooks: one parser, tiers, the save gate by structure, signatures, healing.

use kilter_core::Timestamp;
use kilter_web::playbook::document::{LESSONS_MAX, Lesson, redact};
use kilter_web::playbook::gate::{admit, gate, refusal};
use kilter_web::playbook::heal::eligible;
use kilter_web::playbook::lint::{Severity, parse};
use kilter_web::playbook::signature::{Status, sign, signature};
use kilter_web::playbook::{Grade, Shelf, Source, Tier, lint, resolve};
use kilter_web::receipt::Signer;
use kilter_web::{Block, BlockKind, FailureCode, Link};
use serde_json::{Value, json};

use crate::receipt::{block, keys, signer, tampered};

fn book() -> Value {
    json!({
        "schema_version": "1.0",
        "id": "tide-tables",
        "version": "3",
        "hosts": ["tides.example.test"],
        "meta": {"title": "Tide tables", "tags": ["sea"]},
        "routing": {"preferred_backend": "http"},
        "extract": {"contentSelectors": ["main .table"]},
        "genome": {"site_type": "tables", "page_classes": {"station": "/station/*", "north": "/station/north/*", "home": "/"}},
        "knowledge_schema": {"station": {"name": {"selector": "h1"}, "high": {"selector": "td.h", "multiple": true}}, "default": {"name": {"selector": "title"}}},
        "agent_notes": "Times are local.",
        "x_later": {"kept": true},
    })
}

#[test]
fn lint_says_all_there_is_to_say() {
    let good = lint(&book().to_string());
    assert_eq!(
        (good.grade, good.errors, good.warnings, good.infos),
        (Grade::Ready, 0, 0, 0),
        "{:?}",
        good.issues
    );
    let broken = |text: &str| lint(text).issues.iter().map(|i| i.code).collect::<Vec<_>>();
    assert_eq!(broken("{"), ["bad_json"]);
    assert_eq!(broken("[]"), ["not_an_object"]);
    assert_eq!(
        broken("{}"),
        [
            "missing", "missing", "missing", "missing", "missing", "missing"
        ]
    );
    assert_eq!(broken("{\"hosts\": 3}"), ["wrong_type"]);
    let change = |pointer: &str, value: Value| {
        let mut b = book();
        *b.pointer_mut(pointer).unwrap() = value;
        let l = lint(&b.to_string());
        (l.grade, l.issues.first().map(|i| (i.code, i.severity)))
    };
    let warns = |code| (Grade::Usable, Some((code, Severity::Warning)));
    let fails = |code| (Grade::Broken, Some((code, Severity::Error)));
    assert_eq!(
        change("/schema_version", json!("2.0")),
        fails("unsupported")
    );
    assert_eq!(
        change("/schema_version", json!("1.7")),
        (Grade::Ready, None)
    );
    assert_eq!(change("/id", json!("../up")), fails("invalid"));
    assert_eq!(change("/hosts", json!([])), fails("missing"));
    assert_eq!(
        change("/extract/contentSelectors", json!([])),
        fails("missing")
    );
    assert_eq!(
        change("/hosts/0", json!("https://Tides.example.test/")),
        warns("host_not_bare")
    );
    assert_eq!(
        change("/extract/contentSelectors/0", json!(" ")),
        warns("blank_selector")
    );
    assert_eq!(
        change("/routing/preferred_backend", json!("telnet")),
        warns("invalid_backend")
    );
    assert_eq!(
        change("/genome/page_classes", json!({})),
        warns("class_without_route")
    );
    assert_eq!(change("/meta/title", json!("")), warns("missing"));
    assert_eq!(
        change(
            "/agent_notes",
            json!("token: 9f8e7d6c5b4a39281706f5e4d3c2b1a0")
        ),
        fails("secret")
    );
    let mut secret = book();
    secret["routing"]["api_key"] = json!("x");
    assert_eq!(lint(&secret.to_string()).grade, Grade::Broken);
}

#[test]
fn what_lint_calls_broken_is_what_save_refuses() {
    // One parser: for every altered document both give the same answer.
    let (mut refused, mut taken) = (0, 0);
    for (what, value) in tampered(&book()) {
        let text = value.to_string();
        let broken = lint(&text).grade == Grade::Broken;
        let (parsed, _) = parse(&text);
        let host = parsed
            .as_ref()
            .and_then(|b| b.hosts.first().cloned())
            .unwrap_or("x.test".to_owned());
        let url = format!(
            "https://{}/",
            host.trim_start_matches("https://").trim_end_matches('/')
        );
        let saved = admit(&text, &url, None);
        if broken {
            assert!(saved.is_err(), "{what}");
            refused += 1;
        } else {
            taken += usize::from(saved.is_ok());
        }
        let mut shelf = Shelf::default();
        shelf.add(Tier::Local, None, &text);
        assert_eq!(shelf.held.is_empty(), broken, "{what}");
    }
    assert!(refused > 15 && taken > 15, "{refused} {taken}");
    let e = admit(&book().to_string(), "https://other.example.test/", None).unwrap_err();
    assert_eq!(e.code, FailureCode::PlaybookSaveRejected);
    let e = admit("{}", "https://tides.example.test/", None).unwrap_err();
    assert_eq!(e.code, FailureCode::PlaybookSchemaInvalid);
    let long = "x".repeat(501);
    assert_eq!(
        admit(
            &book().to_string(),
            "https://tides.example.test/",
            Some(&long)
        )
        .unwrap_err()
        .code,
        FailureCode::InvalidArguments
    );
    // Nothing of a later version is lost.
    let (parsed, _) = admit(&book().to_string(), "https://tides.example.test/a", None).unwrap();
    assert_eq!(
        serde_json::to_value(parsed).unwrap()["x_later"],
        json!({"kept": true})
    );
}

#[test]
fn the_nearer_tier_holds() {
    let dir = tempfile::tempdir().unwrap();
    let write = |tier: &str, name: &str, id: &str, host: &str| {
        std::fs::create_dir_all(dir.path().join(tier)).unwrap();
        let mut b = book();
        b["id"] = json!(id);
        b["hosts"] = json!([host]);
        std::fs::write(dir.path().join(tier).join(name), b.to_string()).unwrap();
    };
    write("seeds", "a.json", "seed", "tides.example.test");
    write("community", "a.json", "community", "tides.example.test");
    write("local", "a.json", "parent", "example.test");
    write("seeds", "b.json", "other", "other.test");
    std::fs::write(dir.path().join("local").join("broken.json"), "{").unwrap();
    let source = |tier, name: &str| Source {
        tier,
        dir: dir.path().join(name),
    };
    let mut shelf = Shelf::read(&[
        source(Tier::Seed, "seeds"),
        source(Tier::Community, "community"),
        source(Tier::Local, "local"),
        source(Tier::User, "missing"),
    ]);
    assert_eq!((shelf.held.len(), shelf.refused.len()), (4, 1));
    let id = |shelf: &Shelf, host: &str| shelf.find(host).map(|h| h.book.id.clone());
    assert_eq!(
        id(&shelf, "tides.example.test").as_deref(),
        Some("community")
    );
    assert_eq!(
        id(&shelf, "www.TIDES.example.test.").as_deref(),
        Some("community")
    );
    assert_eq!(
        id(&shelf, "deep.tides.example.test").as_deref(),
        Some("community"),
        "the nearer name before the nearer tier"
    );
    assert_eq!(id(&shelf, "else.example.test").as_deref(), Some("parent"));
    assert_eq!(id(&shelf, "nottides.test"), None);
    assert_eq!(id(&shelf, "badexample.test"), None);
    let mut local = book();
    local["id"] = json!("mine");
    shelf.add(Tier::Local, None, &local.to_string());
    assert_eq!(id(&shelf, "tides.example.test").as_deref(), Some("mine"));
    let found = resolve(
        &shelf,
        "https://tides.example.test/station/north/7",
        true,
        &[],
    )
    .unwrap();
    assert_eq!(
        (
            found.playbook_id.as_str(),
            found.provenance,
            found.page_class.as_deref()
        ),
        ("mine", Tier::Local, Some("north"))
    );
    assert_eq!(
        found.knowledge_fields,
        ["name"],
        "a class without fields of its own has the default ones"
    );
    assert_eq!(found.signature.status, Status::Unsigned);
    assert_eq!(
        resolve(&shelf, "https://unknown.test/", false, &[])
            .unwrap_err()
            .code,
        FailureCode::PlaybookNotFound
    );
    assert_eq!(
        resolve(&shelf, "file:///etc/passwd", false, &[])
            .unwrap_err()
            .code,
        FailureCode::InvalidUrl
    );
}

#[test]
fn a_signature_holds_for_its_document_alone() {
    let (mut signed, _) = admit(&book().to_string(), "https://tides.example.test/", None).unwrap();
    assert_eq!(signature(&signed, &keys()).status, Status::Unsigned);
    sign(
        &mut signed,
        Timestamp(1_796_000_000_000),
        88.5,
        true,
        &signer(),
    )
    .unwrap();
    let good = signature(&signed, &keys());
    assert_eq!(
        (good.status, good.score, good.passes_gate),
        (Status::Verified, Some(88.5), Some(true))
    );
    let other = signature(&signed, &[Signer::from_seed(&[3; 32]).public()]);
    assert_eq!(
        (other.status, other.score),
        (Status::UnknownKey, None),
        "what is not verified is not repeated"
    );
    let value = serde_json::to_value(&signed).unwrap();
    for (what, value) in tampered(&value) {
        let Ok(book) = serde_json::from_value(value) else {
            continue;
        };
        if book == signed {
            continue;
        }
        let got = signature(&book, &keys()).status;
        assert_ne!(got, Status::Verified, "{what}");
    }
    signed.provenance.as_mut().unwrap()["v"] = json!(1);
    assert_eq!(
        signature(&signed, &keys()).status,
        Status::UnsupportedVersion
    );
}

fn linked(text: &str) -> Block {
    Block {
        links: vec![Link {
            text: text.to_owned(),
            href: "https://x.test/".to_owned(),
        }],
        ..block(BlockKind::ListItem, text, "li")
    }
}

fn page(words: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = (0..6)
        .flat_map(|i| {
            [
                block(BlockKind::Heading, &format!("{words} {i}"), "h2"),
                block(
                    BlockKind::Paragraph,
                    &format!("{i} {}", format!("{words} ").repeat(40)),
                    "p",
                ),
            ]
        })
        .collect();
    blocks.extend((0..8).map(|i| linked(&format!("{words} link {i}"))));
    blocks
}

#[test]
fn the_gate_judges_by_structure_in_any_language() {
    for words in [
        "high water",
        "Hochwasser",
        "прилив",
        "満潮",
        "subscribe cookie login privacy",
    ] {
        let whole = page(words);
        let good = gate(&whole[..12], &whole).unwrap();
        assert!(
            good.passes_gate && good.noise_leakage == 0.0,
            "{words} {good:?}"
        );
        assert_eq!(refusal(&good), None);
        let links = gate(&whole[10..], &whole).unwrap();
        assert!(!links.passes_gate, "{words} {links:?}");
        let half = gate(&whole[..4], &whole).unwrap();
        assert_eq!(
            refusal(&half).map(|f| f.code),
            Some(FailureCode::PlaybookVerifyLowScore),
            "{words} {half:?}"
        );
        assert_eq!(
            gate(&[], &whole).unwrap_err().code,
            FailureCode::PlaybookVerifyFailed
        );
    }
    // A short page, kept whole, is kept.
    let short = [
        block(BlockKind::Heading, "Hours", "h1"),
        block(BlockKind::Paragraph, "Nine to five.", "p"),
    ];
    assert!(gate(&short, &short).unwrap().passes_gate);
}

#[test]
fn only_some_failures_are_mended() {
    let url = "https://tides.example.test/station/1";
    for reason in [
        "thin_extract",
        "extraction_failed",
        "content_selectors_miss",
        "playbook_verify_low_score",
    ] {
        assert_eq!(eligible(url, reason, false), Ok(()), "{reason}");
    }
    let code = |url: &str, reason: &str, session| eligible(url, reason, session).unwrap_err().code;
    for reason in ["requires_login", "http_401", "http_403"] {
        assert_eq!(code(url, reason, false), FailureCode::HealNotApplicable);
        assert_eq!(eligible(url, reason, true), Ok(()));
    }
    for reason in [
        "http_404",
        "http_500",
        "timeout",
        "dns_error",
        "invalid_arguments",
    ] {
        assert_eq!(
            code(url, reason, true),
            FailureCode::HealNotApplicable,
            "{reason}"
        );
    }
    assert_eq!(
        code(url, "captcha_or_challenge", true),
        FailureCode::CaptchaOrChallenge
    );
    for url in [
        "https://captcha.example.test/",
        "https://challenges.cloudflare.com/x",
        "https://a.test/cdn-cgi/challenge-platform/x",
        "https://a.test/x/challenge",
        "https://a.test/?__cf_chl_tk=1",
    ] {
        assert_eq!(
            code(url, "thin_extract", true),
            FailureCode::CaptchaOrChallenge,
            "{url}"
        );
    }
    for url in [
        "https://a.test/challenges/1",
        "https://a.test/the-challenge",
        "https://recaptchas.test/",
    ] {
        assert_eq!(eligible(url, "thin_extract", false), Ok(()), "{url}");
    }
    for reason in ["", "oops", "http_4", "http_abc", "TypeError"] {
        assert_eq!(
            code(url, reason, true),
            FailureCode::InvalidFailureReason,
            "{reason}"
        );
    }
}

#[test]
fn lessons_are_bounded_and_without_secrets() {
    let (mut book, _) = admit(&book().to_string(), "https://tides.example.test/", None).unwrap();
    let lesson = |note: &str| Lesson {
        note: note.to_owned(),
        ..Lesson::default()
    };
    for i in 0..60 {
        book.learn(lesson(&format!("lesson {i}")));
    }
    assert_eq!(
        (book.lessons.len(), book.lessons[0].note.as_str()),
        (LESSONS_MAX, "lesson 10")
    );
    book.learn(lesson(&"ж".repeat(900)));
    assert_eq!(book.lessons.last().unwrap().note.chars().count(), 500);
    assert_eq!(
        redact("use key=9f8e7d6c5b4a39281706f5e4d3c2b1a0 now"),
        "use key=[redacted] now"
    );
    assert_eq!(
        redact("see /docs/guide/2024/harbour-survey-results-of-1911 there"),
        "see /docs/guide/2024/harbour-survey-results-of-1911 there"
    );
}

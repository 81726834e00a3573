//! Focus and budget: the right section, never a token too many, nothing dropped for a word of any language.

use kilter_web::budget::{Fitted, Frame, O200k, Sidecar, Tokenizer, fit};
use kilter_web::cascade::reply::{failed, plain_blocks, reply};
use kilter_web::cascade::{Body, Limits, Request, drive};
use kilter_web::focus::words::{slug, words};
use kilter_web::focus::{FocusStatus, Wanted, focus, prune, salience, sections};
use kilter_web::{Block, BlockKind, FailureCode};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

fn heading(level: u8, text: &str) -> Block {
    Block {
        kind: BlockKind::Heading,
        text: text.to_owned(),
        markdown: format!("{} {text}", "#".repeat(level.into())),
        links: vec![],
        source_selector: format!("h{level}#{}", slug(text)),
        level: Some(level),
        glue: "\n\n".into(),
        table: None,
    }
}

fn paragraph(text: &str) -> Block {
    Block {
        kind: BlockKind::Paragraph,
        text: text.to_owned(),
        markdown: text.to_owned(),
        links: vec![],
        source_selector: "p".to_owned(),
        level: None,
        glue: "\n\n".into(),
        table: None,
    }
}

fn frame() -> Frame {
    let mut frame = Frame::default();
    frame.fixed.insert("ok".to_owned(), json!(true));
    frame.optional = vec![
        ("url".to_owned(), json!("https://docs.example.test/api")),
        (
            "contentHash".to_owned(),
            json!(kilter_web::hash::content_hash("x")),
        ),
        ("title".to_owned(), json!("API")),
    ];
    frame
}

fn ask(blocks: &[Block], question: &str, max: u32) -> Fitted {
    let f = focus(blocks, &Wanted::question(question));
    fit(blocks, &f, &frame(), Some(max), &O200k).unwrap()
}

/// The case `budget-huge` of the field reports, as blocks.
fn huge() -> Vec<Block> {
    let mut blocks = vec![heading(1, "API")];
    for i in 0..3000 {
        blocks.push(heading(2, &format!("Endpoint {i}")));
        blocks.push(paragraph(&format!(
            "Call number {i} returns the state of pump {i} and needs the role operator."
        )));
    }
    blocks
}

#[test]
fn the_asked_section_of_a_huge_page_is_in_a_small_reply() {
    let got = ask(&huge(), "Endpoint 2417", 2_000);
    let text = got.reply["markdown"].as_str().unwrap();
    assert!(
        text.contains("Endpoint 2417") && text.contains("pump 2417"),
        "{text}"
    );
    assert!(O200k.count(&got.reply.to_string()) <= 2_000);
    assert!(got.tokens > 1_700, "the budget is used: {}", got.tokens);
    assert!(text.contains("<!-- SNIP"));
    let compile = &got.reply["compile"];
    assert_eq!(compile["truncated"], true);
    assert_eq!(compile["strategy"], "focus_window");
    assert_eq!(compile["tokenizer"], "o200k_base");
    assert_eq!(compile["tokens"], got.tokens);
    let omitted = &compile["omitted"][0];
    assert_eq!(omitted["reason"], "budget");
    assert_eq!(omitted["sections"].as_array().unwrap().len(), 12);
    assert!(omitted["moreSections"].as_u64().unwrap() > 2_000);
    // The smallest answer survives the smallest budget.
    let got = ask(&huge(), "Endpoint 2417", 128);
    let text = got.reply["markdown"].as_str().unwrap();
    assert!(
        text.contains("Endpoint 2417") && text.contains("pump 2417"),
        "{}",
        got.reply
    );
    assert!(O200k.count(&got.reply.to_string()) <= 128);
}

#[test]
fn the_fragment_decides_before_the_words_do() {
    let blocks = huge();
    let wanted = Wanted {
        question: Some("pump 9".to_owned()),
        fragment: Some("endpoint-1234".to_owned()),
    };
    let f = focus(&blocks, &wanted);
    assert_eq!(
        (f.status, f.anchor.as_deref()),
        (FocusStatus::Hit, Some("Endpoint 1234"))
    );
    let f = focus(&blocks, &Wanted::question("pump 9"));
    assert_eq!(f.anchor.as_deref(), Some("Endpoint 9"));
    let f = focus(&blocks, &Wanted::question("zebra"));
    assert_eq!((f.status, f.best.len()), (FocusStatus::Miss, 0));
    assert_eq!(
        focus(&blocks, &Wanted::question(" ")).status,
        FocusStatus::NotRequested
    );
}

#[test]
fn a_list_of_links_does_not_outrank_the_text() {
    let mut contents = paragraph("Install the pump Start the pump Stop the pump Mend the pump");
    contents.links = contents
        .text
        .split("the pump")
        .take(4)
        .map(|t| kilter_web::Link {
            text: format!("{t}the pump"),
            href: "https://example.test/".to_owned(),
        })
        .collect();
    let blocks = [
        heading(2, "Pump pages"),
        contents,
        heading(2, "Care"),
        paragraph("To mend the pump, close the valve first."),
    ];
    let f = focus(&blocks, &Wanted::question("mend pump"));
    assert_eq!(f.anchor.as_deref(), Some("Care"));
}

#[test]
fn words_are_found_in_any_script() {
    for (question, text) in [
        ("опенинг часы работы", "Часы работы музея с девяти до пяти."),
        ("営業時間", "博物館の営業時間は九時から五時までです。"),
        ("ساعات العمل", "ساعات العمل من التاسعة إلى الخامسة."),
        (
            "Öffnungszeiten",
            "Die Öffnungszeiten sind von neun bis fünf.",
        ),
        (
            "ώρες λειτουργίας",
            "Οι ώρες λειτουργίας είναι εννέα με πέντε.",
        ),
        ("เวลาทำการ", "พิพิธภัณฑ์มีเวลาทำการตั้งแต่เก้าโมงถึงห้าโมง"),
        ("readPage", "Call read_page with a URL."),
        ("opening", "It opens at nine."),
    ] {
        let blocks = [
            paragraph("0123 xyz"),
            paragraph(text),
            paragraph("9876 zyx"),
        ];
        let f = focus(&blocks, &Wanted::question(question));
        if question == "opening" {
            assert_eq!(
                f.status,
                FocusStatus::Miss,
                "a stem of four letters with another ending is another word"
            );
        } else {
            assert_eq!(salience(&f)[1], 1.0, "{question}");
            assert_eq!((salience(&f)[0], salience(&f)[2]), (0.0, 0.0));
        }
    }
    assert_eq!(
        words("getUserName foo_bar v1.2"),
        [
            "get",
            "user",
            "name",
            "getusername",
            "foo",
            "bar",
            "foo_bar",
            "v1",
            "v1.2"
        ]
    );
}

/// The same page in six languages, with the words that careless cleaners drop lines for.
#[test]
fn the_same_page_keeps_the_same_blocks_in_every_language() {
    let pages = [
        [
            "Community",
            "Join our Discord.",
            "Cookies and login",
            "Subscribe to the newsletter.",
            "Privacy policy",
        ],
        [
            "Gemeinschaft",
            "Komm auf unseren Discord.",
            "Cookies und Anmeldung",
            "Abonniere den Rundbrief.",
            "Datenschutz",
        ],
        [
            "Communauté",
            "Rejoignez notre Discord.",
            "Cookies et connexion",
            "Abonnez-vous à la lettre.",
            "Confidentialité",
        ],
        [
            "Сообщество",
            "Заходите в наш Дискорд.",
            "Куки и вход",
            "Подпишитесь на рассылку.",
            "Конфиденциальность",
        ],
        [
            "コミュニティ",
            "ディスコードに参加。",
            "クッキーとログイン",
            "ニュースレターを購読。",
            "プライバシー",
        ],
        [
            "المجتمع",
            "انضم إلى ديسكورد.",
            "ملفات تعريف الارتباط",
            "اشترك في النشرة.",
            "الخصوصية",
        ],
    ];
    for page in pages {
        let blocks = [
            heading(1, page[0]),
            paragraph(page[1]),
            heading(2, page[2]),
            paragraph(page[3]),
            heading(2, page[4]),
        ];
        let f = focus(&blocks, &Wanted::default());
        let got = fit(&blocks, &f, &frame(), Some(400), &O200k).unwrap();
        assert_eq!(got.kept, [0, 1, 2, 3, 4], "{page:?}");
        for text in page {
            assert!(got.reply["markdown"].as_str().unwrap().contains(text));
        }
        let f = focus(&blocks, &Wanted::question(page[2]));
        assert_eq!(prune(&blocks, &f), [0, 2, 3], "{page:?}");
    }
    // Two emoji in a line, a short line: nothing of that decides.
    let odd = [paragraph("🎉 🎉"), paragraph("community"), paragraph("ok")];
    let f = focus(&odd, &Wanted::default());
    assert_eq!(
        fit(&odd, &f, &frame(), Some(400), &O200k).unwrap().kept,
        [0, 1, 2]
    );
}

#[test]
fn what_was_not_asked_costs_nothing() {
    let blocks = &huge()[..9];
    let f = focus(blocks, &Wanted::default());
    let plain = fit(blocks, &f, &frame(), Some(2_000), &O200k).unwrap();
    let mut with = frame();
    with.sidecars = vec![Sidecar {
        name: "blocks".to_owned(),
        items: blocks
            .iter()
            .enumerate()
            .map(|(i, b)| (Some(i), json!(b)))
            .collect(),
    }];
    let asked = fit(blocks, &f, &with, Some(2_000), &O200k).unwrap();
    let keys = |f: &Fitted| {
        f.reply
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&plain),
        ["ok", "url", "contentHash", "title", "markdown", "compile"]
    );
    assert_eq!(
        keys(&asked),
        [
            "ok",
            "url",
            "contentHash",
            "title",
            "markdown",
            "blocks",
            "compile"
        ]
    );
    assert_eq!(plain.reply["markdown"], asked.reply["markdown"]);
    assert_eq!(asked.reply["blocks"].as_array().unwrap().len(), 9);
    // Asked for, they leave the content at least half of the room, and what is missing is listed.
    let blocks = huge();
    let f = focus(&blocks, &Wanted::default());
    with.sidecars[0].items = blocks
        .iter()
        .enumerate()
        .map(|(i, b)| (Some(i), json!(b)))
        .collect();
    let tight = fit(&blocks, &f, &with, Some(2_000), &O200k).unwrap();
    let share = O200k.count(tight.reply["markdown"].as_str().unwrap());
    assert!(share > 700, "{share}");
    let listed = tight.reply["blocks"].as_array().unwrap();
    assert!(!listed.is_empty() && O200k.count(&tight.reply.to_string()) <= 2_000);
    assert!(
        tight.reply["compile"]["omitted"]
            .to_string()
            .contains("blocks: ")
    );
}

#[test]
fn a_block_that_is_too_long_is_cut_and_marked() {
    for text in [
        "word ".repeat(4_000),
        "ж".repeat(9_000),
        "a".repeat(50_000),
        " ".repeat(50_000) + "x",
        "\u{1f9d1}\u{200d}\u{1f680}".repeat(800),
    ] {
        let blocks = [heading(1, "Long"), paragraph(&text)];
        let f = focus(&blocks, &Wanted::default());
        for max in [128, 300, 1_000] {
            let got = fit(&blocks, &f, &frame(), Some(max), &O200k).unwrap();
            assert!(O200k.count(&got.reply.to_string()) <= max as usize);
            if text.starts_with(' ') && !got.truncated {
                // Long runs of spaces are few tokens.
                continue;
            }
            let markdown = got.reply["markdown"].as_str().unwrap();
            assert!(
                markdown.starts_with("# Long") && markdown.contains("<!-- SNIP"),
                "{markdown}"
            );
            assert!(got.truncated && got.reply["compile"]["truncated"] == true);
        }
    }
}

#[test]
fn a_budget_below_the_frame_says_what_it_needs() {
    let mut wide = frame();
    wide.fixed.insert(
        "finalUrl".to_owned(),
        json!("https://example.test/".to_owned() + &"ab9-".repeat(500)),
    );
    let blocks = [paragraph("text")];
    let f = focus(&blocks, &Wanted::default());
    let e = fit(&blocks, &f, &wide, Some(128), &O200k).unwrap_err();
    assert_eq!(e.code, FailureCode::InvalidArguments);
    assert!(O200k.count(&failed(&e).to_string()) <= 128, "{e}");
    assert!(fit(&blocks, &f, &wide, None, &O200k).unwrap().tokens > 128);
}

#[test]
fn counting_in_pieces_counts_the_whole() {
    let mut text = String::new();
    for i in 0..9_000 {
        text.push_str(&format!(
            "word{i} , \u{e9}t\u{e9}  {{\"k\":{i}}}\\n\t \u{4f60}\u{597d} 'll don't  \n "
        ));
    }
    let whole = tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(&text)
        .len();
    assert_eq!(O200k.count(&text), whole);
    assert_eq!(O200k.count(""), 0);
    let hostile = " ".repeat(3_000_000);
    assert_eq!(
        O200k.count(&hostile),
        hostile.len(),
        "an upper bound, at no cost"
    );
}

fn page() -> impl Strategy<Value = Vec<Block>> {
    let word = prop_oneof![
        "[a-z]{1,9}",
        "[а-я]{1,9}",
        "\\PC{1,6}",
        Just("\"\\\n\t".to_owned()),
        "[0-9]{1,6}"
    ];
    let text = prop::collection::vec(word, 0..60).prop_map(|w| w.join(" "));
    let block = (0..6_u8, text, 1..4_u8).prop_map(|(kind, text, level)| match kind {
        0 => heading(
            level,
            text.get(..text.floor_char_boundary(40)).unwrap_or_default(),
        ),
        1 => Block {
            kind: BlockKind::Code,
            markdown: format!("```\n    {text}\n\n```"),
            ..paragraph(&text)
        },
        2 => Block {
            kind: BlockKind::Table,
            markdown: format!("| {text} | b |\n|---|---|\n| 1 | 2 |"),
            ..paragraph(&text)
        },
        _ => paragraph(&text),
    });
    prop::collection::vec(block, 0..80)
}

#[test]
fn five_hundred_random_replies_stay_within_their_budgets() {
    let mut runner = TestRunner::new(Config {
        cases: 500,
        failure_persistence: None,
        ..Config::default()
    });
    let options = (
        prop::option::of("[a-zа-я ]{1,30}"),
        prop::option::of("[a-z-]{1,9}"),
        0..3_usize,
        0..400_usize,
        prop_oneof![128..400_u32, 400..4_000_u32],
    );
    let fitted = std::cell::Cell::new(0);
    runner
        .run(
            &(page(), options),
            |(blocks, (question, fragment, sidecars, url, max))| {
                let f = focus(&blocks, &Wanted { question, fragment });
                let mut frame = frame();
                frame.optional.insert(
                    0,
                    (
                        "finalUrl".to_owned(),
                        json!(format!("https://example.test/{}", "x9/".repeat(url))),
                    ),
                );
                frame.sidecars = (0..sidecars)
                    .map(|n| Sidecar {
                        name: format!("side{n}"),
                        items: blocks
                            .iter()
                            .enumerate()
                            .map(|(i, b)| ((n == 0).then_some(i), json!(b)))
                            .collect(),
                    })
                    .collect();
                let got = match fit(&blocks, &f, &frame, Some(max), &O200k) {
                    Ok(got) => got,
                    Err(e) => {
                        prop_assert!(O200k.count(&failed(&e).to_string()) <= max as usize);
                        return Ok(());
                    }
                };
                fitted.set(fitted.get() + 1);
                let text = got.reply.to_string();
                prop_assert!(
                    O200k.count(&text) <= max as usize,
                    "{} > {max}",
                    O200k.count(&text)
                );
                prop_assert_eq!(O200k.count(&text), got.tokens);
                let said = got.reply["compile"]["tokens"]
                    .as_u64()
                    .unwrap()
                    .abs_diff(got.tokens as u64);
                prop_assert!(
                    said <= 1,
                    "said {} of {}",
                    got.reply["compile"]["tokens"],
                    got.tokens
                );
                prop_assert_eq!(&got.reply["compile"]["truncated"], &json!(got.truncated));
                prop_assert!(got.truncated || got.kept.len() == blocks.len());
                prop_assert!(
                    !got.truncated
                        || !got.reply["compile"]["omitted"]
                            .as_array()
                            .unwrap()
                            .is_empty()
                );
                prop_assert!(got.kept.is_sorted());
                Ok(())
            },
        )
        .unwrap();
    assert!(fitted.get() > 400, "{}", fitted.get());
}

#[test]
fn the_facade_keeps_its_budget_too() {
    let markdown: String = huge()
        .iter()
        .map(|b| format!("{}\n\n", b.markdown))
        .collect();
    let script = drive::Script {
        playbook: drive::Take {
            ms: 0,
            end: Ok(None),
        },
        http: drive::Take {
            ms: 1,
            end: Ok(Body {
                markdown,
                backend: "http".to_owned(),
                ..Body::default()
            }),
        },
        browser: drive::Take {
            ms: 1,
            end: Ok(Body::default()),
        },
        sign: drive::Take {
            ms: 1,
            end: Ok(json!({"signed": {"sig": "x".repeat(400)}})),
        },
        receipts: true,
        cancel_after: None,
    };
    for (budget, task) in [
        (128, "Endpoint 77"),
        (500, "Endpoint 77"),
        (2_000, "Endpoint 77"),
        (64_000, "zebra"),
    ] {
        let request = Request {
            budget: Some(budget),
            task: Some(task.to_owned()),
            ..Request::new("https://docs.example.test/api")
        };
        let (o, _) = drive::simulate(
            request,
            Limits::default(),
            &script,
            &kilter_core::ManualClock::at(0),
        )
        .unwrap();
        let reply = reply(&o.unwrap(), &O200k).unwrap();
        assert!(O200k.count(&reply.to_string()) as i64 <= budget, "{budget}");
        assert_eq!(reply["ok"], true);
        if budget >= 500 && task != "zebra" {
            assert!(
                reply["markdown"].as_str().unwrap().contains("pump 77 "),
                "{reply}"
            );
        }
    }
    let blocks =
        plain_blocks("# A\n\ntext\nmore\n\n```\na\n\nb\n```\n\n- x\n- y\n\n> q\n\n| a |\n|---|");
    let kinds: Vec<_> = blocks.iter().map(|b| b.kind).collect();
    assert_eq!(
        kinds,
        [
            BlockKind::Heading,
            BlockKind::Paragraph,
            BlockKind::Code,
            BlockKind::ListItem,
            BlockKind::Quote,
            BlockKind::Table
        ]
    );
    assert_eq!(sections(&blocks).len(), 1);
    assert_eq!(Value::from("x"), json!("x"));
}

//! Whole pages through the judge: doors of many makers and pages about doors, each told from its own tree.
//!
//! A file of `data/doors` begins with a comment that says how the page was served and what it is: `open`, or the word of
//! the failure.

use std::path::Path;

use kilter_web::dom::Document;
use kilter_web::judge::{Disposition, Response, gather};
use kilter_web::read::{self, By};
use kilter_web::{Failure, ReadOptions};

struct Door {
    name: String,
    expect: String,
    response: Response,
    html: String,
}

fn doors() -> Vec<Door> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/doors");
    let mut doors: Vec<Door> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let (head, html) = text
                .strip_prefix("<!--\n")
                .and_then(|t| t.split_once("-->\n"))
                .unwrap();
            let mut door = Door {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                expect: String::new(),
                response: Response::default(),
                html: html.to_owned(),
            };
            for line in head.lines() {
                let (key, value) = line.split_once(": ").unwrap();
                match key {
                    "expect" => door.expect = value.to_owned(),
                    "status" => door.response.status = value.parse().unwrap(),
                    "url" => {
                        door.response.requested = value.to_owned();
                        door.response.final_url = value.to_owned();
                    }
                    "final" => door.response.final_url = value.to_owned(),
                    "header" => {
                        let (name, value) = value.split_once(": ").unwrap();
                        let pair = (name.to_owned(), value.to_owned());
                        door.response.headers.push(pair);
                    }
                    other => panic!("{}: `{other}`", path.display()),
                }
            }
            door
        })
        .collect();
    doors.sort_by(|a, b| a.name.cmp(&b.name));
    doors
}

fn read_door(door: &Door, html: &str, browser: bool) -> Result<read::Judged, Failure> {
    let doc = Document::parse(html);
    let by = if browser { By::Browser } else { By::Http };
    read::judged(&doc, &door.response, &ReadOptions::default(), by)
}

#[test]
fn every_door_is_told_from_its_page() {
    let doors = doors();
    let mut wrong = Vec::new();
    for door in &doors {
        let got = match read_door(door, &door.html, false) {
            Ok(judged) => {
                assert_eq!(judged.judgement.access.disposition, Disposition::Open);
                "open".to_owned()
            }
            Err(e) => e.code.as_str().into_owned(),
        };
        if got != door.expect {
            let tree = gather(&Document::parse(&door.html));
            wrong.push(format!(
                "{}: {got}, not {}\n  {tree:?}",
                door.name, door.expect
            ));
        }
    }
    assert!(doors.len() >= 70, "{} doors", doors.len());
    let kinds = [
        "captcha_or_challenge",
        "requires_login",
        "paywall",
        "soft_404",
        "thin_extract",
        "open",
    ];
    for kind in kinds {
        let n = doors.iter().filter(|d| d.expect == kind).count();
        assert!(n >= 4, "{n} of {kind}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        doors.len(),
        wrong.join("\n")
    );
}

/// The words of a door are not what it is told by: with every run of letters in its text turned into other letters, it
/// is judged the same. Left out are the pages that say of themselves, in their heading alone, that they are not there.
#[test]
fn words_do_not_decide() {
    let mut changed = 0;
    for door in doors().iter().filter(|d| d.expect != "soft_404") {
        let scrambled = scramble(&door.html);
        changed += usize::from(scrambled != door.html);
        let got = match read_door(door, &scrambled, false) {
            Ok(_) => "open".to_owned(),
            Err(e) => e.code.as_str().into_owned(),
        };
        assert_eq!(got, door.expect, "{} with other words", door.name);
    }
    assert!(changed >= 50);
}

/// Turns every ASCII letter between tags into the next one, outside scripts.
fn scramble(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let (mut in_tag, mut tag, mut script) = (false, String::new(), false);
    for c in html.chars() {
        match c {
            '<' => {
                in_tag = true;
                tag.clear();
            }
            '>' if in_tag => {
                in_tag = false;
                script = match tag.split(' ').next().unwrap() {
                    "script" => true,
                    "/script" => false,
                    _ => script,
                };
            }
            _ if in_tag => tag.push(c),
            'a'..='y' | 'A'..='Y' if !script => {
                out.push(char::from(c as u8 + 1));
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[test]
fn a_failure_says_what_may_be_done_next() {
    for door in doors().iter().filter(|d| d.expect != "open") {
        let failure = read_door(door, &door.html, false).unwrap_err();
        assert!(!failure.decisions.is_empty(), "{}", door.name);
        // After a browser nothing is hoped for from a browser.
        if let Err(after) = read_door(door, &door.html, true) {
            assert!(
                after.decisions.iter().all(|d| d.action != "try_browser"),
                "{}: {:?}",
                door.name,
                after.decisions
            );
        }
    }
}

/// A fifth of the gold pages, where the corpus is there: people took every one of them for a page. A few of them are
/// teasers of pages that are declared to be paid for.
#[test]
fn real_pages_are_open() {
    let corpus = std::env::var("KILTER_CORPUS").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        std::path::PathBuf::from,
    );
    let mut shut = Vec::new();
    let mut seen = 0;
    for set in ["web/articles/html", "web/markers/html"] {
        let Ok(entries) = std::fs::read_dir(corpus.join(set)) else {
            eprintln!(
                "no pages at {}: set KILTER_CORPUS",
                corpus.join(set).display()
            );
            continue;
        };
        let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
        paths.sort();
        for path in paths.iter().step_by(5) {
            let mut bytes = std::fs::read(path).unwrap();
            if path.extension().is_some_and(|x| x == "gz") {
                let mut plain = Vec::new();
                std::io::Read::read_to_end(
                    &mut flate2::read::MultiGzDecoder::new(&bytes[..]),
                    &mut plain,
                )
                .unwrap();
                bytes = plain;
            }
            seen += 1;
            let doc = Document::parse(&kilter_web::decode::html(&bytes, None).text);
            let response = Response::ok("https://docs.example.test/a/page");
            if let Err(e) = read::judged(&doc, &response, &ReadOptions::default(), By::Http) {
                shut.push(format!(
                    "{}: {} {:?}",
                    path.display(),
                    e.code.as_str(),
                    gather(&doc)
                ));
            }
        }
    }
    assert!(
        shut.len() * 50 <= seen,
        "{} of {seen}:\n{}",
        shut.len(),
        shut.join("\n")
    );
}

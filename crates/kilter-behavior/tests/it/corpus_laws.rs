//! The four laws over every text of the public corpora: at every split up to 4 KiB, at 1,000 seeded
//! re-chunkings above. Minutes of work, spread over the cores; `./test --fast` leaves these out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kilter_behavior::{ReaderConfig, ToolSet};
use kilter_core::Expect;
use serde_json::Value;

use crate::catalogue::{EVERY_SPLIT, first_difference};
use crate::corpus::{captured_texts, corpus, lines, offered};

/// One text with the setting that it is read under.
struct Case {
    tools: Arc<ToolSet>,
    expect: Expect,
    raw: String,
}

/// Reads all cases under the laws; says how much was read and fails with the first differences.
fn hold_all(what: &str, cases: &[Case]) {
    let (next, ways) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut wrong = Vec::new();
                    while let Some((n, case)) = {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        cases.get(n).map(|c| (n, c))
                    } {
                        let cfg = ReaderConfig {
                            tools: Arc::clone(&case.tools),
                            expect: case.expect,
                            ..ReaderConfig::new()
                        };
                        let of_this = if case.raw.len() > EVERY_SPLIT {
                            1001
                        } else {
                            case.raw.chars().count()
                        };
                        ways.fetch_add(of_this, Ordering::Relaxed);
                        if let Some(d) = first_difference(&cfg, &case.raw) {
                            wrong.push(format!("text {n}: {d}"));
                        }
                    }
                    wrong
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|w| w.join().unwrap())
            .collect()
    });
    let long = cases.iter().filter(|c| c.raw.len() > EVERY_SPLIT).count();
    println!(
        "{what}: {} texts, {long} of them above {EVERY_SPLIT} bytes, cut in {} ways",
        cases.len(),
        ways.into_inner()
    );
    let first: Vec<&str> = wrong.iter().take(8).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} fail:\n{}",
        wrong.len(),
        first.join("\n")
    );
}

#[test]
fn heavy_function_call_outputs_at_every_split() {
    let Some(dir) = corpus("bfcl") else { return };
    let sets: HashMap<String, Arc<ToolSet>> = lines(&dir.join("cases.jsonl"))
        .map(|c| (c["id"].as_str().unwrap().to_owned(), offered(&c)))
        .collect();
    let mut seen = HashSet::new();
    let mut cases = Vec::new();
    for row in lines(&dir.join("raw_outputs.jsonl.gz")) {
        let (id, raw) = (row["id"].as_str().unwrap(), row["raw"].as_str().unwrap());
        let Some(tools) = sets.get(id) else { continue };
        if raw.is_empty() || !seen.insert((id.to_owned(), raw.to_owned())) {
            continue;
        }
        // The two expectations differ in what they accept, not in how bytes are scanned: half each.
        let expect = if cases.len() % 2 == 0 {
            Expect::Auto
        } else {
            Expect::Required
        };
        cases.push(Case {
            tools: Arc::clone(tools),
            expect,
            raw: raw.to_owned(),
        });
    }
    assert!(cases.len() > 15_000, "{} texts", cases.len());
    hold_all("function-call outputs", &cases);
}

#[test]
fn heavy_reasoning_outputs_at_every_split() {
    let Some(dir) = corpus("reasoning") else {
        return;
    };
    let none = Arc::new(ToolSet::undeclared());
    let cases: Vec<Case> = lines(&dir.join("raw_sample.jsonl.gz"))
        .map(|row: Value| Case {
            tools: Arc::clone(&none),
            expect: Expect::Auto,
            raw: row["raw"].as_str().unwrap().to_owned(),
        })
        .collect();
    assert!(cases.len() > 500, "{} texts", cases.len());
    hold_all("reasoning outputs", &cases);
}

#[test]
fn heavy_captures_at_every_split() {
    let Some(texts) = captured_texts() else {
        return;
    };
    let none = Arc::new(ToolSet::undeclared());
    let cases: Vec<Case> = texts
        .into_iter()
        .flat_map(|raw| {
            [Expect::Auto, Expect::Required].map(|expect| Case {
                tools: Arc::clone(&none),
                expect,
                raw: raw.clone(),
            })
        })
        .collect();
    hold_all("captures of real models", &cases);
}

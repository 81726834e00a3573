//! The public corpora, where they are (`KILTER_CORPUS`, default `../shared/corpus`): calls outside
//! the offered set, the laws, and the split that keeps the answer.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kilter_behavior::{ReaderConfig, ToolSet};
use kilter_core::{Expect, ToolSpec};
use serde_json::Value;

use crate::catalogue::read_pieces;
use crate::laws::hold;

/// The corpus folder; says so when there is none.
pub(crate) fn corpus(name: &str) -> Option<PathBuf> {
    let base = std::env::var_os("KILTER_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let dir = base.join(name);
    if dir.is_dir() {
        return Some(dir);
    }
    println!("no corpus at {}: nothing was measured", dir.display());
    None
}

pub(crate) fn lines(path: &Path) -> impl Iterator<Item = Value> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let read: Box<dyn Read> = if path.extension().is_some_and(|x| x == "gz") {
        Box::new(flate2::read::GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    BufReader::new(read)
        .lines()
        .map(|l| serde_json::from_str(&l.unwrap()).unwrap())
}

/// Offered functions of a case as a tool set, every name in its dotted and its flat spelling.
pub(crate) fn offered(case: &Value) -> Arc<ToolSet> {
    let list: Vec<Value> = match &case["function"] {
        Value::Array(a) => a.clone(),
        one => vec![one.clone()],
    };
    let mut specs: Vec<ToolSpec> = Vec::new();
    for f in &list {
        for flat in [false, true] {
            let mut spec = ToolSpec::from_wire(f).unwrap();
            if flat {
                spec.name = spec.name.replace('.', "_");
            }
            if !specs.iter().any(|s| s.name == spec.name) {
                specs.push(spec);
            }
        }
    }
    Arc::new(ToolSet::new(specs))
}

#[test]
fn offered_functions_alone_are_called() {
    let Some(dir) = corpus("bfcl") else { return };
    let cases: HashMap<String, Value> = lines(&dir.join("cases.jsonl"))
        .map(|c| (c["id"].as_str().unwrap().to_owned(), c))
        .collect();
    let sets: HashMap<&str, Arc<ToolSet>> = cases
        .iter()
        .map(|(k, c)| (k.as_str(), offered(c)))
        .collect();
    let (mut rows, mut called, mut agreed) = (0usize, 0usize, 0usize);
    for row in lines(&dir.join("raw_outputs.jsonl.gz")) {
        let Some(set) = sets.get(row["id"].as_str().unwrap()) else {
            continue;
        };
        rows += 1;
        let raw = row["raw"].as_str().unwrap();
        let expect = if rows % 2 == 0 {
            Expect::Auto
        } else {
            Expect::Required
        };
        let cfg = ReaderConfig {
            tools: Arc::clone(set),
            expect,
            ..ReaderConfig::new()
        };
        let got = if rows % 10 == 0 {
            hold(&cfg, raw, 3, rows as u64).unwrap_or_else(|e| panic!("row {rows}: {e}"))
        } else {
            read_pieces(&cfg, &[raw])
        };
        for c in &got.calls {
            assert!(
                set.get(&c.name).is_some(),
                "row {rows}: {} was not offered",
                c.name
            );
        }
        called += usize::from(!got.calls.is_empty());
        if row["bfcl_valid"] == true && row["category"] != "relevance" {
            agreed += usize::from(!got.calls.is_empty());
        }
        if row["category"] == "relevance" && expect == Expect::Auto && !got.calls.is_empty() {
            // A call is written here, whatever it is worth.
            assert!(
                raw.contains(['(', '{', '<']),
                "row {rows}: a call out of nothing: {raw:?}"
            );
        }
    }
    println!("{rows} rows, {called} with calls");
    assert!(rows > 20_000);
    assert!(agreed > 16_000, "{agreed} rows with a right call gave one");
}

#[test]
fn the_answer_stays_in_the_content() {
    let Some(dir) = corpus("reasoning") else {
        return;
    };
    let mut kept: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (n, row) in lines(&dir.join("raw_sample.jsonl.gz")).enumerate() {
        let raw = row["raw"].as_str().unwrap();
        let shape = row["shape"].as_str().unwrap().to_owned();
        let cfg = ReaderConfig::new();
        let got = hold(&cfg, raw, 2, n as u64).unwrap_or_else(|e| panic!("row {n}: {e}"));
        let opened = raw.trim_start().starts_with("<think>");
        let closed = raw.contains("</think>");
        if opened && !closed && !got.content.is_empty() {
            wrong.push(format!(
                "row {n}: an unclosed thought leaks: {:?}",
                head(&got.content)
            ));
        }
        if opened && closed && got.content.contains("</think>") && shape == "leading_pair" {
            wrong.push(format!("row {n}: a closer leaks"));
        }
        let Some(answer) = row["model_answer"].as_str() else {
            continue;
        };
        // The authors' answer is the content of the first pair of answer tags; where it stands
        // behind the thinking, it must be in the content.
        let behind = raw.rfind("</think>").map_or("", |i| &raw[i..]);
        let e = kept.entry(shape).or_default();
        if closed && behind.contains(answer) {
            e.1 += 1;
            if got.content.contains(answer) {
                e.0 += 1;
            } else {
                wrong.push(format!("row {n}: the answer {:?} is gone", head(answer)));
            }
        }
    }
    println!("answers kept, of those behind closed thinking: {kept:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn head(t: &str) -> String {
    t.chars().take(120).collect()
}

/// Every text that a real model wrote in the captures, where they are.
pub(crate) fn captured_texts() -> Option<Vec<String>> {
    let mut texts = Vec::new();
    let mut stack = vec![corpus("captures")?];
    while let Some(d) = stack.pop() {
        for e in std::fs::read_dir(&d).unwrap() {
            let p = e.unwrap().path();
            if p.is_dir() {
                stack.push(p);
            } else if p.extension().is_some_and(|x| x == "json" || x == "jsonl") {
                let text = std::fs::read_to_string(&p).unwrap_or_default();
                for v in text
                    .lines()
                    .filter_map(|l| serde_json::from_str::<Value>(l).ok())
                    .chain(serde_json::from_str::<Value>(&text).ok())
                {
                    contents(&v, &mut texts);
                }
            }
        }
    }
    texts.sort();
    texts.dedup();
    assert!(texts.len() > 50, "{} texts", texts.len());
    Some(texts)
}

/// Every string under a `content` key.
fn contents(v: &Value, out: &mut Vec<String>) {
    match v {
        Value::Object(o) => {
            for (k, v) in o {
                match v {
                    Value::String(s) if k == "content" && !s.is_empty() => out.push(s.clone()),
                    _ => contents(v, out),
                }
            }
        }
        Value::Array(a) => a.iter().for_each(|v| contents(v, out)),
        _ => {}
    }
}

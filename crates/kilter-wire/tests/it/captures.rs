//! Real answers of real servers, read whole and put back byte for byte.

use std::path::PathBuf;

use kilter_wire::chat::{Accumulator, ChatRequest, Chunk, Completion, Rewrite};
use kilter_wire::sse::Framer;

/// `captures/*/*` of the corpus; empty, and said, when there is none.
fn cases() -> Vec<PathBuf> {
    let root = std::env::var("KILTER_CORPUS").map_or_else(
        |_| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let mut out = Vec::new();
    for model in std::fs::read_dir(root.join("captures"))
        .into_iter()
        .flatten()
        .flatten()
    {
        for case in std::fs::read_dir(model.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            out.push(case.path());
        }
    }
    out.sort();
    if out.is_empty() {
        println!(
            "no corpus at {}: set KILTER_CORPUS; these tests checked nothing",
            root.display()
        );
    }
    out
}

#[test]
fn whole_answers_round_trip() {
    let mut seen = 0;
    for case in cases() {
        let Ok(bytes) = std::fs::read(case.join("response.json")) else {
            continue;
        };
        let name = case.display();
        let c = Completion::parse(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(c.body().to_bytes(), bytes, "{name}");
        assert_eq!(Rewrite::completion(&c).into_bytes(), bytes, "{name}");
        let v: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let turn = &c.turns()[0];
        let message = &v["choices"][0]["message"];
        if message.is_object() {
            assert_eq!(
                turn.content,
                message["content"].as_str().unwrap_or(""),
                "{name}"
            );
            let calls = message["tool_calls"].as_array().map_or(0, Vec::len);
            assert_eq!(turn.calls.len(), calls, "{name}");
            assert_eq!(
                turn.finish.as_ref().map(|f| f.as_str()),
                v["choices"][0]["finish_reason"].as_str(),
                "{name}"
            );
        }
        assert_eq!(
            c.error.is_some(),
            v.get("error").is_some_and(|e| !e.is_null()),
            "{name}"
        );
        seen += 1;
    }
    println!("{seen} whole answers");
}

#[test]
fn streams_round_trip_and_accumulate() {
    let mut seen = 0;
    for case in cases() {
        let Ok(bytes) = std::fs::read(case.join("response.sse")) else {
            continue;
        };
        let name = case.display();
        let mut f = Framer::new();
        let mut joined = Vec::new();
        let mut acc = Accumulator::new();
        let (mut content, mut reference) = (String::new(), String::new());
        for piece in bytes.chunks(7) {
            f.push(piece);
            for e in f.events() {
                joined.push(e.unwrap_or_else(|e| panic!("{name}: {e}")));
            }
        }
        f.finish();
        joined.extend(f.events().map(Result::unwrap));
        let again: Vec<u8> = joined.iter().flat_map(|e| e.raw.to_vec()).collect();
        assert_eq!(again, bytes, "{name}");
        for e in joined.iter().filter(|e| !e.comment_only) {
            if e.is_done() {
                acc.done();
                continue;
            }
            let c = Chunk::parse(e.data.as_str())
                .unwrap_or_else(|err| panic!("{name}: {err}: {}", e.data));
            assert_eq!(c.body().to_text(), e.data, "{name}");
            assert_eq!(Rewrite::chunk(&c).to_text(), e.data, "{name}");
            let v: serde_json::Value = serde_json::from_str(&e.data).unwrap();
            content.push_str(
                c.choices
                    .first()
                    .and_then(|c| c.content.as_deref())
                    .unwrap_or(""),
            );
            reference.push_str(v["choices"][0]["delta"]["content"].as_str().unwrap_or(""));
            acc.push(&c);
        }
        assert_eq!(content, reference, "{name}");
        let turn = &acc.finish()[0];
        assert_eq!(turn.content, content, "{name}");
        assert!(
            turn.finish.is_some() || turn.error.is_some() || case.join("meta.json").exists(),
            "{name}"
        );
        seen += 1;
    }
    println!("{seen} streams");
}

#[test]
fn requests_round_trip() {
    for case in cases() {
        let Ok(bytes) = std::fs::read(case.join("request.json")) else {
            continue;
        };
        let r = ChatRequest::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", case.display()));
        assert_eq!(r.to_bytes(), bytes);
        let v: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(
            r.tools().len(),
            v["tools"].as_array().map_or(0, Vec::len),
            "{}",
            case.display()
        );
        assert_eq!(
            r.messages().count(),
            v["messages"].as_array().map_or(0, Vec::len)
        );
    }
}

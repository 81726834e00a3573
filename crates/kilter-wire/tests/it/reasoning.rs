//! Reasoning under every name: wire fact 10.

use kilter_wire::chat::{Chunk, Completion, Rewrite};
use serde_json::{Value, json};

const SHAPES: [(&str, &str); 9] = [
    (
        r#"{"content":"a","reasoning_content":"r"}"#,
        "reasoning_content",
    ),
    (r#"{"content":"a","reasoning":"r"}"#, "reasoning"),
    (r#"{"content":"a","thinking":"r"}"#, "thinking"),
    (r#"{"content":"a","reasoning_text":"r"}"#, "reasoning_text"),
    (
        r#"{"content":"a","reasoning_details":[{"type":"reasoning.text","text":"r","index":0}]}"#,
        "reasoning_details",
    ),
    (
        r#"{"content":"a","reasoning_details":[{"type":"reasoning.summary","summary":"r"}]}"#,
        "reasoning_details",
    ),
    (
        r#"{"content":"a","thinking_blocks":[{"type":"thinking","thinking":"r","signature":"s"}]}"#,
        "thinking_blocks",
    ),
    (
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"a"}]}"#,
        "content_parts",
    ),
    (
        r#"{"content":[{"type":"reasoning","text":"r"},{"type":"text","text":"a"}]}"#,
        "content_parts",
    ),
];

#[test]
fn fact_10_every_name_is_read_in_streams_and_bodies() {
    for (said, field) in SHAPES {
        let chunk =
            Chunk::parse(format!(r#"{{"choices":[{{"index":0,"delta":{said}}}]}}"#)).unwrap();
        let whole = Completion::parse(
            format!(r#"{{"choices":[{{"index":0,"message":{said}}}]}}"#).as_bytes(),
        )
        .unwrap();
        for c in [&chunk.choices[0], &whole.choices[0]] {
            let r = c.reasoning.as_ref().unwrap();
            assert_eq!((r.field.as_str(), r.text.as_str()), (field, "r"), "{said}");
            assert_eq!(c.content.as_deref(), Some("a"), "{said}");
        }
    }
}

#[test]
fn fact_10_reasoning_leaves_under_one_name() {
    for (said, field) in SHAPES {
        let chunk =
            Chunk::parse(format!(r#"{{"choices":[{{"index":0,"delta":{said}}}]}}"#)).unwrap();
        let mut w = Rewrite::chunk(&chunk);
        let was = w.name_reasoning(0, field, "r");
        assert_eq!(
            was.as_deref(),
            (field != "reasoning_content").then_some(field)
        );
        let again = Chunk::parse(w.to_text()).unwrap();
        let c = &again.choices[0];
        assert_eq!(
            c.reasoning.as_ref().unwrap().field,
            "reasoning_content",
            "{said}"
        );
        assert_eq!(
            (
                c.reasoning.as_ref().unwrap().text.as_str(),
                c.content.as_deref()
            ),
            ("r", Some("a"))
        );
        if field == "reasoning_content" {
            assert_eq!(
                again.body().to_text(),
                chunk.body().to_text(),
                "already in normal form"
            );
        }
    }
}

#[test]
fn fact_10_doubled_fields_count_once() {
    let said = r#"{"reasoning":"r","reasoning_details":[{"type":"reasoning.text","text":"r"}]}"#;
    let c = Chunk::parse(format!(r#"{{"choices":[{{"delta":{said}}}]}}"#)).unwrap();
    assert_eq!(c.choices[0].reasoning.as_ref().unwrap().text, "r");
    let said = r#"{"reasoning":"r","reasoning_content":"r"}"#;
    let text = format!(r#"{{"choices":[{{"delta":{said}}}]}}"#);
    let c = Chunk::parse(text.as_str()).unwrap();
    assert_eq!(
        c.choices[0].reasoning.as_ref().unwrap().field,
        "reasoning_content"
    );
    let mut w = Rewrite::chunk(&c);
    assert_eq!(w.name_reasoning(0, "reasoning_content", "r"), None);
    assert_eq!(w.to_text(), text);
}

#[test]
fn fact_10_empty_and_null_fields_are_no_reasoning() {
    for said in [
        r#"{"content":"a","reasoning_content":null}"#,
        r#"{"content":"a","reasoning_content":"","reasoning":""}"#,
        r#"{"content":"a","reasoning_details":[]}"#,
        r#"{"content":"a","reasoning_details":[{"type":"reasoning.encrypted","data":"xyz"}]}"#,
    ] {
        let c = Chunk::parse(format!(r#"{{"choices":[{{"delta":{said}}}]}}"#)).unwrap();
        assert_eq!(c.choices[0].reasoning, None, "{said}");
    }
    let said = r#"{"content":"","reasoning_content":null,"reasoning":"r"}"#;
    let c = Chunk::parse(format!(r#"{{"choices":[{{"delta":{said}}}]}}"#)).unwrap();
    let mut w = Rewrite::chunk(&c);
    assert_eq!(
        w.name_reasoning(0, "reasoning", "r").as_deref(),
        Some("reasoning")
    );
    let v: Value = serde_json::from_str(&w.to_text()).unwrap();
    assert_eq!(
        v["choices"][0]["delta"],
        json!({"content":"","reasoning_content":"r"})
    );
}

#[test]
fn gw27_signed_blocks_keep_their_bytes() {
    let block = r#"[{"type":"thinking","thinking":"a\u00e9  b","signature":"s\/ig"}]"#;
    let c = Chunk::parse(format!(
        r#"{{"choices":[{{"delta":{{"thinking_blocks":{block}}}}}]}}"#
    ))
    .unwrap();
    let r = c.choices[0].reasoning.clone().unwrap();
    let mut w = Rewrite::chunk(&c);
    w.name_reasoning(0, &r.field, &r.text);
    let text = w.to_text();
    assert!(text.contains(block), "{text}");
    assert!(text.contains("\"reasoning_content\":\"aé  b\""), "{text}");
}

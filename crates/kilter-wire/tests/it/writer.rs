//! Chunks of ours: what a client makes of them.

use kilter_core::{FinishReason, Provenance, ToolCall};
use kilter_wire::chat::{Accumulator, Chunk, ChunkWriter, call_json, kilter_members, sum_usage};
use serde_json::{Map, Value, json};

fn call() -> ToolCall {
    ToolCall {
        id: None,
        name: "get_\"weather\"".into(),
        arguments: r#"{"n": 1.00}"#.into(),
        provenance: Provenance::Native,
    }
}

#[test]
fn a_written_stream_reads_back() {
    let w = ChunkWriter::new("id1", "m", 7);
    let actions = vec!["recovered=x".to_owned(), "continued=1".to_owned()];
    let (a, b) = (
        r#"{"prompt_tokens":1,"completion_tokens":2}"#,
        r#"{"prompt_tokens":3,"completion_tokens":4}"#,
    );
    let kilter = kilter_members(&actions, &[a, b]);
    let mut texts = vec![
        w.role(0),
        w.reasoning(0, "think\n"),
        w.content(0, "hi \"there\"\u{1}"),
    ];
    texts.extend(w.call(0, 0, "call_1", &call()));
    texts.push(w.finish(0, &FinishReason::ToolCalls, &Map::new()));
    texts.push(w.usage(&sum_usage(&[a, b]), &kilter));
    let mut acc = Accumulator::new();
    for t in &texts {
        let c = Chunk::parse(t.as_str()).unwrap();
        assert_eq!(
            (c.id().as_deref(), c.model().as_deref()),
            (Some("id1"), Some("m"))
        );
        acc.push(&c);
    }
    acc.done();
    let t = &acc.finish()[0];
    assert_eq!(
        (
            t.content.as_str(),
            t.reasoning.as_ref().unwrap().text.as_str()
        ),
        ("hi \"there\"\u{1}", "think\n")
    );
    assert_eq!(
        (t.calls[0].id.as_deref(), t.calls[0].name.as_str()),
        (Some("call_1"), "get_\"weather\"")
    );
    assert_eq!(t.calls[0].arguments, r#"{"n": 1.00}"#);
    assert_eq!(t.usage.as_ref().unwrap().counts.completion_tokens, Some(6));
    assert_eq!(t.habits, ["usage:own_chunk"]);
    let last: Value = serde_json::from_str(texts.last().unwrap()).unwrap();
    assert_eq!(last["kilter"]["actions"], json!(actions));
    assert_eq!(last["kilter"]["usage"][1]["completion_tokens"], 4);
    assert_eq!(last["choices"], json!([]));
}

#[test]
fn the_first_fragment_of_a_call_has_its_name_and_the_second_its_arguments() {
    let w = ChunkWriter::new("i", "m", 0);
    let [a, b] = w
        .call(2, 1, "c", &call())
        .map(|t| serde_json::from_str::<Value>(&t).unwrap());
    assert_eq!(
        a["choices"][0],
        json!({"index":2,"delta":{"tool_calls":[{"index":1,"id":"c","type":"function","function":{"name":"get_\"weather\"","arguments":""}}]},"finish_reason":null})
    );
    assert_eq!(
        b["choices"][0]["delta"]["tool_calls"][0],
        json!({"index":1,"function":{"arguments":"{\"n\": 1.00}"}})
    );
    let whole: Value = serde_json::from_str(&call_json("c", &call())).unwrap();
    assert_eq!(whole["function"]["arguments"], "{\"n\": 1.00}");
}

#[test]
fn ours_carry_the_identity_of_the_stream_and_nothing_else_of_it() {
    let c = Chunk::parse(r#"{"id":"x","object":"chat.completion.chunk","created":5,"model":"m","system_fingerprint":null,"choices":[{"delta":{"content":"a"}}],"usage":null,"timings":{"n":1}}"#).unwrap();
    let v: Value = serde_json::from_str(&ChunkWriter::like(&c).content(0, "b")).unwrap();
    assert_eq!(
        v,
        json!({"id":"x","object":"chat.completion.chunk","created":5,"model":"m","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]})
    );
}

#[test]
fn no_intervention_no_kilter_object() {
    let w = ChunkWriter::new("i", "m", 0);
    assert!(
        !w.finish(0, &FinishReason::Stop, &kilter_members(&[], &["{}"]))
            .contains("kilter")
    );
}

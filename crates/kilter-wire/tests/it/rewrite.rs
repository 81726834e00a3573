//! Splices into received bodies: what is named changes, nothing else does.

use kilter_core::FinishReason;
use kilter_wire::chat::{Chunk, Completion, Rewrite, kilter_members};

const BODY: &str = r#"{ "id":"x", "choices" : [ {"finish_reason":"stop","index":0, "message":{"role":"assistant","content":"<call>","x":1.00}, "logprobs":{"content":[]} , "y":[ ]} ], "usage":{"completion_tokens":5}, "timings":{"ms":1.50} }"#;

#[test]
fn an_unedited_body_is_the_received_one() {
    let c = Completion::parse(BODY.as_bytes()).unwrap();
    assert_eq!(Rewrite::completion(&c).into_bytes(), BODY.as_bytes());
}

#[test]
fn recovery_in_a_whole_body_keeps_every_other_byte() {
    let c = Completion::parse(BODY.as_bytes()).unwrap();
    let mut w = Rewrite::completion(&c);
    assert!(w.set_content(0, None));
    assert!(w.set_tool_calls(0, &[r#"{"id":"c"}"#.to_owned()]));
    assert!(w.set_finish(0, &FinishReason::ToolCalls));
    w.set_kilter(&kilter_members(&["recovered=d".to_owned()], &[]));
    assert_eq!(
        w.notes(),
        ["logprobs:dropped"],
        "fact 12: dropped, and said"
    );
    assert_eq!(
        w.to_text(),
        r#"{ "id":"x", "choices" : [ {"finish_reason":"tool_calls","index":0, "message":{"role":"assistant","content":null,"x":1.00,"tool_calls":[{"id":"c"}]}, "logprobs":null , "y":[ ]} ], "usage":{"completion_tokens":5}, "timings":{"ms":1.50},"kilter":{"actions":["recovered=d"]} }"#
    );
}

#[test]
fn an_inner_gateways_object_is_kept() {
    let c = Chunk::parse(r#"{"choices":[],"kilter":{"node":"a","actions":["x"]}}"#).unwrap();
    let mut w = Rewrite::chunk(&c);
    w.set_kilter(&kilter_members(&["y".to_owned()], &[]));
    assert_eq!(
        w.to_text(),
        r#"{"choices":[],"kilter":{"node":"a","actions":["y"]}}"#
    );
}

#[test]
fn edits_of_what_is_not_there_say_so() {
    for text in [
        "{}",
        r#"{"choices":null}"#,
        r#"{"choices":[]}"#,
        r#"{"choices":[1]}"#,
        r#"{"choices":[{"delta":null}]}"#,
    ] {
        let c = Chunk::parse(text).unwrap();
        let mut w = Rewrite::chunk(&c);
        assert!(!w.set_content(0, Some("a")), "{text}");
        assert_eq!(w.to_text(), text);
    }
}

#[test]
fn held_fragments_leave_a_delta_without_calls() {
    let c = Chunk::parse(r#"{"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{}]}}]}"#)
        .unwrap();
    let mut w = Rewrite::chunk(&c);
    assert!(w.set_tool_calls(0, &[]));
    assert_eq!(
        w.to_text(),
        r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#
    );
}

#[test]
fn a_finish_can_be_taken_back() {
    let c =
        Chunk::parse(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#).unwrap();
    let mut w = Rewrite::chunk(&c);
    assert!(w.clear_finish(0));
    assert_eq!(
        w.to_text(),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":null}]}"#
    );
}

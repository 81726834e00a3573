//! Token counts: wire fact 4.

use kilter_wire::chat::{Chunk, Completion, UsageView, sum_usage};
use serde_json::json;

#[test]
fn fact_04_usage_wherever_it_comes() {
    for text in [
        r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
        r#"{"choices":[{"delta":{}}],"x_groq":{"id":"q","usage":{"prompt_tokens":1,"completion_tokens":2,"reasoning_tokens":1}}}"#,
        r#"{"usage":{"input_tokens":1,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1}}}"#,
        r#"{"choices":[],"usage":null,"x_other":{"usage":{"prompt_tokens":1.0,"completion_tokens":2,"reasoning_tokens":1}}}"#,
    ] {
        let u = Chunk::parse(text).unwrap().usage.unwrap().counts;
        assert_eq!(
            (u.prompt_tokens, u.completion_tokens, u.reasoning_tokens),
            (Some(1), Some(2), Some(1)),
            "{text}"
        );
    }
}

#[test]
fn fact_04_null_usage_is_no_usage() {
    for text in [
        r#"{"choices":[{"delta":{"content":"a"}}],"usage":null}"#,
        r#"{"choices":[],"usage":{}}"#,
    ] {
        assert_eq!(Chunk::parse(text).unwrap().usage, None);
    }
    assert!(
        Chunk::parse(r#"{"choices":[],"usage":{"prompt_tokens":1}}"#)
            .unwrap()
            .is_usage_only()
    );
    assert!(
        !Chunk::parse(r#"{"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}"#)
            .unwrap()
            .is_usage_only()
    );
}

#[test]
fn fact_04_hidden_reasoning_is_counted() {
    let c = Completion::parse(
        br#"{"choices":[{"message":{"content":""},"finish_reason":"length"}],"usage":{"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":50}}}"#,
    )
    .unwrap();
    assert_eq!(c.usage.unwrap().counts.reasoning_tokens, Some(50));
}

#[test]
fn sums_go_member_by_member() {
    let a = r#"{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":3},"tier":"x","cost":0.5}"#;
    let b = r#"{"prompt_tokens":20,"completion_tokens":7,"completion_tokens_details":{"reasoning_tokens":4},"prompt_tokens_details":{"cached_tokens":null},"tier":"y","cost":0.25}"#;
    assert_eq!(
        sum_usage(&[a, "null", b]),
        json!({"prompt_tokens":30,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":3},"tier":"y","cost":0.75,"completion_tokens_details":{"reasoning_tokens":4}})
    );
    assert_eq!(sum_usage(&[]), json!({}));
    assert_eq!(UsageView::read("7"), None);
}

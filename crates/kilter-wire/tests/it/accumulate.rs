//! Streams put together: content, calls, habits, several choices, failures.

use kilter_core::{FinishReason, ReasoningPlace, RequestFacts};
use kilter_wire::chat::{Accumulator, Chunk, Completion, Turn};

fn turns(chunks: &[&str], done: bool) -> Vec<Turn> {
    let mut a = Accumulator::with_tools(vec!["read_file".into()]);
    for c in chunks {
        a.push(&Chunk::parse(*c).unwrap());
    }
    if done {
        a.done();
    }
    a.finish()
}

#[test]
fn a_plain_stream_has_no_strange_habits() {
    let t = turns(
        &[
            r#"{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"id":"x","choices":[{"index":0,"delta":{"reasoning_content":"th"}}]}"#,
            r#"{"id":"x","choices":[{"index":0,"delta":{"reasoning_content":"ink"}}]}"#,
            r#"{"id":"x","choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
            r#"{"id":"x","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}"#,
            r#"{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"id":"x","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
        ],
        true,
    );
    assert_eq!(t.len(), 1);
    assert_eq!(
        (t[0].content.as_str(), t[0].role.as_deref()),
        ("Hello", Some("assistant"))
    );
    assert_eq!(t[0].habits, ["usage:own_chunk"]);
    let o = t[0].observation(RequestFacts::default());
    assert_eq!(o.reasoning.as_deref(), Some("think"));
    assert_eq!(
        o.reasoning_place,
        Some(ReasoningPlace::Field("reasoning_content".into()))
    );
    assert_eq!(
        (o.finish, o.usage.completion_tokens),
        (Some(FinishReason::Stop), Some(4))
    );
}

#[test]
fn gw01_parallel_calls_at_one_index() {
    let t = turns(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"b.txt\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        ],
        true,
    );
    assert_eq!(t[0].calls.len(), 2);
    assert_eq!(t[0].calls[1].arguments, r#"{"path":"b.txt"}"#);
    assert!(t[0].habits.contains(&"index:same".to_owned()));
}

#[test]
fn gw03_stop_with_calls_is_a_habit() {
    let t = turns(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        ],
        true,
    );
    assert!(t[0].habits.contains(&"finish:stop_with_calls".to_owned()));
    assert_eq!(t[0].true_finish(None), Some(FinishReason::ToolCalls));
    assert_eq!(
        t[0].finish,
        Some(FinishReason::Stop),
        "the word of the wire is kept"
    );
}

#[test]
fn gw30_finish_without_calls_is_a_habit() {
    let t = turns(
        &[
            r#"{"choices":[{"delta":{"content":""}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        ],
        true,
    );
    assert!(t[0].calls.is_empty());
    assert_eq!(t[0].habits, ["finish:calls_without"]);
}

#[test]
fn fact_12_each_choice_has_its_own_accumulator() {
    let t = turns(
        &[
            r#"{"choices":[{"index":1,"delta":{"content":"b1"}},{"index":0,"delta":{"content":"a1"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"a2"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"b2"},"finish_reason":"length"}]}"#,
        ],
        true,
    );
    let got: Vec<(u64, &str, &str)> = t
        .iter()
        .map(|t| {
            (
                t.index,
                t.content.as_str(),
                t.finish.as_ref().unwrap().as_str(),
            )
        })
        .collect();
    assert_eq!(got, [(0, "a1a2", "stop"), (1, "b1b2", "length")]);
}

#[test]
fn fact_05_an_error_inside_a_stream_ends_the_turn_as_an_error() {
    let t = turns(
        &[
            r#"{"choices":[{"delta":{"content":"par"}}]}"#,
            r#"{"error":{"message":"boom","type":"server_error","param":null,"code":500}}"#,
        ],
        false,
    );
    let e = t[0].error.as_ref().unwrap();
    assert_eq!(
        (e.kind.as_str(), e.message.as_str(), e.status),
        ("server_error", "boom", 500)
    );
    assert_eq!(t[0].content, "par");
    assert!(t[0].habits.contains(&"done:missing".to_owned()));
    assert_eq!(
        t[0].observation(RequestFacts::default())
            .error
            .unwrap()
            .message,
        "boom"
    );
}

#[test]
fn fact_05_an_error_beside_choices_is_an_error() {
    let c = Chunk::parse(r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"lost"}}"#).unwrap();
    let e = c.error.unwrap();
    assert_eq!((e.status, e.message.as_str()), (502, "lost"));
    let c = Chunk::parse(r#"{"choices":[{"delta":{}}],"error":null,"detail":"x","message":"y"}"#)
        .unwrap();
    assert_eq!(c.error, None);
}

#[test]
fn fact_05_missing_choices_is_no_failure() {
    for text in [
        r#"{}"#,
        r#"{"choices":null}"#,
        r#"{"object":"ping"}"#,
        r#"{"choices":{}}"#,
        r#"{"prompt_filter_results":[]}"#,
    ] {
        let c = Chunk::parse(text).unwrap();
        assert!(c.choices.is_empty() && c.error.is_none(), "{text}");
    }
    assert_eq!(turns(&[r#"{"object":"ping"}"#], true).len(), 1);
    assert!(Chunk::parse("[DONE]").is_err());
}

#[test]
fn a_stream_that_broke_off_says_so() {
    let t = turns(&[r#"{"choices":[{"delta":{"content":"a"}}]}"#], false);
    assert_eq!(t[0].habits, ["finish:missing", "done:missing"]);
}

#[test]
fn whole_answers_give_the_same_turn() {
    let c = Completion::parse(
        br#"{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":{"x":1}}}]}}],"usage":{"completion_tokens":9}}"#,
    )
    .unwrap();
    let t = &c.turns()[0];
    assert_eq!(t.calls.len(), 2);
    assert_eq!(t.calls[1].arguments, r#"{"x":1}"#);
    assert_eq!(t.habits, ["arguments:object"]);
}

#[test]
fn a_legacy_function_call_is_a_call() {
    let t = turns(
        &[
            r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{\"x\""}}}]}"#,
            r#"{"choices":[{"delta":{"function_call":{"arguments":":1}"}}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#,
        ],
        true,
    );
    assert_eq!(t[0].calls[0].arguments, r#"{"x":1}"#);
    assert!(t[0].habits.contains(&"function_call:legacy".to_owned()));
}

#[test]
fn usage_in_the_finish_chunk_is_a_habit() {
    let t = turns(
        &[
            r#"{"choices":[{"delta":{"content":"a"}}],"usage":null}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}"#,
        ],
        true,
    );
    assert_eq!(t[0].habits, ["usage:finish_chunk"]);
}

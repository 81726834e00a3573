//! The terminal reason: wire fact 9.

use kilter_core::{FinishReason, NativeCall};
use kilter_wire::chat::true_finish;

fn call(arguments: &str) -> NativeCall {
    NativeCall {
        id: None,
        name: "f".into(),
        arguments: arguments.into(),
    }
}

fn truth(said: &str, calls: &[&str], used: Option<u64>, cap: Option<u64>) -> String {
    let calls: Vec<NativeCall> = calls.iter().map(|a| call(a)).collect();
    true_finish(Some(&FinishReason::from_wire(said)), &calls, used, cap)
        .unwrap()
        .as_str()
        .to_owned()
}

#[test]
fn gw03_stop_with_calls_is_tool_calls() {
    assert_eq!(truth("stop", &["{}"], None, None), "tool_calls");
    assert_eq!(
        truth("stop", &["{\"a\":1}", "{}"], Some(5), Some(10)),
        "tool_calls"
    );
}

#[test]
fn fact_09_cut_arguments_are_length() {
    assert_eq!(
        truth("tool_calls", &["{\"a\":"], Some(50), Some(50)),
        "length"
    );
    assert_eq!(
        truth("stop", &["{}", "{\"a\":"], Some(50), Some(50)),
        "length"
    );
    assert_eq!(truth("tool_calls", &["{\"a\":"], None, None), "length");
    // The counts prove that the cap was not hit: the model itself stopped there.
    assert_eq!(
        truth("tool_calls", &["{\"a\":"], Some(20), Some(50)),
        "tool_calls"
    );
    // Not cut but wrong: no reason to say length.
    assert_eq!(
        truth("tool_calls", &["{\"a\"]"], Some(50), Some(50)),
        "tool_calls"
    );
}

#[test]
fn fact_09_everything_else_stays() {
    for word in ["length", "content_filter", "function_call", "eos", "error"] {
        assert_eq!(truth(word, &["{}"], None, None), word);
        assert_eq!(truth(word, &[], None, None), word);
    }
    assert_eq!(truth("stop", &[], None, None), "stop");
    // Contradiction (field report gw30): no calls are invented for it.
    assert_eq!(truth("tool_calls", &[], None, None), "tool_calls");
    assert_eq!(true_finish(None, &[call("{}")], None, None), None);
}

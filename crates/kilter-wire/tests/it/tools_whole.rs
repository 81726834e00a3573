//! Calls of whole messages in normal form, and leaked control tokens in names.

use kilter_wire::chat::{Completion, ToolDelta, ToolStream, whole_calls};
use serde_json::{Value, json};

use crate::tools::{call, pairs, run, s};

#[test]
fn gw29_control_tokens_in_the_name() {
    for pieces in [
        vec!["read_file<|channel|>commentary"],
        vec!["read_file", "<|channel|>commentary"],
    ] {
        let mut arrays: Vec<Value> = Vec::new();
        for (i, p) in pieces.iter().enumerate() {
            let args = (i + 1 == pieces.len()).then(|| json!("{\"path\":\"a\"}"));
            arrays.push(json!([call(
                Some(0),
                (i == 0).then_some("c1"),
                Some(p),
                args
            )]));
        }
        let (out, t) = run(&["read_file"], &arrays, "tool_calls");
        assert_eq!(
            pairs(&out),
            [("read_file".into(), r#"{"path":"a"}"#.into())]
        );
        assert_eq!(t.calls()[0].name, "read_file");
        assert!(
            t.actions().iter().any(|a| a.starts_with("name")),
            "{:?}",
            t.actions()
        );
    }
    // Fail closed: an undeclared prefix is left alone.
    let (out, _) = run(
        &["other"],
        &[json!([call(
            Some(0),
            Some("c1"),
            Some("read_file<|x|>"),
            s("{}")
        )])],
        "tool_calls",
    );
    assert_eq!(pairs(&out), [("read_file<|x|>".into(), "{}".into())]);
}

fn whole(tool_calls: &str, finish: &str) -> Option<(Vec<String>, Vec<&'static str>)> {
    let body = format!(
        r#"{{"choices":[{{"finish_reason":"{finish}","message":{{"content":null,"tool_calls":{tool_calls}}}}}]}}"#
    );
    let c = Completion::parse(body.as_bytes()).unwrap();
    whole_calls(&c.choices[0], "turn", &["f".to_owned()])
}

#[test]
fn whole_calls_in_normal_form_stay() {
    assert_eq!(
        whole(
            r#"[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}, "x":1.0}]"#,
            "tool_calls"
        ),
        None
    );
    assert_eq!(whole("[]", "stop"), None);
    assert_eq!(whole("null", "stop"), None);
    // Cut arguments are nobody's to close.
    assert_eq!(
        whole(
            r#"[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\""}}]"#,
            "length"
        ),
        None
    );
    assert_eq!(
        whole(
            r#"[{"id":"a","type":"function","function":{"name":"f","arguments":""}}]"#,
            "length"
        ),
        None
    );
}

#[test]
fn whole_calls_take_the_rules_of_the_stream() {
    let (calls, actions) = whole(
        r#"[{"function":{"name":"f<|x|>","arguments":{"n":1.00}},"sig":"A\u002b"},{"id":"a","type":"function","name":"f"},{"id":"a","type":"function","function":{"name":"f","arguments":null}},null]"#,
        "tool_calls",
    )
    .unwrap();
    assert_eq!(
        actions,
        [
            "arguments:empty",
            "arguments:object",
            "call:empty",
            "function:flat",
            "id",
            "name",
            "type"
        ]
    );
    let v: Vec<Value> = calls
        .iter()
        .map(|c| serde_json::from_str(c).unwrap())
        .collect();
    assert_eq!(v.len(), 3);
    assert_eq!(
        v[0]["function"],
        json!({"name":"f","arguments":"{\"n\":1.00}"})
    );
    assert!(calls[0].contains(r#""sig":"A\u002b""#));
    assert_eq!(
        v[1],
        json!({"id":"a","type":"function","function":{"name":"f","arguments":"{}"}})
    );
    assert_ne!(v[2]["id"], "a");
    // The same call has the same id, streamed or whole.
    let mut t = ToolStream::new("turn", vec!["f".to_owned()]);
    let p = t.push(&ToolDelta::list(
        r#"[{"function":{"name":"f","arguments":"{}"}}]"#,
    ));
    let streamed: Value = serde_json::from_str(&p.fragments[0].json).unwrap();
    assert_eq!(streamed["id"], v[0]["id"]);
}

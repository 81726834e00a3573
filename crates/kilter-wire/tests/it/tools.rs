//! Tool fragments: wire fact 8 and the field reports, as received and in normal form.

use kilter_core::FinishReason;
use kilter_wire::chat::{Chunk, Fragment, ToolDelta, ToolStream};
use serde_json::{Value, json};

fn deltas(v: &Value) -> Vec<ToolDelta> {
    ToolDelta::list(&v.to_string())
}

/// Runs arrays through a normaliser; each element of `arrays` is the `tool_calls` of one chunk.
pub(crate) fn run(names: &[&str], arrays: &[Value], finish: &str) -> (Vec<Fragment>, ToolStream) {
    let mut t = ToolStream::new("turn", names.iter().map(|n| (*n).to_owned()).collect());
    let mut out = Vec::new();
    for a in arrays {
        out.extend(t.push(&deltas(a)).fragments);
    }
    out.extend(t.finish(Some(&FinishReason::from_wire(finish))));
    (out, t)
}

/// What a client that adds up the pieces of every string ends with: (id, type, name, arguments).
pub(crate) fn client(fragments: &[Fragment]) -> Vec<(String, String, String, String)> {
    let mut calls: Vec<(String, String, String, String)> = Vec::new();
    for f in fragments {
        let v: Value = serde_json::from_str(&f.json).unwrap();
        let i = v["index"].as_u64().unwrap() as usize;
        assert!(i <= calls.len(), "indexes are 0, 1, …");
        if i == calls.len() {
            assert!(
                v["id"].is_string() && v["function"]["name"].is_string(),
                "{v}"
            );
            calls.push(Default::default());
        }
        let c = &mut calls[i];
        c.0 += v["id"].as_str().unwrap_or("");
        if let Some(t) = v["type"].as_str() {
            c.1 = t.to_owned();
        }
        c.2 += v["function"]["name"].as_str().unwrap_or("");
        c.3 += v["function"]["arguments"].as_str().unwrap_or("");
        assert!(!v["function"]["arguments"].is_object());
    }
    calls
}

pub(crate) fn pairs(fragments: &[Fragment]) -> Vec<(String, String)> {
    client(fragments).into_iter().map(|c| (c.2, c.3)).collect()
}

pub(crate) fn call(
    index: Option<u64>,
    id: Option<&str>,
    name: Option<&str>,
    args: Option<Value>,
) -> Value {
    let mut o = json!({});
    if let Some(i) = index {
        o["index"] = json!(i);
    }
    if let Some(id) = id {
        o["id"] = json!(id);
        o["type"] = json!("function");
    }
    let mut f = json!({});
    if let Some(n) = name {
        f["name"] = json!(n);
    }
    if let Some(a) = args {
        f["arguments"] = a;
    }
    o["function"] = f;
    o
}

pub(crate) fn s(text: &str) -> Option<Value> {
    Some(json!(text))
}

fn two() -> Vec<(String, String)> {
    vec![
        ("read_file".into(), r#"{"path":"a"}"#.into()),
        ("read_file".into(), r#"{"path":"b"}"#.into()),
    ]
}

#[test]
fn fact_08_normal_form_passes_byte_for_byte() {
    let raw = r#"[{"index":0,"id":"c1","type":"function","x" : 1.0,"function":{"name":"ping","arguments":""}}]"#;
    let later = r#"[ {"index":0, "function":{"arguments":"{}"}} ]"#;
    let mut t = ToolStream::new("t", vec!["ping".into()]);
    let p = t.push(&ToolDelta::list(raw));
    assert!(!p.changed);
    assert_eq!(p.fragments[0].json, raw.trim_matches(['[', ']']));
    assert!(!t.push(&ToolDelta::list(later)).changed);
    assert!(t.finish(Some(&FinishReason::ToolCalls)).is_empty());
    assert!(t.actions().is_empty() && t.habits().is_empty());
}

#[test]
fn fact_08_index_missing() {
    // Mission scenario s09: parallel calls without any index.
    let (out, t) = run(
        &["read_file"],
        &[
            json!([call(None, Some("c1"), Some("read_file"), s(r#"{"path":"#))]),
            json!([call(None, None, None, s(r#""a"}"#))]),
            json!([call(None, Some("c2"), Some("read_file"), s(""))]),
            json!([call(None, None, None, s(r#"{"path":"b"}"#))]),
        ],
        "tool_calls",
    );
    assert_eq!(pairs(&out), two());
    assert_eq!(t.habits(), ["index:missing"]);
    assert_eq!(t.actions(), ["index"]);
}

#[test]
fn gw01_index_always_zero() {
    let (out, t) = run(
        &["read_file"],
        &[
            json!([call(
                Some(0),
                Some("c1"),
                Some("read_file"),
                s(r#"{"path":"a"}"#)
            )]),
            json!([call(
                Some(0),
                Some("c2"),
                Some("read_file"),
                s(r#"{"path":"b"}"#)
            )]),
        ],
        "tool_calls",
    );
    assert_eq!(pairs(&out), two());
    assert!(t.habits().contains(&"index:same"));
    let ids: Vec<String> = client(&out).into_iter().map(|c| c.0).collect();
    assert_eq!(ids, ["c1", "c2"]);
}

#[test]
fn gw01_index_always_zero_without_ids() {
    let (out, _) = run(
        &["read_file"],
        &[
            json!([call(Some(0), None, Some("read_file"), s(r#"{"path":"#))]),
            json!([call(Some(0), None, None, s(r#""a"}"#))]),
            json!([call(Some(0), None, Some("read_file"), s(r#"{"path":"b"}"#))]),
        ],
        "tool_calls",
    );
    assert_eq!(pairs(&out), two());
}

#[test]
fn fact_08_index_duplicated_in_one_chunk() {
    for id in [Some(""), None] {
        let (out, t) = run(
            &["read_file"],
            &[json!([
                call(Some(0), id, Some("read_file"), s(r#"{"path":"a"}"#)),
                call(Some(0), id, Some("read_file"), s(r#"{"path":"b"}"#)),
            ])],
            "tool_calls",
        );
        assert_eq!(pairs(&out), two());
        assert!(t.habits().contains(&"index:duplicate"), "{:?}", t.habits());
    }
}

#[test]
fn fact_08_indexes_that_start_elsewhere_become_0_1() {
    let (out, _) = run(
        &[],
        &[
            json!([call(Some(1), Some("a"), Some("f"), s("{}"))]),
            json!([call(Some(3), Some("b"), Some("g"), s("{"))]),
            json!([call(Some(3), None, None, s("}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(
        pairs(&out),
        [("f".into(), "{}".into()), ("g".into(), "{}".into())]
    );
}

#[test]
fn fact_08_interleaved_parallel_calls() {
    let (out, t) = run(
        &["f", "g"],
        &[
            json!([
                call(Some(0), Some("a"), Some("f"), s("")),
                call(Some(1), Some("b"), Some("g"), s(""))
            ]),
            json!([call(Some(1), None, None, s(r#"{"y""#))]),
            json!([
                call(Some(0), None, None, s(r#"{"x":1"#)),
                call(Some(1), None, None, s(":2}"))
            ]),
            json!([call(Some(0), None, None, s("}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(
        pairs(&out),
        [
            ("f".into(), r#"{"x":1}"#.into()),
            ("g".into(), r#"{"y":2}"#.into())
        ]
    );
    assert!(t.actions().is_empty());
}

#[test]
fn fact_08_an_index_that_counts_fragments() {
    // Some servers raise the index with every delta: no id and no name means a continuation.
    let (out, t) = run(
        &["f"],
        &[
            json!([call(Some(0), Some("a"), Some("f"), s("{\"x\""))]),
            json!([call(Some(1), None, None, s(":1"))]),
            json!([call(Some(2), None, None, s("}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(pairs(&out), [("f".into(), r#"{"x":1}"#.into())]);
    assert!(t.habits().contains(&"index:gap"));
}

#[test]
fn fact_08_ids_null_empty_or_repeated() {
    let (out, t) = run(
        &["f"],
        &[
            json!([call(Some(0), Some("a"), Some("f"), s("{"))]),
            json!([{"index":0,"id":null,"function":{"arguments":"\"x\""}}]),
            json!([{"index":0,"id":"","function":{"arguments":":1"}}]),
            json!([{"index":0,"id":"a","type":"function","function":{"arguments":"}"}}]),
        ],
        "tool_calls",
    );
    let c = client(&out);
    assert_eq!(
        c,
        [(
            "a".into(),
            "function".into(),
            "f".into(),
            r#"{"x":1}"#.into()
        )]
    );
    assert!(t.habits().contains(&"id:repeated") && t.habits().contains(&"id:empty"));
}

#[test]
fn fact_08_a_fresh_id_on_every_fragment() {
    let (out, t) = run(
        &["f"],
        &[
            json!([call(Some(0), Some("a"), Some("f"), s("{\"x\""))]),
            json!([call(Some(0), Some("b"), None, s(":1"))]),
            json!([call(Some(0), Some("c"), None, s("}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(
        client(&out),
        [(
            "a".into(),
            "function".into(),
            "f".into(),
            r#"{"x":1}"#.into()
        )]
    );
    assert!(t.habits().contains(&"id:changing"));
}

#[test]
fn fact_08_missing_ids_are_derived_and_stable() {
    let arrays = [
        json!([call(Some(0), None, Some("f"), s("{}"))]),
        json!([call(Some(1), None, Some("f"), s("{}"))]),
    ];
    let (a, t) = run(&["f"], &arrays, "tool_calls");
    let (b, _) = run(&["f"], &arrays, "tool_calls");
    let (a, b) = (client(&a), client(&b));
    assert_eq!(a, b);
    assert!(a[0].0.starts_with("call_") && a[0].0 != a[1].0);
    assert_eq!(a[0].1, "function");
    assert!(t.actions().contains(&"id") && t.actions().contains(&"type"));
    assert_eq!(t.calls()[0].id.as_deref(), Some(a[0].0.as_str()));
}

#[test]
fn fact_08_whole_call_in_one_chunk_and_arguments_as_object() {
    let raw = r#"[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":{"n": 1.00, "big":12345678901234567890}}}]"#;
    let mut t = ToolStream::new("t", vec![]);
    let p = t.push(&ToolDelta::list(raw));
    assert!(p.changed);
    assert_eq!(
        pairs(&p.fragments),
        [(
            "f".into(),
            r#"{"n": 1.00, "big":12345678901234567890}"#.into()
        )]
    );
    assert_eq!(t.habits(), ["arguments:object"]);
    assert_eq!(
        t.calls()[0].arguments,
        r#"{"n": 1.00, "big":12345678901234567890}"#
    );
}

#[test]
fn fact_08_empty_arguments_mean_an_empty_object() {
    for args in [s(""), None, Some(Value::Null)] {
        let (out, t) = run(
            &["ping"],
            &[json!([call(Some(0), Some("a"), Some("ping"), args)])],
            "tool_calls",
        );
        assert_eq!(pairs(&out), [("ping".into(), "{}".into())]);
        assert_eq!(t.calls()[0].arguments, "{}");
        assert!(t.actions().contains(&"arguments:empty"));
    }
}

#[test]
fn fact_08_a_cut_call_is_never_completed() {
    for finish in ["length", "content_filter"] {
        let (out, t) = run(
            &["ping"],
            &[json!([call(Some(0), Some("a"), Some("ping"), s(""))])],
            finish,
        );
        assert_eq!(pairs(&out), [("ping".into(), String::new())], "{finish}");
        assert_eq!(t.calls()[0].arguments, "");
        let (out, _) = run(
            &["f"],
            &[json!([call(Some(0), Some("a"), Some("f"), s("{\"x\":"))])],
            finish,
        );
        assert_eq!(pairs(&out), [("f".into(), "{\"x\":".into())]);
    }
    // A stream that broke off has no finish reason at all.
    let mut t = ToolStream::new("t", vec![]);
    t.push(&deltas(&json!([call(
        Some(0),
        Some("a"),
        Some("ping"),
        s("")
    )])));
    assert!(t.finish(None).is_empty());
}

#[test]
fn fact_08_name_in_pieces() {
    let (out, t) = run(
        &["get_weather", "get_time"],
        &[
            json!([call(Some(0), Some("a"), Some("get_"), None)]),
            json!([call(Some(0), None, Some("wea"), None)]),
            json!([call(Some(0), None, Some("ther"), s(""))]),
            json!([call(Some(0), None, None, s("{}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(pairs(&out), [("get_weather".into(), "{}".into())]);
    let first: Value = serde_json::from_str(&out[0].json).unwrap();
    assert_eq!(
        first["function"]["name"], "get_weather",
        "the first fragment has the whole name"
    );
    assert!(t.habits().contains(&"name:pieces"));
}

#[test]
fn fact_08_name_grows_cumulatively() {
    let (out, _) = run(
        &["get_weather"],
        &[
            json!([call(Some(0), Some("a"), Some("get"), None)]),
            json!([call(Some(0), None, Some("get_weather"), None)]),
            json!([call(Some(0), None, None, s("{}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(pairs(&out), [("get_weather".into(), "{}".into())]);
}

#[test]
fn fact_08_a_declared_name_that_begins_another_is_not_held() {
    // A healthy server pays nothing for a pair of names like this one.
    let mut t = ToolStream::new("t", vec!["get".into(), "get_weather".into()]);
    let p = t.push(&deltas(&json!([call(
        Some(0),
        Some("a"),
        Some("get"),
        s("")
    )])));
    assert!(!p.changed && p.fragments.len() == 1);
    let p = t.push(&deltas(&json!([call(Some(0), None, None, s("{}"))])));
    assert!(!p.changed);
    assert!(t.finish(Some(&FinishReason::ToolCalls)).is_empty());
    assert!(t.actions().is_empty());
    // And a name in pieces still adds up to the whole one.
    let (out, t) = run(
        &["get", "get_weather"],
        &[
            json!([call(Some(0), Some("a"), Some("get"), s(""))]),
            json!([call(Some(0), None, Some("_weather"), s(""))]),
            json!([call(Some(0), None, None, s("{}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(pairs(&out), [("get_weather".into(), "{}".into())]);
    assert_eq!(t.calls()[0].name, "get_weather");
}

#[test]
fn fact_08_one_id_for_every_call() {
    for index in [Some(0), None] {
        let (out, t) = run(
            &["read_file"],
            &[
                json!([call(
                    index,
                    Some("x"),
                    Some("read_file"),
                    s(r#"{"path":"a"}"#)
                )]),
                json!([call(
                    index,
                    Some("x"),
                    Some("read_file"),
                    s(r#"{"path":"b"}"#)
                )]),
            ],
            "tool_calls",
        );
        assert_eq!(pairs(&out), two());
        let c = client(&out);
        assert_eq!(c[0].0, "x");
        assert!(
            c[1].0.starts_with("call_"),
            "each id is answered by one message"
        );
        assert_eq!(t.calls()[1].id.as_deref(), Some(c[1].0.as_str()));
        assert!(t.habits().contains(&"id:same"));
    }
    // Interleaved by index, with the id on every fragment.
    let (out, _) = run(
        &["read_file"],
        &[
            json!([call(Some(0), Some("x"), Some("read_file"), s("{\"path\":"))]),
            json!([call(Some(1), Some("x"), Some("read_file"), s("{\"path\":"))]),
            json!([call(Some(0), Some("x"), None, s("\"a\"}"))]),
            json!([call(Some(1), Some("x"), None, s("\"b\"}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(pairs(&out), two());
}

#[test]
fn elements_that_say_nothing_open_no_call() {
    for nothing in [
        json!([null]),
        json!([{}]),
        json!([{"function":{}}]),
        json!([{"index":0,"function":{"name":"","arguments":""}}]),
    ] {
        let (out, t) = run(&["f"], std::slice::from_ref(&nothing), "stop");
        assert!(out.is_empty() && t.calls().is_empty(), "{nothing}");
    }
}

#[test]
fn fact_08_name_repeated_in_each_chunk() {
    let (out, t) = run(
        &["f"],
        &[
            json!([call(Some(0), Some("a"), Some("f"), s("{\"x\""))]),
            json!([call(Some(0), Some("a"), Some("f"), s(":1"))]),
            json!([call(Some(0), Some("a"), Some("f"), s("}"))]),
            json!([call(Some(0), Some("a"), Some("f"), s(""))]),
        ],
        "tool_calls",
    );
    assert_eq!(
        client(&out),
        [(
            "a".into(),
            "function".into(),
            "f".into(),
            r#"{"x":1}"#.into()
        )]
    );
    assert!(t.habits().contains(&"name:repeated"));
    assert_eq!(out.len(), 3, "a fragment that says nothing is not sent");
}

#[test]
fn fact_08_no_index_no_id_only_names() {
    let (out, _) = run(
        &["ping", "f"],
        &[
            json!([call(None, None, Some("ping"), s(""))]),
            json!([call(None, None, Some("f"), s("{\"x\":"))]),
            json!([call(None, None, None, s("1}"))]),
            json!([call(None, None, Some("f"), s("{\"x\":2}"))]),
        ],
        "tool_calls",
    );
    assert_eq!(
        pairs(&out),
        [
            ("ping".into(), "{}".into()),
            ("f".into(), "{\"x\":1}".into()),
            ("f".into(), "{\"x\":2}".into())
        ]
    );
}

#[test]
fn fact_08_flat_fragments() {
    let (out, t) = run(
        &["f"],
        &[
            json!([{"index":0,"id":"a","name":"f","arguments":"{\"x\":"}]),
            json!([{"index":0,"arguments":"1}"}]),
        ],
        "tool_calls",
    );
    assert_eq!(
        client(&out),
        [(
            "a".into(),
            "function".into(),
            "f".into(),
            r#"{"x":1}"#.into()
        )]
    );
    assert!(t.actions().contains(&"function:flat"));
}

#[test]
fn unknown_members_of_a_fragment_survive_normalisation() {
    let raw = r#"[{"id":"a","type":"function","function":{"name":"f","arguments":"{}","strict":null},"extra_content":{"sig":"AB\u002b"}}]"#;
    let mut t = ToolStream::new("t", vec![]);
    let p = t.push(&ToolDelta::list(raw));
    assert!(
        p.fragments[0]
            .json
            .contains(r#""extra_content":{"sig":"AB\u002b"}"#),
        "{}",
        p.fragments[0].json
    );
    assert!(p.fragments[0].json.contains(r#""strict":null"#));
    // A signature on a fragment that says nothing else is still sent.
    let p = t.push(&ToolDelta::list(r#"[{"extra_content":{"sig":"CD"}}]"#));
    assert!(p.fragments[0].json.contains("CD"));
}

#[test]
fn a_chunk_of_any_shape_is_no_failure() {
    for tool_calls in [
        "null",
        "{}",
        "[]",
        "[null]",
        "[1]",
        "[{}]",
        "[{\"function\":null}]",
        "[{\"index\":\"0\"}]",
    ] {
        let text = format!(r#"{{"choices":[{{"delta":{{"tool_calls":{tool_calls}}}}}]}}"#);
        let c = Chunk::parse(text).unwrap();
        let mut t = ToolStream::new("t", vec!["f".into()]);
        t.push(&c.choices[0].tool_calls);
        t.finish(Some(&FinishReason::ToolCalls));
    }
}

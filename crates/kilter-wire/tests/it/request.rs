//! The request view and the edits of compensations: wire facts 10, 12, 13.

use kilter_core::{Expect, ReasoningRequest, Trust};
use kilter_wire::chat::ChatRequest;
use serde_json::{Value, json};

fn req(v: &Value) -> ChatRequest {
    ChatRequest::parse(v.to_string().as_bytes()).unwrap()
}

fn out(r: &ChatRequest) -> Value {
    serde_json::from_slice(&r.to_bytes()).unwrap()
}

#[test]
fn fact_12_unknown_fields_pass_byte_for_byte() {
    // Mission scenario s15.
    let text = r#" {"model":"m", "store":true,"prediction":{"type":"content","content":"a\u00e9"},"temperature":1.0,"seed":12345678901234567890, "audio": {"x":[ ]},"top_k":4e1,
 "messages":[{"role":"user","content":"hi"}]}
"#;
    let mut r = ChatRequest::parse(text.as_bytes()).unwrap();
    assert_eq!(r.to_bytes(), text.as_bytes());
    r.body_mut().set_u64("max_tokens", 5);
    let edited = String::from_utf8(r.to_bytes().to_vec()).unwrap();
    assert_eq!(edited, text.replace("}]}\n", "}],\"max_tokens\":5}\n"));
}

#[test]
fn fact_12_tool_choice_in_all_its_forms() {
    for (choice, want) in [
        (json!("auto"), Expect::Auto),
        (json!("none"), Expect::None),
        (json!("required"), Expect::Required),
        (json!("any"), Expect::Required),
        (
            json!({"type":"function","function":{"name":"f"}}),
            Expect::Required,
        ),
        (json!({"type":"tool","name":"f"}), Expect::Required),
        (json!({"type":"auto"}), Expect::Auto),
        (
            json!({"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}),
            Expect::Auto,
        ),
        (
            json!({"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}),
            Expect::Required,
        ),
        (
            json!({"type":"allowed_tools","mode":"required","tools":[]}),
            Expect::Required,
        ),
        (Value::Null, Expect::Auto),
    ] {
        assert_eq!(
            req(&json!({"tool_choice": choice})).expect(),
            want,
            "{choice}"
        );
    }
    assert_eq!(req(&json!({})).expect(), Expect::Auto);
    assert_eq!(
        req(&json!({"function_call":{"name":"f"}})).expect(),
        Expect::Required
    );
}

#[test]
fn tool_choice_narrows_what_may_be_called() {
    let f =
        |n: &str| json!({"type":"function","function":{"name":n,"parameters":{"type":"object"}}});
    let mut v = json!({"tools":[f("a"),f("b"),{"type":"web_search"}]});
    assert_eq!(req(&v).tools().len(), 2);
    v["tool_choice"] = json!({"type":"function","function":{"name":"b"}});
    assert_eq!(req(&v).callable_tools()[0].name, "b");
    v["tool_choice"] = json!({"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"a"}}]}});
    assert_eq!(req(&v).callable_tools()[0].name, "a");
    v["tool_choice"] = json!("auto");
    assert_eq!(req(&v).callable_tools().len(), 2);
}

#[test]
fn numbers_of_a_tool_schema_keep_their_literal() {
    let r = ChatRequest::parse(
        br#"{"tools":[{"type":"function","function":{"name":"f","parameters":{"maximum":1.0}}}]}"#,
    )
    .unwrap();
    assert_eq!(r.tools()[0].parameters["maximum"].to_string(), "1.0");
    assert!(r.tools_raw().unwrap().contains("1.0"));
}

#[test]
fn regions_carry_the_trust_of_their_role() {
    let r = req(&json!({"messages":[
        {"role":"system","content":"S"},
        {"role":"developer","content":[{"type":"text","text":"D"}]},
        {"role":"user","content":[{"type":"text","text":"U"},{"type":"image_url","image_url":{"url":"data:x"}},{"type":"weird","payload":{"deep":["W"]}}]},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c"}]},
        {"role":"tool","tool_call_id":"c","content":"T"},
        {"role":"assistant","content":"A"},
        {"role":"critic","content":"X"}
    ],"documents":[{"title":"t","data":"doc"}]}));
    let got: Vec<(Trust, String)> = r
        .regions()
        .into_iter()
        .map(|(t, s)| (t, s.into_owned()))
        .collect();
    let want = [
        (Trust::Trusted, "S"),
        (Trust::Trusted, "D"),
        (Trust::Untrusted, "U"),
        (Trust::Untrusted, "W"),
        (Trust::Untrusted, "T"),
        (Trust::Assistant, "A"),
        (Trust::Untrusted, "X"),
        (Trust::Untrusted, "t"),
        (Trust::Untrusted, "doc"),
    ];
    assert_eq!(got, want.map(|(t, s)| (t, s.to_owned())));
    assert_eq!(r.untrusted(), ["U", "W", "T", "X", "t", "doc"]);
    assert_eq!(r.instructions().as_deref(), Some("S"));
}

#[test]
fn facts_of_a_request() {
    let r = req(
        &json!({"model":"m","stream":true,"max_tokens":100,"tools":[{"type":"function","function":{"name":"f"}}],
        "tool_choice":"required","reasoning_effort":"high","messages":[{"role":"user","content":"12345é"},{"role":"assistant","content":"a","reasoning_content":"r"}]}),
    );
    let f = r.facts();
    assert_eq!(
        (f.tools, f.expect, f.output_cap, f.streaming),
        (1, Expect::Required, Some(100), true)
    );
    assert_eq!(
        (f.reasoning, f.replayed_reasoning),
        (ReasoningRequest::On, true)
    );
    assert_eq!(f.tools_chars, r.tools_raw().unwrap().len() as u64);
    assert_eq!(f.prompt_chars, f.tools_chars + 6 + 1);
}

#[test]
fn images_are_no_prompt_characters() {
    let r = req(
        &json!({"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"AAAA"}}]}]}),
    );
    assert_eq!(r.prompt_chars(), 2);
}

#[test]
fn caps_under_both_names() {
    assert_eq!(req(&json!({"max_tokens":5})).output_cap(), Some(5));
    assert_eq!(
        req(&json!({"max_tokens":5,"max_completion_tokens":7})).output_cap(),
        Some(7)
    );
    assert_eq!(req(&json!({"max_tokens":null})).output_cap(), None);
    let mut r = req(&json!({"max_completion_tokens":7}));
    r.set_cap(9);
    assert_eq!(out(&r), json!({"max_completion_tokens":9}));
    let mut r = req(&json!({}));
    r.set_cap(9);
    assert_eq!(out(&r), json!({"max_tokens":9}));
    let mut r = req(&json!({"max_tokens":5}));
    r.body_mut().rename("max_tokens", "max_completion_tokens");
    assert_eq!(out(&r), json!({"max_completion_tokens":5}));
}

#[test]
fn reasoning_switches() {
    for (v, want) in [
        (json!({}), ReasoningRequest::Unsaid),
        (json!({"reasoning_effort":"none"}), ReasoningRequest::Off),
        (json!({"reasoning_effort":"max"}), ReasoningRequest::On),
        (json!({"reasoning":{"effort":"low"}}), ReasoningRequest::On),
        (
            json!({"reasoning":{"enabled":false}}),
            ReasoningRequest::Off,
        ),
        (
            json!({"thinking":{"type":"disabled"}}),
            ReasoningRequest::Off,
        ),
        (
            json!({"chat_template_kwargs":{"enable_thinking":false}}),
            ReasoningRequest::Off,
        ),
        (json!({"think":false}), ReasoningRequest::Off),
        (json!({"reasoning_effort":null}), ReasoningRequest::Unsaid),
    ] {
        assert_eq!(req(&v).reasoning_request(), want, "{v}");
    }
}

#[test]
fn gw11_unknown_effort_words_pass() {
    let text = r#"{"reasoning_effort":"max"}"#;
    let r = ChatRequest::parse(text.as_bytes()).unwrap();
    assert_eq!(r.reasoning_effort().unwrap(), "max");
    assert_eq!(r.to_bytes(), text.as_bytes());
}

#[test]
fn session_marks_in_order() {
    let mut v = json!({"user":"u","metadata":{"session_id":"s"},"prompt_cache_key":"p","messages":[{"role":"system","content":"S"}]});
    let marks = req(&v).session_marks();
    assert_eq!(marks.explicit(), Some(("prompt_cache_key", "p")));
    assert_eq!(marks.instructions.as_deref(), Some("S"));
    v["prompt_cache_key"] = json!("");
    assert_eq!(
        req(&v).session_marks().explicit(),
        Some(("metadata.session_id", "s"))
    );
    v["metadata"] = Value::Null;
    assert_eq!(req(&v).session_marks().explicit(), Some(("user", "u")));
    v["user"] = json!(7);
    assert_eq!(req(&v).session_marks().explicit(), None);
}

#[test]
fn fact_13_null_content_stays_beside_tool_calls() {
    let text = r#"{"messages":[{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{ }"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]}"#;
    let mut r = ChatRequest::parse(text.as_bytes()).unwrap();
    assert_eq!(r.strip_reasoning(), 1);
    assert_eq!(
        r.to_bytes(),
        text.replace(r#""reasoning_content":"r","#, "").as_bytes()
    );
}

#[test]
fn fact_13_ids_are_mapped_on_both_sides() {
    let text = r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","x":1.0},{"id":"b"}]},{"role":"tool","tool_call_id":"a","content":"x"},{"role":"tool","tool_call_id":"b","content":"a"}]}"#;
    let mut r = ChatRequest::parse(text.as_bytes()).unwrap();
    assert_eq!(
        r.map_tool_ids(|id| (id == "a").then(|| "AAAAAAAAA".to_owned())),
        2
    );
    let want = text
        .replace(r#""id":"a""#, r#""id":"AAAAAAAAA""#)
        .replace(r#""tool_call_id":"a""#, r#""tool_call_id":"AAAAAAAAA""#);
    assert_eq!(r.to_bytes(), want.as_bytes());
    assert_eq!(r.map_tool_ids(|_| None), 0);
}

#[test]
fn fact_10_strip_takes_every_name_from_assistants_only() {
    let mut r = req(&json!({"messages":[
        {"role":"user","content":"q","reasoning":"mine"},
        {"role":"assistant","content":"a","reasoning":"r","reasoning_details":[{"type":"reasoning.text","text":"r"}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"r","signature":"s"},{"type":"text","text":"a"}]},
        {"role":"assistant","content":"plain"}
    ]}));
    assert!(r.replays_reasoning());
    assert_eq!(r.strip_reasoning(), 2);
    assert!(!r.replays_reasoning());
    assert_eq!(
        out(&r)["messages"],
        json!([
            {"role":"user","content":"q","reasoning":"mine"},
            {"role":"assistant","content":"a"},
            {"role":"assistant","content":[{"type":"text","text":"a"}]},
            {"role":"assistant","content":"plain"}
        ])
    );
}

#[test]
fn gw26_replay_can_be_attached_by_call_id() {
    let mut r = req(&json!({"messages":[
        {"role":"assistant","content":"a","reasoning_content":"r"},
        {"role":"user","content":"b"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"x"}
    ]}));
    let n = r.attach_reasoning("reasoning_content", |m| {
        (m.tool_calls().first()?.id.as_deref() == Some("c1")).then(|| "kept".to_owned())
    });
    assert_eq!(n, 1);
    assert_eq!(out(&r)["messages"][2]["reasoning_content"], "kept");
    assert_eq!(out(&r)["messages"][0]["reasoning_content"], "r");
    assert_eq!(out(&r)["messages"][2]["content"], Value::Null);
}

#[test]
fn roles_change_and_nothing_else() {
    let text = r#"{"messages":[ {"content":"developer", "role":"developer"},{"role":"user","content":"x"} ]}"#;
    let mut r = ChatRequest::parse(text.as_bytes()).unwrap();
    assert_eq!(r.change_role("developer", "system"), 1);
    assert_eq!(
        r.to_bytes(),
        text.replace(r#""role":"developer""#, r#""role":"system""#)
            .as_bytes()
    );
}

#[test]
fn paths_name_what_goes() {
    let v = json!({"stream_options":{"include_usage":true,"x":1},"logprobs":true,"messages":[{"role":"user","name":"n"},{"role":"assistant","name":"m","reasoning_content":"r"}]});
    for (path, want) in [
        ("logprobs", 1),
        ("stream_options.include_usage", 1),
        ("messages.1.reasoning_content", 1),
        ("messages[0].name", 2),
        ("messages.name", 2),
        ("messages.*.name", 2),
        ("messages.1.assistant.reasoning_content", 1),
        ("nothing.here", 0),
        ("", 0),
    ] {
        let mut r = req(&v);
        assert_eq!(r.remove_path(path), want, "{path}");
        if want == 0 {
            assert_eq!(out(&r), v);
        }
    }
}

#[test]
fn usage_can_be_asked_for() {
    let mut r = req(&json!({"stream":true,"stream_options":{"x":1}}));
    assert!(!r.include_usage());
    assert!(r.ask_for_usage());
    assert_eq!(
        out(&r)["stream_options"],
        json!({"x":1,"include_usage":true})
    );
    assert!(!r.ask_for_usage());
}

#[test]
fn strange_requests_are_the_backends_to_judge() {
    for text in [
        "{}",
        r#"{"messages":null}"#,
        r#"{"messages":{}}"#,
        r#"{"messages":[1,null,"x",{"role":3,"content":7}]}"#,
        r#"{"tools":{},"tool_choice":[]}"#,
        r#"{"tools":[null,1,{"function":{}}]}"#,
        r#"{"model":5,"stream":"yes","n":"2","metadata":"x"}"#,
    ] {
        let mut r = ChatRequest::parse(text.as_bytes()).unwrap();
        r.facts();
        r.session_marks();
        r.strip_reasoning();
        r.map_tool_ids(|_| None);
        r.regions();
        assert_eq!(r.to_bytes(), text.as_bytes());
    }
}

//! The written forms of calls.

use kilter_mock::dialect::{WrittenCall, find, marker_names, names};
use kilter_mock::seed::Rng;
use serde_json::{Value, json};

fn write(name: &str) -> String {
    let Value::Object(arguments) = json!({"port": "Brest", "days": 2}) else {
        unreachable!()
    };
    let call = WrittenCall {
        name: "get_tide".to_owned(),
        arguments,
        raw: None,
        schema: Value::Null,
    };
    find(name)
        .expect("a dialect")
        .write(&[call], &mut Rng::new(1, &[]))
}

#[test]
fn the_tables_load() {
    assert!(names().len() >= 50, "{}", names().len());
    assert!(marker_names().len() >= 12);
}

#[test]
fn each_dialect_writes_name_and_values() {
    for d in names() {
        let text = write(d);
        assert!(text.contains("get_tide"), "{d}: {text}");
        assert!(text.contains("Brest") && text.contains('2'), "{d}: {text}");
        assert!(!text.contains('«'), "{d}: {text}");
    }
}

#[test]
fn forms_are_those_of_the_reference() {
    assert_eq!(
        write("hermes-json"),
        "<tool_call>\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\", \"days\": 2}}\n</tool_call>"
    );
    assert_eq!(write("pythonic"), "[get_tide(port=\"Brest\", days=2)]");
    assert_eq!(
        write("gemma4"),
        "<|tool_call>call:get_tide{port:<|\"|>Brest<|\"|>,days:2}<tool_call|>"
    );
    assert_eq!(
        write("glm-4.7"),
        "<tool_call>get_tide<arg_key>port</arg_key><arg_value>Brest</arg_value><arg_key>days</arg_key><arg_value>2</arg_value></tool_call>"
    );
    assert_eq!(
        write("qwen-xml"),
        "<tool_call>\n<function=get_tide>\n<parameter=port>\nBrest\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>"
    );
    assert_eq!(
        write("deepseek-v3"),
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_tide\n```json\n{\"port\": \"Brest\", \"days\": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    );
    assert_eq!(
        write("harmony"),
        "<|channel|>commentary to=functions.get_tide <|constrain|>json<|message|>{\"port\":\"Brest\",\"days\":2}<|call|>"
    );
}

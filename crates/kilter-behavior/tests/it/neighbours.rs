//! Two calls of one dialect next to each other: both are read, in order, by that dialect.

use std::sync::Arc;

use kilter_behavior::{ReaderConfig, Reading, ToolSet, read};
use kilter_core::{Expect, Provenance, ToolSpec};
use serde::Deserialize;

use crate::catalogue::{fail, files, first_difference};

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    dialect: Vec<Dialect>,
}

#[derive(Debug, Deserialize)]
struct Dialect {
    name: String,
    example: Option<String>,
    #[serde(default = "yes")]
    parallel: bool,
}

fn yes() -> bool {
    true
}

/// Dialects of which the reference says that a turn holds one call: none does. Agents of the kinds
/// `react` and `bare-json` read (smolagents) stop at their observation and so write one in practice,
/// yet two that stand together are two.
const SINGLE: [&str; 0] = [];

/// How a family separates two calls, where it is not a newline.
fn separators(name: &str) -> &'static [&'static str] {
    match name {
        // The reference: `;` with any white space, or a newline.
        "llama3-json" | "llama3-python-tag" => &["; ", ";\n", "\n", ""],
        "bare-json" => &["; ", ";", "\n", "", ", "],
        // One marker after another, with nothing between.
        "mistral-old" | "mistral-v11" | "functools" | "functionary-v3.2" | "harmony" | "gemma4"
        | "functiongemma" | "kimi-k2" | "kimi-k3" | "deepseek-v3" | "deepseek-v3.1" | "plamo3"
        | "minimax-m3" | "inkling" | "muse" | "hunyuan-v3" | "k2-horizon" | "cohere-r7b"
        | "apertus" | "internlm" | "granite-3.0" => &["", "\n"],
        // The next marker, spaces around it.
        "tagged-json" => &[" ", "\n", ""],
        // A fence begins a line.
        "fenced-json" | "fenced-python" | "fenced-name-json" | "command-r-plus" => &["\n", "\n\n"],
        _ => &["\n", "\n\n"],
    }
}

fn tools() -> Arc<ToolSet> {
    let spec = |name: &str, parameters: serde_json::Value| ToolSpec {
        name: name.into(),
        description: None,
        parameters,
        read_only: None,
    };
    Arc::new(ToolSet::new(vec![
        spec(
            "get_tide",
            serde_json::json!({"type": "object", "required": ["port"],
                "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}}),
        ),
        spec(
            "find_page",
            serde_json::json!({"type": "object", "required": ["query"],
                "properties": {"query": {"type": "string"}}}),
        ),
        spec(
            "ping",
            serde_json::json!({"type": "object", "properties": {}}),
        ),
    ]))
}

fn config(expect: Expect) -> ReaderConfig {
    ReaderConfig {
        tools: tools(),
        expect,
        turn_id: "turn".into(),
        ..ReaderConfig::new()
    }
}

fn calls(got: &Reading) -> Vec<(String, String, String)> {
    got.calls
        .iter()
        .map(|c| {
            let Provenance::Recovered { dialect, .. } = &c.provenance else {
                panic!("{c:?}");
            };
            (dialect.clone(), c.name.clone(), c.arguments.clone())
        })
        .collect()
}

fn check(name: &str, raw: &str, want: &[(&str, &str)], complaints: &mut Vec<String>) {
    for expect in [Expect::Auto, Expect::Required] {
        let cfg = config(expect);
        let got = read(cfg.clone(), raw);
        let have = calls(&got);
        let right = have.len() == want.len()
            && have
                .iter()
                .zip(want)
                .all(|((d, n, a), (tool, arg))| d == name && n == tool && a.contains(arg));
        if !right {
            complaints.push(format!(
                "{name} ({expect:?}): {have:?}, rejected {:?}\n    raw {raw:?}",
                got.rejected
            ));
        }
        if let Some(w) = first_difference(&cfg, raw) {
            complaints.push(format!("{name} ({expect:?}): {w}\n    raw {raw:?}"));
        }
    }
}

#[test]
fn an_example_twice_in_a_row_is_two_calls() {
    let (mut n, mut complaints) = (0, Vec::new());
    for (_, file) in files::<File>("../dialects") {
        for d in file.dialect {
            if !d.parallel || SINGLE.contains(&d.name.as_str()) {
                continue;
            }
            let one = d.example.expect("every dialect has an example");
            assert!(one.contains("Brest"), "{}: {one}", d.name);
            let two = one.replace("Brest", "Oslo");
            for sep in separators(&d.name) {
                n += 1;
                check(
                    &d.name,
                    &format!("{one}{sep}{two}"),
                    &[("get_tide", "Brest"), ("get_tide", "Oslo")],
                    &mut complaints,
                );
            }
        }
    }
    assert!(n > 100, "only {n} pairs");
    fail("neighbours", n, &complaints);
}

#[test]
fn two_calls_in_one_section_are_two_calls() {
    let texts = [
        (
            "hermes-json",
            "<tool_call>\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>",
        ),
        (
            "hermes-json",
            "<tool_call>\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>",
        ),
        (
            "qwen-xml",
            "<tool_call>\n<function=get_tide>\n<parameter=port>\nBrest\n</parameter>\n</function>\n<function=ping>\n</function>\n</tool_call>",
        ),
        (
            "hunyuan-v3",
            "<tool_calls><tool_call>get_tide<tool_sep><arg_key>port</arg_key><arg_value>Brest</arg_value></tool_call>\n<tool_call>ping<tool_sep></tool_call></tool_calls>",
        ),
        (
            "hunyuan-v3",
            "<tool_calls:k3>\n<tool_call:k3>get_tide<tool_sep:k3>\n<arg_key:k3>port</arg_key:k3>\n<arg_value:k3>Brest</arg_value:k3>\n</tool_call:k3>\n<tool_call:k3>ping<tool_sep:k3>\n</tool_call:k3>\n</tool_calls:k3>",
        ),
        (
            "tagged-json",
            "<function_call> {\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}} <function_call> {\"name\": \"ping\", \"arguments\": {}}",
        ),
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_tide:0<|tool_call_argument_begin|>{\"port\": \"Brest\"}<|tool_call_end|><|tool_call_begin|>functions.ping:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        ),
        (
            "deepseek-v3.1",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_tide<｜tool▁sep｜>{\"port\": \"Brest\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        (
            "deepseek-v3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_tide\n```json\n{\"port\": \"Brest\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        (
            "anthropic-xml",
            "<function_calls>\n<invoke name=\"get_tide\">\n<parameter name=\"port\">Brest</parameter>\n</invoke>\n<invoke name=\"ping\">\n</invoke>\n</function_calls>",
        ),
        (
            "minimax-m2",
            "<minimax:tool_call>\n<invoke name=\"get_tide\">\n<parameter name=\"port\">Brest</parameter>\n</invoke>\n<invoke name=\"ping\">\n</invoke>\n</minimax:tool_call>",
        ),
        (
            "dsml-v4",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_tide\">\n<｜DSML｜parameter name=\"port\" string=\"true\">Brest</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"ping\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        ),
        (
            "k2-horizon",
            "<ifm|tool_calls><ifm|tool_call>get_tide<ifm|arg_key>port</ifm|arg_key><ifm|arg_value>Brest</ifm|arg_value></ifm|tool_call><ifm|tool_call>ping</ifm|tool_call></ifm|tool_calls>",
        ),
        (
            "mistral-old",
            "[TOOL_CALLS] [{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}, {\"name\": \"ping\", \"arguments\": {}}]",
        ),
        (
            "mistral-v11",
            "[TOOL_CALLS]get_tide[ARGS]{\"port\": \"Brest\"}[TOOL_CALLS]ping[ARGS]{}",
        ),
        (
            "llama3-json",
            "<|python_tag|>{\"name\": \"get_tide\", \"parameters\": {\"port\": \"Brest\"}}; {\"name\": \"ping\", \"parameters\": {}}",
        ),
        ("pythonic", "[get_tide(port=\"Brest\"), ping()]"),
        (
            "lfm2",
            "<|tool_call_start|>[get_tide(port=\"Brest\"), ping()]<|tool_call_end|>",
        ),
        (
            "olmo3",
            "<function_calls>\nget_tide(port=\"Brest\")\nping()\n</function_calls>",
        ),
        (
            "apertus",
            "<|tools_prefix|>[{\"get_tide\": {\"port\": \"Brest\"}}, {\"ping\": {}}]<|tools_suffix|>",
        ),
        (
            "fenced-json",
            "```json\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}\n```\n\n```json\n{\"name\": \"ping\", \"arguments\": {}}\n```",
        ),
        (
            "fenced-json",
            "```json\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}\n{\"name\": \"ping\", \"arguments\": {}}\n```",
        ),
        (
            "fenced-python",
            "```py\nget_tide(port=\"Brest\")\nping()\n```<end_code>",
        ),
        (
            "react",
            "Action: get_tide\nAction Input: {\"port\": \"Brest\"}\n\nAction: ping\nAction Input: {}\nObservation:",
        ),
        (
            "bare-json",
            "Thought: I need both.\nAction:\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}\nAction:\n{\"name\": \"ping\", \"arguments\": {}}",
        ),
        (
            "bare-json",
            "Action:\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}<end_action>\nAction:\n{\"name\": \"ping\", \"arguments\": {}}<end_action>",
        ),
        (
            "harmony",
            "<|channel|>commentary to=functions.get_tide <|constrain|>json<|message|>{\"port\": \"Brest\"}<|call|><|start|>assistant<|channel|>commentary to=functions.ping <|constrain|>json<|message|>{}<|call|>",
        ),
    ];
    let mut complaints = Vec::new();
    for (name, raw) in texts {
        check(
            name,
            raw,
            &[("get_tide", "Brest"), ("ping", "{}")],
            &mut complaints,
        );
    }
    fail("sections", texts.len(), &complaints);
}

#[test]
fn a_built_in_tool_is_called_by_its_own_name() {
    let mut complaints = Vec::new();
    for (name, raw) in [
        (
            "llama3-python-tag",
            "<|python_tag|>find_page.call(query=\"tides\")<|eom_id|>",
        ),
        // The server stripped the special tokens: a markerless form, with the rules of one.
        ("pythonic", "find_page.call(query=\"tides\")"),
    ] {
        check(name, raw, &[("find_page", "tides")], &mut complaints);
    }
    fail("built-in tools", 2, &complaints);
    // Prose behind a markerless one: it was shown.
    let shown = read(
        config(Expect::Auto),
        "find_page.call(query=\"tides\") finds a page.",
    );
    assert!(shown.calls.is_empty(), "{shown:?}");
    // A name that was not offered is none with the ending either.
    let other = read(
        config(Expect::Auto),
        "<|python_tag|>run_shell.call(query=\"tides\")",
    );
    assert!(other.calls.is_empty(), "{other:?}");
    assert_eq!(other.rejected[0].name.as_deref(), Some("run_shell"));
    // A tool that was declared with the ending keeps it.
    let own = ReaderConfig {
        tools: Arc::new(ToolSet::new(vec![ToolSpec {
            name: "desk.call".into(),
            description: None,
            parameters: serde_json::Value::Null,
            read_only: None,
        }])),
        ..ReaderConfig::new()
    };
    let got = read(own, "<|python_tag|>desk.call(who=\"Ann\")");
    assert_eq!(got.calls[0].name, "desk.call");
}

#[test]
fn the_last_of_several_shown_calls_is_not_made_alone() {
    let json =
        |port: &str| format!("{{\"name\": \"get_tide\", \"arguments\": {{\"port\": \"{port}\"}}}}");
    let (a, b) = (json("Brest"), json("Oslo"));
    let none: &[(&str, &str)] = &[];
    for (raw, want) in [
        (format!("First:\n{a}\nThen:\n{b}"), none),
        (format!("First:\n```json\n{a}\n```\nand then\n```json\n{b}\n```\n"), none),
        ("For one:\n[get_tide(port=\"Brest\")]\n...\n[get_tide(port=\"Oslo\")]".to_owned(), none),
        (
            "Action: get_tide\nAction Input: {\"port\": \"Brest\"}\nThought: now the other.\nAction: ping\nAction Input: {}".to_owned(),
            none,
        ),
        // The same again, or all of them: that is what is meant.
        (
            format!("It is\n{a}\nso the call is:\n{a}"),
            &[("get_tide", "Brest")],
        ),
        (
            format!("First:\n{a}\nThen:\n{b}\nTogether:\n[{a}, {b}]"),
            &[("get_tide", "Brest"), ("get_tide", "Oslo")],
        ),
        (
            format!("First:\n{a}\nThen:\n{b}\nTogether:\n{a}\n{b}\n"),
            &[("get_tide", "Brest"), ("get_tide", "Oslo")],
        ),
    ] {
        let cfg = config(Expect::Auto);
        let got = read(cfg.clone(), &raw);
        let have: Vec<(String, String)> = got
            .calls
            .iter()
            .map(|c| (c.name.clone(), c.arguments.clone()))
            .collect();
        assert_eq!(have.len(), want.len(), "{raw:?}: {have:?}");
        for ((n, a), (name, arg)) in have.iter().zip(want) {
            assert!(n == name && a.contains(arg), "{raw:?}: {have:?}");
        }
        if want.is_empty() {
            assert_eq!(got.content, raw);
        }
        assert_eq!(first_difference(&cfg, &raw), None);
    }
}

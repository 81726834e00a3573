//! `kilter parse --jsonl`: one line for each line, in order, as they come.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::Place;

fn results(output: &[u8]) -> Vec<Value> {
    std::str::from_utf8(output)
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

#[test]
fn thousands_of_lines_come_back_in_order() {
    let mut input = String::new();
    for i in 0..5000 {
        // Lines of very different cost, so that threads finish out of order.
        let raw = "word ".repeat(if i % 97 == 0 { 4000 } else { 3 }) + &i.to_string();
        input.push_str(&json!({"id": i, "raw": raw}).to_string());
        input.push('\n');
    }
    let output = Place::new().run_with(&["parse", "--jsonl"], input.as_bytes());
    assert!(output.status.success());
    let got = results(&output.stdout);
    assert_eq!(got.len(), 5000);
    for (i, line) in got.iter().enumerate() {
        assert_eq!(line["id"], i);
        let content = line["content"].as_str().unwrap();
        assert!(content.ends_with(&format!("word {i}")), "{i}");
    }
}

#[test]
fn a_line_is_answered_before_the_next_one_comes() {
    let place = Place::new();
    let mut child = place
        .command(&["parse", "--jsonl"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for id in ["a", "b"] {
        writeln!(stdin, "{}", json!({"id": id, "chunks": ["one ", "two"]})).unwrap();
        stdin.flush().unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let got: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&got["id"], &got["content"]),
            (&json!(id), &json!("one two"))
        );
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn options_of_a_line_win_over_those_of_the_command() {
    let call = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
    let tools =
        json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
    let input = [
        json!({"id": 1, "raw": call, "tools": tools}),
        json!({"id": 2, "raw": call, "tools": tools, "untrusted": [call]}),
        json!({"id": 3, "raw": call, "tools": tools, "expect": "none"}),
        json!({"id": 4, "raw": call, "tools": []}),
        json!({"id": 5, "raw": "x</think>y", "reasoning_open": true}),
    ]
    .map(|l| l.to_string())
    .join("\n");
    let output = Place::new().run_with(&["parse", "--jsonl"], input.as_bytes());
    let got = results(&output.stdout);
    let calls: Vec<usize> = got
        .iter()
        .map(|l| l["tool_calls"].as_array().unwrap().len())
        .collect();
    assert_eq!(calls, [1, 0, 0, 0, 0]);
    assert_eq!(got[1]["rejected"][0]["reason"], "echo");
    assert_eq!(got[3]["rejected"][0]["reason"], "undeclared");
    assert_eq!(got[4]["reasoning"], "x");
}

#[test]
fn a_line_that_cannot_be_read_has_its_own_error() {
    let place = Place::new();
    let input = b"{\"id\":1,\"raw\":\"a\"}\nnonsense\n{\"id\":3}\n\n{\"id\":4,\"raw\":\"b\"}\n";
    let output = place.run_with(&["parse", "--jsonl"], input);
    insta::assert_snapshot!(place.show(&output));
}

//! `kilter doctor` tells servers apart by what they answer.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::Value;

use crate::run::Place;

/// A server that answers GETs by path; anything else is 404.
fn serving(answers: &'static [(&'static str, &'static str)]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let n = stream.read(&mut request).unwrap_or(0);
                let text = String::from_utf8_lossy(&request[..n]);
                let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
                let (status, body) = answers
                    .iter()
                    .find(|(p, _)| *p == path)
                    .map_or(("404 Not Found", "{}"), |(_, b)| ("200 OK", *b));
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    port
}

fn found(port: u16) -> Value {
    let place = Place::new();
    let output = place.run(&["doctor", "--json", "--ports", &port.to_string()]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["servers"][0].clone()
}

#[test]
fn servers_are_known_by_their_answers() {
    let list = r#"{"object":"list","data":[{"id":"m1","owned_by":"llamacpp"},{"id":"m2"}]}"#;
    let one: &'static [(&str, &str)] = Box::leak(Box::new([
        ("/v1/models", list),
        ("/props", r#"{"default_generation_settings":{}}"#),
    ]));
    let got = found(serving(one));
    assert_eq!(got["server"], "llama.cpp");
    assert_eq!(got["models"], serde_json::json!(["m1", "m2"]));

    let two: &'static [(&str, &str)] = &[
        ("/", "Ollama is running"),
        ("/api/tags", r#"{"models":[]}"#),
        ("/v1/models", r#"{"object":"list","data":null}"#),
    ];
    let got = found(serving(two));
    assert_eq!(got["server"], "Ollama");

    let three: &'static [(&str, &str)] = &[
        (
            "/v1/models",
            r#"{"data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]}"#,
        ),
        ("/version", r#"{"version":"0.9"}"#),
    ];
    assert_eq!(found(serving(three))["server"], "vLLM");
}

#[test]
fn a_port_alone_is_no_sign() {
    let got = found(serving(&[("/v1/models", r#"{"data":[{"id":"m"}]}"#)]));
    assert_eq!(got["server"], Value::Null);
    assert_eq!(got["models"], serde_json::json!(["m"]));
    assert!(got["url"].as_str().unwrap().ends_with("/v1"));
    let got = found(serving(&[("/", "hello")]));
    assert_eq!(got["url"], Value::Null);
    assert_eq!(got["note"], "no model list at /v1/models (HTTP 404)");
}

#[test]
fn a_silent_port_is_said_to_be_silent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let got = found(listener.local_addr().unwrap().port());
    assert_eq!(got["server"], Value::Null);
    assert!(
        got["note"].as_str().unwrap().contains("says nothing"),
        "{got}"
    );
}

#[test]
fn the_mock_is_found_and_the_next_step_named() {
    let place = Place::new();
    let mock = place.start(&["mock", "--port", "0", "--json"]);
    let port = mock
        .url()
        .split(':')
        .nth(2)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    let output = place.run(&["doctor", "--ports", &port]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(&format!("next: kilter fit http://127.0.0.1:{port}/v1")),
        "{text}"
    );
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    place.write("file", "");
    let output = place.run(&["doctor", "--state", "file/below", "--ports", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("cannot write `file/below`"), "{text}");
    assert!(
        text.contains("hint: choose another with `--state DIR`"),
        "{text}"
    );
}

//! `kilter serve` as a process: requests, signals, kill -9.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kilter_core::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::run::{Place, Running};

/// Sends a chat request and gives head and body back; an error where the connection ends early.
fn ask(url: &str, body: &Value) -> std::io::Result<(String, String)> {
    let rest = url.strip_prefix("http://").unwrap();
    let (addr, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(addr)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let body = body.to_string();
    write!(
        stream,
        "POST /{path}/chat/completions HTTP/1.1\r\nhost: {addr}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .ok_or(std::io::ErrorKind::UnexpectedEof)?;
    Ok((head.to_owned(), body.to_owned()))
}

fn weather(slot: &str, stream: bool) -> Value {
    json!({
        "model": slot,
        "stream": stream,
        "messages": [{"role": "user", "content": "What is the weather in Lagos?"}],
        "tools": [{"type": "function", "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }}],
    })
}

fn mock(place: &Place, demo: &str) -> Running {
    place.start(&["mock", "--demo", demo, "--port", "0", "--json"])
}

fn serve(place: &Place, backend: &str, more: &[&str]) -> Running {
    let backend = format!("up={backend}");
    let mut args = vec![
        "serve",
        "--backend",
        &backend,
        "--port",
        "0",
        "--json",
        "--state",
        "state",
    ];
    args.extend(more);
    place.start(&args)
}

#[cfg(unix)]
fn signal(name: &str, running: &Running) {
    let sent = std::process::Command::new("kill")
        .args([name, &running.child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn a_call_in_the_content_comes_back_native() {
    let place = Place::new();
    let mock = mock(&place, "tagged-json");
    let gateway = serve(&place, &mock.url(), &[]);
    let (head, body) = ask(&gateway.url(), &weather("up/tagged-json", false)).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    let call = &answer["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "get_weather", "{body}");
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    assert!(head.contains("x-kilter-actions: "), "{head}");

    let (_, off) = {
        let off = serve(&place, &mock.url(), &["--adapt", "off"]);
        ask(&off.url(), &weather("up/tagged-json", false)).unwrap()
    };
    let off: Value = serde_json::from_str(&off).unwrap();
    assert_eq!(off["choices"][0]["message"].get("tool_calls"), None);
}

#[cfg(unix)]
#[test]
fn it_ends_well_on_an_interrupt_and_on_a_termination() {
    for name in ["-INT", "-TERM"] {
        let place = Place::new();
        let mock = mock(&place, "steady");
        let mut gateway = serve(&place, &mock.url(), &[]);
        ask(&gateway.url(), &weather("up/steady", true)).unwrap();
        signal(name, &gateway);
        let status = gateway.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{name}");
        let trace = place.read("state/traces/trace.jsonl");
        assert!(trace.contains("chat_completion_finish"), "{trace}");
    }
}

#[cfg(unix)]
#[test]
fn kill_nine_in_the_middle_of_traffic_loses_no_complete_event() {
    let place = Place::new();
    let mock = mock(&place, "tagged-json");
    for round in 0..3 {
        let gateway = serve(&place, &mock.url(), &[]);
        let over = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4)
            .map(|n| {
                let (url, over) = (gateway.url(), Arc::clone(&over));
                std::thread::spawn(move || {
                    let mut whole = 0;
                    while !over.load(Ordering::Relaxed) {
                        let stream = n % 2 == 0;
                        if let Ok((_, body)) = ask(&url, &weather("up/tagged-json", stream)) {
                            let ended = if stream {
                                body.contains("[DONE]")
                            } else {
                                serde_json::from_str::<Value>(body.trim()).is_ok()
                            };
                            whole += usize::from(ended);
                        }
                    }
                    whole
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(700 + 150 * round));
        drop(gateway); // SIGKILL
        over.store(true, Ordering::Relaxed);
        let whole: usize = clients.into_iter().map(|c| c.join().unwrap()).sum();
        assert!(whole > 0, "no traffic in round {round}");
    }
    // What a client saw the end of is on disk; only the last line of a file may be torn, and the
    // next start mends it.
    let gateway = serve(&place, &mock.url(), &[]);
    let (head, _) = ask(&gateway.url(), &weather("up/tagged-json", false)).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    drop(gateway);
    let mut finished = 0;
    for file in std::fs::read_dir(place.path().join("state/traces")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines() {
            let event: kilter_core::TraceEvent =
                serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            finished += usize::from(event.kind.name() == "chat_completion_finish");
        }
    }
    assert!(finished > 3, "{finished} finished turns");
    let summary = place.run(&["trace", "summary", "--json", "--state", "state"]);
    let summary: Value = serde_json::from_slice(&summary.stdout).unwrap();
    assert_eq!(summary["unreadable"], 0);
}

#[test]
fn every_answer_that_a_client_saw_whole_is_in_the_trace() {
    let place = Place::new();
    let mock = mock(&place, "tagged-json");
    let gateway = serve(&place, &mock.url(), &[]);
    for i in 0..20 {
        ask(&gateway.url(), &weather("up/tagged-json", i % 2 == 0)).unwrap();
    }
    drop(gateway); // SIGKILL, at once
    let trace = place.read("state/traces/trace.jsonl");
    let finished = trace.matches("\"chat_completion_finish\"").count();
    assert_eq!(finished, 20);
}

#[test]
fn what_keeps_it_from_starting_is_explained() {
    let place = Place::new();
    insta::assert_snapshot!(place.transcript(&["serve"]));
    insta::assert_snapshot!(place.transcript(&["serve", "--backend", "localhost:8080"]));
    insta::assert_snapshot!(place.transcript(&[
        "serve",
        "--backend",
        "a=http://127.0.0.1:1/v1",
        "--backend",
        "a=http://127.0.0.1:2/v1"
    ]));
    place.write("kilter.toml", "[gateway]\nadapt = \"maybe\"\n");
    insta::assert_snapshot!(place.transcript(&["serve"]));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = place.run(&[
        "serve",
        "--backend",
        "http://127.0.0.1:1/v1",
        "--port",
        &port,
    ]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains(&format!("cannot listen on `127.0.0.1:{port}`")),
        "{text}"
    );
    assert!(text.contains("`--port`"), "{text}");
}

#[test]
fn an_unreachable_backend_is_a_typed_error_for_the_client() {
    let place = Place::new();
    let gateway = serve(&place, "http://127.0.0.1:1/v1", &[]);
    let clock = SystemClock::default();
    let (head, body) = ask(&gateway.url(), &weather("up/x", false)).unwrap();
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    let error: Value = serde_json::from_str(&body).unwrap();
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .contains("127.0.0.1:1"),
        "{body}"
    );
    assert!(clock.elapsed() < Duration::from_secs(20));
}

#[cfg(unix)]
#[test]
fn a_hangup_reads_the_configuration_again() {
    let place = Place::new();
    let first = mock(&place, "steady");
    let config =
        |name: &str, url: &str| format!("[[backends]]\nname = \"{name}\"\nendpoint = \"{url}\"\n");
    place.write("kilter.toml", &config("one", &first.url()));
    let gateway = place.start(&["serve", "--port", "0", "--json", "--state", "state"]);
    let status = |slot: &str| {
        let (head, _) = ask(&gateway.url(), &weather(slot, false)).unwrap();
        head.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("one/steady"), "200");
    place.write("kilter.toml", "not toml");
    signal("-HUP", &gateway);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(status("one/steady"), "200");
    place.write("kilter.toml", &config("two", &first.url()));
    signal("-HUP", &gateway);
    let clock = SystemClock::default();
    while status("two/steady") != "200" {
        assert!(
            clock.elapsed() < Duration::from_secs(10),
            "never read again"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

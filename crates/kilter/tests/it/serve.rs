//! `kilter serve` as a process: requests, signals, kill -9.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
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

/// Four clients, streaming and not, until they are told to stop; what they saw whole is counted.
fn traffic(url: &str, whole: &Arc<AtomicUsize>, over: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    (0..4)
        .map(|n| {
            let (url, whole, over) = (url.to_owned(), Arc::clone(whole), Arc::clone(over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let stream = n % 2 == 0;
                    if let Ok((head, body)) = ask(&url, &weather("up/tagged-json", stream)) {
                        let ended = if stream {
                            body.contains("[DONE]")
                        } else {
                            serde_json::from_str::<Value>(body.trim()).is_ok()
                        };
                        let ended = ended && head.starts_with("HTTP/1.1 200");
                        whole.fetch_add(usize::from(ended), Ordering::Relaxed);
                    }
                }
            })
        })
        .collect()
}

#[cfg(unix)]
#[test]
fn kill_nine_in_the_middle_of_traffic_loses_no_complete_event() {
    let place = Place::new();
    let mock = mock(&place, "tagged-json");
    // In the operator's file: a workspace may not widen what is captured.
    std::fs::create_dir_all(place.path().join(".config/kilter")).unwrap();
    place.write(".config/kilter/kilter.toml", "[capture]\nmode = \"all\"\n");
    let whole = Arc::new(AtomicUsize::new(0));
    for round in 0..3 {
        // Each start after the first mends what the kill before it left.
        let gateway = serve(&place, &mock.url(), &[]);
        let over = Arc::new(AtomicBool::new(false));
        let before = whole.load(Ordering::Relaxed);
        let clients = traffic(&gateway.url(), &whole, &over);
        let clock = SystemClock::default();
        while whole.load(Ordering::Relaxed) < before + 9 + 8 * round {
            assert!(clock.elapsed() < Duration::from_secs(60), "no traffic");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(gateway); // SIGKILL, with four requests on their way
        over.store(true, Ordering::Relaxed);
        for c in clients {
            c.join().unwrap();
        }
    }
    // The files as the last kill left them: a whole line for each turn that a client saw the end of,
    // and at most one torn line, at the end of the newest file.
    let whole = whole.load(Ordering::Relaxed);
    let (finished, torn) = events(&place);
    assert!(
        finished >= whole,
        "{finished} of {whole} turns are in the trace"
    );
    assert!(torn <= 1, "{torn} torn lines");
    let gateway = serve(&place, &mock.url(), &[]);
    let (head, _) = ask(&gateway.url(), &weather("up/tagged-json", false)).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    drop(gateway);
    let (again, torn) = events(&place);
    assert_eq!(torn, 0, "the next start mends the torn line");
    assert_eq!(again, finished + 1, "and nothing is lost by it");
    let mut captures = 0;
    for file in std::fs::read_dir(place.path().join("state/captures")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines() {
            serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            captures += 1;
        }
    }
    assert!(captures > 0);
    let summary = place.run(&["trace", "summary", "--json", "--state", "state"]);
    let summary: Value = serde_json::from_slice(&summary.stdout).unwrap();
    assert_eq!(summary["unreadable"], 0);
    // The profiles are there, in the file that they were written to.
    let names: Vec<String> = std::fs::read_dir(place.path().join("state"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|n| n == "kilter.db"), "{names:?}");
    assert!(!names.iter().any(|n| n.contains("broken")), "{names:?}");
}

/// Finish events in the trace files, and lines that are no event.
fn events(place: &Place) -> (usize, usize) {
    let (mut finished, mut torn) = (0, 0);
    for file in std::fs::read_dir(place.path().join("state/traces")).unwrap() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            match serde_json::from_slice::<kilter_core::TraceEvent>(line) {
                Ok(e) => finished += usize::from(e.kind.name() == "chat_completion_finish"),
                Err(_) => torn += 1,
            }
        }
    }
    (finished, torn)
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
    let mut gateway = place.start(&["serve", "--port", "0", "--json", "--state", "state"]);
    let mut errors = BufReader::new(gateway.child.stderr.take().unwrap());
    let status = |slot: &str| {
        let (head, _) = ask(&gateway.url(), &weather(slot, false)).unwrap();
        head.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("one/steady"), "200");
    place.write("kilter.toml", "not toml");
    signal("-HUP", &gateway);
    let mut said = String::new();
    while !said.contains("the old configuration stays") {
        assert_ne!(errors.read_line(&mut said).unwrap(), 0, "{said}");
    }
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

//! An upstream that sends exactly the bytes of a test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Bytes of the body, sent as one chunk.
    Bytes(Vec<u8>),
    /// A pause.
    Pause(u64),
    /// Nothing more comes, and the connection stays.
    Hang,
    /// The connection is closed without an end.
    Cut,
}

#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) before_head: u64,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) bodies: Vec<Value>,
    pub(crate) raw: Vec<Vec<u8>>,
    pub(crate) heads: Vec<String>,
    /// Exchanges whose peer went away before the end.
    pub(crate) gone: usize,
    pub(crate) steps_sent: usize,
}

#[derive(Clone)]
pub(crate) struct Raw {
    pub(crate) addr: SocketAddr,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

impl Raw {
    /// The n-th request gets the n-th script; later ones the last.
    pub(crate) async fn serve(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        tokio::spawn(async move {
            let mut n = 0;
            while let Ok((s, _)) = listener.accept().await {
                let script = scripts[n.min(scripts.len() - 1)].clone();
                n += 1;
                let seen = Arc::clone(&shared);
                tokio::spawn(async move {
                    if !exchange(s, script, &seen).await {
                        seen.lock().unwrap().gone += 1;
                    }
                });
            }
        });
        Self { addr, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.seen.lock().unwrap().bodies.clone()
    }

    pub(crate) async fn wait_gone(&self, n: usize) -> bool {
        until(|| self.seen.lock().unwrap().gone >= n).await
    }

    pub(crate) async fn wait_requests(&self, n: usize) -> bool {
        until(|| self.seen.lock().unwrap().bodies.len() >= n).await
    }

    pub(crate) async fn wait_steps(&self, n: usize) -> bool {
        until(|| self.seen.lock().unwrap().steps_sent >= n).await
    }
}

/// Waits until something holds, for ten seconds at most.
pub(crate) async fn until(holds: impl Fn() -> bool) -> bool {
    for _ in 0..1000 {
        if holds() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Whether the whole script was sent.
async fn exchange(mut s: TcpStream, script: Script, seen: &Mutex<Seen>) -> bool {
    s.set_nodelay(true).unwrap();
    let mut buf = Vec::new();
    let (head, body) = loop {
        let mut block = [0; 8192];
        let n = s.read(&mut block).await.unwrap_or(0);
        if n == 0 {
            return false;
        }
        buf.extend_from_slice(&block[..n]);
        let Some(at) = buf.windows(4).position(|w| w == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&buf[..at]).into_owned();
        let len = head
            .lines()
            .find_map(|l| {
                l.to_ascii_lowercase()
                    .strip_prefix("content-length:")
                    .map(|v| v.trim().parse::<usize>().unwrap())
            })
            .unwrap_or(0);
        while buf.len() < at + 4 + len {
            let n = s.read(&mut block).await.unwrap_or(0);
            if n == 0 {
                return false;
            }
            buf.extend_from_slice(&block[..n]);
        }
        break (head, buf[at + 4..].to_vec());
    };
    {
        let mut seen = seen.lock().unwrap();
        seen.heads.push(head);
        seen.bodies
            .push(serde_json::from_slice(&body).unwrap_or(Value::Null));
        seen.raw.push(body);
    }
    let (mut read, mut write) = s.into_split();
    let send = async {
        tokio::time::sleep(Duration::from_millis(script.before_head)).await;
        let head = format!(
            "HTTP/1.1 {} X\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
            script.status, script.content_type
        );
        write.write_all(head.as_bytes()).await?;
        for step in script.steps {
            match step {
                Step::Bytes(b) => {
                    let mut chunk = format!("{:x}\r\n", b.len()).into_bytes();
                    chunk.extend_from_slice(&b);
                    chunk.extend_from_slice(b"\r\n");
                    write.write_all(&chunk).await?;
                    seen.lock().unwrap().steps_sent += 1;
                }
                Step::Pause(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Step::Hang => std::future::pending().await,
                Step::Cut => return Ok(()),
            }
        }
        write.write_all(b"0\r\n\r\n").await?;
        write.shutdown().await
    };
    let mut nothing = [0; 1];
    tokio::select! {
        sent = send => std::io::Result::is_ok(&sent),
        _ = read.read(&mut nothing) => false,
    }
}

/// A stream with one event per chunk of the body.
pub(crate) fn stream(events: &[String]) -> Script {
    Script {
        status: 200,
        content_type: "text/event-stream",
        before_head: 0,
        steps: events
            .iter()
            .map(|e| Step::Bytes(e.clone().into_bytes()))
            .collect(),
    }
}

/// A whole JSON body.
pub(crate) fn whole(status: u16, body: &Value) -> Script {
    Script {
        status,
        content_type: "application/json",
        before_head: 0,
        steps: vec![Step::Bytes(body.to_string().into_bytes())],
    }
}

pub(crate) fn event(v: &Value) -> String {
    format!("data: {v}\n\n")
}

pub(crate) fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }]
    })
}

/// The stream of deltas with their finish, as a field report gives them.
pub(crate) fn deltas(list: &[Value], finish: &str) -> Script {
    let mut events = vec![event(&chunk(&json!({ "role": "assistant" }), None))];
    events.extend(list.iter().map(|d| event(&chunk(d, None))));
    events.push(event(&chunk(&json!({}), Some(finish))));
    events.push("data: [DONE]\n\n".to_owned());
    stream(&events)
}

/// The content of one answer, in pieces of `n` characters.
pub(crate) fn content(text: &str, n: usize) -> Script {
    let chars: Vec<char> = text.chars().collect();
    let list: Vec<Value> = chars
        .chunks(n)
        .map(|c| json!({ "content": c.iter().collect::<String>() }))
        .collect();
    deltas(&list, "stop")
}

pub(crate) fn completion(message: &Value, finish: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 }
    })
}

//! A client that sees bytes: one request per connection, nothing hidden.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use kilter_mock::{MockServer, Script};

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The body with its transfer coding taken off.
    pub(crate) body: Vec<u8>,
    /// The body ended as it should: by its length or by the last chunk.
    pub(crate) whole: bool,
    /// The connection was reset.
    pub(crate) reset: bool,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|l| {
            let (k, v) = l.split_once(':')?;
            k.eq_ignore_ascii_case(name).then(|| v.trim().to_owned())
        })
    }

    /// Data of the events of a plain LF stream.
    pub(crate) fn events(&self) -> Vec<String> {
        self.text()
            .split("\n\n")
            .filter_map(|e| e.strip_prefix("data: ").map(str::to_owned))
            .collect()
    }

    /// JSON events.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        self.events()
            .iter()
            .filter(|e| *e != "[DONE]")
            .map(|e| serde_json::from_str(e).unwrap_or_else(|x| panic!("{x}: {e}")))
            .collect()
    }

    /// Concatenated text of a delta key.
    pub(crate) fn delta(&self, key: &str) -> String {
        self.chunks()
            .iter()
            .filter_map(|c| c["choices"][0]["delta"][key].as_str().map(str::to_owned))
            .collect()
    }

    /// The terminal reason of a stream.
    pub(crate) fn finish(&self) -> Option<String> {
        self.chunks()
            .iter()
            .find_map(|c| c["choices"][0]["finish_reason"].as_str().map(str::to_owned))
    }
}

pub(crate) async fn server(toml: &str) -> MockServer {
    let script = Script::from_toml(toml).unwrap_or_else(|e| panic!("{e}"));
    MockServer::local(script).await.expect("a server")
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n");
    for (k, v) in headers {
        head.push_str(&format!("{k}: {v}\r\n"));
    }
    if !body.is_empty() {
        head.push_str(&format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        ));
    }
    head.push_str("\r\n");
    head.push_str(body);
    head.into_bytes()
}

pub(crate) async fn connect(server: &MockServer) -> TcpStream {
    TcpStream::connect(server.addr())
        .await
        .expect("a connection")
}

/// Sends a request and reads until the connection ends.
pub(crate) async fn send(
    server: &MockServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut s = connect(server).await;
    s.write_all(&request(method, path, headers, body))
        .await
        .expect("written");
    let mut raw = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), s.read_to_end(&mut raw)).await;
    let reset = matches!(&read, Ok(Err(e)) if e.kind() == std::io::ErrorKind::ConnectionReset);
    assert!(
        read.is_ok(),
        "the answer did not end: {:?}",
        String::from_utf8_lossy(&raw)
    );
    parse(&raw, reset)
}

pub(crate) async fn chat(server: &MockServer, body: Value) -> Reply {
    send(
        server,
        "POST",
        "/v1/chat/completions",
        &[],
        &body.to_string(),
    )
    .await
}

pub(crate) async fn chat_as(server: &MockServer, session: &str, body: Value) -> Reply {
    send(
        server,
        "POST",
        "/v1/chat/completions",
        &[("x-kilter-session", session)],
        &body.to_string(),
    )
    .await
}

fn parse(raw: &[u8], reset: bool) -> Reply {
    let Some(at) = raw.windows(4).position(|w| w == b"\r\n\r\n") else {
        return Reply {
            status: 0,
            head: String::from_utf8_lossy(raw).into_owned(),
            body: Vec::new(),
            whole: false,
            reset,
        };
    };
    let head = String::from_utf8_lossy(&raw[..at]).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(0);
    let mut reply = Reply {
        status,
        head,
        body: Vec::new(),
        whole: false,
        reset,
    };
    let rest = &raw[at + 4..];
    if let Some(n) = reply
        .header("content-length")
        .and_then(|n| n.parse::<usize>().ok())
    {
        reply.whole = rest.len() == n;
        reply.body = rest.to_vec();
    } else {
        let (body, whole) = dechunk(rest);
        reply.body = body;
        reply.whole = whole;
    }
    reply
}

/// Takes chunked coding off; false when the last chunk is missing.
pub(crate) fn dechunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    loop {
        let Some(at) = rest.windows(2).position(|w| w == b"\r\n") else {
            return (out, false);
        };
        let Some(n) = std::str::from_utf8(&rest[..at])
            .ok()
            .and_then(|s| usize::from_str_radix(s.trim(), 16).ok())
        else {
            return (out, false);
        };
        rest = &rest[at + 2..];
        if n == 0 {
            return (out, true);
        }
        let have = n.min(rest.len());
        out.extend_from_slice(&rest[..have]);
        if rest.len() < n + 2 {
            return (out, false);
        }
        rest = &rest[n + 2..];
    }
}

/// Two tools as clients declare them.
pub(crate) fn tools() -> Value {
    json!([
        {"type": "function", "function": {
            "name": "get_tide", "description": "Height of the tide at a port",
            "parameters": {"type": "object", "required": ["port"], "properties": {
                "port": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}}}},
        {"type": "function", "function": {
            "name": "ping", "description": "Check that the line is up",
            "parameters": {"type": "object", "properties": {}}}}
    ])
}

/// A request that asks for the tide.
pub(crate) fn tide(stream: bool) -> Value {
    json!({
        "model": "m", "stream": stream, "tools": tools(),
        "messages": [{"role": "user", "content": "How high is the tide in Brest for 2 days?"}]
    })
}

/// A request without tools.
pub(crate) fn plain(text: &str, stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": text}]})
}

/// A value with further keys.
pub(crate) fn with(mut v: Value, more: Value) -> Value {
    for (k, x) in more.as_object().expect("an object") {
        v[k] = x.clone();
    }
    v
}

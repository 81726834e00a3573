//! A client of its own: HTTP/1.1 and events by hand, so that nothing stands between the test and the bytes.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) const OLD: &str = "2025-11-25";
pub(crate) const NEW: &str = "2026-07-28";

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.lines().find_map(|l| {
            let (n, v) = l.split_once(':')?;
            n.eq_ignore_ascii_case(name).then(|| v.trim().to_owned())
        })
    }

    /// The messages: one body, or the data of all events.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if let Ok(one) = serde_json::from_str(&self.body) {
            return vec![one];
        }
        self.body
            .lines()
            .filter_map(|l| serde_json::from_str(l.strip_prefix("data:")?.trim()).ok())
            .collect()
    }

    /// The last message's result, as the bytes that it was sent in.
    pub(crate) fn result_text(&self) -> String {
        let line = self
            .body
            .lines()
            .rev()
            .find(|l| l.contains("\"result\""))
            .expect("a result");
        let from = line.find("\"result\":").expect("a result") + 9;
        line[from..].trim_end_matches('}').to_owned()
    }

    pub(crate) fn result(&self) -> Value {
        let last = self.messages().pop().unwrap_or_default();
        assert!(last["error"].is_null(), "a protocol error: {last}");
        last["result"].clone()
    }
}

/// A request with given headers; reads to the end of the answer.
pub(crate) async fn send(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut stream = TcpStream::connect(to).await.expect("connect");
    write(&mut stream, to, method, path, headers, body).await;
    let mut bytes = Vec::new();
    tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut bytes))
        .await
        .expect("an end within 30 s")
        .expect("read");
    parse(&bytes)
}

pub(crate) async fn write(
    stream: &mut TcpStream,
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) {
    let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    let given = |n: &str| headers.iter().any(|(h, _)| h.eq_ignore_ascii_case(n));
    if !given("host") {
        head.push_str(&format!("host: {to}\r\n"));
    }
    if !given("accept") {
        head.push_str("accept: application/json, text/event-stream\r\n");
    }
    if !body.is_empty() {
        head.push_str(&format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        ));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.push_str(body);
    stream.write_all(head.as_bytes()).await.expect("write");
}

/// Reads from an open stream until a text has come, or fails after ten seconds.
pub(crate) async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut all = String::new();
    let mut buffer = [0; 4_096];
    let done = tokio::time::timeout(Duration::from_secs(10), async {
        while !all.contains(text) {
            let n = stream.read(&mut buffer).await.expect("read");
            assert!(n > 0, "the stream ended without `{text}`: {all}");
            all.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    })
    .await;
    assert!(done.is_ok(), "`{text}` did not come: {all}");
    all
}

fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .expect("a status");
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    Answer {
        status,
        headers: head.to_owned(),
        body: if chunked {
            unchunk(body)
        } else {
            body.to_owned()
        },
    }
}

fn unchunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let n = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if n == 0 || rest.len() < n {
            break;
        }
        out.push_str(&rest[..n]);
        body = rest[n..].trim_start_matches("\r\n");
    }
    out
}

/// A request of the newer era: everything in the message and in the headers that must agree with it.
pub(crate) fn new_era(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Sends a request of the newer era.
pub(crate) async fn ask_new(to: SocketAddr, path: &str, method: &str, params: Value) -> Answer {
    let name = params["name"].as_str().map(str::to_owned);
    let body = new_era(1, method, params).to_string();
    let mut headers = vec![("mcp-protocol-version", NEW), ("mcp-method", method)];
    if let Some(name) = &name {
        headers.push(("mcp-name", name));
    }
    send(to, "POST", path, &headers, &body).await
}

/// A session of the older era over HTTP.
pub(crate) struct OldSession {
    pub(crate) to: SocketAddr,
    pub(crate) path: String,
    pub(crate) id: String,
    pub(crate) opened: Value,
    next: u64,
}

impl OldSession {
    pub(crate) async fn open(to: SocketAddr, path: &str) -> Self {
        let body = initialize(0);
        let answer = send(to, "POST", path, &[], &body.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let id = answer.header("mcp-session-id").expect("a session");
        let session = Self {
            to,
            path: path.to_owned(),
            id,
            opened: answer.result(),
            next: 1,
        };
        let noted = session
            .post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        assert_eq!(noted.status, 202, "{noted:?}");
        session
    }

    pub(crate) fn headers(&self) -> Vec<(&str, &str)> {
        vec![("mcp-session-id", &self.id), ("mcp-protocol-version", OLD)]
    }

    pub(crate) async fn post(&self, message: &Value) -> Answer {
        send(
            self.to,
            "POST",
            &self.path,
            &self.headers(),
            &message.to_string(),
        )
        .await
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Answer {
        self.next += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.post(&message).await
    }

    pub(crate) async fn tools(&mut self) -> Vec<String> {
        names(&self.ask("tools/list", json!({})).await.result())
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.ask("tools/call", params).await.result()
    }
}

pub(crate) fn initialize(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": OLD,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "0"},
    }})
}

pub(crate) fn names(list: &Value) -> Vec<String> {
    list["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|t| t["name"].as_str().expect("a name").to_owned())
        .collect()
}

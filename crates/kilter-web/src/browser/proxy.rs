//! The browser's only way out: a forward proxy on loopback that judges every connection with the same code as HTTP.
//!
//! The browser sees each host through it, also for what a request filter inside the browser misses: WebSocket, popups,
//! workers, beacons. It looks names up itself, judges all answers and connects to those; the browser resolves nothing.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use url::{Position, Url};

use crate::acquire::{Client, dial};
use crate::failure::{Failure, FailureCode};

/// What a read through a browser may cost on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes in both directions.
    pub bytes: u64,
    /// Connections in all.
    pub connections: usize,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            connections: 512,
        }
    }
}

/// A connection that was not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Host and port, or the URL, as the browser named it.
    pub target: String,
    /// The stable word.
    pub code: String,
}

/// Refusals that are remembered.
const MOST_REFUSED: usize = 100;
/// Bytes of a request's or an answer's head.
const LONGEST_HEAD: usize = 64 << 10;
/// The header in which a refusal tells the reader that it is one.
pub(crate) const MARK: &str = "x-kilter-refused";

struct State {
    client: Client,
    traffic: Traffic,
    bytes: AtomicU64,
    connections: AtomicUsize,
    refused: Mutex<Vec<Refused>>,
    active: Mutex<Instant>,
}

impl State {
    fn touched(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        *self.active.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn refuse(&self, target: &str, code: FailureCode) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = Refused {
            target: target.chars().take(300).collect(),
            code: code.as_str().into_owned(),
        };
        if refused.len() < MOST_REFUSED && !refused.contains(&entry) {
            refused.push(entry);
        }
    }
}

/// A proxy for one read. Dropping it closes every connection.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    accept: AbortHandle,
    open: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accept.abort();
        for task in self
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            task.abort();
        }
    }
}

impl Proxy {
    /// Listens on a free port of loopback.
    ///
    /// # Errors
    /// `network_error` when there is no port.
    pub async fn start(client: Client, traffic: Traffic) -> Result<Self, Failure> {
        let broken = |e: std::io::Error| {
            Failure::new(
                FailureCode::NetworkError,
                format!("no port on loopback: {e}"),
            )
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(broken)?;
        let address = listener.local_addr().map_err(broken)?;
        let state = Arc::new(State {
            client,
            traffic,
            bytes: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
            refused: Mutex::default(),
            active: Mutex::new(Instant::now()),
        });
        let open: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let (shared, tasks) = (state.clone(), open.clone());
        let accept = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if shared.connections.fetch_add(1, Ordering::Relaxed) >= shared.traffic.connections
                {
                    continue;
                }
                let task = tokio::spawn(serve(stream, shared.clone())).abort_handle();
                let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
                tasks.retain(|t| !t.is_finished());
                tasks.push(task);
            }
        })
        .abort_handle();
        Ok(Self {
            address,
            state,
            accept,
            open,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was refused so far.
    pub fn refused(&self) -> Vec<Refused> {
        self.state
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Bytes in both directions so far.
    pub fn bytes(&self) -> u64 {
        self.state.bytes.load(Ordering::Relaxed)
    }

    /// For how long no byte has moved.
    pub fn quiet(&self) -> Duration {
        self.state
            .active
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}

async fn serve(mut browser: TcpStream, state: Arc<State>) {
    let limits = *state.client.limits();
    let Ok(Ok(Some((head, rest)))) = timeout(limits.connect, head_of(&mut browser)).await else {
        return;
    };
    let text = String::from_utf8_lossy(&head);
    let mut words = text.split("\r\n").next().unwrap_or_default().split(' ');
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    state.touched(head.len());
    let opened = match method {
        "CONNECT" => tunnel(&state, target).await,
        _ => forward(&state, target).await,
    };
    let mut server = match opened {
        Ok(server) => server,
        Err(failure) => {
            state.refuse(target, failure.code);
            let body = format!("refused: {}\n", failure.code.as_str());
            let answer = format!(
                "HTTP/1.1 403 Forbidden\r\n{MARK}: {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                failure.code.as_str(),
                body.len()
            );
            let _ = browser.write_all(answer.as_bytes()).await;
            let _ = browser.shutdown().await;
            return;
        }
    };
    let begun = match method {
        "CONNECT" => browser
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await
            .is_ok(),
        _ => server.write_all(&origin_form(&text, target)).await.is_ok(),
    };
    if !begun || (!rest.is_empty() && server.write_all(&rest).await.is_err()) {
        return;
    }
    if method != "CONNECT" {
        // The next request of this connection may be for another host: there is none.
        let Ok(Ok(Some((head, rest)))) = timeout(limits.total, head_of(&mut server)).await else {
            return;
        };
        let closed = closing(&String::from_utf8_lossy(&head));
        if browser.write_all(closed.as_bytes()).await.is_err()
            || browser.write_all(&rest).await.is_err()
        {
            return;
        }
    }
    relay(browser, server, &state).await;
}

/// A host and port, judged, looked up, judged again, connected to.
async fn tunnel(state: &State, authority: &str) -> Result<TcpStream, Failure> {
    let target = state.client.policy().judge_authority(authority)?;
    open(state, &target).await
}

/// The same for a whole URL.
async fn forward(state: &State, url: &str) -> Result<TcpStream, Failure> {
    let (url, target) = state.client.policy().parse(url)?;
    if url.scheme() != "http" {
        return Err(Failure::new(
            FailureCode::InvalidUrl,
            "a proxy is asked for `http` URLs only",
        ));
    }
    open(state, &target).await
}

async fn open(state: &State, target: &crate::address::Target) -> Result<TcpStream, Failure> {
    let client = &state.client;
    if state.bytes.load(Ordering::Relaxed) > state.traffic.bytes {
        return Err(Failure::new(
            FailureCode::ResponseTooLarge,
            "the page has loaded too much",
        ));
    }
    let pinned = dial::pin(client.policy(), client.resolver(), target).await?;
    match client.upstream() {
        Some(upstream) => dial::connect_through(upstream, &pinned, client.limits().connect).await,
        None => dial::connect(&pinned, client.limits().connect).await,
    }
}

/// Reads to the end of a head: the head and what came after it. `None` for a head that is too long or never ends.
async fn head_of(stream: &mut TcpStream) -> std::io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let mut part = [0; 8192];
    loop {
        let n = stream.read(&mut part).await?;
        if n == 0 {
            return Ok(None);
        }
        let from = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&part[..n]);
        if let Some(at) = bytes[from..].windows(4).position(|w| w == b"\r\n\r\n") {
            let rest = bytes.split_off(from + at + 4);
            return Ok(Some((bytes, rest)));
        }
        if bytes.len() > LONGEST_HEAD {
            return Ok(None);
        }
    }
}

/// A request as the server expects it: path instead of URL, nothing meant for a proxy, one request a connection.
fn origin_form(head: &str, url: &str) -> Vec<u8> {
    let path = Url::parse(url).map_or_else(
        |_| "/".to_owned(),
        |u| u[Position::BeforePath..Position::AfterQuery].to_owned(),
    );
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default().replacen(url, &path, 1);
    let mut out = first;
    for line in lines.filter(|l| !l.is_empty() && !hop_by_hop(l)) {
        out.push_str("\r\n");
        out.push_str(line);
    }
    out.push_str("\r\nConnection: close\r\n\r\n");
    out.into_bytes()
}

/// An answer after which the browser opens a new connection.
fn closing(head: &str) -> String {
    let kept: Vec<&str> = head
        .split("\r\n")
        .filter(|l| !l.is_empty() && !hop_by_hop(l))
        .collect();
    format!("{}\r\nConnection: close\r\n\r\n", kept.join("\r\n"))
}

fn hop_by_hop(line: &str) -> bool {
    let name = line
        .split(':')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    matches!(
        name.as_str(),
        "connection" | "proxy-connection" | "keep-alive" | "proxy-authorization"
    )
}

/// Copies both ways until one side ends or the read has loaded enough.
async fn relay(browser: TcpStream, server: TcpStream, state: &State) {
    let (mut from_browser, mut to_browser) = browser.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = copy(&mut from_browser, &mut to_server, state);
    let down = copy(&mut from_server, &mut to_browser, state);
    // The server's end is the end; the browser may stop sending long before.
    tokio::pin!(up);
    tokio::select! {
        () = down => {}
        () = async { (&mut up).await; std::future::pending::<()>().await } => {}
    }
}

async fn copy(
    from: &mut tokio::net::tcp::OwnedReadHalf,
    to: &mut tokio::net::tcp::OwnedWriteHalf,
    state: &State,
) {
    let mut part = vec![0; 16 << 10];
    while let Ok(n) = from.read(&mut part).await {
        if n == 0 || to.write_all(&part[..n]).await.is_err() {
            break;
        }
        state.touched(n);
        if state.bytes.load(Ordering::Relaxed) > state.traffic.bytes {
            break;
        }
    }
    let _ = to.shutdown().await;
}

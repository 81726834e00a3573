//! Servers of the tests: raw sockets that say exactly what a test wants, and remember who asked.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kilter_web::acquire::dial::{Answers, Resolve};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }
}

/// What a server says.
pub(crate) enum Say {
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// The first bytes, then the others again and again with pauses, for ever.
    Drip(Vec<u8>, Vec<u8>, Duration),
    /// Nothing, for ever.
    Nothing,
}

/// A whole answer.
pub(crate) fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Say {
    let body = body.as_ref();
    let mut out = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    out.extend_from_slice(body);
    Say::Bytes(out)
}

/// A page.
pub(crate) fn page(body: &str) -> Say {
    answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", body)
}

/// A redirect.
pub(crate) fn to(location: &str) -> Say {
    answer("302 Found", &format!("Location: {location}\r\n"), "")
}

/// A running server.
pub(crate) struct Site {
    pub(crate) addr: SocketAddr,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Site {
    /// Serves on a free port of loopback.
    pub(crate) async fn start(handler: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", None, handler).await
    }

    /// Serves at an address, with TLS where a configuration is given.
    pub(crate) async fn at(
        address: &str,
        tls: Option<Arc<rustls::ServerConfig>>,
        handler: impl Fn(&Asked) -> Say + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address)
            .await
            .unwrap_or_else(|e| panic!("{address}: {e}"));
        let site = Self {
            addr: listener.local_addr().expect("a bound socket"),
            asked: Arc::default(),
            connections: Arc::default(),
        };
        let (asked, connections, handler) = (
            site.asked.clone(),
            site.connections.clone(),
            Arc::new(handler),
        );
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (asked, handler, tls) = (asked.clone(), handler.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &asked, &*handler).await,
                        Some(config) => {
                            match tokio_rustls::TlsAcceptor::from(config).accept(stream).await {
                                Ok(stream) => serve(stream, &asked, &*handler).await,
                                Err(e) => Err(e),
                            }
                        }
                    }
                });
            }
        });
        site
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked
            .lock()
            .expect("the log")
            .iter()
            .map(|a| a.path.clone())
            .collect()
    }

    pub(crate) fn last(&self) -> Asked {
        self.asked
            .lock()
            .expect("the log")
            .last()
            .cloned()
            .expect("a request")
    }

    /// How many connections came, asked for or not.
    pub(crate) fn touched(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    asked: &Mutex<Vec<Asked>>,
    handler: &(dyn Fn(&Asked) -> Say + Send + Sync),
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
        if head[0] == 0x16 {
            // A TLS handshake at a plain server.
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await?;
            return Ok(());
        }
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let mut request = Asked {
        path: first.nth(1).unwrap_or_default().to_owned(),
        headers: lines
            .filter_map(|l| l.split_once(": "))
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .collect(),
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .and_then(|n| n.parse().ok());
    request.body = vec![0; length.unwrap_or(0).min(1 << 20)];
    stream.read_exact(&mut request.body).await?;
    let say = handler(&request);
    asked.lock().expect("the log").push(request);
    match say {
        Say::Bytes(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await?;
            // Wait for the other side, so that unread bytes do not become a reset.
            let _ = stream.read(&mut [0; 64]).await;
        }
        Say::Drip(first, again, pause) => {
            stream.write_all(&first).await?;
            loop {
                tokio::time::sleep(pause).await;
                stream.write_all(&again).await?;
            }
        }
        Say::Nothing => {
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
    }
    Ok(())
}

/// A resolver whose answers a test writes down: one list a question, the last one for ever.
#[derive(Default)]
pub(crate) struct Names {
    table: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    pub(crate) questions: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn of(entries: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let ip = |s: &&str| s.parse().unwrap_or_else(|_| panic!("{s} is no address"));
        let table = entries
            .iter()
            .map(|(name, rounds)| {
                (
                    (*name).to_owned(),
                    rounds.iter().map(|r| r.iter().map(ip).collect()).collect(),
                )
            })
            .collect();
        Arc::new(Self {
            table: Mutex::new(table),
            questions: Mutex::default(),
        })
    }
}

impl Resolve for Names {
    fn resolve(&self, host: &str) -> Answers {
        self.questions
            .lock()
            .expect("the log")
            .push(host.to_owned());
        let mut table = self.table.lock().expect("the table");
        let answers = match table.get_mut(host) {
            Some(rounds) if rounds.len() > 1 => Some(rounds.remove(0)),
            Some(rounds) => rounds.first().cloned(),
            None => None,
        };
        Box::pin(async move { answers.ok_or_else(|| io::Error::other("no such name")) })
    }
}

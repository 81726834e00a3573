//! A plain HTTP/1.1 client with limits: one request, one answer, bytes with their times.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;

/// Largest answer that is read, in bytes: an endless stream ends here. The largest output cap of a
/// probe is 4,096 tokens, at a few hundred bytes of framing each.
pub(crate) const MAX_ANSWER: usize = 2 << 20;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HttpFailure {
    /// No connection.
    Connect(String),
    /// Not within the limit.
    Timeout(Duration),
    /// The connection ended in the middle of the answer.
    Cut(String),
    /// Larger than [`MAX_ANSWER`].
    TooLarge,
    /// The address cannot be used.
    Address(String),
}

impl std::fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connect(why) => write!(f, "{why}"),
            Self::Timeout(after) => write!(f, "no answer within {} s", after.as_secs()),
            Self::Cut(why) => write!(f, "the answer was cut: {why}"),
            Self::TooLarge => write!(f, "the answer did not end within {} MiB", MAX_ANSWER >> 20),
            Self::Address(why) => write!(f, "{why}"),
        }
    }
}

/// An answer as it came.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The body ended before its end was said, and why; what came is in `body`.
    pub(crate) broken: Option<HttpFailure>,
}

impl Answer {
    /// Whether the body is a stream of events.
    pub(crate) fn is_events(&self) -> bool {
        self.headers
            .get(header::CONTENT_TYPE)
            .and_then(|v| v.to_str().ok())
            .is_some_and(|v| v.starts_with("text/event-stream"))
    }

    /// Seconds that the server asks to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let text = |name: &str| self.headers.get(name).and_then(|v| v.to_str().ok());
        text("retry-after-ms")
            .and_then(|v| v.parse().ok().map(Duration::from_millis))
            .or_else(|| text("retry-after").and_then(|v| v.parse().ok().map(Duration::from_secs)))
    }
}

/// The client.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    key: Option<String>,
}

impl Http {
    /// A client that connects within `connect` and sends `key` as a bearer token.
    pub(crate) fn new(connect: Duration, key: Option<String>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(connect));
        tcp.enforce_http(false);
        let tls = hyper_rustls::HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Self {
            // A connection of its own for each request: local servers close idle ones without a word,
            // and a fit sends few.
            client: Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(0)
                .build(tls),
            key,
        }
    }

    /// Asks with GET.
    pub(crate) async fn get(&self, url: &str, limit: Duration) -> Result<Answer, HttpFailure> {
        self.ask(Method::GET, url, Bytes::new(), None, limit).await
    }

    /// Asks with POST and a JSON body, as a part of `session`.
    pub(crate) async fn post(
        &self,
        url: &str,
        body: Bytes,
        session: &str,
        limit: Duration,
    ) -> Result<Answer, HttpFailure> {
        self.ask(Method::POST, url, body, Some(session), limit)
            .await
    }

    async fn ask(
        &self,
        method: Method,
        url: &str,
        body: Bytes,
        session: Option<&str>,
        limit: Duration,
    ) -> Result<Answer, HttpFailure> {
        let uri: Uri = url
            .parse()
            .map_err(|e| HttpFailure::Address(format!("`{url}`: {e}")))?;
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::ACCEPT_ENCODING, "identity")
            .header(
                header::USER_AGENT,
                concat!("kilter/", env!("CARGO_PKG_VERSION")),
            );
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        // Read by kilter's own gateway and mock; other servers ignore it.
        if let Some(session) = session {
            request = request.header("x-kilter-session", session);
        }
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request
            .body(Full::new(body))
            .map_err(|e| HttpFailure::Address(format!("`{url}`: {e}")))?;
        let deadline = tokio::time::Instant::now() + limit;
        let response = tokio::time::timeout_at(deadline, self.client.request(request))
            .await
            .map_err(|_| HttpFailure::Timeout(limit))?
            .map_err(|e| {
                if e.is_connect() {
                    HttpFailure::Connect(innermost(&e))
                } else {
                    HttpFailure::Cut(innermost(&e))
                }
            })?;
        let (head, mut stream) = response.into_parts();
        let mut body = BytesMut::new();
        let broken = loop {
            let frame = match tokio::time::timeout_at(deadline, stream.frame()).await {
                Err(_) => break Some(HttpFailure::Timeout(limit)),
                Ok(None) => break None,
                Ok(Some(Err(e))) => break Some(HttpFailure::Cut(innermost(&e))),
                Ok(Some(Ok(frame))) => frame,
            };
            if let Some(data) = frame.data_ref() {
                body.extend_from_slice(data);
            }
            if body.len() > MAX_ANSWER {
                break Some(HttpFailure::TooLarge);
            }
        };
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body: body.freeze(),
            broken,
        })
    }
}

/// The cause at the bottom of a chain, without the wrappers' words.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    let text = at.to_string();
    // "Connection refused (os error 111)": the number helps nobody.
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => "no reason given".to_owned(),
    }
}

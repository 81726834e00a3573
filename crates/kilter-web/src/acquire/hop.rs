//! One request and its answer: HTTP/1.1 over a stream that was opened to a judged address.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST,
    USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::AbortHandle;
use url::{Position, Url};

use super::limits::Limits;
use super::unpack;
use super::{Client, dial};
use crate::address::Target;
use crate::failure::{Failure, FailureCode};

/// What is asked for, best first: pages, then what else can be read.
const ACCEPTED: &str = "text/html,application/xhtml+xml,application/pdf;q=0.9,application/xml;q=0.9,text/markdown;q=0.9,text/plain;q=0.8,*/*;q=0.5";

/// An answer whose body is still to be read. Dropping it closes the connection.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) peer: SocketAddr,
    body: Incoming,
    _connection: Closing,
}

/// Ends the connection's task with the answer.
struct Closing(AbortHandle);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends one GET, or a POST of a body with its type. `target` is the judgement of `url`.
pub(crate) async fn ask(
    client: &Client,
    url: &Url,
    target: &Target,
    extra: HeaderMap,
    cookie: Option<String>,
    sent: Option<(HeaderValue, Bytes)>,
) -> Result<Answer, Failure> {
    let limits = client.limits();
    let pinned = dial::pin(client.policy(), client.resolver(), target).await?;
    let tcp = match client.upstream() {
        Some(upstream) => dial::connect_through(upstream, &pinned, limits.connect).await?,
        None => dial::connect(&pinned, limits.connect).await?,
    };
    let peer = tcp.peer_addr().map_err(|e| broken(url, &e.to_string()))?;
    let stream: Box<dyn dial::Stream> = match url.scheme() {
        "https" => dial::encrypt(tcp, target.host(), client.tls(), limits.connect).await?,
        _ => Box::new(tcp),
    };
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(limits.header_bytes)
        .max_headers(limits.header_lines)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|e| of_hyper(url, &e, limits))?;
    let task = tokio::spawn(connection);
    let closing = Closing(task.abort_handle());
    let request = request(client, url, extra, cookie, sent)?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|e| of_hyper(url, &e, limits))?;
    let (head, body) = response.into_parts();
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        peer,
        body,
        _connection: closing,
    })
}

fn request(
    client: &Client,
    url: &Url,
    extra: HeaderMap,
    cookie: Option<String>,
    sent: Option<(HeaderValue, Bytes)>,
) -> Result<Request<Full<Bytes>>, Failure> {
    let bad = |e: &dyn std::fmt::Display| {
        Failure::new(
            FailureCode::InvalidUrl,
            format!("`{url}` cannot be asked for: {e}"),
        )
    };
    let path = &url[Position::BeforePath..Position::AfterQuery];
    let host = &url[Position::BeforeHost..Position::AfterPort];
    let (begun, content_type, body) = match sent {
        Some((content_type, body)) => (Request::post(path), Some(content_type), body),
        None => (Request::get(path), None, Bytes::new()),
    };
    let mut request = begun.body(Full::new(body)).map_err(|e| bad(&e))?;
    let headers = request.headers_mut();
    if let Some(content_type) = content_type {
        headers.insert(CONTENT_TYPE, content_type);
    }
    headers.insert(HOST, HeaderValue::from_str(host).map_err(|e| bad(&e))?);
    headers.insert(USER_AGENT, client.user_agent().clone());
    headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, br, zstd"));
    for (name, value) in &extra {
        // A caller's header takes the place of ours.
        headers.insert(name.clone(), value.clone());
    }
    if let Some(cookie) = cookie.and_then(|c| HeaderValue::from_str(&c).ok()) {
        match headers.get(COOKIE).and_then(|own| own.to_str().ok()) {
            Some(own) => {
                let both = format!("{own}; {}", cookie.to_str().unwrap_or_default());
                headers.insert(COOKIE, HeaderValue::from_str(&both).map_err(|e| bad(&e))?);
            }
            None => {
                headers.insert(COOKIE, cookie);
            }
        }
    }
    Ok(request)
}

impl Answer {
    /// One header as text.
    pub(crate) fn header(&self, name: &http::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }

    /// The body, unpacked, within the limit of its kind.
    pub(crate) async fn read(mut self, url: &Url, limits: &Limits) -> Result<Bytes, Failure> {
        let declared_pdf = self
            .header(&CONTENT_TYPE)
            .is_some_and(|t| t.trim().to_ascii_lowercase().starts_with("application/pdf"));
        let mut limit = if declared_pdf {
            limits.pdf
        } else {
            limits.body
        };
        let stated: Option<u64> = self
            .header(&CONTENT_LENGTH)
            .and_then(|v| v.trim().parse().ok());
        // What is over even the larger limit is not begun.
        if stated.is_some_and(|n| n > limits.body.max(limits.pdf) as u64) {
            return Err(too_large(url, limit));
        }
        let mut raw = Vec::new();
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|e| of_hyper(url, &e, limits))?;
            let Some(data) = frame.data_ref() else {
                continue;
            };
            if raw.is_empty() && data.starts_with(b"%PDF-") {
                limit = limits.pdf;
            }
            if raw.len() + data.len() > limit {
                return Err(too_large(url, limit));
            }
            raw.extend_from_slice(data);
        }
        let encodings: Vec<&str> = self
            .headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .collect();
        if encodings.is_empty() {
            return Ok(raw.into());
        }
        let encodings = encodings.join(",");
        // Unpacking takes processor time in proportion to the limit: not on a thread that others wait for.
        let unpacked =
            tokio::task::spawn_blocking(move || unpack::unpack(raw, &encodings, limit)).await;
        match unpacked {
            Ok(done) => done.map(Bytes::from),
            Err(e) => Err(Failure::new(
                FailureCode::ExtractionFailed,
                format!("unpacking the body of {url} broke off: {e}"),
            )),
        }
    }
}

fn too_large(url: &Url, limit: usize) -> Failure {
    Failure::new(
        FailureCode::ResponseTooLarge,
        format!(
            "the body of {url} is over {limit} bytes\nhint: ask for a smaller page of the same site"
        ),
    )
}

fn broken(url: &Url, why: &str) -> Failure {
    Failure::new(
        FailureCode::NetworkError,
        format!("the connection to {url} broke: {why}\nhint: try again"),
    )
}

/// Sorts what the protocol library reports.
fn of_hyper(url: &Url, error: &hyper::Error, limits: &Limits) -> Failure {
    if error.is_parse_too_large() {
        return Failure::new(
            FailureCode::ResponseTooLarge,
            format!(
                "the header of {url} is over {} bytes or {} lines",
                limits.header_bytes, limits.header_lines
            ),
        );
    }
    if error.is_parse() {
        return Failure::new(
            FailureCode::NetworkError,
            format!("what answers at {url} does not speak HTTP: {error}\nhint: check the port"),
        );
    }
    let mut source = std::error::Error::source(error);
    let mut why = error.to_string();
    while let Some(inner) = source {
        why = format!("{why}: {inner}");
        source = inner.source();
    }
    // An end in the middle: of the header the server hung up, of the body the page is cut.
    if error.is_incomplete_message()
        || error.is_body_write_aborted()
        || why.contains("end of file")
        || why.contains("unexpected EOF")
    {
        return Failure::new(
            FailureCode::ResponseTruncated,
            format!("the answer of {url} ends early: {why}\nhint: try again"),
        );
    }
    broken(url, &why)
}

/// The time after which a whole read fails.
pub(crate) fn timed_out(url: &str, limit: Duration) -> Failure {
    let shown: String = url.chars().take(200).collect();
    Failure::new(
        FailureCode::Timeout,
        format!(
            "{shown} was not read within {limit:?}\nhint: the server is slow; try again or allow more time"
        ),
    )
}

//! Asking an upstream: headers cleaned, timeouts apart, retries before the client got a byte.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;

use crate::alarm::Alarm;
use crate::backend::Backend;
use crate::error::TurnError;

/// The head of an answer and its body.
#[derive(Debug)]
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// The body, with its timeouts.
    pub body: AnswerBody,
}

/// A body that is read under the backend's timeouts. Dropping it cancels the upstream's work.
#[derive(Debug)]
pub struct AnswerBody {
    incoming: Incoming,
    alarm: Alarm,
    backend: String,
    first: bool,
    first_token: Duration,
    gap: Duration,
    left: u64,
    limit: u64,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AnswerBody {
    /// The next piece; `None` at a clean end.
    ///
    /// # Errors
    /// Silence, a cut, or more bytes than the bound.
    pub async fn next(&mut self) -> Option<Result<Bytes, TurnError>> {
        loop {
            let (wait, phase, key) = if self.first {
                (
                    self.first_token,
                    "before the first byte of its answer",
                    "first_token",
                )
            } else {
                (self.gap, "in the middle of its answer", "gap")
            };
            let frame = match self.alarm.within(wait, self.incoming.frame()).await {
                None => {
                    return Some(Err(TurnError::Timeout {
                        backend: self.backend.clone(),
                        phase,
                        key,
                        after: wait,
                    }));
                }
                Some(None) => return None,
                Some(Some(Err(e))) => {
                    return Some(Err(TurnError::Cut {
                        backend: self.backend.clone(),
                        why: words(&e),
                    }));
                }
                Some(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if data.is_empty() {
                continue;
            }
            self.first = false;
            let Some(left) = self.left.checked_sub(data.len() as u64) else {
                return Some(Err(TurnError::Endless {
                    backend: self.backend.clone(),
                    limit: self.limit,
                    unit: "bytes",
                    what: "answer",
                    key: "response_bytes",
                }));
            };
            self.left = left;
            return Some(Ok(data));
        }
    }

    /// Reads to the end for at most `wait`, so that the connection can be used again.
    pub async fn drain(&mut self, wait: Duration) {
        let rest = async { while let Some(Ok(_)) = self.incoming.frame().await {} };
        tokio::time::timeout(wait, rest).await.ok();
    }

    /// Whether nothing more will come, where the answer's length was declared.
    pub fn is_end(&self) -> bool {
        http_body::Body::is_end_stream(&self.incoming)
    }

    /// The whole body.
    ///
    /// # Errors
    /// As [`AnswerBody::next`].
    pub async fn whole(&mut self, mut seen: impl FnMut(&Bytes)) -> Result<Bytes, TurnError> {
        let mut first = Bytes::new();
        let mut rest = Vec::new();
        while let Some(piece) = self.next().await {
            let piece = piece?;
            seen(&piece);
            if first.is_empty() && rest.is_empty() {
                first = piece;
            } else {
                if rest.is_empty() {
                    rest.extend_from_slice(&first);
                }
                rest.extend_from_slice(&piece);
            }
        }
        Ok(if rest.is_empty() { first } else { rest.into() })
    }
}

/// Words of an error and of what lies under it, without repetition.
pub fn words(e: &dyn std::error::Error) -> String {
    let mut out = e.to_string();
    let mut under = e.source();
    while let Some(s) = under {
        let text = s.to_string();
        if !out.contains(&text) {
            out.push_str(": ");
            out.push_str(&text);
        }
        under = s.source();
    }
    out
}

/// Headers of the client that go on: everything but hop-by-hop ones, credentials, ours, and those
/// that the new connection sets itself.
pub fn forwarded(client: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = client
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .filter_map(|n| n.trim().parse().ok())
        .collect();
    let mut out = HeaderMap::with_capacity(client.len());
    for (name, value) in client {
        if is_hop_by_hop(name) || is_private(name) || named.contains(name) {
            continue;
        }
        out.append(name.clone(), value.clone());
    }
    out
}

/// RFC 9110 §7.6.1, and the framing headers that a new connection writes itself.
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-connection"
            | "proxy-authenticate"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "content-length"
    )
}

fn is_private(name: &HeaderName) -> bool {
    let n = name.as_str();
    matches!(
        n,
        "host"
            | "authorization"
            | "proxy-authorization"
            | "cookie"
            | "x-api-key"
            | "api-key"
            | "accept-encoding"
            | "expect"
            | "origin"
            | "referer"
    ) || n.starts_with("x-kilter-")
        || n.starts_with("x-forwarded-")
}

/// Headers of an answer that reach the client.
pub fn answered(upstream: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(upstream.len());
    for (name, value) in upstream {
        if is_hop_by_hop(name) || name == header::SET_COOKIE || name == header::DATE {
            continue;
        }
        out.append(name.clone(), value.clone());
    }
    out
}

/// Asks once.
///
/// # Errors
/// No connection, or no headers in time.
pub async fn ask(
    backend: &Backend,
    method: Method,
    uri: Uri,
    client: &HeaderMap,
    body: Bytes,
    limit: u64,
) -> Result<Answer, TurnError> {
    let name = backend.name();
    let headers_wait: Duration = backend.config.timeouts.headers.into();
    let silent = |phase, key| TurnError::Timeout {
        backend: name.to_owned(),
        phase,
        key,
        after: headers_wait,
    };
    let permit = match tokio::time::timeout(
        headers_wait,
        std::sync::Arc::clone(&backend.permits).acquire_owned(),
    )
    .await
    {
        Ok(p) => p.ok(),
        Err(_) => return Err(silent("with all its places taken", "headers")),
    };
    let mut req = Request::builder()
        .method(method)
        .uri(uri)
        .body(Full::new(body))
        .map_err(|e| TurnError::Internal(e.to_string()))?;
    *req.headers_mut() = client.clone();
    req.headers_mut().insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    for (k, v) in &backend.headers {
        req.headers_mut().insert(k.clone(), v.clone());
    }
    let answer = match tokio::time::timeout(headers_wait, backend.client().request(req)).await {
        Err(_) => return Err(silent("before its headers", "headers")),
        Ok(Err(e)) if e.is_connect() => {
            return Err(TurnError::Unreachable {
                backend: name.to_owned(),
                endpoint: backend.config.endpoint.clone(),
                why: words(&e),
            });
        }
        Ok(Err(e)) => {
            return Err(TurnError::Cut {
                backend: name.to_owned(),
                why: words(&e),
            });
        }
        Ok(Ok(a)) => a,
    };
    let (head, incoming) = answer.into_parts();
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        body: AnswerBody {
            incoming,
            alarm: Alarm::default(),
            backend: name.to_owned(),
            first: true,
            first_token: backend.config.timeouts.first_token.into(),
            gap: backend.config.timeouts.gap.into(),
            left: limit,
            limit,
            _permit: permit,
        },
    })
}

/// Whether a status is worth another try.
pub fn retryable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 429 | 500..=599)
}

/// How long to wait before try `n` (from 1): what the server asked for, else doubling with jitter.
///
/// `random` is any evenly spread number; `now` is wall time, for dates in `retry-after`.
pub fn pause(
    headers: Option<&HeaderMap>,
    base: Duration,
    n: u32,
    random: u64,
    now: kilter_core::Timestamp,
) -> Duration {
    let text = |name: &str| headers?.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|v| v.parse::<f64>().ok())
        && let Ok(d) = Duration::try_from_secs_f64(ms / 1000.0)
    {
        return d;
    }
    if let Some(v) = text("retry-after") {
        if let Ok(s) = v.parse::<f64>()
            && let Ok(d) = Duration::try_from_secs_f64(s)
        {
            return d;
        }
        if let Some(at) = http_date(v) {
            return Duration::from_millis((at * 1000).saturating_sub(now.0));
        }
    }
    let full = base
        .saturating_mul(1 << n.saturating_sub(1).min(10))
        .min(Duration::from_secs(30));
    let half = full / 2;
    half + half.mul_f64((random % 1024) as f64 / 1024.0)
}

/// Seconds since the epoch of an IMF-fixdate (`Sun, 06 Nov 1994 08:49:37 GMT`, RFC 9110 §5.6.7).
fn http_date(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(", ")?;
    let mut it = rest.split(' ');
    let day: i64 = it.next()?.parse().ok()?;
    let month = it.next()?;
    let year: i64 = it.next()?.parse().ok()?;
    let clock = it.next()?;
    let m = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    .iter()
    .position(|n| *n == month)? as i64
        + 1;
    let mut hms = clock.split(':').map(|p| p.parse::<i64>().ok());
    let (h, mi, s) = (hms.next()??, hms.next()??, hms.next()??);
    // Days from civil (Hinnant).
    let y = if m <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * (m + if m > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    let days = era * 146_097 + doe - 719_468;
    u64::try_from(days * 86_400 + h * 3600 + mi * 60 + s).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kilter_core::Timestamp;

    #[test]
    fn credentials_and_hops_stay_here() {
        let mut h = HeaderMap::new();
        for (k, v) in [
            ("authorization", "Bearer x"),
            ("connection", "keep-alive, x-hop"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("x-kilter-adapt", "on"),
            ("accept-encoding", "gzip"),
            ("cookie", "a=b"),
            ("x-stainless-lang", "python"),
            ("content-type", "application/json"),
        ] {
            h.insert(k.parse::<HeaderName>().unwrap(), v.parse().unwrap());
        }
        let f = forwarded(&h);
        let mut names: Vec<&str> = f.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "x-stainless-lang"]);
    }

    #[test]
    fn servers_say_how_long() {
        let mut h = HeaderMap::new();
        let now = Timestamp(784_111_770_000);
        h.insert(
            "retry-after",
            "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap(),
        );
        let base = Duration::from_millis(100);
        assert_eq!(pause(Some(&h), base, 1, 0, now), Duration::from_secs(7));
        h.insert("retry-after", "2".parse().unwrap());
        assert_eq!(pause(Some(&h), base, 1, 0, now), Duration::from_secs(2));
        h.insert("retry-after-ms", "15".parse().unwrap());
        assert_eq!(pause(Some(&h), base, 1, 0, now), Duration::from_millis(15));
        for n in 1..5 {
            let p = pause(None, base, n, 512, now);
            let full = base * (1 << (n - 1));
            assert!(p >= full / 2 && p <= full, "{n}: {p:?}");
        }
    }
}

//! Who may come in over HTTP: the host that was asked for, the page that asks, the bearer.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde_json::json;
use subtle::ConstantTimeEq;

/// The rules of a port.
#[derive(Debug, Clone)]
pub struct Gate {
    /// Names by which the port may be asked for, without a port; loopback names are always among them.
    pub hosts: Vec<String>,
    /// Tokens, of which one is needed; none: nobody needs one. Kept out of what is printed.
    pub tokens: Tokens,
}

/// Bearer tokens.
#[derive(Clone, Default)]
pub struct Tokens(pub Vec<String>);

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tokens", self.0.len())
    }
}

const LOOPBACK: [&str; 4] = ["localhost", "127.0.0.1", "::1", "[::1]"];

impl Gate {
    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        LOOPBACK.contains(&host.as_str())
            || self.hosts.iter().any(|h| h.eq_ignore_ascii_case(&host))
    }

    /// Why a request is not let in.
    fn refuses(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).map(|v| v.to_str().unwrap_or_default());
        // A name that an attacker bound to this address would come in as `Host`.
        let host = text(header::HOST).map(|h| without_port(h).to_owned());
        if !host.is_some_and(|h| self.knows(&h)) {
            return Some((
                StatusCode::FORBIDDEN,
                "this host name is not served here; hint: `--allow-host NAME` adds one",
            ));
        }
        // Only pages send an origin; those of this machine may ask.
        if let Some(origin) = text(header::ORIGIN) {
            let known = origin
                .split_once("://")
                .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
                .is_some_and(|(_, host)| self.knows(without_port(host)));
            if !known {
                return Some((
                    StatusCode::FORBIDDEN,
                    "pages of this origin may not ask; hint: `--allow-host NAME` adds one",
                ));
            }
        }
        if self.tokens.0.is_empty() {
            return None;
        }
        let given = text(header::AUTHORIZATION)
            .and_then(|a| a.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .unwrap_or_default();
        // Every token is compared, each in constant time.
        let known = self.tokens.0.iter().fold(false, |known, token| {
            let same: bool = token.as_bytes().ct_eq(given.as_bytes()).into();
            known | same
        });
        (!known).then_some((
            StatusCode::UNAUTHORIZED,
            "a bearer token is needed; hint: send `Authorization: Bearer …`",
        ))
    }
}

/// A host without its port; brackets of an IPv6 address stay.
fn without_port(host: &str) -> &str {
    if host.starts_with('[') {
        return host.split_inclusive(']').next().unwrap_or(host);
    }
    host.split(':').next().unwrap_or(host)
}

/// An error in front of the protocol, in its shape.
pub(super) fn refused(status: StatusCode, message: &str) -> Response {
    let body = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": {"code": -32_000, "message": message},
    });
    let mut response = (status, axum::Json(body)).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(
            header::WWW_AUTHENTICATE,
            http::HeaderValue::from_static("Bearer"),
        );
    }
    response
}

/// Lets a request in, or refuses it.
pub(super) async fn check(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    match gate.refuses(request.headers()) {
        Some((status, message)) => refused(status, message),
        None => next.run(request).await,
    }
}

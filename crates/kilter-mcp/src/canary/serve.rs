//! The origin of canary pages: one port on loopback, opened when the first canary is issued.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{Canary, is_session_id, page};

/// The path under which all canary pages lie. Nothing else of loopback is opened for reading.
pub const PREFIX: &str = "/canary/";

/// An open origin.
#[derive(Debug, Clone)]
pub struct Origin {
    address: SocketAddr,
    _open: Arc<tokio_util::sync::DropGuard>,
}

#[derive(Clone)]
struct Served {
    canary: Arc<Canary>,
    host: String,
}

impl Origin {
    /// Opens the origin on a free port of 127.0.0.1; it closes with the last clone.
    ///
    /// # Errors
    /// When no port can be opened.
    pub async fn open(canary: Arc<Canary>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let router = Router::new()
            .route(&format!("{PREFIX}{{session}}"), get(serve))
            .with_state(Served {
                canary,
                host: address.to_string(),
            })
            .into_make_service_with_connect_info::<SocketAddr>();
        let stopped = stop.clone();
        tokio::spawn(async move {
            let served = axum::serve(listener, router)
                .with_graceful_shutdown(async move { stopped.cancelled().await });
            if let Err(error) = served.await {
                tracing::warn!(%error, "the origin of canary pages ended");
            }
        });
        Ok(Self {
            address,
            _open: Arc::new(stop.drop_guard()),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The page of a session.
    pub fn url(&self, session: &str) -> String {
        format!("http://{}{PREFIX}{session}", self.address)
    }
}

async fn serve(
    State(served): State<Served>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(session): Path<String>,
    headers: HeaderMap,
) -> Response {
    // A page of another site, or a name that was bound to loopback, is not to read this one.
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok());
    if host != Some(served.host.as_str()) || headers.contains_key(header::ORIGIN) {
        return StatusCode::FORBIDDEN.into_response();
    }
    if !is_session_id(&session) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|a| a.to_str().ok())
        .unwrap_or_default();
    match served.canary.serve(&session, peer.ip(), agent) {
        Ok(html) => {
            let mut response = html.into_response();
            for (name, value) in page::HEADERS {
                response
                    .headers_mut()
                    .insert(name, HeaderValue::from_static(value));
            }
            response
        }
        Err(too_often) => {
            let seconds = too_often.retry_after.as_secs().max(1).to_string();
            (
                StatusCode::TOO_MANY_REQUESTS,
                [(header::RETRY_AFTER, seconds)],
            )
                .into_response()
        }
    }
}

//! The listening side: sockets, routes, and errors in the API's own shape.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State as Ext};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use kilter_core::TraceEvent;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use crate::config::{Config, check};
use crate::error::{StartError, TurnError};
use crate::lane::Lanes;
use crate::state::{Deps, State};
use crate::{models, turn};

/// Starts gateways.
#[derive(Debug)]
pub struct Gateway;

/// A running gateway. Dropping it stops the listening at once; [`GatewayHandle::shutdown`] waits for
/// answers on their way and for the disk.
#[derive(Debug)]
pub struct GatewayHandle {
    addr: SocketAddr,
    state: Arc<State>,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

impl Gateway {
    /// Binds and serves.
    ///
    /// # Errors
    /// When the configuration does not hold, the port is taken or the state folder cannot be had.
    pub async fn start(config: Config, mut deps: Deps) -> Result<GatewayHandle, StartError> {
        let more = deps.routes.take().unwrap_or_default();
        let bind = check::bind_addr(&config.gateway.bind).ok_or_else(|| StartError::Config {
            key: "gateway.bind".into(),
            message: format!("`{}` is no address", config.gateway.bind),
            hint: "write `127.0.0.1:8787`".into(),
        })?;
        let header_bytes = config.gateway.limits.header_bytes;
        let state = Arc::new(State::new(config, deps)?);
        let taken = |why| StartError::Bind {
            addr: bind.to_string(),
            why,
        };
        let listener = TcpListener::bind(bind).await.map_err(taken)?;
        let addr = listener.local_addr().map_err(taken)?;
        let (stop, stopped) = watch::channel(false);
        let app = router(Arc::clone(&state), more);
        let lanes = Lanes::start(&app, header_bytes, &stopped)
            .map_err(|e| StartError::Threads(e.to_string()))?;
        let task = tokio::spawn(accept(listener, lanes, stopped));
        tracing::info!("listening on http://{addr}");
        Ok(GatewayHandle {
            addr,
            state,
            stop,
            task: Some(task),
        })
    }
}

impl GatewayHandle {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Base URL for clients: `http://127.0.0.1:8787/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// Everything inside: sessions, counters, events.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Events from now on.
    pub fn events(&self) -> broadcast::Receiver<TraceEvent> {
        self.state.tracer.subscribe()
    }

    /// Validates and swaps the configuration; keeps the old one on an error.
    ///
    /// # Errors
    /// What does not hold.
    pub fn reload(&self, config: Config) -> Result<(), StartError> {
        self.state.reload(config)
    }

    /// Stops listening, waits for answers on their way, and writes everything out.
    pub async fn shutdown(mut self) {
        self.stop.send(true).ok();
        if let Some(task) = self.task.take() {
            task.await.ok();
        }
        turn::save_all(&self.state);
        if let Some(store) = &self.state.store {
            store.flush().await;
        }
    }

    /// Waits until it stops by itself, which it does not.
    pub async fn closed(&mut self) {
        if let Some(task) = &mut self.task {
            task.await.ok();
        }
    }
}

impl Drop for GatewayHandle {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// Accepts, and hands each connection to a lane.
async fn accept(listener: TcpListener, mut lanes: Lanes, mut stopped: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            a = listener.accept() => a,
            _ = stopped.wait_for(|s| *s) => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: give the others time to finish.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        // Without it the small writes of a stream wait for the client's delayed acknowledgement.
        stream.set_nodelay(true).ok();
        if let Ok(stream) = stream.into_std() {
            lanes.take(stream);
        }
    }
    drop(listener);
    lanes.close().await;
}

/// All routes, `more` of them among them.
pub fn router(state: Arc<State>, more: Router) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(turn::chat))
        .route("/v1/models", get(models::list))
        .route("/healthz", get(health))
        .route("/readyz", get(models::ready))
        .route("/metrics", get(metrics))
        .merge(more.with_state(()))
        .method_not_allowed_fallback(wrong_method)
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(Arc::clone(&state), admit))
        .with_state(state)
}

/// Who may come in at all.
async fn admit(Ext(state): Ext<Arc<State>>, req: Request, next: Next) -> Response {
    if req.uri().path() != "/healthz"
        && let Err(e) = admitted(&state, req.headers())
    {
        return state.refuse(&e);
    }
    next.run(req).await
}

fn admitted(state: &State, headers: &HeaderMap) -> Result<(), TurnError> {
    let live = state.live.load();
    let keys = &live.config.gateway.client_keys;
    if !keys.is_empty() {
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|v| v.to_str().ok())
            .and_then(|v| {
                v.strip_prefix("Bearer ")
                    .or_else(|| v.strip_prefix("bearer "))
            })
            .map(str::trim)
            .or_else(|| headers.get("x-api-key").and_then(|v| v.to_str().ok()))
            .ok_or(TurnError::Unauthorized)?;
        let hash: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        // Every key is compared to its end: no early exit tells how far a guess went.
        let known = keys
            .iter()
            .fold(false, |found, k| found | same(&hash, &k.sha256));
        return if known {
            Ok(())
        } else {
            Err(TurnError::Unauthorized)
        };
    }
    if state.local_only {
        // A page in a browser on this machine must not reach the gateway by a name of its own.
        let text = |name| {
            headers
                .get(name)
                .and_then(|v: &HeaderValue| v.to_str().ok())
        };
        if let Some(host) = text(header::HOST)
            && !check::is_loopback_url(&format!("http://{host}"))
        {
            return Err(TurnError::Misdirected(host.to_owned()));
        }
        if let Some(origin) = text(header::ORIGIN)
            && !check::is_loopback_url(origin)
        {
            return Err(TurnError::Misdirected(origin.to_owned()));
        }
    }
    Ok(())
}

fn same(hash: &[u8; 32], hex: &str) -> bool {
    let bytes = hex.as_bytes();
    if bytes.len() != 64 {
        return false;
    }
    let digit = |b: u8| char::from(b).to_digit(16).unwrap_or(255) as u8;
    let diff = hash.iter().enumerate().fold(0u8, |d, (i, h)| {
        d | (h ^ (digit(bytes[2 * i]).wrapping_shl(4) | digit(bytes[2 * i + 1])))
    });
    diff == 0
}

/// An error as the API writes it.
pub fn refuse(e: &TurnError) -> Response {
    let mut r = (e.status(), e.body()).into_response();
    r.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let TurnError::Method { allow, .. } = e
        && let Ok(v) = HeaderValue::from_str(allow)
    {
        r.headers_mut().insert(header::ALLOW, v);
    }
    r
}

/// A JSON answer.
pub fn json(status: StatusCode, body: String) -> Response {
    let mut r = Response::new(Body::from(body));
    *r.status_mut() = status;
    r.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    r
}

async fn not_found(Ext(state): Ext<Arc<State>>, req: Request) -> Response {
    state.refuse(&TurnError::NotFound {
        method: req.method().to_string(),
        path: req.uri().path().to_owned(),
    })
}

async fn wrong_method(Ext(state): Ext<Arc<State>>, req: Request) -> Response {
    state.refuse(&TurnError::Method {
        method: req.method().to_string(),
        path: req.uri().path().to_owned(),
        allow: if req.uri().path() == "/v1/chat/completions" {
            "POST"
        } else {
            "GET"
        },
    })
}

async fn health() -> Response {
    json(StatusCode::OK, r#"{"status":"ok"}"#.to_owned())
}

async fn metrics(Ext(state): Ext<Arc<State>>) -> Response {
    let m = &state.metrics;
    m.sessions
        .set(i64::try_from(state.sessions.len()).unwrap_or(i64::MAX));
    m.trace_lost
        .inner()
        .store(state.tracer.lost(), std::sync::atomic::Ordering::Relaxed);
    let mut r = Response::new(Body::from(m.render()));
    r.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8"),
    );
    r
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_compare_in_full() {
        let hash: [u8; 32] = Sha256::digest(b"key").into();
        let hex: String = hash.iter().map(|b| format!("{b:02x}")).collect();
        assert!(same(&hash, &hex));
        assert!(same(&hash, &hex.to_uppercase()));
        assert!(!same(&hash, &hex.replace(&hex[..1], "g")));
        assert!(!same(&hash, ""));
    }
}

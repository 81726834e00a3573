//! Endpoints over HTTP: `/mcp` and one for each surface, both eras on one port.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::any;
use http::{Method, StatusCode};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;
use tower::ServiceExt as _;

use super::gate::{self, Gate, Tokens};
use super::handler::Handler;
use super::sessions::{Counted, Keeping};
use crate::server::Server;
use crate::surface::Surface;

/// What an operator sets of the port.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// More names by which it may be asked for.
    pub hosts: Vec<String>,
    /// Bearer tokens.
    pub tokens: Tokens,
    /// How sessions are kept.
    pub keeping: Keeping,
}

/// Why the port is not opened.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Off loopback without a token.
    #[error(
        "`{0}` can be reached from other machines, and no token is set\nhint: set `KILTER_MCP_TOKEN`, or bind 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The port cannot be bound.
    #[error(
        "cannot listen on `{address}`: {why}\nhint: choose another port; `:0` takes a free one"
    )]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        why: std::io::Error,
    },
}

/// One endpoint: a handler behind the transport, with its sessions.
pub fn endpoint<H: ServerHandler>(
    factory: impl Fn() -> H + Send + Sync + 'static,
    sessions: Arc<Counted>,
    stop: CancellationToken,
) -> StreamableHttpService<H, Counted> {
    // Hosts and origins are judged by our gate, before everything.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_cancellation_token(stop);
    StreamableHttpService::new(move || Ok(factory()), sessions, config)
}

/// Puts the gate and the bound of sessions before endpoints.
pub fn guard(router: Router, options: &Options, sessions: Vec<Arc<Counted>>) -> Router {
    let gate = Arc::new(Gate {
        hosts: options.hosts.clone(),
        tokens: options.tokens.clone(),
    });
    bounded(router, sessions, options.keeping.most)
        .layer(middleware::from_fn_with_state(gate, gate::check))
}

fn bounded(router: Router, sessions: Vec<Arc<Counted>>, most: usize) -> Router {
    router.layer(middleware::from_fn_with_state(
        Arc::new((sessions, most)),
        bound,
    ))
}

/// Refuses what would begin a session too many.
async fn bound(
    State(held): State<Arc<(Vec<Arc<Counted>>, usize)>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    // What names a session goes on with one; what names a revision without sessions begins none.
    let begins = request.method() == Method::POST
        && !headers.contains_key("mcp-session-id")
        && headers
            .get("mcp-protocol-version")
            .and_then(|v| v.to_str().ok())
            .is_none_or(|v| v < "2026-07-28");
    if begins {
        let (sessions, most) = held.as_ref();
        let mut open = 0;
        for s in sessions {
            open += s.open().await;
        }
        if open >= *most {
            return gate::refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "there are as many sessions as the operator allows; hint: end one with DELETE, or come again later",
            );
        }
    }
    next.run(request).await
}

/// The endpoints of a server, with the sessions of each.
fn endpoints(
    server: &Arc<Server>,
    keeping: Keeping,
    stop: &CancellationToken,
) -> (Router, Vec<Arc<Counted>>) {
    let mut router = Router::new();
    let mut all = Vec::new();
    for (path, surface) in paths(server.config().surface) {
        let sessions = Counted::new(keeping);
        all.push(sessions.clone());
        let server = server.clone();
        let service = endpoint(
            move || Handler::new(server.clone(), surface),
            sessions,
            stop.clone(),
        );
        router = router.route_service(&path, service);
    }
    (router, all)
}

fn paths(own: Surface) -> impl Iterator<Item = (String, Surface)> {
    std::iter::once(("/mcp".to_owned(), own)).chain(Surface::ALL.map(|s| (s.path(), s)))
}

/// The routes of a server on a port of its own.
pub fn router(server: &Arc<Server>, options: &Options, stop: &CancellationToken) -> Router {
    let (router, sessions) = endpoints(server, options.keeping, stop);
    guard(router, options, sessions)
}

/// The routes of a server on somebody else's port. Dropped, it ends all sessions.
#[derive(Debug)]
pub struct Mounted {
    routes: Router,
    _stop: DropGuard,
}

impl Mounted {
    /// Makes the routes. Whose port it is judges hosts, origins and keys. The work is done on the runtime that calls
    /// this, whatever thread serves the connection: reading a page must not hold up a stream beside it.
    pub fn new(server: &Arc<Server>, keeping: Keeping) -> Self {
        let stop = CancellationToken::new();
        let (router, sessions) = endpoints(server, keeping, &stop);
        let inner = bounded(router, sessions, keeping.most);
        let home = tokio::runtime::Handle::current();
        let forward = move |request: Request| {
            let work = home.spawn(inner.clone().oneshot(request));
            async move {
                // Dropped with the request of a client that went away.
                match AbortOnDropHandle::new(work).await {
                    Ok(Ok(response)) => response,
                    _ => gate::refused(StatusCode::INTERNAL_SERVER_ERROR, "the server broke"),
                }
            }
        };
        let routes = paths(server.config().surface).fold(Router::new(), |router, (path, _)| {
            router.route(&path, any(forward.clone()))
        });
        Self {
            routes,
            _stop: stop.drop_guard(),
        }
    }

    /// The routes.
    pub fn routes(&self) -> Router {
        self.routes.clone()
    }
}

/// An open port.
#[derive(Debug)]
pub struct Served {
    address: SocketAddr,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

/// Opens a port for a server.
///
/// # Errors
/// Off loopback without a token, or when the port cannot be bound.
pub async fn serve(
    server: &Arc<Server>,
    bind: SocketAddr,
    options: &Options,
) -> Result<Served, HttpError> {
    let stop = CancellationToken::new();
    listen(router(server, options, &stop), bind, options, stop).await
}

/// Opens a port for routes that were guarded already.
///
/// # Errors
/// As [`serve`].
pub async fn listen(
    router: Router,
    bind: SocketAddr,
    options: &Options,
    stop: CancellationToken,
) -> Result<Served, HttpError> {
    if !bind.ip().is_loopback() && options.tokens.0.is_empty() {
        return Err(HttpError::Open(bind));
    }
    let failed = |why| HttpError::Bind { address: bind, why };
    let listener = TcpListener::bind(bind).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let stopped = stop.clone();
    let task = tokio::spawn(async move {
        let served = axum::serve(listener, router)
            .with_graceful_shutdown(async move { stopped.cancelled().await });
        if let Err(error) = served.await {
            tracing::error!(%error, "the port of the MCP server ended");
        }
    });
    Ok(Served {
        address,
        stop,
        task,
    })
}

impl Served {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a surface's endpoint.
    pub fn url(&self, surface: Option<Surface>) -> String {
        let path = surface.map_or_else(|| "/mcp".to_owned(), Surface::path);
        format!("http://{}{path}", self.address)
    }

    /// Ends all sessions and closes the port.
    pub async fn shutdown(self) {
        self.stop.cancel();
        let _ = self.task.await;
    }
}

//! The server: scripted models over real HTTP/1.1.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kilter_core::{Clock, SystemClock};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::connection;
use crate::log::{Counters, Log, RequestRecord};
use crate::script::Script;

/// The scripts of one server.
#[derive(Debug, Clone, Default)]
pub struct Router {
    /// Scripts by slot; the first answers for unknown slots when `any_slot` is set.
    pub scripts: Vec<Script>,
    /// A slot that no script names goes to the first script, as local servers do, instead of 404.
    /// [`Router::from`] sets it for a single script.
    pub any_slot: bool,
}

impl From<Vec<Script>> for Router {
    fn from(scripts: Vec<Script>) -> Self {
        let any_slot = scripts.len() == 1;
        Self { scripts, any_slot }
    }
}

impl From<Script> for Router {
    fn from(script: Script) -> Self {
        vec![script].into()
    }
}

/// Called with each finished exchange.
pub type Observer = Arc<dyn Fn(&RequestRecord) + Send + Sync>;

/// How a server is run.
#[derive(Clone)]
pub struct MockOptions {
    /// Where to listen. Default: a free port of the loopback address.
    pub addr: SocketAddr,
    /// Records of requests to keep, at least one. Default 10,000; fewer when their bodies pass 256 MiB.
    pub keep: usize,
    /// The source of the times in the record.
    pub clock: Arc<dyn Clock>,
    /// Called with each finished exchange: for a command's log lines.
    pub observer: Option<Observer>,
}

impl Default for MockOptions {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            keep: 10_000,
            clock: Arc::new(SystemClock::default()),
            observer: None,
        }
    }
}

/// A server that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum MockError {
    /// The address cannot be taken.
    #[error(
        "cannot listen on `{addr}`: {source}\nhint: choose another port, or port 0 for any free one"
    )]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing to serve.
    #[error("no script was given\nhint: pass a script file, or use the demonstration models")]
    NoScript,
    /// Two scripts answer to one slot.
    #[error("two scripts answer to `{slot}`\nhint: give one of them another `name`")]
    Duplicate {
        /// The slot.
        slot: String,
    },
    /// A script refers to something that is not there.
    #[error(
        "script `{script}` uses `{name}`, which is neither its variant nor a loaded script\nhint: add `[variants.{name}]`, or load the script beside it"
    )]
    UnknownUse {
        /// The script.
        script: String,
        /// What it uses.
        name: String,
    },
}

/// A running server. Dropped, it stops.
pub struct MockServer {
    addr: SocketAddr,
    shared: Arc<Shared>,
    accept: JoinHandle<()>,
}

/// What every connection sees.
pub(crate) struct Shared {
    pub(crate) router: Router,
    pub(crate) log: Log,
    turns: Mutex<HashMap<(String, String), u64>>,
    hits: Mutex<HashMap<(String, usize), u64>>,
}

impl Shared {
    /// Answered turns of a session of a slot.
    pub(crate) fn turns(&self, slot: &str, session: &str) -> u64 {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns
            .get(&(slot.to_owned(), session.to_owned()))
            .copied()
            .unwrap_or(0)
    }

    /// Counts an answered turn.
    pub(crate) fn answered(&self, slot: &str, session: &str) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        *turns
            .entry((slot.to_owned(), session.to_owned()))
            .or_default() += 1;
    }

    /// Requests that met a fault's condition before this one; this one is counted.
    pub(crate) fn hit(&self, script: &str, fault: usize) -> u64 {
        let mut hits = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
        let n = hits.entry((script.to_owned(), fault)).or_default();
        *n += 1;
        *n - 1
    }
}

impl MockServer {
    /// Starts a server on `addr` (port 0: any free port).
    ///
    /// # Errors
    /// The address cannot be taken, or the scripts do not fit together.
    pub async fn start(router: impl Into<Router>, addr: SocketAddr) -> Result<Self, MockError> {
        Self::start_with(
            router,
            MockOptions {
                addr,
                ..MockOptions::default()
            },
        )
        .await
    }

    /// Starts a server on a free port of the loopback address.
    ///
    /// # Errors
    /// As [`MockServer::start`].
    pub async fn local(router: impl Into<Router>) -> Result<Self, MockError> {
        Self::start_with(router, MockOptions::default()).await
    }

    /// Starts a server.
    ///
    /// # Errors
    /// As [`MockServer::start`].
    pub async fn start_with(
        router: impl Into<Router>,
        options: MockOptions,
    ) -> Result<Self, MockError> {
        let router = router.into();
        check(&router)?;
        let bind = |source| MockError::Bind {
            addr: options.addr,
            source,
        };
        let listener = TcpListener::bind(options.addr).await.map_err(bind)?;
        let addr = listener.local_addr().map_err(bind)?;
        let shared = Arc::new(Shared {
            router,
            log: Log::new(options.clock, options.keep, options.observer),
            turns: Mutex::default(),
            hits: Mutex::default(),
        });
        let accept = tokio::spawn(connection::accept(listener, Arc::clone(&shared)));
        Ok(Self {
            addr,
            shared,
            accept,
        })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL for a client: `http://127.0.0.1:PORT/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// The record of requests, oldest first.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.shared.log.records()
    }

    /// The record of chat requests alone, oldest first.
    pub fn chats(&self) -> Vec<RequestRecord> {
        let mut all = self.requests();
        all.retain(|r| r.path.split('?').next().is_some_and(is_chat));
        all
    }

    /// Sums over all requests.
    pub fn counters(&self) -> Counters {
        self.shared.log.counters()
    }

    /// Forgets the record; counters, turns and faults go on.
    pub fn clear(&self) {
        self.shared.log.clear();
    }

    /// Waits until `until` holds for the record; false when it did not within the time.
    pub async fn wait_for(
        &self,
        within: Duration,
        until: impl FnMut(&[RequestRecord]) -> bool,
    ) -> bool {
        self.shared.log.wait(within, until).await
    }

    /// Stops: no new connections, open ones are closed.
    pub async fn shutdown(self) {
        self.accept.abort();
        // An aborted task answers with a cancellation error, which is what was asked for.
        let mut this = self;
        let _ = (&mut this.accept).await;
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.accept.abort();
    }
}

/// Whether a path is that of chat completions.
pub(crate) fn is_chat(path: &str) -> bool {
    matches!(path, "/v1/chat/completions" | "/chat/completions")
}

fn check(router: &Router) -> Result<(), MockError> {
    if router.scripts.is_empty() {
        return Err(MockError::NoScript);
    }
    let mut seen: Vec<&str> = Vec::new();
    for s in &router.scripts {
        let slots = std::iter::once(s.name()).chain(s.file().slots.iter().map(String::as_str));
        for slot in slots {
            if seen.contains(&slot) {
                return Err(MockError::Duplicate {
                    slot: slot.to_owned(),
                });
            }
            seen.push(slot);
        }
    }
    for s in &router.scripts {
        if let Some(name) = s
            .outside_names()
            .find(|n| !router.scripts.iter().any(|o| o.name() == *n))
        {
            return Err(MockError::UnknownUse {
                script: s.name().to_owned(),
                name: name.to_owned(),
            });
        }
    }
    Ok(())
}

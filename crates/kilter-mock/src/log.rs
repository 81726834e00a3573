//! The record of requests, for tests and for `kilter mock --log`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use kilter_core::Clock;
use tokio::sync::Notify;

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has not.
    Running,
    /// Every byte of the answer was handed to the socket.
    Complete,
    /// The client went away before the end.
    ClientGone,
    /// The script cut it.
    Cut,
}

/// One request and what became of it.
#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// Its number, from 0.
    pub n: u64,
    /// When its head was read, since the server's start.
    pub at: Duration,
    /// When it ended, since the server's start.
    pub ended: Option<Duration>,
    /// Method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers as received, names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// Body bytes as received.
    pub body: Bytes,
    /// The peer's port: the same for requests of one connection.
    pub peer_port: u16,
    /// The session mark; empty when there was none.
    pub session: String,
    /// The `model` field.
    pub slot: String,
    /// The script that answered, and its variant (`name/variant`).
    pub model: String,
    /// The turn's number within the session; 0 when no turn was answered.
    pub turn: u64,
    /// The status sent; 0 before the headers.
    pub status: u16,
    /// The refusal or fault that struck, as a short stable word; empty when none.
    pub struck: String,
    /// Writes of the body so far (one per event unless the script says otherwise).
    pub writes: u64,
    /// Bytes of the body so far.
    pub sent: u64,
    /// How it ended.
    pub outcome: Outcome,
}

impl RequestRecord {
    /// A header's value, the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(k, _)| k == name)
            .map(|(_, v)| v.as_str())
    }

    /// The body as JSON; `null` when it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether the client went away before the end.
    pub fn client_gone(&self) -> bool {
        self.outcome == Outcome::ClientGone
    }
}

/// Sums over all requests, kept when records are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Requests of any kind.
    pub requests: u64,
    /// Chat requests.
    pub chats: u64,
    /// Chat requests that got a turn.
    pub turns: u64,
    /// Requests that were refused by the script.
    pub refused: u64,
    /// Requests that a fault struck.
    pub faults: u64,
    /// Exchanges that the client left.
    pub client_gone: u64,
    /// Connections accepted.
    pub connections: u64,
}

/// Bytes of bodies that are kept: a long load test must not fill the memory with prompts.
const HELD: usize = 256 << 20;

impl Inner {
    /// Drops the oldest records beyond the number and the bytes that are kept, but never the last.
    fn shrink(&mut self, keep: usize) {
        while self.records.len() > 1 && (self.records.len() > keep || self.held > HELD) {
            if let Some(old) = self.records.pop_front() {
                self.held -= old.body.len();
            }
        }
    }
}

#[derive(Debug, Default)]
struct Inner {
    records: VecDeque<RequestRecord>,
    /// Bytes of all bodies in `records`.
    held: usize,
    next: u64,
    counters: Counters,
}

/// The record.
#[derive(Clone)]
pub(crate) struct Log {
    inner: Arc<Mutex<Inner>>,
    notify: Arc<Notify>,
    clock: Arc<dyn Clock>,
    start: Duration,
    keep: usize,
    observer: Option<crate::server::Observer>,
}

impl Log {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        keep: usize,
        observer: Option<crate::server::Observer>,
    ) -> Self {
        let start = clock.elapsed();
        Self {
            inner: Arc::default(),
            notify: Arc::default(),
            clock,
            start,
            keep,
            observer,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn time(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.start)
    }

    pub(crate) fn open(
        &self,
        method: String,
        path: String,
        headers: Vec<(String, String)>,
        peer_port: u16,
    ) -> Trace {
        let at = self.time();
        let mut inner = self.lock();
        let n = inner.next;
        inner.next += 1;
        inner.counters.requests += 1;
        inner.records.push_back(RequestRecord {
            n,
            at,
            ended: None,
            method,
            path,
            headers,
            body: Bytes::new(),
            peer_port,
            session: String::new(),
            slot: String::new(),
            model: String::new(),
            turn: 0,
            status: 0,
            struck: String::new(),
            writes: 0,
            sent: 0,
            outcome: Outcome::Running,
        });
        inner.shrink(self.keep);
        drop(inner);
        self.notify.notify_waiters();
        Trace {
            log: self.clone(),
            n,
            ended: false,
        }
    }

    pub(crate) fn records(&self) -> Vec<RequestRecord> {
        self.lock().records.iter().cloned().collect()
    }

    pub(crate) fn counters(&self) -> Counters {
        self.lock().counters
    }

    pub(crate) fn count(&self, f: impl FnOnce(&mut Counters)) {
        f(&mut self.lock().counters);
    }

    pub(crate) fn clear(&self) {
        let mut inner = self.lock();
        inner.records.clear();
        inner.held = 0;
    }

    /// Waits until `until` holds for the records.
    pub(crate) async fn wait(
        &self,
        within: Duration,
        mut until: impl FnMut(&[RequestRecord]) -> bool,
    ) -> bool {
        let wait = async {
            loop {
                let changed = self.notify.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if until(&self.records()) {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(within, wait).await.is_ok()
    }
}

/// The hand on one record. Dropped before the end, it says that the client went away.
pub(crate) struct Trace {
    log: Log,
    n: u64,
    ended: bool,
}

impl Trace {
    /// Keeps the body.
    pub(crate) fn body(&self, body: Bytes) {
        let mut inner = self.log.lock();
        let first = inner.records.front().map_or(0, |r| r.n);
        let at = self.n.wrapping_sub(first) as usize;
        let bytes = body.len();
        if let Some(r) = inner.records.get_mut(at) {
            r.body = body;
            inner.held += bytes;
        }
        inner.shrink(self.log.keep);
    }

    pub(crate) fn update(&self, f: impl FnOnce(&mut RequestRecord)) {
        let mut inner = self.log.lock();
        let first = inner.records.front().map_or(0, |r| r.n);
        let at = self.n.wrapping_sub(first) as usize;
        if let Some(r) = inner.records.get_mut(at)
            && r.n == self.n
        {
            f(r);
        }
    }

    pub(crate) fn end(&mut self, outcome: Outcome) {
        if self.ended {
            return;
        }
        self.ended = true;
        let now = self.log.time();
        self.update(|r| {
            r.outcome = outcome;
            r.ended = Some(now);
        });
        if outcome == Outcome::ClientGone {
            self.log.count(|c| c.client_gone += 1);
        }
        if let Some(observer) = &self.log.observer {
            let mut record = None;
            self.update(|r| record = Some(r.clone()));
            if let Some(r) = record {
                observer(&r);
            }
        }
        self.log.notify.notify_waiters();
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.end(Outcome::ClientGone);
    }
}

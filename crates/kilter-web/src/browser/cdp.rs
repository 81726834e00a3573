//! The browser's own protocol over a pipe: one JSON object a message, ended by a zero byte.
//!
//! A pipe and no port: nothing else on the machine can reach a browser that reads for somebody.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::time::timeout;

/// Why a command had no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CdpError {
    /// The browser is gone.
    #[error("the browser ended")]
    Gone,
    /// No answer in time.
    #[error("the browser did not answer `{0}` in time")]
    Slow(&'static str),
    /// The browser refused.
    #[error("the browser refused `{0}`: {1}")]
    Refused(&'static str, String),
}

/// An event: method and parameters.
pub(crate) type Event = (String, Value);

#[derive(Default)]
struct Waiting {
    calls: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
    sessions: HashMap<String, mpsc::UnboundedSender<Event>>,
    gone: bool,
}

/// A connection to a browser. Clones share it.
#[derive(Clone)]
pub(crate) struct Cdp {
    writer: Arc<AsyncMutex<Box<dyn AsyncWrite + Send + Unpin>>>,
    waiting: Arc<Mutex<Waiting>>,
    next: Arc<AtomicU64>,
}

impl Cdp {
    /// Speaks over these two ends.
    pub(crate) fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let waiting: Arc<Mutex<Waiting>> = Arc::default();
        tokio::spawn(listen(BufReader::new(reader), waiting.clone()));
        Self {
            writer: Arc::new(AsyncMutex::new(Box::new(writer))),
            waiting,
            next: Arc::new(AtomicU64::new(1)),
        }
    }

    /// Whether the browser has ended.
    pub(crate) fn gone(&self) -> bool {
        lock(&self.waiting).gone
    }

    /// Sends a command and waits for its result.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, CdpError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let (tell, told) = oneshot::channel();
        {
            let mut waiting = lock(&self.waiting);
            if waiting.gone {
                return Err(CdpError::Gone);
            }
            waiting.calls.insert(id, tell);
        }
        let done = timeout(limit, async {
            self.writer
                .lock()
                .await
                .write_all(&bytes)
                .await
                .map_err(|_| CdpError::Gone)?;
            match told.await {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(why)) => Err(CdpError::Refused(method, why)),
                Err(_) => Err(CdpError::Gone),
            }
        })
        .await;
        done.unwrap_or_else(|_| {
            lock(&self.waiting).calls.remove(&id);
            Err(CdpError::Slow(method))
        })
    }

    /// Events of one session from now on.
    pub(crate) fn events(&self, session: &str) -> mpsc::UnboundedReceiver<Event> {
        let (tell, told) = mpsc::unbounded_channel();
        lock(&self.waiting)
            .sessions
            .insert(session.to_owned(), tell);
        told
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: &str) {
        lock(&self.waiting).sessions.remove(session);
    }
}

fn lock(waiting: &Mutex<Waiting>) -> std::sync::MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn listen(mut reader: BufReader<impl AsyncRead + Unpin>, waiting: Arc<Mutex<Waiting>>) {
    let mut message = Vec::new();
    loop {
        message.clear();
        match reader.read_until(0, &mut message).await {
            Ok(n) if n > 0 && message.last() == Some(&0) => {}
            _ => break,
        }
        message.pop();
        let Ok(mut value) = serde_json::from_slice::<Value>(&message) else {
            continue;
        };
        let mut waiting = lock(&waiting);
        if let Some(id) = value["id"].as_u64() {
            let Some(tell) = waiting.calls.remove(&id) else {
                continue;
            };
            let answer = match value.get_mut("error") {
                Some(error) => Err(error["message"]
                    .as_str()
                    .unwrap_or("no reason given")
                    .to_owned()),
                None => Ok(value["result"].take()),
            };
            let _ = tell.send(answer);
        } else if let Some(session) = value["sessionId"].as_str()
            && let Some(tell) = waiting.sessions.get(session)
        {
            let method = value["method"].as_str().unwrap_or_default().to_owned();
            let _ = tell.send((method, value["params"].take()));
        }
    }
    let mut waiting = lock(&waiting);
    waiting.gone = true;
    waiting.calls.clear();
    waiting.sessions.clear();
}

//! Lanes: threads that each serve their own connections, with pools of their own.
//!
//! A stream passes through two tasks, the one that reads the upstream and the one that writes to the client. On a
//! runtime of several threads nearly every piece wakes a thread from its sleep to move between them, and that costs
//! more than everything that the gateway does with the piece. On a lane both tasks share one thread: they hand over
//! without a wake, and a pool's connections never leave the thread that opened them.

use std::cell::Cell;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::sync::{mpsc, oneshot, watch};

/// How long a shutdown waits for answers that are on their way.
const GRACE: Duration = Duration::from_secs(10);

/// A client that sends its headers slower than this is dropped.
const HEADER_WAIT: Duration = Duration::from_secs(30);

/// How often a lane's clock ticks. A timer that is set to ring before all others interrupts the lane's wait for sockets
/// by a write and another wait, and the timeouts of every request would: with a tick that comes before them, none does.
/// It must be shorter than any of the timeouts that a request sets as a rule (30 s and more).
const TICK: Duration = Duration::from_secs(10);

/// More lanes than this help nobody: the upstreams are the narrow place.
const MOST: usize = 32;

thread_local! {
    /// 0 outside every lane, else the lane's number from 1.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

/// How many lanes a gateway has: one for each processor that this process may use.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MOST)
    })
}

/// The number of the lane that this thread is, from 1 to [`count`]; 0 on any other thread.
pub fn here() -> usize {
    HERE.get()
}

/// The lanes of one gateway. Dropping them cuts what they serve; [`Lanes::close`] lets it end.
#[derive(Debug)]
pub struct Lanes {
    list: Vec<Lane>,
    /// Where the search for the emptiest begins.
    next: usize,
}

#[derive(Debug)]
struct Lane {
    accepted: mpsc::UnboundedSender<TcpStream>,
    open: Arc<AtomicUsize>,
    done: oneshot::Receiver<()>,
}

impl Lanes {
    /// Starts the threads. `stopped` turning true lets each end what it has.
    ///
    /// # Errors
    /// When a thread or its reactor cannot be had.
    pub fn start(
        app: &Router,
        header_bytes: usize,
        stopped: &watch::Receiver<bool>,
    ) -> io::Result<Self> {
        let mut list = Vec::with_capacity(count());
        for number in 1..=count() {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let (accepted, work) = mpsc::unbounded_channel();
            let (finished, done) = oneshot::channel();
            let open = Arc::new(AtomicUsize::new(0));
            let serve = serve(
                work,
                app.clone(),
                header_bytes,
                Arc::clone(&open),
                stopped.clone(),
            );
            std::thread::Builder::new()
                .name(format!("lane-{number}"))
                .spawn(move || {
                    HERE.set(number);
                    runtime.block_on(serve);
                    // What is left is cut here, before anybody is told that it is over.
                    drop(runtime);
                    finished.send(()).ok();
                })?;
            list.push(Lane {
                accepted,
                open,
                done,
            });
        }
        Ok(Self { list, next: 0 })
    }

    /// Gives a connection to the lane that has the fewest.
    pub fn take(&mut self, stream: TcpStream) {
        let n = self.list.len();
        let from = self.next;
        self.next = (from + 1) % n.max(1);
        let emptiest = (0..n)
            .filter_map(|i| self.list.get((from + i) % n))
            .min_by_key(|lane| lane.open.load(Ordering::Relaxed));
        if let Some(lane) = emptiest {
            lane.open.fetch_add(1, Ordering::Relaxed);
            lane.accepted.send(stream).ok();
        }
    }

    /// Takes no more and waits until every lane is done. To be called when `stopped` is true.
    pub async fn close(self) {
        for lane in self.list {
            drop(lane.accepted);
            lane.done.await.ok();
        }
    }
}

/// The life of one lane.
async fn serve(
    mut work: mpsc::UnboundedReceiver<TcpStream>,
    app: Router,
    header_bytes: usize,
    open: Arc<AtomicUsize>,
    stopped: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .max_buf_size(header_bytes.max(8192))
        .keep_alive(true);
    tokio::spawn(async {
        loop {
            tokio::time::sleep(TICK).await;
        }
    });
    while let Some(stream) = work.recv().await {
        let counted = Counted(Arc::clone(&open));
        let Ok(stream) = tokio::net::TcpStream::from_std(stream) else {
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        let conn = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            let _counted = counted;
            if let Err(e) = conn.await {
                tracing::debug!("a connection ended: {e}");
            }
        });
    }
    if *stopped.borrow() {
        tokio::time::timeout(GRACE, graceful.shutdown()).await.ok();
    }
}

/// One open connection, as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn ask(stream: &mut tokio::net::TcpStream) -> String {
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        let mut buf = vec![0; 4096];
        let n = stream.read(&mut buf).await.unwrap();
        String::from_utf8_lossy(&buf[..n]).into_owned()
    }

    #[tokio::test]
    async fn connections_are_spread_and_stay_where_they_are() {
        let seen: Arc<Mutex<HashSet<usize>>> = Arc::default();
        let note = Arc::clone(&seen);
        let app = Router::new().route(
            "/",
            get(move || {
                note.lock().unwrap().insert(here());
                async { here().to_string() }
            }),
        );
        let (stop, stopped) = watch::channel(false);
        let mut lanes = Lanes::start(&app, 8192, &stopped).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut clients = Vec::new();
        for _ in 0..count() {
            clients.push(tokio::net::TcpStream::connect(addr).await.unwrap());
            let (s, _) = listener.accept().await.unwrap();
            lanes.take(s.into_std().unwrap());
        }
        for c in &mut clients {
            let first = ask(c).await;
            assert!(first.starts_with("HTTP/1.1 200"), "{first}");
            let lane = |s: &str| s.rsplit("\r\n").next().map(str::to_owned);
            assert_eq!(lane(&ask(c).await), lane(&first));
        }
        let all: HashSet<usize> = (1..=count()).collect();
        assert_eq!(*seen.lock().unwrap(), all, "one connection for each lane");
        assert_eq!(here(), 0);
        stop.send(true).unwrap();
        lanes.close().await;
        let mut rest = Vec::new();
        assert_eq!(clients[0].read_to_end(&mut rest).await.unwrap(), 0);
    }
}

//! The body of an answer as steps in time, and the hand that takes them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;

use crate::habits::Habits;
use crate::log::{Outcome, Trace};

/// One step.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// These bytes go out.
    Write(Bytes),
    /// Time passes.
    Wait(Duration),
    /// The task yields, so that what was written is flushed.
    Yield,
    /// Nothing more, and no end.
    Hang,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// These bytes go out for ever.
    Repeat(Bytes, Duration),
}

/// The connection's switch: set, its socket is reset when it goes.
#[derive(Debug, Default)]
pub(crate) struct ConnectionSwitch {
    reset: AtomicBool,
}

impl ConnectionSwitch {
    pub(crate) fn ask_reset(&self) {
        self.reset.store(true, Ordering::SeqCst);
    }

    pub(crate) fn wants_reset(&self) -> bool {
        self.reset.load(Ordering::SeqCst)
    }
}

/// The script broke the connection.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the script broke the connection")]
pub(crate) struct Broken;

/// The body type of every answer.
pub(crate) type MockBody =
    StreamBody<Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Broken>> + Send>>>;

struct State {
    steps: VecDeque<Step>,
    trace: Trace,
    switch: Arc<ConnectionSwitch>,
}

/// A body that takes these steps.
pub(crate) fn body(steps: Vec<Step>, trace: Trace, switch: Arc<ConnectionSwitch>) -> MockBody {
    let mut state = State {
        steps: steps.into(),
        trace,
        switch,
    };
    if state.steps.is_empty() {
        state.trace.end(Outcome::Complete);
    }
    StreamBody::new(Box::pin(stream::unfold(state, take)))
}

async fn take(mut s: State) -> Option<(Result<Frame<Bytes>, Broken>, State)> {
    loop {
        match s.steps.pop_front() {
            Some(Step::Write(bytes)) => {
                count(&s.trace, bytes.len());
                // Nothing follows: the exchange is over before the client can hang up on it.
                if s.steps.is_empty() {
                    s.trace.end(Outcome::Complete);
                }
                return Some((Ok(Frame::data(bytes)), s));
            }
            Some(Step::Wait(d)) => tokio::time::sleep(d).await,
            Some(Step::Yield) => tokio::task::yield_now().await,
            Some(Step::Hang) => std::future::pending().await,
            Some(Step::Close) => {
                s.trace.end(Outcome::Cut);
                return Some((Err(Broken), s));
            }
            Some(Step::Reset) => {
                s.switch.ask_reset();
                s.trace.end(Outcome::Cut);
                return Some((Err(Broken), s));
            }
            Some(Step::Repeat(bytes, gap)) => {
                if gap.is_zero() {
                    tokio::task::yield_now().await;
                } else {
                    tokio::time::sleep(gap).await;
                }
                count(&s.trace, bytes.len());
                s.steps.push_front(Step::Repeat(bytes.clone(), gap));
                return Some((Ok(Frame::data(bytes)), s));
            }
            None => return None,
        }
    }
}

fn count(trace: &Trace, bytes: usize) {
    trace.update(|r| {
        r.writes += 1;
        r.sent += bytes as u64;
    });
}

/// How long a broken body waits for what was written to reach the socket.
const FLUSH: Duration = Duration::from_millis(5);

/// Steps that break off.
pub(crate) fn break_off(how: Step) -> [Step; 2] {
    [Step::Wait(FLUSH), how]
}

/// Steps that write events in the script's rhythm.
pub(crate) fn events(events: Vec<Vec<u8>>, h: &Habits) -> Vec<Step> {
    let mut out = Vec::with_capacity(events.len() * 2 + 1);
    let gap = |ms: Option<u64>| match ms {
        Some(ms) if ms > 0 => Step::Wait(Duration::from_millis(ms)),
        _ => Step::Yield,
    };
    if let Some(ms) = h.first_token_ms.filter(|ms| *ms > 0) {
        out.push(Step::Wait(Duration::from_millis(ms)));
    }
    if h.coalesce.unwrap_or(false) {
        out.push(Step::Write(events.concat().into()));
        return out;
    }
    let writes: Vec<Bytes> = match h.write_bytes.filter(|n| *n > 0) {
        Some(n) => {
            let all = Bytes::from(events.concat());
            (0..all.len())
                .step_by(n as usize)
                .map(|at| all.slice(at..all.len().min(at + n as usize)))
                .collect()
        }
        None => events.into_iter().map(Bytes::from).collect(),
    };
    let ms = if h.write_bytes.is_some() {
        h.write_gap_ms.or(h.delay_ms)
    } else {
        h.delay_ms
    };
    for (i, w) in writes.into_iter().enumerate() {
        if i > 0 {
            out.push(gap(ms));
        }
        out.push(Step::Write(w));
    }
    out
}

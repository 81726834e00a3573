//! Trace events: one JSON line each, on disk before the client sees the end of its turn.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use kilter_core::{EventKind, TraceEvent};
use tokio::sync::broadcast;

use crate::appendlog::{self, AppendLog, Keep};
use crate::config;
use crate::redact::Redactor;

/// Stem of the trace files.
pub const STEM: &str = "trace";

/// Events that a slow in-process reader may be behind before it loses some.
const QUEUE: usize = 4096;

/// Where events go: the file, and whoever listens in this process.
#[derive(Debug)]
pub struct Tracer {
    log: Option<Mutex<AppendLog>>,
    tx: broadcast::Sender<TraceEvent>,
    lost: AtomicU64,
}

impl Tracer {
    /// Writes to `dir/trace.jsonl`; without a folder only to listeners.
    ///
    /// # Errors
    /// The system's, when the folder cannot be had.
    pub fn open(dir: Option<&Path>, config: &config::Trace) -> std::io::Result<Self> {
        let log = match dir {
            Some(dir) if config.enabled => Some(Mutex::new(AppendLog::open(
                dir,
                STEM,
                config.file_bytes,
                Keep::Files(config.files),
            )?)),
            _ => None,
        };
        Ok(Self {
            log,
            tx: broadcast::channel(QUEUE).0,
            lost: AtomicU64::new(0),
        })
    }

    /// A listener of everything from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<TraceEvent> {
        self.tx.subscribe()
    }

    /// Whether anybody would see an event.
    pub fn is_on(&self) -> bool {
        self.log.is_some() || self.tx.receiver_count() > 0
    }

    /// Events that the disk refused.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Writes the events of a turn.
    pub fn write(&self, events: Vec<TraceEvent>, redactor: &Redactor) {
        if events.is_empty() {
            return;
        }
        if let Some(log) = &self.log {
            let mut lines = Vec::with_capacity(events.len() * 320);
            for e in &events {
                if serde_json::to_writer(&mut lines, e).is_ok() {
                    lines.push(b'\n');
                }
            }
            let lines = redactor.bytes(&lines);
            let wrote = log
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .append(&lines);
            if let Err(e) = wrote {
                let before = self.lost.fetch_add(events.len() as u64, Ordering::Relaxed);
                if before == 0 {
                    tracing::error!("trace events cannot be written: {e}");
                }
            }
        }
        if self.tx.receiver_count() > 0 {
            for mut e in events {
                if let EventKind::ModelError { message, .. } = &mut e.kind {
                    *message = redactor.text(message);
                }
                self.tx.send(e).ok();
            }
        }
    }
}

/// Trace files of a state folder, oldest first.
pub fn files(state: &Path) -> Vec<PathBuf> {
    appendlog::files(&state.join("traces"), STEM)
}

//! Raw capture: what the upstream really said, with the time of each read.
//!
//! One JSON line a turn in rotating files under a byte budget. Keys are masked before the disk.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::appendlog::{self, AppendLog, Keep};
use crate::config::{self, CaptureMode};
use crate::redact::Redactor;

/// Stem of the capture files.
pub const STEM: &str = "capture";

/// Largest part of one answer or request that is kept.
const KEEP_BYTES: usize = 8 << 20;

/// One turn as it went over the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaptureLine {
    /// Id that trace events name.
    pub id: String,
    /// Id of the request.
    pub request: String,
    /// RFC 3339.
    pub time: String,
    /// Session key.
    pub session: String,
    /// Backend.
    pub backend: String,
    /// Slot.
    pub slot: String,
    /// `off`, `observe` or `on`.
    pub adapt: String,
    /// The client's body as received.
    pub client: Payload,
    /// Every exchange with an upstream: retries, compensations and a continue included.
    pub exchanges: Vec<Exchange>,
    /// What was done.
    pub actions: Vec<String>,
}

/// One request to an upstream and its answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Exchange {
    /// Backend that was asked.
    pub backend: String,
    /// The body as sent, when it was not the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Payload>,
    /// Status; 0 when no answer came.
    pub status: u16,
    /// Content type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The body as received.
    pub body: Payload,
    /// Milliseconds since the request arrived and bytes received until then, for each read.
    pub reads: Vec<(u64, u64)>,
    /// What ended it badly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Bytes as text where they are text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Payload {
    /// The bytes, when they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in hex, when they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
    /// Bytes that were left out at the end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Payload {
    /// Masked and bounded.
    pub fn new(bytes: &[u8], redactor: &Redactor) -> Self {
        let mut keep = bytes.len().min(KEEP_BYTES);
        if keep < bytes.len() {
            while keep > 0 && (bytes[keep] & 0xc0) == 0x80 {
                keep -= 1;
            }
        }
        let masked = redactor.bytes(&bytes[..keep]);
        let cut = (bytes.len() - keep) as u64;
        match std::str::from_utf8(&masked) {
            Ok(text) => Self {
                text: Some(text.to_owned()),
                hex: None,
                cut,
            },
            Err(_) => Self {
                text: None,
                hex: Some(hex(&masked)),
                cut,
            },
        }
    }

    /// The bytes again.
    pub fn bytes(&self) -> Vec<u8> {
        if let Some(t) = &self.text {
            return t.clone().into_bytes();
        }
        let h = self.hex.as_deref().unwrap_or_default().as_bytes();
        h.chunks_exact(2)
            .filter_map(|p| u8::from_str_radix(std::str::from_utf8(p).ok()?, 16).ok())
            .collect()
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut s, b| {
            // Writing to a string does not fail.
            write!(s, "{b:02x}").ok();
            s
        })
}

/// A capture in the making.
#[derive(Debug, Default)]
pub struct Recorder {
    exchanges: Vec<Raw>,
}

#[derive(Debug, Default)]
struct Raw {
    backend: String,
    sent: Option<Bytes>,
    status: u16,
    content_type: Option<String>,
    chunks: Vec<Bytes>,
    len: u64,
    reads: Vec<(u64, u64)>,
    error: Option<String>,
}

impl Recorder {
    /// A request goes out. `sent` is its body, when it is not the client's.
    pub fn begin(&mut self, backend: &str, sent: Option<Bytes>) {
        self.exchanges.push(Raw {
            backend: backend.to_owned(),
            sent,
            ..Raw::default()
        });
    }

    /// Its headers came.
    pub fn head(&mut self, status: u16, content_type: Option<&str>) {
        if let Some(x) = self.exchanges.last_mut() {
            x.status = status;
            x.content_type = content_type.map(str::to_owned);
        }
    }

    /// Bytes came, `ms` after the client's request.
    pub fn read(&mut self, ms: u64, chunk: &Bytes) {
        if let Some(x) = self.exchanges.last_mut() {
            if x.len < KEEP_BYTES as u64 {
                x.chunks.push(chunk.clone());
            }
            x.len += chunk.len() as u64;
            x.reads.push((ms, x.len));
        }
    }

    /// It ended badly.
    pub fn error(&mut self, why: &str) {
        if let Some(x) = self.exchanges.last_mut() {
            x.error = Some(why.to_owned());
        }
    }

    fn finish(self, redactor: &Redactor) -> Vec<Exchange> {
        self.exchanges
            .into_iter()
            .map(|x| {
                let body = match &x.chunks[..] {
                    [one] => one.clone(),
                    many => Bytes::from(many.concat()),
                };
                let mut payload = Payload::new(&body, redactor);
                payload.cut += x.len - body.len() as u64;
                Exchange {
                    backend: x.backend,
                    sent: x.sent.map(|b| Payload::new(&b, redactor)),
                    status: x.status,
                    content_type: x.content_type,
                    body: payload,
                    reads: x.reads,
                    error: x.error.map(|e| redactor.text(&e)),
                }
            })
            .collect()
    }
}

/// Facts of the turn that a capture names.
#[derive(Debug, Clone)]
pub struct CaptureHead {
    /// See [`CaptureLine`].
    pub id: String,
    /// See [`CaptureLine`].
    pub request: String,
    /// See [`CaptureLine`].
    pub time: String,
    /// See [`CaptureLine`].
    pub session: String,
    /// See [`CaptureLine`].
    pub backend: String,
    /// See [`CaptureLine`].
    pub slot: String,
    /// See [`CaptureLine`].
    pub adapt: String,
}

/// The capture files.
#[derive(Debug)]
pub struct Captures {
    mode: CaptureMode,
    tx: Option<std::sync::mpsc::SyncSender<Vec<u8>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// Captures waiting for the disk; more than that are dropped rather than slow a turn down.
const QUEUE: usize = 64;

impl Captures {
    /// Writes to `dir/capture.jsonl` from a thread of its own.
    ///
    /// # Errors
    /// The system's, when the folder cannot be had.
    pub fn open(dir: Option<&Path>, config: &config::Capture) -> std::io::Result<Self> {
        let Some(dir) = dir.filter(|_| config.mode != CaptureMode::Off) else {
            return Ok(Self {
                mode: CaptureMode::Off,
                tx: None,
                thread: Mutex::new(None),
            });
        };
        let file_bytes = (config.bytes / 8).max(1024);
        let mut log = AppendLog::open(dir, STEM, file_bytes, Keep::Bytes(config.bytes))?;
        let (tx, rx) = std::sync::mpsc::sync_channel::<Vec<u8>>(QUEUE);
        let thread = std::thread::Builder::new()
            .name("kilter-capture".into())
            .spawn(move || {
                for line in rx {
                    if let Err(e) = log.append(&line) {
                        tracing::error!("a capture cannot be written: {e}");
                    }
                }
            })?;
        Ok(Self {
            mode: config.mode,
            tx: Some(tx),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// A recorder, where one is wanted at all.
    pub fn recorder(&self) -> Option<Recorder> {
        (self.mode != CaptureMode::Off).then(Recorder::default)
    }

    /// Whether a turn is kept.
    pub fn keeps(&self, error: bool, intervened: bool) -> bool {
        match self.mode {
            CaptureMode::Off => false,
            CaptureMode::ErrorsAndInterventions => error || intervened,
            CaptureMode::All => true,
        }
    }

    /// Keeps a turn.
    pub fn keep(
        &self,
        head: CaptureHead,
        client: &[u8],
        recorder: Recorder,
        actions: Vec<String>,
        redactor: &Redactor,
    ) {
        let Some(tx) = &self.tx else { return };
        let line = CaptureLine {
            id: head.id,
            request: head.request,
            time: head.time,
            session: head.session,
            backend: head.backend,
            slot: head.slot,
            adapt: head.adapt,
            client: Payload::new(client, redactor),
            exchanges: recorder.finish(redactor),
            actions,
        };
        let Ok(mut bytes) = serde_json::to_vec(&line) else {
            return;
        };
        bytes.push(b'\n');
        if tx.try_send(bytes).is_err() {
            tracing::warn!("a capture was dropped: the disk is slower than the traffic");
        }
    }

    /// Waits until everything is on disk; later captures are dropped.
    pub fn close(&mut self) {
        self.tx = None;
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        if let Some(t) = thread {
            t.join().ok();
        }
    }
}

impl Drop for Captures {
    fn drop(&mut self) {
        self.close();
    }
}

/// Capture files of a state folder, oldest first.
pub fn files(state: &Path) -> Vec<PathBuf> {
    appendlog::files(&state.join("captures"), STEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_keys_do_not() {
        let r = Redactor::new(["sk-secret-1".to_owned()]);
        let p = Payload::new(b"\xff\x00key sk-secret-1", &r);
        assert_eq!(p.bytes(), b"\xff\x00key [redacted]");
        let dir = tempfile::tempdir().unwrap();
        let config = config::Capture {
            mode: CaptureMode::All,
            ..config::Capture::default()
        };
        let mut c = Captures::open(Some(dir.path()), &config).unwrap();
        let mut rec = c.recorder().unwrap();
        rec.begin("b", None);
        rec.head(200, Some("application/json"));
        rec.read(3, &Bytes::from_static(b"{\"a\":"));
        rec.read(5, &Bytes::from_static(b"\"sk-secret-1\"}"));
        let head = CaptureHead {
            id: "cap_1".into(),
            request: "req_1".into(),
            time: "t".into(),
            session: "s".into(),
            backend: "b".into(),
            slot: "m".into(),
            adapt: "on".into(),
        };
        c.keep(head, b"{}", rec, vec![], &r);
        c.close();
        let text = std::fs::read_to_string(dir.path().join("capture.jsonl")).unwrap();
        let line: CaptureLine = serde_json::from_str(&text).unwrap();
        assert_eq!(line.exchanges[0].body.bytes(), b"{\"a\":\"[redacted]\"}");
        assert_eq!(line.exchanges[0].reads, [(3, 5), (5, 19)]);
    }
}

//! The canary: a value that did not exist before the request, to tell "these bytes reached the reporter just now" from
//! "made up".
//!
//! | module | subject |
//! |---|---|
//! | [`secret`] | keys, sentinels, the digest of a client |
//! | [`log`] | what was served to whom, bounded; never a sentinel, never an address |
//! | [`limit`] | how often a session or a client may ask, with a bounded number of keys |
//! | [`judge`] | the verdicts, in a fixed order |
//! | [`page`] | the page that holds the sentinel |
//! | [`serve`] | its origin on loopback |
//! | [`vectors`], [`selftest`] | fixed values, and the proof of the rules |
//!
//! The claim is bounded: one value was there to be reported. It says nothing about understanding, about the rest of the
//! page, or about who relayed it.

pub mod judge;
pub mod limit;
pub mod log;
pub mod page;
pub mod secret;
pub mod selftest;
pub mod serve;
pub mod vectors;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kilter_core::{Clock, Timestamp};

pub use judge::{Judgement, Verdict};
use limit::Limiter;
use log::{Entry, Log};
use secret::Secret;

/// What an operator may set. Each has a range; [`Settings::check`] says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Length of a bucket, 30–3,600 seconds.
    pub bucket_seconds: u64,
    /// How many buckets away a sentinel still counts as fresh, 0–8.
    pub fresh: u32,
    /// How many buckets back a sentinel is still known as stale, 1–512; more than `fresh`.
    pub horizon: u32,
    /// Bytes of a sentinel, 16–32.
    pub bytes: usize,
    /// How long an entry of the log is kept, 1–168 hours.
    pub log_hours: u64,
    /// Most entries of the log, 256–1,048,576.
    pub log_capacity: usize,
    /// Most pages and judgements of one session, and of one client, in a window.
    pub rate: u32,
    /// The window.
    pub rate_window: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bucket_seconds: 300,
            fresh: 1,
            horizon: 24,
            bytes: 32,
            log_hours: 24,
            log_capacity: 8_192,
            rate: 30,
            rate_window: Duration::from_secs(60),
        }
    }
}

/// A setting out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the canary's `{name}` is {value}\nhint: it is {range}")]
pub struct SettingsError {
    name: &'static str,
    value: u64,
    range: &'static str,
}

impl Settings {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let wrong = |name, value, range| Err(SettingsError { name, value, range });
        let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        if !(30..=3_600).contains(&self.bucket_seconds) {
            return wrong("bucket_seconds", self.bucket_seconds, "30 to 3600");
        }
        if self.fresh > 8 {
            return wrong("fresh", self.fresh.into(), "0 to 8");
        }
        if !(1..=512).contains(&self.horizon) || self.horizon <= self.fresh {
            return wrong(
                "horizon",
                self.horizon.into(),
                "1 to 512, and more than `fresh`",
            );
        }
        if !(16..=32).contains(&self.bytes) {
            return wrong("bytes", size(self.bytes), "16 to 32");
        }
        if !(1..=168).contains(&self.log_hours) {
            return wrong("log_hours", self.log_hours, "1 to 168");
        }
        if !(256..=1_048_576).contains(&self.log_capacity) {
            return wrong("log_capacity", size(self.log_capacity), "256 to 1048576");
        }
        Ok(())
    }
}

/// Longest session id, in characters.
pub const SESSION_ID_MAX: usize = 128;

/// Whether a text is a session id: `[A-Za-z0-9._-]{1,128}`.
pub fn is_session_id(id: &str) -> bool {
    (1..=SESSION_ID_MAX).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// A session id of 144 random bits.
///
/// # Errors
/// What the system's source of randomness says.
pub fn new_session_id() -> Result<String, getrandom::Error> {
    use base64::Engine as _;
    let mut bytes = [0; 18];
    getrandom::fill(&mut bytes)?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

/// Somebody asks too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests for this session or from this client")]
pub struct TooOften {
    /// When to come again.
    pub retry_after: Duration,
}

/// The canary of one process.
pub struct Canary {
    settings: Settings,
    secret: Secret,
    clock: Arc<dyn Clock>,
    held: Mutex<Held>,
}

struct Held {
    log: Log,
    limiter: Limiter,
}

impl std::fmt::Debug for Canary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never a key.
        f.debug_struct("Canary")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Canary {
    /// A canary with a secret that nobody ever sees, this process included when it is gone.
    ///
    /// # Errors
    /// What the system's source of randomness says.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, getrandom::Error> {
        let mut root = [0; 32];
        getrandom::fill(&mut root)?;
        Ok(Self::with_root(settings, clock, &root))
    }

    /// A canary with a given root key, for vectors.
    pub fn with_root(settings: Settings, clock: Arc<dyn Clock>, root: &[u8; 32]) -> Self {
        Self {
            settings,
            secret: Secret::new(root),
            clock,
            held: Mutex::new(Held {
                log: Log::new(
                    settings.log_capacity,
                    Duration::from_secs(settings.log_hours * 3_600),
                ),
                limiter: Limiter::new(settings.rate, settings.rate_window),
            }),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The bucket of now.
    pub fn bucket(&self) -> i64 {
        self.bucket_at(self.clock.now())
    }

    fn bucket_at(&self, at: Timestamp) -> i64 {
        i64::try_from(at.0 / 1_000 / self.settings.bucket_seconds).unwrap_or(i64::MAX)
    }

    /// When the sentinel of a bucket stops being fresh.
    pub fn fresh_until(&self, bucket: i64) -> Timestamp {
        let end = u64::try_from(bucket).unwrap_or_default() + 1 + u64::from(self.settings.fresh);
        Timestamp(end * self.settings.bucket_seconds * 1_000)
    }

    fn held<T>(&self, read: impl FnOnce(&mut Held) -> T) -> T {
        read(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the page of a session and notes that it was served. The only place where a sentinel is made to be shown.
    ///
    /// # Errors
    /// When the session or the client asks too often.
    pub fn serve(&self, session: &str, client: IpAddr, agent: &str) -> Result<String, TooOften> {
        let now = self.clock.now();
        let bucket = self.bucket_at(now);
        let digest = self.secret.client(client);
        self.held(|h| {
            h.limiter
                .admit([session, digest.as_str()], self.clock.elapsed())?;
            h.log.note(Entry {
                session: session.to_owned(),
                bucket,
                client: digest,
                at: now,
                agent: log::clean(agent),
            });
            Ok(())
        })?;
        let sentinel = self.secret.sentinel(session, bucket, self.settings.bytes);
        Ok(page::html(&sentinel))
    }

    /// Judges what was reported for a session. The caller's word decides nothing: only what was served does.
    ///
    /// # Errors
    /// When the session asks too often.
    pub fn verify(&self, session: &str, reported: &str) -> Result<Judgement, TooOften> {
        let now = self.clock.now();
        let current = self.bucket_at(now);
        if is_session_id(session) {
            self.held(|h| h.limiter.admit([session], self.clock.elapsed()))?;
        }
        let served = self.held(|h| h.log.buckets(session, now));
        Ok(judge::judge(
            &self.secret,
            &self.settings,
            session,
            reported,
            current,
            &served,
        ))
    }

    /// Entries of the log, the oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        let now = self.clock.now();
        self.held(|h| h.log.entries(now))
    }

    /// How many keys the limits hold now.
    pub fn limited_keys(&self) -> usize {
        self.held(|h| h.limiter.keys())
    }
}

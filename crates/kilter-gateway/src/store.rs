//! `kilter.db`: profiles and priors in SQLite, written by a thread of its own.
//!
//! The hot path never waits for it: writes are queued and coalesced, a read on the first touch of a
//! session waits a tenth of a second at most and then goes on with a fresh profile.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::oneshot;

/// File name in the state folder.
pub const FILE: &str = "kilter.db";

/// Longest wait for a read on a request's path.
pub const READ_WAIT: Duration = Duration::from_millis(100);

/// Named steps, each run once, in order. Steps are only ever added.
const MIGRATIONS: &[(&str, &str)] = &[(
    "gateway-1-profiles",
    "CREATE TABLE profiles (
        session TEXT NOT NULL, backend TEXT NOT NULL, slot TEXT NOT NULL,
        profile TEXT NOT NULL, updated INTEGER NOT NULL,
        PRIMARY KEY (session, backend, slot)
     ) WITHOUT ROWID;
     CREATE INDEX profiles_updated ON profiles (updated);
     CREATE TABLE priors (
        endpoint TEXT NOT NULL, digest TEXT NOT NULL,
        prior TEXT NOT NULL, updated INTEGER NOT NULL,
        PRIMARY KEY (endpoint, digest)
     ) WITHOUT ROWID;",
)];

/// Profiles older than this are dropped at start: 30 days, long past every half-life.
const KEEP_MS: u64 = 30 * 86_400_000;

/// Names one profile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProfileKey {
    /// Session key.
    pub session: String,
    /// Backend name.
    pub backend: String,
    /// Slot.
    pub slot: String,
}

enum Op {
    SaveProfile(ProfileKey, String, u64),
    SavePrior(String, String, String, u64),
    LoadProfile(ProfileKey, oneshot::Sender<Option<String>>),
    LoadPrior(String, String, oneshot::Sender<Option<String>>),
    Flush(oneshot::Sender<()>),
}

/// Why the store cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite's words.
    #[error("`{path}`: {why}\nhint: choose another folder with `--state DIR`")]
    Sqlite {
        /// The file.
        path: String,
        /// SQLite's words.
        why: rusqlite::Error,
    },
    /// The system's words.
    #[error("`{path}`: {why}\nhint: choose another folder with `--state DIR`")]
    Io {
        /// The file.
        path: String,
        /// The system's words.
        why: std::io::Error,
    },
}

/// The writer thread's handle.
#[derive(Debug)]
pub struct Store {
    tx: Mutex<Option<Sender<Op>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens or makes the database. A file that is no database is set aside, never deleted.
    ///
    /// # Errors
    /// When neither the file nor a fresh one can be had.
    pub fn open(dir: &Path, now: kilter_core::Timestamp) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let io = |why| StoreError::Io {
            path: path.display().to_string(),
            why,
        };
        std::fs::create_dir_all(dir).map_err(io)?;
        let db = match connect(&path, now) {
            Ok(db) => db,
            Err(why) if is_broken(&why) => {
                let aside = dir.join(format!("{FILE}.broken-{}", now.0));
                tracing::warn!(
                    "`{}` is no database any more ({why}); it was moved to `{}` and learning starts anew",
                    path.display(),
                    aside.display()
                );
                std::fs::rename(&path, &aside).map_err(io)?;
                for tail in ["-wal", "-shm"] {
                    std::fs::remove_file(dir.join(format!("{FILE}{tail}"))).ok();
                }
                connect(&path, now).map_err(|why| sqlite(&path, why))?
            }
            Err(why) => return Err(sqlite(&path, why)),
        };
        let (tx, rx) = channel();
        let thread = std::thread::Builder::new()
            .name("kilter-store".into())
            .spawn(move || run(db, &rx))
            .map_err(io)?;
        Ok(Self {
            tx: Mutex::new(Some(tx)),
            thread: Mutex::new(Some(thread)),
        })
    }

    fn send(&self, op: Op) {
        if let Some(tx) = &*self
            .tx
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
        {
            tx.send(op).ok();
        }
    }

    /// Queues a profile; the latest of a burst is written.
    pub fn save_profile(&self, key: ProfileKey, json: String, now: kilter_core::Timestamp) {
        self.send(Op::SaveProfile(key, json, now.0));
    }

    /// Queues a prior.
    pub fn save_prior(
        &self,
        endpoint: &str,
        digest: &str,
        json: String,
        now: kilter_core::Timestamp,
    ) {
        self.send(Op::SavePrior(
            endpoint.to_owned(),
            digest.to_owned(),
            json,
            now.0,
        ));
    }

    /// A stored profile, or `None` when there is none or the disk is slow.
    pub async fn profile(&self, key: ProfileKey) -> Option<String> {
        let (tx, rx) = oneshot::channel();
        self.send(Op::LoadProfile(key, tx));
        tokio::time::timeout(READ_WAIT, rx).await.ok()?.ok()?
    }

    /// A stored prior, or `None` when there is none or the disk is slow.
    pub async fn prior(&self, endpoint: &str, digest: &str) -> Option<String> {
        let (tx, rx) = oneshot::channel();
        self.send(Op::LoadPrior(endpoint.to_owned(), digest.to_owned(), tx));
        tokio::time::timeout(READ_WAIT, rx).await.ok()?.ok()?
    }

    /// Waits until everything queued is on disk.
    pub async fn flush(&self) {
        let (tx, rx) = oneshot::channel();
        self.send(Op::Flush(tx));
        rx.await.ok();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        *self
            .tx
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = None;
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

fn sqlite(path: &Path, why: rusqlite::Error) -> StoreError {
    StoreError::Sqlite {
        path: PathBuf::from(path).display().to_string(),
        why,
    }
}

fn is_broken(e: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(e.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

fn connect(path: &Path, now: kilter_core::Timestamp) -> rusqlite::Result<Connection> {
    let mut db = Connection::open(path)?;
    db.busy_timeout(Duration::from_secs(5))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    tx.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at INTEGER NOT NULL)",
    )?;
    for (name, sql) in MIGRATIONS {
        let done: Option<i64> = tx
            .query_row("SELECT 1 FROM migrations WHERE name = ?1", [name], |r| {
                r.get(0)
            })
            .optional()?;
        if done.is_none() {
            tx.execute_batch(sql)?;
            tx.execute(
                "INSERT INTO migrations (name, at) VALUES (?1, ?2)",
                params![name, now.0 as i64],
            )?;
        }
    }
    tx.execute(
        "DELETE FROM profiles WHERE updated < ?1",
        [now.0.saturating_sub(KEEP_MS) as i64],
    )?;
    tx.commit()?;
    Ok(db)
}

fn run(mut db: Connection, rx: &Receiver<Op>) {
    let mut profiles: HashMap<ProfileKey, (String, u64)> = HashMap::new();
    let mut priors: HashMap<(String, String), (String, u64)> = HashMap::new();
    while let Ok(first) = rx.recv() {
        let mut flushed = Vec::new();
        for op in std::iter::once(first).chain(rx.try_iter()) {
            match op {
                Op::SaveProfile(key, json, at) => {
                    profiles.insert(key, (json, at));
                }
                Op::SavePrior(endpoint, digest, json, at) => {
                    priors.insert((endpoint, digest), (json, at));
                }
                Op::LoadProfile(key, reply) => {
                    let found = match profiles.get(&key) {
                        Some((json, _)) => Some(json.clone()),
                        None => load_profile(&db, &key),
                    };
                    reply.send(found).ok();
                }
                Op::LoadPrior(endpoint, digest, reply) => {
                    let key = (endpoint, digest);
                    let found = match priors.get(&key) {
                        Some((json, _)) => Some(json.clone()),
                        None => load_prior(&db, &key.0, &key.1),
                    };
                    reply.send(found).ok();
                }
                Op::Flush(reply) => flushed.push(reply),
            }
        }
        if let Err(e) = write(&mut db, &profiles, &priors) {
            tracing::error!("profiles cannot be written: {e}");
        }
        profiles.clear();
        priors.clear();
        for reply in flushed {
            reply.send(()).ok();
        }
    }
}

fn write(
    db: &mut Connection,
    profiles: &HashMap<ProfileKey, (String, u64)>,
    priors: &HashMap<(String, String), (String, u64)>,
) -> rusqlite::Result<()> {
    if profiles.is_empty() && priors.is_empty() {
        return Ok(());
    }
    let tx = db.transaction()?;
    {
        let mut put = tx.prepare_cached(
            "INSERT INTO profiles (session, backend, slot, profile, updated) VALUES (?1,?2,?3,?4,?5)
             ON CONFLICT DO UPDATE SET profile = excluded.profile, updated = excluded.updated",
        )?;
        for (k, (json, at)) in profiles {
            put.execute(params![k.session, k.backend, k.slot, json, *at as i64])?;
        }
        let mut put = tx.prepare_cached(
            "INSERT INTO priors (endpoint, digest, prior, updated) VALUES (?1,?2,?3,?4)
             ON CONFLICT DO UPDATE SET prior = excluded.prior, updated = excluded.updated",
        )?;
        for ((endpoint, digest), (json, at)) in priors {
            put.execute(params![endpoint, digest, json, *at as i64])?;
        }
    }
    tx.commit()
}

fn load_profile(db: &Connection, k: &ProfileKey) -> Option<String> {
    db.prepare_cached(
        "SELECT profile FROM profiles WHERE session = ?1 AND backend = ?2 AND slot = ?3",
    )
    .and_then(|mut s| s.query_row(params![k.session, k.backend, k.slot], |r| r.get(0)))
    .optional()
    .unwrap_or_default()
}

fn load_prior(db: &Connection, endpoint: &str, digest: &str) -> Option<String> {
    db.prepare_cached("SELECT prior FROM priors WHERE endpoint = ?1 AND digest = ?2")
        .and_then(|mut s| s.query_row([endpoint, digest], |r| r.get(0)))
        .optional()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kilter_core::Timestamp;

    fn key(session: &str) -> ProfileKey {
        ProfileKey {
            session: session.into(),
            backend: "b".into(),
            slot: "m".into(),
        }
    }

    async fn load(s: &Store, k: &str) -> Option<String> {
        for _ in 0..200 {
            if let Some(found) = s.profile(key(k)).await {
                return Some(found);
            }
        }
        None
    }

    #[tokio::test]
    async fn profiles_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let s = Store::open(dir.path(), Timestamp(1)).unwrap();
        for i in 0..100 {
            s.save_profile(key("s"), format!("{{\"n\":{i}}}"), Timestamp(10));
        }
        s.save_prior("http://e", "sha256:x", "{}".into(), Timestamp(10));
        s.flush().await;
        drop(s);
        let s = Store::open(dir.path(), Timestamp(20)).unwrap();
        assert_eq!(load(&s, "s").await.as_deref(), Some("{\"n\":99}"));
        assert_eq!(s.profile(key("other")).await, None);
        drop(s);
        let s = Store::open(dir.path(), Timestamp(20 + KEEP_MS)).unwrap();
        assert_eq!(s.profile(key("s")).await, None);
    }

    #[tokio::test]
    async fn a_broken_file_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join(FILE),
            "this was never a database, not at all",
        )
        .unwrap();
        let s = Store::open(dir.path(), Timestamp(7)).unwrap();
        s.save_profile(key("s"), "{}".into(), Timestamp(8));
        s.flush().await;
        assert!(dir.path().join("kilter.db.broken-7").is_file());
    }
}

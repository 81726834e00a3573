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

use kilter_behavior::Prior;
use kilter_core::id;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::oneshot;

/// File name in the state folder.
pub const FILE: &str = "kilter.db";

/// Longest wait for a read on a request's path.
pub const READ_WAIT: Duration = Duration::from_millis(100);

/// Named steps, each run once, in order. Steps are only ever added.
const MIGRATIONS: &[(&str, &str)] = &[
    (
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
    ),
    // What each session left stands apart, so that it counts once however often it is written, and
    // what two sessions disagree about stays out.
    (
        "gateway-2-prior-parts",
        "CREATE TABLE prior_parts (
        endpoint TEXT NOT NULL, digest TEXT NOT NULL, part TEXT NOT NULL,
        prior TEXT NOT NULL, updated INTEGER NOT NULL,
        PRIMARY KEY (endpoint, digest, part)
     ) WITHOUT ROWID;
     INSERT INTO prior_parts SELECT endpoint, digest, '', prior, updated FROM priors;
     DROP TABLE priors;",
    ),
];

/// Profiles older than this are dropped at start: 30 days, long past every half-life.
const KEEP_MS: u64 = 30 * 86_400_000;

/// Sessions whose word a prior is made of: the latest.
const PARTS: usize = 32;

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

/// Names what one session left to a prior: endpoint, digest, and a mark of the session and slot.
type PartKey = (String, String, String);

enum Op {
    SaveProfile(ProfileKey, String, u64),
    SavePrior(PartKey, String, u64),
    LoadProfile(ProfileKey, oneshot::Sender<Option<String>>),
    LoadPrior(String, String, oneshot::Sender<Option<Prior>>),
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

    /// Queues what a session leaves to the prior of an endpoint and a digest; it takes the place of
    /// what the same session left before.
    pub fn save_prior(
        &self,
        endpoint: &str,
        digest: &str,
        by: &ProfileKey,
        prior: &Prior,
        now: kilter_core::Timestamp,
    ) {
        if prior.is_empty() {
            return;
        }
        let Ok(json) = serde_json::to_string(prior) else {
            return;
        };
        let part = id::digest(
            &[
                by.session.as_bytes(),
                by.backend.as_bytes(),
                by.slot.as_bytes(),
            ],
            12,
        );
        let key = (endpoint.to_owned(), digest.to_owned(), part);
        self.send(Op::SavePrior(key, json, now.0));
    }

    /// A stored profile, or `None` when there is none or the disk is slow.
    pub async fn profile(&self, key: ProfileKey) -> Option<String> {
        let (tx, rx) = oneshot::channel();
        self.send(Op::LoadProfile(key, tx));
        tokio::time::timeout(READ_WAIT, rx).await.ok()?.ok()?
    }

    /// What the latest sessions left, merged: an axis that two of them disagree about is not in it.
    /// `None` when there is nothing or the disk is slow.
    pub async fn prior(&self, endpoint: &str, digest: &str) -> Option<Prior> {
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
    let mut priors: HashMap<PartKey, (String, u64)> = HashMap::new();
    while let Ok(first) = rx.recv() {
        let mut flushed = Vec::new();
        for op in std::iter::once(first).chain(rx.try_iter()) {
            match op {
                Op::SaveProfile(key, json, at) => {
                    profiles.insert(key, (json, at));
                }
                Op::SavePrior(key, json, at) => {
                    priors.insert(key, (json, at));
                }
                Op::LoadProfile(key, reply) => {
                    let found = match profiles.get(&key) {
                        Some((json, _)) => Some(json.clone()),
                        None => load_profile(&db, &key),
                    };
                    reply.send(found).ok();
                }
                Op::LoadPrior(endpoint, digest, reply) => {
                    let mut parts = load_parts(&db, &endpoint, &digest);
                    for ((e, d, part), (json, at)) in &priors {
                        if *e == endpoint && *d == digest {
                            parts.insert(part.clone(), (json.clone(), *at));
                        }
                    }
                    reply.send(merged(parts)).ok();
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
    priors: &HashMap<PartKey, (String, u64)>,
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
            "INSERT INTO prior_parts (endpoint, digest, part, prior, updated) VALUES (?1,?2,?3,?4,?5)
             ON CONFLICT DO UPDATE SET prior = excluded.prior, updated = excluded.updated",
        )?;
        let mut trim = tx.prepare_cached(
            "DELETE FROM prior_parts WHERE endpoint = ?1 AND digest = ?2 AND part NOT IN (
                SELECT part FROM prior_parts WHERE endpoint = ?1 AND digest = ?2
                ORDER BY updated DESC, part LIMIT ?3)",
        )?;
        for ((endpoint, digest, part), (json, at)) in priors {
            put.execute(params![endpoint, digest, part, json, *at as i64])?;
            trim.execute(params![endpoint, digest, PARTS as i64])?;
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

fn load_parts(db: &Connection, endpoint: &str, digest: &str) -> HashMap<String, (String, u64)> {
    let read = || -> rusqlite::Result<HashMap<String, (String, u64)>> {
        let mut all = db.prepare_cached(
            "SELECT part, prior, updated FROM prior_parts WHERE endpoint = ?1 AND digest = ?2",
        )?;
        all.query_map([endpoint, digest], |r| {
            Ok((r.get(0)?, (r.get(1)?, r.get::<_, i64>(2)? as u64)))
        })?
        .collect()
    };
    read().unwrap_or_default()
}

fn merged(parts: HashMap<String, (String, u64)>) -> Option<Prior> {
    let mut parts: Vec<(u64, Prior)> = parts
        .into_values()
        .filter_map(|(json, at)| Some((at, serde_json::from_str(&json).ok()?)))
        .collect();
    parts.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    Prior::agreed(parts.into_iter().map(|(_, p)| p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kilter_behavior::profile::ReasoningChannel;
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
        s.flush().await;
        drop(s);
        let s = Store::open(dir.path(), Timestamp(20)).unwrap();
        assert_eq!(load(&s, "s").await.as_deref(), Some("{\"n\":99}"));
        assert_eq!(s.profile(key("other")).await, None);
        drop(s);
        let s = Store::open(dir.path(), Timestamp(20 + KEEP_MS)).unwrap();
        assert_eq!(s.profile(key("s")).await, None);
    }

    fn left(reasoning: ReasoningChannel, rule: &str) -> Prior {
        Prior {
            reasoning: Some(reasoning),
            constraints: vec![rule.into()],
            turns: 3,
            ..Prior::default()
        }
    }

    async fn prior(s: &Store) -> Prior {
        for _ in 0..200 {
            if let Some(found) = s.prior("http://e", "sha256:x").await {
                return found;
            }
        }
        Prior::default()
    }

    #[tokio::test]
    async fn sessions_leave_a_prior_in_which_they_agree() {
        let dir = tempfile::tempdir().unwrap();
        let s = Store::open(dir.path(), Timestamp(1)).unwrap();
        let save = |s: &Store, by: &str, p: &Prior, at| {
            s.save_prior("http://e", "sha256:x", &key(by), p, Timestamp(at));
        };
        // One session says the same again and again: it counts once.
        for at in 0..5 {
            save(&s, "a", &left(ReasoningChannel::InlineThink, "one"), at);
        }
        let p = prior(&s).await;
        assert_eq!(p.reasoning, Some(ReasoningChannel::InlineThink));
        assert_eq!(p.turns, 3);
        // Another disagrees: the axis is out, and the next write of the first does not bring it back.
        save(&s, "b", &left(ReasoningChannel::Hidden, "two"), 6);
        save(&s, "a", &left(ReasoningChannel::InlineThink, "one"), 7);
        save(&s, "c", &left(ReasoningChannel::InlineThink, "one"), 8);
        s.flush().await;
        drop(s);
        let s = Store::open(dir.path(), Timestamp(20)).unwrap();
        let p = prior(&s).await;
        assert_eq!(p.reasoning, None);
        assert_eq!(p.constraints, ["one", "two"]);
        // The first moves to what the second says, and so does the third: they agree again.
        save(&s, "a", &left(ReasoningChannel::Hidden, "one"), 9);
        save(&s, "c", &left(ReasoningChannel::Hidden, "one"), 9);
        let p = prior(&s).await;
        assert_eq!(p.reasoning, Some(ReasoningChannel::Hidden));
        // An empty word is none, and only so many sessions are kept.
        save(&s, "d", &Prior::default(), 10);
        for n in 0..2 * PARTS {
            save(
                &s,
                &format!("n{n}"),
                &left(ReasoningChannel::Hidden, "three"),
                100 + n as u64,
            );
        }
        s.flush().await;
        let db = Connection::open(dir.path().join(FILE)).unwrap();
        let kept: i64 = db
            .query_row("SELECT count(*) FROM prior_parts", [], |r| r.get(0))
            .unwrap();
        assert_eq!(kept, PARTS as i64);
    }

    #[tokio::test]
    async fn a_prior_of_the_first_schema_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let db = Connection::open(dir.path().join(FILE)).unwrap();
        db.execute_batch("CREATE TABLE migrations (name TEXT PRIMARY KEY, at INTEGER NOT NULL)")
            .unwrap();
        db.execute_batch(MIGRATIONS[0].1).unwrap();
        db.execute(
            "INSERT INTO migrations (name, at) VALUES (?1, 1)",
            [MIGRATIONS[0].0],
        )
        .unwrap();
        let json = serde_json::to_string(&left(ReasoningChannel::InlineThink, "one")).unwrap();
        db.execute(
            "INSERT INTO priors (endpoint, digest, prior, updated) VALUES ('http://e', 'sha256:x', ?1, 1)",
            [json],
        )
        .unwrap();
        drop(db);
        let s = Store::open(dir.path(), Timestamp(5)).unwrap();
        assert_eq!(
            prior(&s).await.reasoning,
            Some(ReasoningChannel::InlineThink)
        );
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

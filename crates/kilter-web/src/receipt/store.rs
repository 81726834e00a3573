//! Where keys lie: made on first use, readable by their owner alone, locked with a passphrase where the operator gives
//! one, rotated, and the first key seen of others noted.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kilter_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::key::{KeyError, PublicKey, Signer, is_locked};

/// What is wrong with the key folder.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file could not be read or written.
    #[error("cannot {what} `{path}`: {why}")]
    Io {
        /// `read`, `write`, …
        what: &'static str,
        /// The file.
        path: String,
        /// The system's words.
        why: String,
    },
    /// Others can read the secret key.
    #[error(
        "the key `{path}` can be read by others\nhint: run `chmod 600 {path}`, and `kilter receipts rotate` if others may have read it"
    )]
    Exposed {
        /// The file.
        path: String,
    },
    /// The key is locked, and no passphrase was given.
    #[error(
        "the key `{path}` is locked\nhint: give its passphrase in `{PASSPHRASE}`, or a file with it in `{PASSPHRASE}_FILE`"
    )]
    Locked {
        /// The file.
        path: String,
    },
    /// The passphrase does not open the key.
    #[error(
        "the passphrase in `{PASSPHRASE}` does not open `{path}`\nhint: `kilter receipts rotate` makes a new key; old receipts still verify"
    )]
    WrongPassphrase {
        /// The file.
        path: String,
    },
    /// The file holds another key than its name says.
    #[error(
        "`{path}` holds another key than its name says\nhint: `kilter receipts rotate` makes a new one; old receipts still verify"
    )]
    Changed {
        /// The file.
        path: String,
    },
    /// The key itself.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Receipts are switched off, so no key is made.
    #[error("receipts are off, so there is no key to sign with\nhint: switch receipts on")]
    Off,
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.display().to_string();
    move |e| StoreError::Io {
        what,
        path,
        why: e.to_string(),
    }
}

/// The folder with the keys of this installation. Opening it makes nothing; signing makes the first key.
#[derive(Debug, Clone)]
pub struct KeyStore {
    dir: PathBuf,
    on: bool,
    passphrase: Passphrase,
    /// The key as it was opened: unlocking it takes a while on purpose.
    open: Arc<Mutex<Option<Signer>>>,
}

/// What keys are locked with; never shown.
#[derive(Clone)]
enum Passphrase {
    None,
    Is(String),
    Unread { path: String, why: String },
}

impl Passphrase {
    fn get(&self) -> Result<Option<&str>, StoreError> {
        match self {
            Self::None => Ok(None),
            Self::Is(words) => Ok(Some(words)),
            Self::Unread { path, why } => Err(StoreError::Io {
                what: "read",
                path: path.clone(),
                why: why.clone(),
            }),
        }
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// Variable with the passphrase that keys are locked with; with `_FILE`, the name of a file that holds it.
pub const PASSPHRASE: &str = "KILTER_KEYS_PASSPHRASE";

const CURRENT: &str = "current";
const KNOWN: &str = "known_keys.json";

impl KeyStore {
    /// The folder `keys` in the state folder; `on`: whether receipts are signed at all.
    pub fn open(state: &Path, on: bool) -> Self {
        Self {
            dir: state.join("keys"),
            on,
            passphrase: Passphrase::None,
            open: Arc::default(),
        }
    }

    /// Locks the key with a passphrase. A key that lies there unlocked is locked when it is used next.
    #[must_use]
    pub fn locked(mut self, passphrase: impl Into<String>) -> Self {
        self.passphrase = match passphrase.into() {
            empty if empty.is_empty() => Passphrase::None,
            words => Passphrase::Is(words),
        };
        // A clone that was opened otherwise keeps its own.
        self.open = Arc::default();
        self
    }

    /// Takes the passphrase from the variables that the operator sets, read through `get`. A file that cannot be read is
    /// an error of whatever needs the key.
    #[must_use]
    pub fn locked_by(mut self, get: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| get(name).filter(|v| !v.is_empty());
        if let Some(passphrase) = set(PASSPHRASE) {
            return self.locked(passphrase);
        }
        let Some(file) = set(&format!("{PASSPHRASE}_FILE")) else {
            return self;
        };
        match std::fs::read_to_string(&file) {
            Ok(text) => self.locked(text.trim_end_matches(['\r', '\n'])),
            Err(e) => {
                self.passphrase = Passphrase::Unread {
                    path: file,
                    why: e.to_string(),
                };
                self
            }
        }
    }

    /// The key to sign with; made when there is none yet.
    ///
    /// # Errors
    /// [`StoreError::Off`] when receipts are off, [`StoreError::Exposed`] when others can read the key.
    pub fn signer(&self) -> Result<Signer, StoreError> {
        if !self.on {
            return Err(StoreError::Off);
        }
        if let Some(key) = self.current()? {
            return Ok(key);
        }
        let key = Signer::generate()?;
        let secret = self.keep(&key)?;
        // A link fails where the name is taken: of two processes that begin at once, one key wins for both.
        let pointer = self.dir.join(CURRENT);
        let mine = self.dir.join(format!("{CURRENT}.{}", file_name(&key.id())));
        write_new(&mine, key.id().as_bytes(), 0o600)?;
        let linked = std::fs::hard_link(&mine, &pointer);
        let _ = std::fs::remove_file(&mine);
        if linked.is_err() {
            let _ = std::fs::remove_file(&secret);
            let _ = std::fs::remove_file(self.public_file(&key.id()));
            if let Some(winner) = self.current()? {
                return Ok(winner);
            }
            linked.map_err(io("write", &pointer))?;
        }
        Ok(key)
    }

    /// The key to sign with, where there is one.
    ///
    /// # Errors
    /// As [`KeyStore::signer`].
    pub fn current(&self) -> Result<Option<Signer>, StoreError> {
        let pointer = self.dir.join(CURRENT);
        let id = match std::fs::read_to_string(&pointer) {
            Ok(id) => id,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(io("read", &pointer)(e)),
        };
        let path = self.secret_file(id.trim());
        private(&path)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = open.as_ref().filter(|k| k.id() == id.trim()) {
            return Ok(Some(key.clone()));
        }
        let text = std::fs::read_to_string(&path).map_err(io("read", &path))?;
        let key = self.unlock(&text, &path)?;
        // A lock keeps a key secret; that it is the same key, its name says.
        if key.id() != id.trim() {
            return Err(StoreError::Changed {
                path: path.display().to_string(),
            });
        }
        *open = Some(key.clone());
        Ok(Some(key))
    }

    fn unlock(&self, text: &str, path: &Path) -> Result<Signer, StoreError> {
        let shown = || path.display().to_string();
        match (self.passphrase.get()?, is_locked(text)) {
            (None, false) => Ok(Signer::from_pem(text)?),
            (None, true) => Err(StoreError::Locked { path: shown() }),
            (Some(passphrase), true) => {
                Signer::from_locked_pem(text, passphrase).map_err(|e| match e {
                    KeyError::WrongPassphrase => StoreError::WrongPassphrase { path: shown() },
                    other => other.into(),
                })
            }
            (Some(_), false) => {
                let key = Signer::from_pem(text)?;
                let next = path.with_extension("pem.next");
                let _ = std::fs::remove_file(&next);
                write_new(&next, self.secret(&key)?.as_bytes(), 0o600)?;
                std::fs::rename(&next, path).map_err(io("write", path))?;
                Ok(key)
            }
        }
    }

    /// What lies in the file of a secret key.
    fn secret(&self, key: &Signer) -> Result<String, StoreError> {
        Ok(match self.passphrase.get()? {
            Some(passphrase) => key.to_locked_pem(passphrase)?,
            None => key.to_pem(),
        })
    }

    /// Makes a new key and signs with it from now on. The old secret is deleted; its public half stays, so that old
    /// receipts verify.
    ///
    /// # Errors
    /// As [`KeyStore::signer`].
    pub fn rotate(&self) -> Result<Signer, StoreError> {
        if !self.on {
            return Err(StoreError::Off);
        }
        // A key that nobody can open any more is let go by its name.
        let pointer = self.dir.join(CURRENT);
        let old = std::fs::read_to_string(&pointer).ok();
        let key = Signer::generate()?;
        self.keep(&key)?;
        let next = self.dir.join(format!("{CURRENT}.{}", file_name(&key.id())));
        write_new(&next, key.id().as_bytes(), 0o600)?;
        std::fs::rename(&next, &pointer).map_err(io("write", &pointer))?;
        if let Some(old) = old {
            let path = self.secret_file(old.trim());
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io("delete", &path)(e));
                }
                _ => {}
            }
        }
        Ok(key)
    }

    /// Every public key of this installation, the current one first.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Key`].
    pub fn public_keys(&self) -> Result<Vec<PublicKey>, StoreError> {
        let dir = self.dir.join("public");
        let Ok(entries) = std::fs::read_dir(&dir) else {
            return Ok(Vec::new());
        };
        let mut keys = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let text = std::fs::read_to_string(&path).map_err(io("read", &path))?;
            keys.push(PublicKey::from_pem(&text)?);
        }
        let current = std::fs::read_to_string(self.dir.join(CURRENT)).unwrap_or_default();
        keys.sort_by_key(|k| (k.id() != current.trim(), k.id()));
        Ok(keys)
    }

    /// Notes the key that another origin signs with. The first one is trusted, a later other one is not: the caller is
    /// told.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn note(
        &self,
        origin: &str,
        key: &PublicKey,
        now: Timestamp,
    ) -> Result<Acquaintance, StoreError> {
        let path = self.dir.join(KNOWN);
        let mut known: Known = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|e| io("read", &path)(std::io::Error::other(e.to_string())))?,
            Err(_) => Known::default(),
        };
        if let Some(entry) = known.keys.iter().find(|k| k.origin == origin) {
            return Ok(if entry.key_id == key.id() && entry.pem == key.to_pem() {
                Acquaintance::Known {
                    first_seen: entry.first_seen.clone(),
                }
            } else {
                Acquaintance::Changed {
                    known: entry.key_id.clone(),
                    first_seen: entry.first_seen.clone(),
                }
            });
        }
        known.keys.push(KnownKey {
            origin: origin.to_owned(),
            key_id: key.id(),
            pem: key.to_pem(),
            first_seen: now.rfc3339(),
        });
        self.folder()?;
        let text = serde_json::to_string_pretty(&known).unwrap_or_default();
        let next = self.dir.join(format!("{KNOWN}.next"));
        let _ = std::fs::remove_file(&next);
        write_new(&next, text.as_bytes(), 0o600)?;
        std::fs::rename(&next, &path).map_err(io("write", &path))?;
        Ok(Acquaintance::New)
    }

    fn folder(&self) -> Result<(), StoreError> {
        let public = self.dir.join("public");
        std::fs::create_dir_all(&public).map_err(io("make", &public))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&self.dir, std::fs::Permissions::from_mode(0o700))
                .map_err(io("protect", &self.dir))?;
        }
        Ok(())
    }

    fn keep(&self, key: &Signer) -> Result<PathBuf, StoreError> {
        self.folder()?;
        let secret = self.secret_file(&key.id());
        write_new(&secret, self.secret(key)?.as_bytes(), 0o600)?;
        write_new(
            &self.public_file(&key.id()),
            key.public().to_pem().as_bytes(),
            0o644,
        )?;
        Ok(secret)
    }

    fn secret_file(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{}.pem", file_name(id)))
    }

    fn public_file(&self, id: &str) -> PathBuf {
        self.dir
            .join("public")
            .join(format!("{}.pem", file_name(id)))
    }
}

/// How well the key of another origin is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquaintance {
    /// Seen for the first time, and noted.
    New,
    /// The same as before.
    Known {
        /// Since when.
        first_seen: String,
    },
    /// Not the one that was noted: do not trust it without asking.
    Changed {
        /// The key that was noted.
        known: String,
        /// Since when.
        first_seen: String,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Known {
    keys: Vec<KnownKey>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KnownKey {
    origin: String,
    key_id: String,
    pem: String,
    first_seen: String,
}

/// A key id as a file name: letters, digits and `-` alone, whatever the pointer holds.
fn file_name(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// Writes a file that must not be there yet, with its mode from the first moment on.
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(mode);
    }
    #[cfg(not(unix))]
    let _ = mode;
    options
        .open(path)
        .and_then(|mut f| f.write_all(bytes).and_then(|()| f.sync_all()))
        .map_err(io("write", path))
}

fn private(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path)
            .map_err(io("read", path))?
            .permissions()
            .mode();
        if mode & 0o077 != 0 {
            return Err(StoreError::Exposed {
                path: path.display().to_string(),
            });
        }
    }
    Ok(())
}

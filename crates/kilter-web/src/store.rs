//! A bounded store of small JSON documents in which no writer loses to a later one: each write names the version it read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kilter_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A document with its version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts the writes of this document.
    pub version: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The document.
    pub value: Value,
}

/// What keeps a write from being done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody wrote in between.
    #[error(
        "`{key}` was changed in between (version {found}, not {expected})\nhint: read it again and repeat"
    )]
    Conflict {
        /// The document.
        key: String,
        /// The version that the writer had read.
        expected: u64,
        /// The version that is there.
        found: u64,
    },
    /// The document is too large.
    #[error("`{key}` has {bytes} bytes; a document has at most {most}")]
    TooLarge {
        /// The document.
        key: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The file could not be read or written.
    #[error("the store `{path}` cannot be used: {why}")]
    Io {
        /// The file.
        path: String,
        /// The system's words.
        why: String,
    },
}

/// Documents by key, the oldest let go when there are too many.
#[derive(Debug, Clone)]
pub struct Store {
    entries: BTreeMap<String, Entry>,
    file: Option<PathBuf>,
    most: usize,
    bytes: usize,
}

impl Store {
    /// A store in memory of at most `most` documents of at most `bytes` each.
    pub fn new(most: usize, bytes: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            file: None,
            most: most.max(1),
            bytes,
        }
    }

    /// A store in a file, which need not be there yet.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the file is there and cannot be read.
    pub fn open(file: &Path, most: usize, bytes: usize) -> Result<Self, StoreError> {
        let mut store = Self::new(most, bytes);
        store.file = Some(file.to_owned());
        match std::fs::read(file) {
            Ok(text) => {
                store.entries =
                    serde_json::from_slice(&text).map_err(|e| store.io(&e.to_string()))?;
                store.trim();
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(store.io(&e.to_string())),
        }
        Ok(store)
    }

    fn io(&self, why: &str) -> StoreError {
        StoreError::Io {
            path: self
                .file
                .as_deref()
                .unwrap_or(Path::new(""))
                .display()
                .to_string(),
            why: why.to_owned(),
        }
    }

    /// A document.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Writes a document over the version that the writer has read (0: it was not there). Returns the new version.
    ///
    /// # Errors
    /// [`StoreError::Conflict`], [`StoreError::TooLarge`], [`StoreError::Io`].
    pub fn put(
        &mut self,
        key: &str,
        expected: u64,
        value: Value,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let found = self.entries.get(key).map_or(0, |e| e.version);
        if found != expected {
            return Err(StoreError::Conflict {
                key: key.to_owned(),
                expected,
                found,
            });
        }
        let bytes = value.to_string().len();
        if bytes > self.bytes {
            return Err(StoreError::TooLarge {
                key: key.to_owned(),
                bytes,
                most: self.bytes,
            });
        }
        let version = found + 1;
        self.entries
            .insert(key.to_owned(), Entry { version, at, value });
        self.trim();
        self.save()?;
        Ok(version)
    }

    /// Takes a document away.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn remove(&mut self, key: &str) -> Result<Option<Entry>, StoreError> {
        let old = self.entries.remove(key);
        if old.is_some() {
            self.save()?;
        }
        Ok(old)
    }

    fn trim(&mut self) {
        while self.entries.len() > self.most {
            let oldest = self
                .entries
                .iter()
                .min_by_key(|(_, e)| e.at)
                .map(|(k, _)| k.clone());
            if let Some(key) = oldest {
                self.entries.remove(&key);
            }
        }
    }

    fn save(&self) -> Result<(), StoreError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let write = || -> std::io::Result<()> {
            if let Some(dir) = file.parent() {
                std::fs::create_dir_all(dir)?;
            }
            // A reader sees the old file or the new one, never half of one.
            let next = file.with_extension("next");
            std::fs::write(&next, serde_json::to_vec(&self.entries)?)?;
            std::fs::rename(&next, file)
        };
        write().map_err(|e| self.io(&e.to_string()))
    }
}

//! Writing a backend into `kilter.toml` without touching the rest of the file.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::card::BehaviorCard;

/// What saving did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// The backend was appended.
    Written {
        /// The file.
        path: PathBuf,
        /// Name of the backend.
        backend: String,
    },
    /// A backend of that name, or that endpoint, is there; nothing was written.
    Exists {
        /// The file.
        path: PathBuf,
        /// Name of the backend in the file.
        backend: String,
        /// `key: now -> would be`, one for each difference; empty when nothing would change.
        changes: Vec<String>,
    },
}

/// Why it could not be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The file is there and is not TOML.
    #[error("`{path}` is not valid TOML: {reason}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file cannot be read or written.
    #[error("cannot write `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The card is partial.
    #[error("a partial card is not saved: {0}")]
    Partial(String),
}

/// What goes into the file.
#[derive(Debug, Clone)]
pub struct Backend<'a> {
    /// Its name.
    pub name: &'a str,
    /// Base URL.
    pub endpoint: &'a str,
    /// Reference to the key, never the key.
    pub api_key: Option<&'a str>,
}

/// Appends the backend with what the card knows, or says what would change.
///
/// The file is replaced by a rename in its own folder, so that a reader sees the old one or the
/// new one. Everything that was in it stays byte for byte.
///
/// # Errors
/// The file is no TOML or cannot be written; the card is partial.
pub fn save(path: &Path, backend: &Backend<'_>, card: &BehaviorCard) -> Result<Saved, SaveError> {
    if let Some(why) = &card.effort.partial {
        return Err(SaveError::Partial(why.clone()));
    }
    let io = |source| SaveError::Io {
        path: path.to_owned(),
        source,
    };
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(io(e)),
    };
    let table: toml::Table = toml::from_str(&old).map_err(|e| SaveError::Broken {
        path: path.to_owned(),
        reason: e.message().to_owned(),
    })?;
    let wanted = entries(backend, card);
    if let Some((name, there)) = find(&table, backend) {
        return Ok(Saved::Exists {
            path: path.to_owned(),
            backend: name,
            changes: changes(&there, &wanted),
        });
    }
    let mut text = old;
    if !text.is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push('\n');
    }
    text.push_str(&block(&wanted, card));
    write_atomically(path, text.as_bytes()).map_err(io)?;
    Ok(Saved::Written {
        path: path.to_owned(),
        backend: backend.name.to_owned(),
    })
}

/// A short name for a backend: `local` on this machine, else the host's own word.
pub fn backend_name(url: &str) -> String {
    let host = url
        .split_once("://")
        .map_or(url, |(_, rest)| rest)
        .split(['/', '?'])
        .next()
        .unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, h)| h);
    if host.starts_with('[') || host.starts_with("127.") || host.starts_with("localhost") {
        return "local".to_owned();
    }
    let host = host.split(':').next().unwrap_or(host);
    let parts: Vec<&str> = host.split('.').filter(|p| !p.is_empty()).collect();
    let numbers = parts.iter().all(|p| p.bytes().all(|b| b.is_ascii_digit()));
    match parts.as_slice() {
        [] => "backend".to_owned(),
        many if numbers => many.join("-"),
        [one] => (*one).to_owned(),
        [.., word, _] => (*word).to_owned(),
    }
}

/// Key path and value of each entry; paths of one part are the backend's own.
fn entries(backend: &Backend<'_>, card: &BehaviorCard) -> Vec<(&'static str, toml::Value)> {
    let mut list: Vec<(&'static str, toml::Value)> = vec![
        ("name", backend.name.into()),
        ("endpoint", backend.endpoint.into()),
        ("kind", "chat_completions".into()),
    ];
    if let Some(key) = backend.api_key {
        list.push(("api_key", key.into()));
    }
    if let Some(replay) = &card.fits.reasoning_replay {
        list.push(("capability.reasoning_replay", replay.as_str().into()));
    }
    if let Some(cap) = card.fits.max_output_tokens {
        list.push((
            "capability.max_output_tokens",
            i64::try_from(cap).unwrap_or(i64::MAX).into(),
        ));
    }
    list
}

fn block(entries: &[(&'static str, toml::Value)], card: &BehaviorCard) -> String {
    let date = card.time.get(..10).unwrap_or(&card.time);
    let mut text = format!(
        "# by `kilter fit`, {date}, {} requests\n",
        card.effort.requests
    );
    text.push_str("[[backends]]\n");
    for (key, value) in entries.iter().filter(|(k, _)| !k.contains('.')) {
        text.push_str(&format!("{key} = {value}\n"));
    }
    let inner: Vec<_> = entries
        .iter()
        .filter_map(|(k, v)| k.strip_prefix("capability.").map(|k| (k, v)))
        .collect();
    if !inner.is_empty() {
        text.push_str("[backends.capability]\n");
        for (key, value) in inner {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    text
}

fn find(table: &toml::Table, backend: &Backend<'_>) -> Option<(String, toml::Table)> {
    let list = table.get("backends")?.as_array()?;
    list.iter()
        .filter_map(toml::Value::as_table)
        .find(|b| {
            let is = |key: &str, value: &str| b.get(key).and_then(|v| v.as_str()) == Some(value);
            is("name", backend.name)
                || is("endpoint", backend.endpoint)
                || is("endpoint", &format!("{}/", backend.endpoint))
        })
        .map(|b| {
            let name = b.get("name").and_then(|v| v.as_str()).unwrap_or_default();
            (name.to_owned(), b.clone())
        })
}

fn changes(there: &toml::Table, wanted: &[(&'static str, toml::Value)]) -> Vec<String> {
    wanted
        .iter()
        .filter_map(|(path, value)| {
            let now = match path.split_once('.') {
                None => there.get(*path),
                Some((table, key)) => there.get(table).and_then(|t| t.get(key)),
            };
            // A backend without `kind` is the default kind, and its name is the operator's choice.
            if *path == "name" || (*path == "kind" && now.is_none()) || now == Some(value) {
                return None;
            }
            Some(match now {
                Some(now) => format!("{path}: {now} -> {value}"),
                None => format!("{path}: not set -> {value}"),
            })
        })
        .collect()
}

fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = std::fs::File::create(&temporary)
        .and_then(|mut f| f.write_all(bytes).and_then(|()| f.sync_all()))
        .and_then(|()| {
            if let Ok(meta) = std::fs::metadata(path) {
                std::fs::set_permissions(&temporary, meta.permissions())?;
            }
            std::fs::rename(&temporary, path)
        });
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::backend_name;

    #[test]
    fn backends_have_short_names() {
        assert_eq!(backend_name("http://127.0.0.1:8080/v1"), "local");
        assert_eq!(backend_name("http://[::1]:8080/v1"), "local");
        assert_eq!(backend_name("https://api.example.com/v1"), "example");
        assert_eq!(backend_name("http://gpu:8000/v1"), "gpu");
        assert_eq!(backend_name("http://10.0.0.7:8000/v1"), "10-0-0-7");
    }
}

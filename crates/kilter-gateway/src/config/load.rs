//! Layers: operator file, workspace file, environment, flags; errors with file, line and column.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{Config, narrow};

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read `{file}`: {why}\nhint: check the path and its permissions")]
    Read {
        /// The file.
        file: String,
        /// The system's words.
        why: String,
    },
    /// The file is not what it should be.
    #[error("{file}:{line}:{column}: {message}\nhint: {hint}")]
    Syntax {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A variable or flag does not fit.
    #[error("`{name}` does not fit: {message}\nhint: {hint}")]
    Override {
        /// The variable or flag.
        name: String,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
    /// A workspace file asks for more than the operator allows.
    #[error("{file}: `{key}` {message}\nhint: {hint}")]
    Widens {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// In what way.
        message: String,
        /// What to do.
        hint: String,
    },
}

/// Where a configuration comes from, weakest first.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// The operator's file: trusted.
    pub operator: Option<PathBuf>,
    /// The workspace's file: may only narrow, and add backends of its own.
    pub workspace: Option<PathBuf>,
    /// Environment: `KILTER_BIND`, `KILTER_ADAPT`, `KILTER_STATE`, `KILTER_CAPTURE`, and any key as
    /// `KILTER_SECTION__KEY`.
    pub env: Vec<(String, String)>,
    /// Flags: a dotted key and its value.
    pub flags: Vec<(String, String)>,
}

impl Layers {
    /// One trusted file and nothing else.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            operator: Some(path.into()),
            ..Self::default()
        }
    }

    /// Reads and merges the layers.
    ///
    /// # Errors
    /// The first layer that is wrong, with its place.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let mut config = match &self.operator {
            Some(path) => parse(&read(path)?, &path.display().to_string())?,
            None => Config::default(),
        };
        if let Some(path) = &self.workspace {
            let name = path.display().to_string();
            let text = read(path)?;
            let file = parse(&text, &name)?;
            let keys: Table = text.parse().unwrap_or_default();
            narrow::apply(&mut config, file, &keys, &name)?;
        }
        let mut over: Vec<(String, Vec<String>, String)> = Vec::new();
        for (name, value) in &self.env {
            if let Some(path) = env_path(name) {
                over.push((name.clone(), path, value.clone()));
            }
        }
        for (key, value) in &self.flags {
            let path = key.split('.').map(str::to_owned).collect();
            over.push((key.clone(), path, value.clone()));
        }
        for (name, path, value) in over {
            config = set(&config, &name, &path, &value)?;
        }
        Ok(config)
    }
}

/// Reads one text. `file` is only for messages.
///
/// # Errors
/// [`ConfigError::Syntax`] with the place.
pub fn parse(text: &str, file: &str) -> Result<Config, ConfigError> {
    toml::from_str(text).map_err(|e| {
        let at = e.span().map_or(0, |s| s.start);
        let (line, column) = position(text, at);
        let message = e.message().trim().replace('\n', " ");
        ConfigError::Syntax {
            file: file.to_owned(),
            line,
            column,
            hint: hint_for(&message),
            message,
        }
    })
}

fn hint_for(message: &str) -> String {
    if message.contains("unknown field") {
        "check the spelling against the names above; `kilter config schema` prints them all"
    } else if message.contains("missing field") {
        "add it; a backend needs `name` and `endpoint`"
    } else if message.contains("unknown variant") {
        "use one of the values named"
    } else if message.contains("duplicate key") {
        "keep one of the two"
    } else if message.contains("invalid type") || message.contains("invalid value") {
        "see `kilter config schema` for the shape of each key"
    } else {
        "the text is no TOML from there on: look for a missing quote, bracket or `=`"
    }
    .to_owned()
}

/// Line and column, both from 1, of a byte offset.
fn position(text: &str, at: usize) -> (usize, usize) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    (line, before[start..].chars().count() + 1)
}

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|e| ConfigError::Read {
        file: path.display().to_string(),
        why: e.to_string(),
    })
}

/// The key that a variable stands for; `None` when it is not one of ours.
fn env_path(name: &str) -> Option<Vec<String>> {
    let rest = name.strip_prefix("KILTER_")?;
    let path = |s: &str| Some(s.split('.').map(str::to_owned).collect());
    match rest {
        "BIND" => path("gateway.bind"),
        "ADAPT" => path("gateway.adapt"),
        "STATE" => path("state.dir"),
        "CAPTURE" => path("capture.mode"),
        _ if rest.contains("__") => Some(rest.split("__").map(str::to_ascii_lowercase).collect()),
        _ => None,
    }
}

/// Puts one value at a dotted path. `backends.NAME.key` selects a backend by name.
///
/// Done on the typed value's table form with secrets kept aside, since their table form is masked.
fn set(config: &Config, name: &str, path: &[String], text: &str) -> Result<Config, ConfigError> {
    let bad = |message: String, hint: &str| ConfigError::Override {
        name: name.to_owned(),
        message,
        hint: hint.to_owned(),
    };
    if path.first().is_some_and(|p| p == "backends") {
        let [_, backend, rest @ ..] = path else {
            return Err(bad(
                "it names no backend".into(),
                "write `backends.NAME.key`",
            ));
        };
        let mut out = config.clone();
        let Some(b) = out.backends.iter_mut().find(|b| b.name == *backend) else {
            return Err(bad(
                format!("there is no backend `{backend}`"),
                "check the name",
            ));
        };
        let (keys, headers) = (b.api_key.clone(), b.headers.clone());
        let (touches_key, touches_headers) = (
            rest.first().is_some_and(|k| k == "api_key"),
            rest.first().is_some_and(|k| k == "headers"),
        );
        let mut table = Table::try_from(&*b).map_err(|e| bad(e.to_string(), "check the value"))?;
        insert(&mut table, rest, value_of(text));
        *b = table
            .try_into()
            .map_err(|e: toml::de::Error| bad(e.message().to_owned(), &hint_for(e.message())))?;
        if !touches_key {
            b.api_key = keys;
        }
        if !touches_headers {
            b.headers = headers;
        }
        return Ok(out);
    }
    let (backends, redact) = (config.backends.clone(), config.capture.redact.clone());
    let mut bare = config.clone();
    bare.backends.clear();
    bare.capture.redact.clear();
    let mut table = Table::try_from(&bare).map_err(|e| bad(e.to_string(), "check the value"))?;
    insert(&mut table, path, value_of(text));
    let mut out: Config = table
        .try_into()
        .map_err(|e: toml::de::Error| bad(e.message().to_owned(), &hint_for(e.message())))?;
    out.backends = backends;
    if path.join(".") != "capture.redact" {
        out.capture.redact = redact;
    }
    Ok(out)
}

/// A TOML value where the text is one, else a string.
fn value_of(text: &str) -> Value {
    format!("v = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut t| t.remove("v"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

fn insert(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [last] => {
            table.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            let slot = table
                .entry(first.clone())
                .or_insert_with(|| Value::Table(Table::new()));
            if !slot.is_table() {
                *slot = Value::Table(Table::new());
            }
            if let Value::Table(t) = slot {
                insert(t, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Adapt, CaptureMode, Secret};

    #[test]
    fn an_unknown_key_is_named_with_its_place() {
        let e = parse(
            "[gateway]\nbind = \"127.0.0.1:1\"\nbnid = 3\n",
            "kilter.toml",
        )
        .unwrap_err();
        let ConfigError::Syntax {
            line,
            column,
            message,
            ..
        } = &e
        else {
            panic!("{e}")
        };
        assert_eq!((*line, *column), (3, 1), "{e}");
        assert!(message.contains("bnid"), "{e}");
        assert!(e.to_string().starts_with("kilter.toml:3:1: "));
        assert!(e.to_string().contains("hint: "));
    }

    #[test]
    fn flags_win_over_environment_over_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kilter.toml");
        std::fs::write(
            &file,
            "[gateway]\nadapt = \"off\"\n[[backends]]\nname = \"a\"\nendpoint = \"http://127.0.0.1:1/v1\"\napi_key = \"literal\"\n",
        )
        .unwrap();
        let mut layers = Layers::file(&file);
        layers.env = vec![
            ("KILTER_ADAPT".into(), "observe".into()),
            ("KILTER_CAPTURE__MODE".into(), "all".into()),
            ("KILTER_CORPUS".into(), "ignored".into()),
            ("KILTER_BACKENDS__a__CONCURRENCY".into(), "3".into()),
        ];
        let c = layers.load().unwrap();
        assert_eq!(c.gateway.adapt, Adapt::Observe);
        assert_eq!(c.capture.mode, CaptureMode::All);
        assert_eq!(c.backends[0].concurrency, 3);
        assert_eq!(c.backends[0].api_key, Some(Secret::parse("literal")));
        layers.flags = vec![("gateway.adapt".into(), "on".into())];
        assert_eq!(layers.load().unwrap().gateway.adapt, Adapt::On);
        layers.flags = vec![("gateway.adapt".into(), "maybe".into())];
        let e = layers.load().unwrap_err().to_string();
        assert!(e.contains("gateway.adapt") && e.contains("maybe"), "{e}");
    }

    #[test]
    fn a_wrong_type_has_a_hint() {
        let e = parse("backends = 3", "f").unwrap_err().to_string();
        assert!(e.starts_with("f:1:") && e.contains("hint:"), "{e}");
    }
}

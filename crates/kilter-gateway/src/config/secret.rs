//! Keys: a reference in the file, a value only at the moment it is sent.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A secret or where to find it. Neither `Debug` nor `Serialize` shows the value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Source);

#[derive(Clone, PartialEq, Eq)]
enum Source {
    Literal(String),
    Env(String),
    File(PathBuf),
}

/// Why a secret has no value.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum SecretError {
    /// The variable is not set.
    #[error("the environment variable `{0}` is not set\nhint: export it, or write `file:PATH`")]
    Env(String),
    /// The file cannot be read.
    #[error("cannot read the key file `{path}`: {why}\nhint: create it with mode 0600")]
    File {
        /// The path as configured.
        path: String,
        /// The system's words.
        why: String,
    },
    /// It cannot stand in a header.
    #[error("the value of `{0}` holds characters that no header may carry")]
    Unsendable(String),
}

impl Secret {
    /// Reads `env:NAME`, `file:PATH` or a literal.
    pub fn parse(text: &str) -> Self {
        Self(if let Some(name) = text.strip_prefix("env:") {
            Source::Env(name.to_owned())
        } else if let Some(path) = text.strip_prefix("file:") {
            Source::File(PathBuf::from(path))
        } else {
            Source::Literal(text.to_owned())
        })
    }

    /// Whether it refers to something outside the file that holds it.
    pub fn is_reference(&self) -> bool {
        !matches!(self.0, Source::Literal(_))
    }

    /// What may be shown: the reference, or `***`.
    pub fn shown(&self) -> String {
        match &self.0 {
            Source::Literal(_) => "***".to_owned(),
            Source::Env(name) => format!("env:{name}"),
            Source::File(path) => format!("file:{}", path.display()),
        }
    }

    /// The value, read now. `env` is how variables are read.
    ///
    /// # Errors
    /// When the variable is unset, the file unreadable, or the value holds control characters.
    pub fn reveal(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<String, SecretError> {
        let value = match &self.0 {
            Source::Literal(v) => v.clone(),
            Source::Env(name) => env(name).ok_or_else(|| SecretError::Env(name.clone()))?,
            Source::File(path) => std::fs::read_to_string(path)
                .map_err(|e| SecretError::File {
                    path: path.display().to_string(),
                    why: e.to_string(),
                })?
                .trim_end_matches(['\r', '\n'])
                .to_owned(),
        };
        if value.bytes().any(|b| b < 0x20 || b == 0x7f) {
            return Err(SecretError::Unsendable(self.shown()));
        }
        Ok(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.shown())
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.shown())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d).map(|s| Self::parse(&s))
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`env:NAME`, `file:PATH`, or the value itself.",
            "type": "string"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_never_shown() {
        let s = Secret::parse("sk-very-secret");
        assert_eq!(format!("{s:?}"), "Secret(***)");
        assert_eq!(serde_json::to_string(&s).unwrap(), "\"***\"");
        assert_eq!(s.reveal(&|_| None).unwrap(), "sk-very-secret");
    }

    #[test]
    fn references_are_read_when_asked() {
        let s = Secret::parse("env:K");
        assert_eq!(
            s.reveal(&|n| (n == "K").then(|| "v".to_owned())).unwrap(),
            "v"
        );
        assert_eq!(s.reveal(&|_| None), Err(SecretError::Env("K".into())));
        assert!(Secret::parse("file:/no/such").reveal(&|_| None).is_err());
        assert!(Secret::parse("a\r\nb").reveal(&|_| None).is_err());
    }
}

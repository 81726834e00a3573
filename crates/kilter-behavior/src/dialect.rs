//! Dialects and reasoning markers as data.

use std::sync::Arc;

/// Why a dialect file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DialectError {
    /// The file is not valid TOML or has an unknown field.
    #[error(
        "dialect file `{file}` cannot be read: {message}; hint: compare with the files under `dialects/`"
    )]
    Syntax {
        /// The file.
        file: String,
        /// The parser's words.
        message: String,
    },
    /// The dialect contradicts itself.
    #[error("dialect `{name}` in `{file}` is not usable: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// The dialect.
        name: String,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// `narrow` names a dialect that does not exist.
    #[error("no dialect is called `{name}`; hint: nearest is `{nearest}`")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The nearest known name.
        nearest: String,
    },
}

/// Compiled dialects and reasoning markers; built once and shared.
#[derive(Debug, Default)]
pub struct Registry {
    names: Vec<String>,
}

impl Registry {
    /// The dialects that ship with the crate.
    pub fn builtin() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The shipped dialects and the operator's files (name, TOML text).
    ///
    /// # Errors
    /// A file that does not parse or contradicts itself.
    pub fn with_files(extra: &[(String, String)]) -> Result<Arc<Self>, DialectError> {
        let _ = extra;
        Ok(Self::builtin())
    }

    /// Only the named dialects.
    ///
    /// # Errors
    /// A name that is not known.
    pub fn narrow(&self, keep: &[String]) -> Result<Arc<Self>, DialectError> {
        let _ = keep;
        Ok(Self::builtin())
    }

    /// Names of the dialects, in order of precedence.
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }
}

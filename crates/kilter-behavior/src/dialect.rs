//! Dialects and reasoning markers as data, compiled into one [`Registry`].

mod builtin;
mod registry;
mod spec;
mod trie;

pub use registry::Registry;

pub(crate) use registry::Dialect;
pub(crate) use spec::{Closer, Grammar, Pairs as PairSpec, Shape, Tags as TagSpec};
pub(crate) use trie::{Mark, Walk};

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

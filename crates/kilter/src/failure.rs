//! How a command fails in front of a person: what happened, what to do next, and the exit code.

use kilter_core::Exit;

use crate::output::system_words;

/// A failure that ends a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What happened, lower-case start, literals in backticks.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// A failure of the given kind.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint: None,
        }
    }

    /// The command line or a file given to it is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something outside did not answer.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Exit::Unavailable, message)
    }

    /// Adds what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A failure from words of a library that end in `hint: …` on a line of its own.
    pub(crate) fn worded(exit: Exit, words: &str) -> Self {
        match words.split_once("\nhint: ") {
            Some((message, hint)) => Self::new(exit, message).hint(hint.replace("\nhint: ", "\n")),
            None => Self::new(exit, words),
        }
    }

    /// A file could not be read: says which, and why.
    pub(crate) fn reading(path: &std::path::Path, error: &std::io::Error) -> Self {
        let why = system_words(error);
        Self::unavailable(format!("cannot read `{}`: {why}", path.display()))
            .hint("check the path; `-` stands for standard input")
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Exit::Internal, format!("{error:#}"))
            .hint("this looks like a bug of kilter; run again with `-vv` and report what it says")
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::unavailable(error.to_string())
    }
}

/// What every command returns.
pub(crate) type Outcome = Result<Exit, Failure>;

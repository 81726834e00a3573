//! How a command ends: one list of exit codes for every command.

use serde::{Deserialize, Serialize};

/// The ways a command ends. The numbers are a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exit {
    /// It did what was asked.
    Ok,
    /// It ran, and the answer is no (a check failed, a model does not answer as wanted).
    Negative,
    /// The command line or the configuration is wrong.
    Usage,
    /// Something outside did not answer: a backend, a file, a port.
    Unavailable,
    /// A bug of ours.
    Internal,
    /// Ended by Ctrl-C or a signal; what was done until then is kept.
    Interrupted,
}

impl Exit {
    /// The process exit code: 0, 1, 2, 3, 70 (sysexits' `EX_SOFTWARE`), 130 (128 + SIGINT).
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Negative => 1,
            Self::Usage => 2,
            Self::Unavailable => 3,
            Self::Internal => 70,
            Self::Interrupted => 130,
        }
    }
}

//! Regions of a transcript and the trust they carry.

use serde::{Deserialize, Serialize};

/// Whether text in a region may be the source of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// System and developer text.
    Trusted,
    /// User task text, tool results, file reads, page text.
    Untrusted,
    /// What the model itself said: the only text that is ever scanned.
    Assistant,
}

/// One stretch of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region<'a> {
    /// Who may be speaking through it.
    pub trust: Trust,
    /// Its decoded text.
    pub text: &'a str,
}

impl Trust {
    /// The trust of a chat message by its role. Unknown roles are untrusted.
    pub fn of_role(role: &str) -> Self {
        match role {
            "system" | "developer" => Self::Trusted,
            "assistant" => Self::Assistant,
            _ => Self::Untrusted,
        }
    }
}

//! The rules between a candidate and a call.

use kilter_core::{RejectReason, Strength};

use crate::tools::ToolSet;

/// Untrusted text and the tool catalogue, white space removed: a candidate found here is an echo.
#[derive(Debug, Clone, Default)]
pub struct EchoIndex {
    squeezed: Vec<String>,
}

impl EchoIndex {
    /// Indexes the untrusted regions of a transcript and the catalogue of tools.
    pub fn new<'a>(untrusted: impl IntoIterator<Item = &'a str>, catalogue: &ToolSet) -> Self {
        let _ = catalogue;
        Self {
            squeezed: untrusted
                .into_iter()
                .map(|t| t.split_whitespace().collect())
                .collect(),
        }
    }

    /// Nothing is untrusted.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Whether a payload, white space aside, stands in an untrusted region.
    pub fn contains(&self, payload: &str) -> bool {
        let p: String = payload.split_whitespace().collect();
        !p.is_empty() && self.squeezed.iter().any(|r| r.contains(&p))
    }
}

/// What markerless forms may do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum WeakMarkers {
    /// Recover them; every other gate still stands.
    #[default]
    Allow,
    /// Recover them for read-only tools alone.
    ReadOnly,
    /// Never recover them.
    Off,
}

/// A candidate that did not become a call. Its text is delivered as content or reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The dialect's name.
    pub dialect: String,
    /// The name as written, where one was read.
    pub name: Option<String>,
    /// Why.
    pub reason: RejectReason,
    /// The nearest declared name: a hint, never a rename.
    pub nearest: Option<String>,
    /// Strength of its markers.
    pub strength: Strength,
}

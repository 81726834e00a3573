//! What was offered: declared tools and their schemas.

use std::sync::Arc;

use kilter_core::ToolSpec;

/// The tools of a session; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    declared: Option<Arc<Vec<ToolSpec>>>,
}

impl ToolSet {
    /// The declared set: exactly these names may be called.
    pub fn new(tools: Vec<ToolSpec>) -> Self {
        Self {
            declared: Some(Arc::new(tools)),
        }
    }

    /// No set was given: the declared-set and schema rules are off.
    pub fn undeclared() -> Self {
        Self::default()
    }

    /// Whether a set was given.
    pub fn is_declared_rule_on(&self) -> bool {
        self.declared.is_some()
    }

    /// The declared tool of that exact name.
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.declared.as_ref()?.iter().find(|t| t.name == name)
    }
}

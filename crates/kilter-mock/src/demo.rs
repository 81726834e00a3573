//! Demonstration models: scripts that misbehave on purpose, one or two ways each, and say so.

use crate::script::{Script, ScriptError};

/// Name and text of each script, in the order in which they are shown.
pub const SOURCES: &[(&str, &str)] = &[("steady", include_str!("../demos/steady.toml"))];

/// All of them.
///
/// # Errors
/// Never, as long as the tests pass: the scripts are part of the program.
pub fn all() -> Result<Vec<Script>, ScriptError> {
    SOURCES
        .iter()
        .map(|(name, text)| Script::from_toml(text).map_err(|e| e.in_file(format!("{name}.toml"))))
        .collect()
}

//! Demonstration models: scripts that misbehave on purpose, one or two ways each, and say so.

use crate::script::{Script, ScriptError};

/// Name and text of each script, in the order in which they are shown.
pub const SOURCES: &[(&str, &str)] = &[
    ("steady", include_str!("../demos/steady.toml")),
    ("split", include_str!("../demos/split.toml")),
    ("other-field", include_str!("../demos/other-field.toml")),
    ("inline-think", include_str!("../demos/inline-think.toml")),
    ("lone-closer", include_str!("../demos/lone-closer.toml")),
    ("overflow", include_str!("../demos/overflow.toml")),
    (
        "hidden-overflow",
        include_str!("../demos/hidden-overflow.toml"),
    ),
    ("tagged-json", include_str!("../demos/tagged-json.toml")),
    (
        "tagged-elements",
        include_str!("../demos/tagged-elements.toml"),
    ),
    ("fenced-json", include_str!("../demos/fenced-json.toml")),
    ("bare-json", include_str!("../demos/bare-json.toml")),
    ("python-calls", include_str!("../demos/python-calls.toml")),
    ("leaked-tokens", include_str!("../demos/leaked-tokens.toml")),
    ("key-value", include_str!("../demos/key-value.toml")),
    (
        "tools-or-thought",
        include_str!("../demos/tools-or-thought.toml"),
    ),
    ("other-cap", include_str!("../demos/other-cap.toml")),
    ("strict-fields", include_str!("../demos/strict-fields.toml")),
    ("deaf", include_str!("../demos/deaf.toml")),
    ("short-window", include_str!("../demos/short-window.toml")),
    ("full-window", include_str!("../demos/full-window.toml")),
    ("merged-stream", include_str!("../demos/merged-stream.toml")),
    ("says-stop", include_str!("../demos/says-stop.toml")),
    ("wants-replay", include_str!("../demos/wants-replay.toml")),
    (
        "refuses-replay",
        include_str!("../demos/refuses-replay.toml"),
    ),
    ("swapped", include_str!("../demos/swapped.toml")),
    ("talker", include_str!("../demos/talker.toml")),
];

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

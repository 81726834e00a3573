//! Where kilter looks: the configuration file and the state folder.

use std::path::PathBuf;

/// Name of the configuration file, in the workspace and in the operator's folder.
pub(crate) const CONFIG_FILE: &str = "kilter.toml";

/// The operator's configuration file: `$XDG_CONFIG_HOME/kilter/kilter.toml`, else
/// `~/.config/kilter/kilter.toml` (`%APPDATA%` on Windows).
pub(crate) fn operator_config() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config").map(|d| d.join("kilter").join(CONFIG_FILE))
}

/// The state folder: `$XDG_STATE_HOME/kilter`, else `~/.local/state/kilter`, else `./.kilter`.
pub(crate) fn state() -> PathBuf {
    folder("XDG_STATE_HOME", ".local/state")
        .map(|d| d.join("kilter"))
        .unwrap_or_else(|| PathBuf::from(".kilter"))
}

fn folder(variable: &str, under_home: &str) -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    set(variable)
        .filter(|p| p.is_absolute())
        .or_else(|| set("HOME").map(|h| h.join(under_home)))
        .or_else(|| set("APPDATA"))
}

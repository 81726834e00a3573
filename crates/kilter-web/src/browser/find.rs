//! Which browser there is, and how to get one.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, FailureCode, Fix};

/// The variable with which an operator names the browser.
pub const VARIABLE: &str = "KILTER_BROWSER";

/// Names that Chromium and its siblings are installed under, the free one first.
const NAMES: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "microsoft-edge",
    "brave-browser",
    "headless_shell",
];

/// Places outside the path.
const PLACES: &[&str] = &[
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/snap/bin/chromium",
];

/// Package managers and their command for Chromium.
const INSTALL: &[(&str, &str, bool)] = &[
    ("apt-get", "apt-get install -y chromium", true),
    ("dnf", "dnf install -y chromium", true),
    ("pacman", "pacman -S --noconfirm chromium", true),
    ("zypper", "zypper install -y chromium", true),
    ("apk", "apk add chromium", true),
    ("brew", "brew install --cask chromium", false),
];

/// The browser: what the operator names, else the first one on the path.
pub fn browser() -> Option<PathBuf> {
    browser_in(
        std::env::var_os(VARIABLE).map(PathBuf::from),
        &std::env::var_os("PATH").unwrap_or_default(),
    )
}

/// The same for a given setting and path. A named browser that is not there is none: nothing else takes its place.
pub fn browser_in(named: Option<PathBuf>, path: &std::ffi::OsStr) -> Option<PathBuf> {
    if let Some(named) = named.filter(|n| !n.as_os_str().is_empty()) {
        return runnable(&named).then_some(named);
    }
    let on_path = || NAMES.iter().find_map(|name| on_path(name, path));
    on_path().or_else(|| PLACES.iter().map(PathBuf::from).find(|p| runnable(p)))
}

fn on_path(name: &str, path: &std::ffi::OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|p| runnable(p))
}

#[cfg(unix)]
fn runnable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn runnable(path: &Path) -> bool {
    path.is_file()
}

/// How Chromium is installed on this machine.
pub fn fix() -> Fix {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let (_, command, root) = INSTALL
        .iter()
        .find(|(manager, _, _)| on_path(manager, &path).is_some())
        .unwrap_or(&INSTALL[0]);
    Fix {
        kind: "install_browser".to_owned(),
        command: (*command).to_owned(),
        root_required: *root,
    }
}

/// There is no browser.
pub fn required() -> Failure {
    let fix = fix();
    let mut failure = Failure::new(
        FailureCode::BrowserRequired,
        format!(
            "this read needs a browser and none was found\nhint: run `{}`, or name one in `{VARIABLE}`",
            fix.command
        ),
    )
    .then("run_doctor", "a browser has to be installed");
    failure.fix = Some(fix);
    failure
}

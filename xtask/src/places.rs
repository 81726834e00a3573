//! No machine path, registry host or outside folder in tracked files: a clone stands on its own.

use anyhow::Result;

use crate::tree::{Finding, Tree};

/// Files that must name what is banned elsewhere; lock files wherever they stand.
const EXEMPT: [&str; 1] = ["xtask/src/places.rs"];

/// Folders at the root of a machine that only that machine has.
const MACHINE: [&str; 6] = [
    "/root/",
    "/work/",
    "/workspace/",
    "/Users/",
    "/mnt/",
    "/srv/",
];
const HOSTS: [&str; 6] = [
    "crates.io",
    "pypi.org",
    "pythonhosted.org",
    "npmjs.org",
    "npmjs.com",
    "proxy.golang.org",
];
/// The one folder beside the clone that tests may look for.
const OUTSIDE: &str = "shared/";
const DOCUMENTED: &str = "shared/corpus";

pub fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in tree.paths().filter(|path| !is_exempt(path)) {
        let Some(text) = tree.text(path)? else {
            continue;
        };
        for (index, line) in text.lines().enumerate() {
            if let Some(message) = fault(line, is_data(path)) {
                findings.push(Finding {
                    path: path.to_owned(),
                    line: index + 1,
                    message,
                });
            }
        }
    }
    Ok(findings)
}

fn is_exempt(path: &str) -> bool {
    EXEMPT.contains(&path) || path.rsplit('/').next() == Some("Cargo.lock")
}

/// Recorded model text and written fixtures may hold any path: they quote the world.
fn is_data(path: &str) -> bool {
    path.contains("/fixtures/") || path.starts_with("fuzz/seeds/")
}

fn fault(line: &str, data: bool) -> Option<String> {
    if data {
        return None;
    }
    if let Some(folder) = MACHINE
        .iter()
        .find(|folder| absolute(line, folder))
        .copied()
        .or_else(|| home(line))
    {
        return Some(format!(
            "names the machine folder `{folder}`; take it from the environment"
        ));
    }
    if let Some(host) = HOSTS.iter().find(|host| line.contains(*host)) {
        return Some(format!(
            "names the registry host `{host}`; the client's own configuration knows it"
        ));
    }
    let outside = line
        .match_indices(OUTSIDE)
        .any(|(at, _)| starts_a_path(line, at) && !line[at..].starts_with(DOCUMENTED));
    outside.then(|| format!("names a folder outside the clone; only `{DOCUMENTED}` is documented"))
}

/// A path that begins at the root of the file system, not one that merely contains the folder's name.
fn absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder)
        .any(|(at, _)| starts_a_path(line, at))
}

fn home(line: &str) -> Option<&'static str> {
    line.match_indices("/home/")
        .any(|(at, found)| {
            let owner = line[at + found.len()..].chars().next();
            starts_a_path(line, at) && owner.is_some_and(char::is_alphanumeric)
        })
        .then_some("/home/…")
}

fn starts_a_path(line: &str, at: usize) -> bool {
    let before = line[..at].trim_end_matches("../").chars().next_back();
    before.is_none_or(|letter| {
        !letter.is_alphanumeric() && !matches!(letter, '/' | '.' | '_' | '-' | '}' | '$')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_places_are_found() {
        for line in [
            "let path = \"/root/.cache\";",
            "cd /work/kilter",
            "/home/someone/x",
            "https://pypi.org/simple",
            "see shared/reference/x.md",
            "../shared/tools/x.py",
        ] {
            assert!(fault(line, false).is_some(), "{line}");
        }
    }

    #[test]
    fn ordinary_text_passes() {
        for line in [
            "../shared/corpus/captures",
            "GET /v1/work/items",
            "$HOME/.cache/kilter-target",
            "target/root/x",
            "a shared counter",
            "/etc/hostname",
        ] {
            assert_eq!(fault(line, false), None, "{line}");
        }
    }

    #[test]
    fn a_finding_names_file_and_line_and_data_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::planted(
            folder.path(),
            &[
                ("README.md", "one\n/root/x\n"),
                ("crates/a/fixtures/x.txt", "/root/x\n"),
                ("fuzz/Cargo.lock", "crates.io\n"),
            ],
        );
        let found = check(&tree).unwrap();
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .to_string()
                .starts_with("README.md:2: names the machine folder `/root/`"),
            "{}",
            found[0]
        );
    }
}

//! One subject per file: said in its first line, at most 600 lines, and no module that is a drawer.

use anyhow::Result;

use crate::tree::{Finding, Tree};

/// Past this a file has two subjects.
const MOST_LINES: usize = 600;
const DRAWERS: [&str; 6] = ["util", "utils", "helper", "helpers", "common", "misc"];

pub fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in tree.paths().filter(|path| path.ends_with(".rs")) {
        let Some(text) = tree.text(path)? else {
            continue;
        };
        let mut found = |line, message| {
            findings.push(Finding {
                path: path.to_owned(),
                line,
                message,
            })
        };
        if !text.starts_with("//!") {
            found(
                1,
                "the first line must be `//!` and say the file's one subject".to_owned(),
            );
        }
        let lines = text.lines().count();
        if lines > MOST_LINES {
            found(
                0,
                format!("{lines} lines; past {MOST_LINES} a file has two subjects: split it"),
            );
        }
        for part in path
            .split('/')
            .map(|part| part.trim_end_matches(".rs"))
            .filter(|part| DRAWERS.contains(part))
        {
            found(
                0,
                format!("`{part}` is a drawer; name the module after its subject"),
            );
        }
        for (index, line) in text.lines().enumerate() {
            if let Some(name) = declared_module(line).filter(|name| DRAWERS.contains(name)) {
                found(
                    index + 1,
                    format!("module `{name}` is a drawer; name it after its subject"),
                );
            }
        }
    }
    Ok(findings)
}

fn declared_module(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line
        .strip_prefix("pub(crate) ")
        .or_else(|| line.strip_prefix("pub "))
        .unwrap_or(line);
    let rest = line.strip_prefix("mod ")?;
    Some(rest.trim_end_matches(['{', ';', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::planted(folder.path(), &[(path, text)]);
        check(&tree)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_file_says_its_subject_first() {
        assert_eq!(messages("a/src/x.rs", "//! x\nfn f() {}\n"), [""; 0]);
        let found = messages("a/src/x.rs", "fn f() {}\n//! x\n");
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("a/src/x.rs:1: the first line"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn the_601st_line_is_one_too_many() {
        let whole = format!("//! x\n{}", "\n".repeat(599));
        assert_eq!(messages("a/src/x.rs", &whole), [""; 0]);
        assert!(messages("a/src/x.rs", &format!("{whole}\n"))[0].contains("601 lines"));
    }

    #[test]
    fn drawers_are_found_as_files_folders_and_modules() {
        assert_eq!(messages("a/src/utils.rs", "//! x\n").len(), 1);
        assert_eq!(messages("a/tests/common/x.rs", "//! x\n").len(), 1);
        let inline = messages("a/src/x.rs", "//! x\npub(crate) mod helpers {\n}\n");
        assert!(
            inline[0].starts_with("a/src/x.rs:2: module `helpers`"),
            "{}",
            inline[0]
        );
        assert_eq!(messages("a/src/x.rs", "//! x\nmod commonplace;\n"), [""; 0]);
    }
}

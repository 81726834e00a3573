//! No model family name in source that decides by behaviour.
//!
//! `names.txt` lists the families, one per line, as words; a line that starts with `!` is a phrase that may stand
//! (a server that carries a family's name is no model). Identifiers are cut into words first, so that a name inside
//! `snake_case`, `CamelCase` or `family3` is found and a longer word that merely contains one is not.

use anyhow::Result;

use crate::tree::{Finding, Tree};

const LIST: &str = include_str!("../names.txt");

/// The crates whose behaviour may not depend on a name.
const CRATES: [&str; 6] = [
    "kilter-core",
    "kilter-wire",
    "kilter-behavior",
    "kilter-mock",
    "kilter-gateway",
    "kilter-fit",
];

pub fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let list = Names::parse(LIST);
    let mut findings = Vec::new();
    for path in tree.paths().filter(|path| in_scope(path)) {
        let Some(text) = tree.text(path)? else {
            continue;
        };
        for (number, line) in outside_tests(&text) {
            if let Some(name) = list.find(line) {
                findings.push(Finding {
                    path: path.to_owned(),
                    line: number,
                    message: format!(
                        "names the model family `{name}`; key the behaviour on what is emitted"
                    ),
                });
            }
        }
    }
    Ok(findings)
}

fn in_scope(path: &str) -> bool {
    let mut parts = path.split('/');
    let source = parts.next() == Some("crates")
        && parts.next().is_some_and(|name| CRATES.contains(&name))
        && parts.next() == Some("src");
    let file = path.rsplit('/').next().unwrap_or(path);
    source
        && file.ends_with(".rs")
        && file != "tests.rs"
        && !file.ends_with("_tests.rs")
        && !path.contains("/tests/")
}

/// Numbered lines of a source file without its `#[cfg(test)] mod … { }` blocks, which end at the next `}` in the
/// first column because every file here is formatted.
fn outside_tests(text: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let opens = line == "#[cfg(test)]"
            && lines
                .peek()
                .is_some_and(|(_, next)| next.starts_with("mod ") && next.ends_with('{'));
        if !opens {
            kept.push((index + 1, line));
            continue;
        }
        for (_, inner) in lines.by_ref() {
            if inner == "}" {
                break;
            }
        }
    }
    kept
}

struct Names {
    names: Vec<Vec<String>>,
    allowed: Vec<String>,
}

impl Names {
    fn parse(list: &str) -> Self {
        let (mut names, mut allowed) = (Vec::new(), Vec::new());
        for line in list
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            match line.strip_prefix('!') {
                Some(phrase) => allowed.push(phrase.to_lowercase()),
                None => names.push(words(line)),
            }
        }
        Self { names, allowed }
    }

    fn find(&self, line: &str) -> Option<String> {
        let mut line = line.to_owned();
        for phrase in &self.allowed {
            while let Some(at) = line.to_ascii_lowercase().find(phrase.as_str()) {
                line.replace_range(at..at + phrase.len(), " ");
            }
        }
        let found = words(&line);
        self.names
            .iter()
            .find(|name| {
                found
                    .windows(name.len())
                    .any(|window| window == name.as_slice())
            })
            .map(|name| name.join("-"))
    }
}

/// Lower-case words: runs of letters, cut where the case rises (`FamilyName`) and at digits (`family3`).
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = text.chars().collect();
    for (index, &letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(index + 1);
        let rises = letter.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                || before.is_some_and(char::is_uppercase)
                    && after.is_some_and(|next| next.is_lowercase()));
        if (!letter.is_alphabetic() || rises) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphabetic() {
            word.extend(letter.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<String> {
        Names::parse(LIST).find(line)
    }

    #[test]
    fn finds_a_family_in_every_spelling() {
        for line in [
            "if model.starts_with(\"qwen\") {",
            "fn read_qwen_xml()",
            "struct QwenParser;",
            "const QWEN3: u8 = 1;",
            "// like Qwen2.5-Coder does",
            "HTTPQwen",
        ] {
            assert_eq!(found(line).as_deref(), Some("qwen"), "{line}");
        }
        assert_eq!(
            found("the command-r template").as_deref(),
            Some("command-r")
        );
        assert_eq!(found("CommandR").as_deref(), Some("command-r"));
    }

    #[test]
    fn a_longer_word_or_a_server_is_no_family() {
        for line in [
            "ollama",
            "llama.cpp",
            "llama-server",
            "a command read",
            "alignment",
            "gptk",
            "kilter",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn a_planted_name_is_reported_with_its_line_and_tests_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::planted(
            folder.path(),
            &[
                (
                    "crates/kilter-behavior/src/scan.rs",
                    "//! scan\nfn a() {}\n// mistral\n#[cfg(test)]\nmod tests {\n    // qwen\n}\n// glm\n",
                ),
                ("crates/kilter-behavior/src/scan/tests.rs", "// qwen\n"),
                ("crates/kilter-behavior/tests/it/main.rs", "// qwen\n"),
                ("crates/kilter-behavior/dialects/a.toml", "# qwen\n"),
                ("crates/kilter/src/main.rs", "// qwen\n"),
            ],
        );
        let lines: Vec<(String, usize)> = check(&tree)
            .unwrap()
            .into_iter()
            .map(|finding| (finding.path, finding.line))
            .collect();
        let path = "crates/kilter-behavior/src/scan.rs".to_owned();
        assert_eq!(lines, [(path.clone(), 3), (path, 8)]);
    }
}

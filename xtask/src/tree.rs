//! The tracked files of the clone, and what a check says about one of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Something that a check found, printed as `file:line: message`.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// Counted from 1; 0 speaks of the whole file.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.path, self.message),
            line => write!(out, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// The root of the clone and the paths in it that a check may look at.
pub struct Tree {
    root: PathBuf,
    files: Vec<String>,
}

impl Tree {
    /// Tracked files and new ones that are not ignored, so that a check also sees what is about to be committed.
    pub fn tracked() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("the xtask crate has no parent folder")?
            .to_owned();
        let output = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(&root)
            .output()
            .context("could not run `git ls-files`; is git installed?")?;
        if !output.status.success() {
            bail!(
                "`git ls-files` failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let mut files: Vec<String> = String::from_utf8(output.stdout)?
            .split('\0')
            .filter(|path| !path.is_empty() && root.join(path).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        Ok(Self { root, files })
    }

    #[cfg(test)]
    pub fn planted(root: &Path, files: &[(&str, &str)]) -> Self {
        for (path, text) in files {
            let full = root.join(path);
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            std::fs::write(full, text).unwrap();
        }
        Self {
            root: root.to_owned(),
            files: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// The file's text, or `None` where it is not text.
    pub fn text(&self, path: &str) -> Result<Option<String>> {
        let bytes = std::fs::read(self.root.join(path))
            .with_context(|| format!("could not read `{path}`"))?;
        Ok(String::from_utf8(bytes).ok())
    }
}

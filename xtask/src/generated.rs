//! Files that the binary writes about itself: command reference, configuration schema.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tree::Tree;

/// Builds the binary and lets it write its generated files, or with `check` only say which are stale.
pub fn run(tree: &Tree, check: bool) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // With the whole workspace, so that the dependencies keep the features that the tests were built with.
    let built = Command::new(&cargo)
        .args(["build", "--quiet", "--workspace", "--bin", "kilter"])
        .current_dir(tree.root())
        .status()
        .context("could not run cargo")?;
    if !built.success() {
        bail!("the binary does not build");
    }
    // Both binaries of one build stand side by side.
    let binary = std::env::current_exe()?.with_file_name("kilter");
    let mut command = Command::new(binary);
    command
        .args(["__generate", "docs"])
        .current_dir(tree.root());
    if check {
        command.arg("--check");
    }
    let clean = command
        .status()
        .context("could not run the built binary")?
        .success();
    if !clean && check {
        println!(
            "generated files are stale; hint: run `cargo xtask gen` and commit what it writes"
        );
    }
    Ok(clean)
}

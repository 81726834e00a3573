//! Checks of the house and generated files: `cargo xtask check`, `cargo xtask gen [--check]`.

use std::process::ExitCode;

use anyhow::Result;

mod generated;
mod layers;
mod names;
mod places;
mod sizes;
mod tree;

use tree::{Finding, Tree};

const HELP: &str = "\
usage: cargo xtask <command>

  check          everything below; exits 1 when something is found
  names          no model family name in source that decides by behaviour
  layers         a lower crate never imports a higher one
  sizes          one subject per file: `//!` first, at most 600 lines, no drawer modules
  places         no machine path, registry host or outside folder in tracked files
  gen [--check]  write the generated files, or say which are stale";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// A check of the house: its name on the command line and what it does with the tracked files.
type Check = (&'static str, fn(&Tree) -> Result<Vec<Finding>>);

const CHECKS: [Check; 4] = [
    ("names", names::check),
    ("layers", layers::check),
    ("sizes", sizes::check),
    ("places", places::check),
];

fn run(words: &[&str]) -> Result<bool> {
    match words {
        ["check"] => {
            let tree = Tree::tracked()?;
            let mut clean = true;
            for check in CHECKS {
                clean &= report(&tree, check)?;
            }
            Ok(generated::run(&tree, true)? && clean)
        }
        ["gen"] => generated::run(&Tree::tracked()?, false),
        ["gen", "--check"] => generated::run(&Tree::tracked()?, true),
        [name] => match CHECKS.iter().find(|(known, _)| known == name) {
            Some(check) => report(&Tree::tracked()?, *check),
            None => {
                println!("{HELP}");
                Ok(matches!(*name, "help" | "--help" | "-h"))
            }
        },
        _ => {
            println!("{HELP}");
            Ok(false)
        }
    }
}

fn report(tree: &Tree, (name, check): Check) -> Result<bool> {
    let findings = check(tree)?;
    for finding in &findings {
        println!("{finding}");
    }
    println!("{name}: {} files, {} findings", tree.len(), findings.len());
    Ok(findings.is_empty())
}

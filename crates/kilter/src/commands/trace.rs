//! `kilter trace`: the files, and which of its commands reads them.

use std::path::{Path, PathBuf};

use super::{trace_fixture, trace_follow, trace_summary};
use crate::cli::Global;
use crate::cli::trace::{Action, Trace};
use crate::failure::{Failure, Outcome};
use crate::output::{Out, system_words};
use crate::place;

pub(crate) async fn run(args: &Trace, global: &Global, out: &Out) -> Outcome {
    let state = global.state.clone().unwrap_or_else(place::state);
    match &args.action {
        Action::Follow(a) => {
            let path = a.path.clone().unwrap_or_else(|| state.join("traces"));
            trace_follow::run(a, &path, out).await
        }
        Action::Summary(a) => {
            let path = a.path.clone().unwrap_or_else(|| state.join("traces"));
            trace_summary::run(a, &files(&path)?, out)
        }
        Action::ToFixture(a) => {
            let path = a.from.clone().unwrap_or_else(|| state.join("captures"));
            trace_fixture::run(a, &files(&path)?, out)
        }
    }
}

/// The JSONL files at `path`, oldest first: rotated ones are numbered, the current one is not, and
/// `-` sorts before `.`.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| {
        let why = system_words(&e);
        Failure::unavailable(format!("nothing to read at `{}`: {why}", path.display())).hint(
            "`kilter serve` writes there; `--state DIR` or a path as argument looks elsewhere",
        )
    })?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    files.sort();
    Ok(files)
}

//! `kilter __generate`: the files of `docs/` that follow from the program.

use std::path::{Path, PathBuf};

use kilter_core::Exit;

use crate::cli::small::Generate;
use crate::failure::{Failure, Outcome};
use crate::output::Out;
use crate::reference;

/// Folders that hold generated files and nothing else; `schema/` may hold others.
const FOLDERS: [&str; 2] = ["commands", "man"];

pub(crate) fn run(args: &Generate, out: &Out) -> Outcome {
    let files = reference::files()?;
    let mut stale = Vec::new();
    for (name, bytes) in &files {
        let path = args.dir.join(name);
        if std::fs::read(&path).is_ok_and(|now| now == *bytes) {
            continue;
        }
        stale.push(name.clone());
        if !args.check {
            write(&path, bytes)?;
        }
    }
    for old in leftover(&args.dir, &files.keys().cloned().collect::<Vec<_>>()) {
        stale.push(old.display().to_string());
        if !args.check {
            std::fs::remove_file(args.dir.join(&old))?;
        }
    }
    if args.check && !stale.is_empty() {
        return Err(Failure::new(
            Exit::Negative,
            format!("generated files are stale: {}", stale.join(", ")),
        )
        .hint("run `cargo xtask gen` and commit what it writes"));
    }
    for name in &stale {
        out.line(name)?;
    }
    Ok(Exit::Ok)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed =
        |e: std::io::Error| Failure::unavailable(format!("cannot write `{}`: {e}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, bytes).map_err(failed)
}

/// Files of the generated folders that nothing generates any more, relative to `dir`.
fn leftover(dir: &Path, ours: &[String]) -> Vec<PathBuf> {
    let mut old = Vec::new();
    for folder in FOLDERS {
        let Ok(entries) = std::fs::read_dir(dir.join(folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if !ours.contains(&name) {
                old.push(PathBuf::from(name));
            }
        }
    }
    old.sort();
    old
}

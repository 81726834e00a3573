//! The bodies of the fuzz targets over their seeds, so that what fuzzing found stays found.

use std::path::Path;

#[path = "../../../../fuzz/src/profile.rs"]
mod profile;
#[path = "../../../../fuzz/src/scanner.rs"]
mod scanner;
#[path = "../../../../fuzz/src/splitter.rs"]
mod splitter;

/// Runs a target over all of its seeds and names those that fail.
fn replay(target: &str, at_least: usize, run: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let mut paths: Vec<_> = std::fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() >= at_least, "{} seeds", paths.len());
    let failed: Vec<_> = paths
        .iter()
        .filter(|path| {
            let data = std::fs::read(path).unwrap();
            std::panic::catch_unwind(|| run(&data)).is_err()
        })
        .map(|path| path.file_name().unwrap().to_string_lossy())
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} fail: {failed:?}",
        failed.len(),
        paths.len()
    );
}

#[test]
fn scanner_seeds() {
    replay("scanner", 200, scanner::run);
}

#[test]
fn splitter_seeds() {
    replay("splitter", 60, splitter::run);
}

#[test]
fn profile_seeds() {
    replay("profile", 20, profile::run);
}

//! The body of the framer's fuzz target over its seeds, so that what fuzzing found stays found.

use std::path::Path;

#[path = "../../../../fuzz/src/sse.rs"]
mod sse;

#[test]
fn framer_seeds() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/sse");
    let mut paths: Vec<_> = std::fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 20, "{} seeds", paths.len());
    for path in &paths {
        println!("{}", path.display());
        sse::run(&std::fs::read(path).unwrap());
    }
}

//! The scripts in the guide load, and the tables of the guide are complete.

use kilter_mock::{Script, dialect};

const GUIDE: &str = include_str!("../../../../docs/mock.md");

#[test]
fn every_script_of_the_guide_loads() {
    let mut n = 0;
    for block in GUIDE.split("```toml\n").skip(1) {
        let text = block.split("```").next().expect("a block");
        Script::from_toml(text).unwrap_or_else(|e| panic!("{e}\n---\n{text}"));
        n += 1;
    }
    assert!(n >= 8, "{n} scripts");
}

#[test]
fn the_guide_names_every_dialect_and_pair() {
    for d in dialect::names().into_iter().chain(dialect::marker_names()) {
        assert!(GUIDE.contains(&format!("`{d}`")), "the guide lacks `{d}`");
    }
}

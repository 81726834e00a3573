//! Lists the dialect files of `dialects/` in the order of `dialects/ORDER`.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Error, Write as _};
use std::path::Path;

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(Error::other)?;
    let out = env::var("OUT_DIR").map_err(Error::other)?;
    let folder = Path::new(&root).join("dialects");
    let order = fs::read_to_string(folder.join("ORDER"))?;
    let names: Vec<&str> = order
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();

    let mut unlisted = BTreeSet::new();
    for entry in fs::read_dir(&folder)? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(".toml") {
            unlisted.insert(name.to_owned());
        }
    }
    let mut list = String::from("&[\n");
    for name in names {
        if !unlisted.remove(name) {
            return Err(Error::other(format!(
                "dialects/ORDER names `{name}`, which is no file or was named before"
            )));
        }
        let path = folder.join(format!("{name}.toml"));
        writeln!(list, "    ({name:?}, include_str!({path:?})),").map_err(Error::other)?;
    }
    if !unlisted.is_empty() {
        return Err(Error::other(format!("dialects/ORDER lacks {unlisted:?}")));
    }
    list.push_str("]\n");
    fs::write(Path::new(&out).join("dialects.rs"), list)?;
    io::stdout().write_all(b"cargo::rerun-if-changed=dialects\n")
}

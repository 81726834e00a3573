//! A lower crate never imports a higher one.

use anyhow::{Context, Result};

use crate::tree::{Finding, Tree};

/// From the bottom up; each crate with the workspace crates that its code may use.
const LAYERS: [(&str, &[&str]); 10] = [
    ("kilter-core", &[]),
    ("kilter-wire", &["kilter-core"]),
    ("kilter-behavior", &["kilter-core"]),
    ("kilter-mock", &["kilter-core", "kilter-wire"]),
    (
        "kilter-gateway",
        &["kilter-core", "kilter-wire", "kilter-behavior"],
    ),
    ("kilter-web", &["kilter-core"]),
    ("kilter-mcp", &["kilter-core", "kilter-web"]),
    (
        "kilter-fit",
        &[
            "kilter-core",
            "kilter-wire",
            "kilter-behavior",
            "kilter-mock",
            "kilter-gateway",
        ],
    ),
    (
        "kilter",
        &[
            "kilter-core",
            "kilter-wire",
            "kilter-behavior",
            "kilter-mock",
            "kilter-gateway",
            "kilter-web",
            "kilter-mcp",
            "kilter-fit",
        ],
    ),
    ("xtask", &[]),
];

pub fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in tree.paths() {
        let parts: Vec<&str> = path.split('/').collect();
        let name = match parts.as_slice() {
            ["crates", name, "Cargo.toml"] => *name,
            ["xtask", "Cargo.toml"] => "xtask",
            _ => continue,
        };
        let Some(text) = tree.text(path)? else {
            continue;
        };
        let manifest: toml::Table = text
            .parse()
            .with_context(|| format!("`{path}` is not TOML"))?;
        for (line, message) in judge(name, &manifest, &text) {
            findings.push(Finding {
                path: path.to_owned(),
                line,
                message,
            });
        }
    }
    Ok(findings)
}

fn judge(name: &str, manifest: &toml::Table, text: &str) -> Vec<(usize, String)> {
    let Some(height) = height(name) else {
        return vec![(
            0,
            format!(
                "crate `{name}` has no place in the table of xtask/src/layers.rs; add it there"
            ),
        )];
    };
    let allowed = LAYERS[height].1;
    let mut findings = Vec::new();
    let mut look = |section: &str, fault: &dyn Fn(&str) -> Option<String>| {
        for used in manifest
            .get(section)
            .and_then(toml::Value::as_table)
            .into_iter()
            .flat_map(toml::Table::keys)
        {
            if used != "kilter" && !used.starts_with("kilter-") {
                continue;
            }
            if let Some(message) = fault(used) {
                let at = text
                    .lines()
                    .position(|line| line.trim_start().starts_with(used.as_str()));
                findings.push((at.map_or(0, |index| index + 1), message));
            }
        }
    };
    for section in ["dependencies", "build-dependencies"] {
        look(section, &|used| {
            (!allowed.contains(&used))
                .then(|| format!("`{name}` may not use `{used}`; it may use {allowed:?}"))
        });
    }
    // A test may drive the crate with anything below it, never with what stands on top of it.
    look("dev-dependencies", &|used| {
        crate::layers::height(used)
            .is_none_or(|other| other >= height)
            .then(|| format!("tests of `{name}` may not use `{used}`, which is not below it"))
    });
    findings
}

fn height(name: &str) -> Option<usize> {
    LAYERS.iter().position(|(known, _)| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(name: &str, text: &str) -> Vec<(usize, String)> {
        judge(name, &text.parse().unwrap(), text)
    }

    #[test]
    fn the_table_only_ever_points_down() {
        for (index, (name, allowed)) in LAYERS.iter().enumerate() {
            for used in *allowed {
                assert!(height(used).unwrap() < index, "{name} uses {used}");
            }
        }
    }

    #[test]
    fn a_planted_upward_import_is_found_with_its_line() {
        let found = messages(
            "kilter-wire",
            "[dependencies]\nserde = \"1\"\nkilter-gateway.workspace = true\n",
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 3);
        assert!(
            found[0]
                .1
                .contains("`kilter-wire` may not use `kilter-gateway`"),
            "{}",
            found[0].1
        );
    }

    #[test]
    fn tests_may_look_down_only() {
        assert!(
            messages(
                "kilter-gateway",
                "[dev-dependencies]\nkilter-mock.workspace = true\n"
            )
            .is_empty()
        );
        assert_eq!(
            messages(
                "kilter-mock",
                "[dev-dependencies]\nkilter-gateway.workspace = true\n"
            )
            .len(),
            1
        );
    }

    #[test]
    fn an_unknown_crate_is_asked_to_take_its_place() {
        assert!(messages("kilter-new", "")[0].1.contains("has no place"));
    }
}

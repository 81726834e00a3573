//! What a workspace file may say: it narrows what the operator allows, and adds backends.
//!
//! A workspace may be somebody else's repository. It can therefore not take over an operator's
//! backend, open the port, write elsewhere, arm more dialects, call more tools harmless, or have a
//! key of the operator's sent to an address off this machine.

use toml::Table;

use super::{Config, ConfigError};

/// Applies a workspace file on top of the operator's configuration.
///
/// # Errors
/// [`ConfigError::Widens`] for the first key that asks for more.
pub fn apply(base: &mut Config, file: Config, keys: &Table, name: &str) -> Result<(), ConfigError> {
    let widens = |key: &str, message: &str, hint: &str| ConfigError::Widens {
        file: name.to_owned(),
        key: key.to_owned(),
        message: message.to_owned(),
        hint: hint.to_owned(),
    };
    let theirs = "belongs to the operator's file";
    let pass = "pass this file with `--config` if you trust it, or move the key there";
    for (section, allowed) in [
        ("gateway", &["adapt"][..]),
        (
            "behavior",
            &["dialects", "weak_markers", "continue_overflow"][..],
        ),
        ("tools", &["read_only"][..]),
        ("capture", &["mode"][..]),
        ("state", &[][..]),
        ("trace", &[][..]),
        ("compensations", &["off"][..]),
    ] {
        let Some(table) = keys.get(section).and_then(|v| v.as_table()) else {
            continue;
        };
        for key in table.keys() {
            if !allowed.contains(&key.as_str()) {
                return Err(widens(&format!("{section}.{key}"), theirs, pass));
            }
        }
    }
    for b in file.backends {
        if base.backends.iter().any(|o| o.name == b.name) {
            return Err(widens(
                &format!("backends.{}", b.name),
                "is already the operator's",
                "give it another name",
            ));
        }
        let refers = b
            .api_key
            .iter()
            .chain(b.headers.values())
            .any(super::Secret::is_reference);
        if refers && !super::check::is_loopback_url(&b.endpoint) {
            return Err(widens(
                &format!("backends.{}.api_key", b.name),
                "would send a key of yours to an address that only this workspace names",
                pass,
            ));
        }
        base.backends.push(b);
    }
    for (alias, target) in file.aliases {
        if base.aliases.contains_key(&alias) {
            return Err(widens(
                &format!("aliases.{alias}"),
                "is already the operator's",
                "give it another name",
            ));
        }
        base.aliases.insert(alias, target);
    }
    let has = |section: &str, key: &str| {
        keys.get(section)
            .and_then(|v| v.as_table())
            .is_some_and(|t| t.contains_key(key))
    };
    if has("gateway", "adapt") {
        if (file.gateway.adapt as u8) > (base.gateway.adapt as u8) {
            return Err(widens(
                "gateway.adapt",
                "touches more than the operator allows",
                pass,
            ));
        }
        base.gateway.adapt = file.gateway.adapt;
    }
    if has("behavior", "weak_markers") {
        base.behavior.weak_markers = base.behavior.weak_markers.max(file.behavior.weak_markers);
    }
    if has("behavior", "continue_overflow") {
        base.behavior.continue_overflow &= file.behavior.continue_overflow;
    }
    if let Some(keep) = file.behavior.dialects {
        base.behavior.dialects = Some(match &base.behavior.dialects {
            Some(operator) => keep.into_iter().filter(|d| operator.contains(d)).collect(),
            None => keep,
        });
    }
    if has("tools", "read_only") {
        if let Some(more) = file
            .tools
            .read_only
            .iter()
            .find(|p| !base.tools.read_only.contains(p))
        {
            return Err(widens(
                "tools.read_only",
                &format!("calls `{more}` harmless, which the operator does not"),
                pass,
            ));
        }
        base.tools.read_only = file.tools.read_only;
    }
    if has("capture", "mode") {
        base.capture.mode = base.capture.mode.min(file.capture.mode);
    }
    base.compensations.off.extend(file.compensations.off);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::load::parse;
    use super::super::{Adapt, WeakMarkers};
    use super::*;

    fn narrowed(operator: &str, workspace: &str) -> Result<Config, ConfigError> {
        let mut base = parse(operator, "operator").unwrap();
        let file = parse(workspace, "workspace").unwrap();
        apply(&mut base, file, &workspace.parse().unwrap(), "workspace")?;
        Ok(base)
    }

    #[test]
    fn narrowing_holds() {
        let c = narrowed(
            "[behavior]\ndialects = [\"a\", \"b\"]\n[tools]\nread_only = [\"read_*\", \"ls\"]",
            "[behavior]\ndialects = [\"b\", \"c\"]\nweak_markers = \"off\"\n[tools]\nread_only = [\"ls\"]\n[gateway]\nadapt = \"observe\"",
        )
        .unwrap();
        assert_eq!(c.behavior.dialects, Some(vec!["b".to_owned()]));
        assert_eq!(c.behavior.weak_markers, WeakMarkers::Off);
        assert_eq!(c.tools.read_only, ["ls"]);
        assert_eq!(c.gateway.adapt, Adapt::Observe);
    }

    #[test]
    fn widening_is_refused() {
        for workspace in [
            "[gateway]\nbind = \"0.0.0.0:1\"",
            "[state]\ndir = \"/elsewhere\"",
            "[behavior]\ndialect_files = [\"x.toml\"]",
            "[tools]\nread_only = [\"*\"]",
            "[[backends]]\nname = \"mine\"\nendpoint = \"http://127.0.0.1:2/v1\"",
            "[[backends]]\nname = \"x\"\nendpoint = \"https://example.org/v1\"\napi_key = \"env:KEY\"",
        ] {
            let operator = "[[backends]]\nname = \"mine\"\nendpoint = \"http://127.0.0.1:1/v1\"";
            let e = narrowed(operator, workspace).unwrap_err().to_string();
            assert!(e.contains("hint:"), "{workspace}: {e}");
        }
        let e = narrowed("[gateway]\nadapt = \"off\"", "[gateway]\nadapt = \"on\"");
        assert!(e.is_err());
    }

    #[test]
    fn a_workspace_may_bring_a_local_backend() {
        let c = narrowed(
            "",
            "[[backends]]\nname = \"x\"\nendpoint = \"http://localhost:8080/v1\"\napi_key = \"env:K\"",
        )
        .unwrap();
        assert_eq!(c.backends[0].name, "x");
    }
}

//! `kilter config`: check, show and describe `kilter.toml`, and load it for the other commands.

use std::path::{Path, PathBuf};

use kilter_core::Exit;
use kilter_gateway::Config;
use kilter_gateway::config::{ConfigError, Finding, Layers, Severity};

use crate::cli::Global;
use crate::cli::small::{Config as ConfigArgs, ConfigAction};
use crate::failure::{Failure, Outcome};
use crate::output::{Out, counted};
use crate::place;

pub(crate) fn run(args: &ConfigArgs, global: &Global, out: &Out) -> Outcome {
    match &args.action {
        ConfigAction::Schema => {
            out.json(&Config::json_schema())?;
            Ok(Exit::Ok)
        }
        ConfigAction::Check { file } => check(file.as_deref(), global, out),
        ConfigAction::Show { json } => {
            let config = load(&layers(global, Vec::new()))?;
            if *json {
                out.json(&config)?;
            } else {
                let text = toml::to_string_pretty(&config).map_err(anyhow::Error::from)?;
                out.raw(text.as_bytes())?;
            }
            Ok(Exit::Ok)
        }
    }
}

/// The layers that hold for this command line. `--config FILE` stands alone: it is the operator's
/// word for this run.
pub(crate) fn layers(global: &Global, mut flags: Vec<(String, String)>) -> Layers {
    if let Some(state) = &global.state {
        flags.push(("state.dir".to_owned(), state.display().to_string()));
    }
    let (operator, workspace) = match &global.config {
        Some(file) => (Some(file.clone()), None),
        None => (
            place::operator_config().filter(|p| p.is_file()),
            Some(PathBuf::from(place::CONFIG_FILE)).filter(|p| p.is_file()),
        ),
    };
    Layers {
        operator,
        workspace,
        env: std::env::vars()
            .filter(|(name, _)| name.starts_with("KILTER_"))
            .collect(),
        flags,
    }
}

/// Reads the configuration.
pub(crate) fn load(layers: &Layers) -> Result<Config, Failure> {
    layers.load().map_err(|e| wrong(&e))
}

fn wrong(error: &ConfigError) -> Failure {
    Failure::worded(Exit::Usage, &error.to_string())
}

/// The findings that keep it from starting, as one failure.
pub(crate) fn refuse_errors(findings: &[Finding], out: &Out) -> Result<(), Failure> {
    let (errors, warnings): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|f| f.severity == Severity::Error);
    for w in warnings {
        out.warn(&format!("`{}`: {}", w.key, w.message), Some(&w.hint));
    }
    match errors.first() {
        None => Ok(()),
        Some(first) => Err(
            Failure::usage(format!("`{}`: {}", first.key, first.message)).hint(first.hint.clone()),
        ),
    }
}

/// Keys that have no value here. Only a warning: the file may be checked on another machine than the
/// one that it is for.
fn unread_keys(config: &Config) -> Vec<Finding> {
    let env = |name: &str| std::env::var(name).ok();
    config
        .backends
        .iter()
        .filter_map(|b| Some((b, b.api_key.as_ref()?.reveal(&env).err()?.to_string())))
        .map(|(b, words)| {
            let (message, hint) = words.split_once("\nhint: ").unwrap_or((&words, ""));
            Finding {
                severity: Severity::Warning,
                key: format!("backends.{}.api_key", b.name),
                message: message.to_owned(),
                hint: hint.to_owned(),
            }
        })
        .collect()
}

fn check(file: Option<&Path>, global: &Global, out: &Out) -> Outcome {
    let layers = match file {
        Some(file) => Layers::file(file),
        None => layers(global, Vec::new()),
    };
    let files: Vec<String> = [&layers.operator, &layers.workspace]
        .into_iter()
        .flatten()
        .map(|p| format!("`{}`", p.display()))
        .collect();
    if files.is_empty() {
        return Err(Failure::unavailable(format!(
            "there is no `{}` here and none of the operator",
            place::CONFIG_FILE
        ))
        .hint("`kilter fit URL --save` writes one, `kilter config schema` describes it"));
    }
    let config = layers.load().map_err(|e| Failure {
        exit: Exit::Negative,
        ..wrong(&e)
    })?;
    let mut findings = config.check();
    findings.extend(unread_keys(&config));
    let mut errors = 0_usize;
    for f in &findings {
        let words = format!("`{}`: {}", f.key, f.message);
        match f.severity {
            Severity::Error => {
                errors += 1;
                out.error(&words, Some(&f.hint));
            }
            Severity::Warning => out.warn(&words, Some(&f.hint)),
        }
    }
    let warnings = findings.len() - errors;
    out.line(&format!(
        "{}: {}, {}, {}",
        files.join(" and "),
        counted(errors, "error"),
        counted(warnings, "warning"),
        counted(config.backends.len(), "backend")
    ))?;
    Ok(if errors > 0 { Exit::Negative } else { Exit::Ok })
}

//! `kilter playbook`: what is wrong with a document, and which one holds.

use std::path::PathBuf;

use kilter_core::Exit;
use kilter_web::FailureCode;
use kilter_web::playbook::lint::Severity;
use kilter_web::playbook::{Grade, Shelf, Source, Tier, lint, resolve};

use super::receipts::{keys_failed, read, store};
use crate::cli::Global;
use crate::cli::playbook::{Playbook, PlaybookAction};
use crate::failure::Outcome;
use crate::output::{Out, Style, counted};
use crate::place;

pub(crate) fn run(args: &Playbook, global: &Global, out: &Out) -> Outcome {
    match &args.action {
        PlaybookAction::Lint { file, json } => check(&read(file.as_deref())?, *json, out),
        PlaybookAction::Resolve {
            url,
            dir,
            lessons,
            json,
        } => {
            let keys = store(global, true)
                .public_keys()
                .map_err(|e| keys_failed(&e))?;
            match resolve(&shelf(global, dir), url, *lessons, &keys) {
                Ok(found) if *json => {
                    out.json(&found)?;
                    Ok(Exit::Ok)
                }
                Ok(found) => {
                    let mut rows = vec![
                        ("playbook", found.playbook_id.clone()),
                        ("selectors", found.content_selectors.join(", ")),
                    ];
                    rows.extend(found.page_class.clone().map(|c| ("class", c)));
                    rows.extend(found.preferred_backend.clone().map(|b| ("backend", b)));
                    if !found.knowledge_fields.is_empty() {
                        rows.push(("fields", found.knowledge_fields.join(", ")));
                    }
                    rows.extend(found.agent_notes.clone().map(|n| ("notes", n)));
                    rows.extend(found.source_path.map(|p| ("file", p.display().to_string())));
                    for (name, value) in rows {
                        out.line(&format!("{name:<9}  {}", value.escape_debug()))?;
                    }
                    for lesson in found.lessons.iter().flatten() {
                        out.line(&format!("lesson     {}", lesson.note.escape_debug()))?;
                    }
                    Ok(Exit::Ok)
                }
                Err(failure) => {
                    if *json {
                        out.json(&kilter_web::cascade::reply::failed(&failure))?;
                    } else {
                        out.error(
                            &failure.message,
                            Some("playbooks lie in `playbooks/local` of the state folder; `--dir` names others"),
                        );
                    }
                    Ok(if failure.code == FailureCode::InvalidUrl {
                        Exit::Usage
                    } else {
                        Exit::Negative
                    })
                }
            }
        }
    }
}

/// The playbooks of this installation, and those of the folders that were named.
pub(crate) fn shelf(global: &Global, dirs: &[PathBuf]) -> Shelf {
    let state = global.state.clone().unwrap_or_else(place::state);
    let mut sources = vec![Source {
        tier: Tier::Local,
        dir: state.join("playbooks").join("local"),
    }];
    sources.extend(dirs.iter().map(|dir| Source {
        tier: Tier::User,
        dir: dir.clone(),
    }));
    Shelf::read(&sources)
}

fn check(text: &str, json: bool, out: &Out) -> Outcome {
    let said = lint(text);
    let broken = said.grade == Grade::Broken;
    if json {
        out.json(&said)?;
    } else {
        for issue in &said.issues {
            let word = match issue.severity {
                Severity::Error => out.paint(Style::Red, "error"),
                Severity::Warning => out.paint(Style::Yellow, "warning"),
                Severity::Info => out.paint(Style::Dim, "info"),
            };
            let field = if issue.field.is_empty() {
                String::new()
            } else {
                format!("{}: ", issue.field)
            };
            out.line(&format!("{word}: {field}{}", issue.message.escape_debug()))?;
        }
        let (word, style) = match said.grade {
            Grade::Ready => ("ready", Style::Green),
            Grade::Usable => ("usable", Style::Yellow),
            Grade::Broken => ("broken", Style::Red),
        };
        out.line(&format!(
            "{}: {}, {}",
            out.paint(style, word),
            counted(said.errors, "error"),
            counted(said.warnings, "warning")
        ))?;
    }
    Ok(if broken { Exit::Negative } else { Exit::Ok })
}

//! One parser for everything that takes a playbook: what it says is what lint says and what save refuses.

use serde::Serialize;
use serde_json::Value;

use super::document::{Playbook, WAIT_MAX_MS, is_secret_like};
use crate::dom::select::Selector;
use crate::knowledge::pattern;

/// Longest document, in bytes.
pub const LONGEST: usize = 256 << 10;

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It cannot be used.
    Error,
    /// It can be used, and something is wrong.
    Warning,
    /// It could be better.
    Info,
}

/// Something to say about a playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// Which field, as a path.
    pub field: String,
    /// A stable word.
    pub code: &'static str,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Without errors and warnings.
    Ready,
    /// With warnings.
    Usable,
    /// With errors.
    Broken,
}

/// What lint says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lint {
    /// What it comes to.
    pub grade: Grade,
    /// Whether a reader can use it as it is.
    pub agent_ready: bool,
    /// How many errors.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
    /// How many remarks.
    pub infos: usize,
    /// All of them.
    pub issues: Vec<Issue>,
}

/// Reads a playbook and says all there is to say about it. The document is there unless it is broken beyond reading.
pub fn parse(text: &str) -> (Option<Playbook>, Lint) {
    let mut issues = Vec::new();
    let mut say = |severity, field: &str, code, message: String| {
        issues.push(Issue {
            severity,
            field: field.to_owned(),
            code,
            message,
        });
    };
    let error = Severity::Error;
    if text.len() > LONGEST {
        say(
            error,
            "",
            "too_long",
            format!("the document is longer than {LONGEST} bytes"),
        );
        return (None, graded(issues));
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(e) => {
            say(error, "", "bad_json", format!("this is not JSON: {e}"));
            return (None, graded(issues));
        }
    };
    if !value.is_object() {
        say(
            error,
            "",
            "not_an_object",
            "a playbook is a JSON object".to_owned(),
        );
        return (None, graded(issues));
    }
    let mut secrets = Vec::new();
    find_secrets(&value, "", &mut secrets);
    for field in secrets {
        say(
            error,
            &field,
            "secret",
            "this looks like a secret; playbooks hold none, session profiles do".to_owned(),
        );
    }
    let book: Playbook = match serde_json::from_value(value) {
        Ok(book) => book,
        Err(e) => {
            say(error, "", "wrong_type", e.to_string());
            return (None, graded(issues));
        }
    };
    look(&book, &mut say);
    (Some(book), graded(issues))
}

/// Lint alone.
pub fn lint(text: &str) -> Lint {
    parse(text).1
}

fn look(book: &Playbook, say: &mut impl FnMut(Severity, &str, &'static str, String)) {
    use Severity::{Error, Info, Warning};
    match book.schema_version.as_str() {
        "" => say(
            Error,
            "schema_version",
            "missing",
            "`schema_version` is missing; this one would be `1.0`".to_owned(),
        ),
        v if v != "1" && !v.starts_with("1.") => {
            say(
                Error,
                "schema_version",
                "unsupported",
                format!("`schema_version` is `{v}`; 1.x is known"),
            );
        }
        _ => {}
    }
    if book.id.trim().is_empty() {
        say(Error, "id", "missing", "`id` is missing".to_owned());
    } else if !book
        .id
        .chars()
        .all(|c| c.is_alphanumeric() || "-_.".contains(c))
        || book.id.starts_with('.')
    {
        say(
            Error,
            "id",
            "invalid",
            "`id` is made of letters, digits, `-`, `_` and `.`, and does not begin with `.`"
                .to_owned(),
        );
    }
    if book.hosts.is_empty() {
        say(
            Error,
            "hosts",
            "missing",
            "`hosts` names no host".to_owned(),
        );
    }
    for (i, host) in book.hosts.iter().enumerate() {
        if !is_bare(host) {
            say(
                Warning,
                &format!("hosts[{i}]"),
                "host_not_bare",
                format!("`{host}` is no bare host name in lower case"),
            );
        }
    }
    let selectors = &book.extract.content_selectors;
    if selectors.is_empty() {
        say(
            Error,
            "extract.contentSelectors",
            "missing",
            "`extract.contentSelectors` names no selector".to_owned(),
        );
    }
    for (i, selector) in selectors.iter().enumerate() {
        if selector.trim().is_empty() {
            say(
                Warning,
                &format!("extract.contentSelectors[{i}]"),
                "blank_selector",
                "the selector is blank".to_owned(),
            );
        }
    }
    let all = selectors.iter().enumerate();
    let content = all.map(|(i, s)| (format!("extract.contentSelectors[{i}]"), s));
    let all = book.extract.drop_selectors.iter().enumerate();
    let dropped = all.map(|(i, s)| (format!("extract.dropSelectors[{i}]"), s));
    for (field, selector) in content.chain(dropped) {
        unreadable(&field, selector, say);
    }
    if let Some(backend) = &book.routing.preferred_backend
        && !["http", "browser", "http_then_browser", "http-then-browser"]
            .contains(&backend.as_str())
    {
        say(
            Warning,
            "routing.preferred_backend",
            "invalid_backend",
            format!("`{backend}` is not one of http, browser, http_then_browser"),
        );
    }
    let wait = book
        .browser
        .as_ref()
        .and_then(|b| b.wait_for.as_ref())
        .and_then(|w| w.timeout_ms);
    if wait.is_some_and(|ms| ms > WAIT_MAX_MS) {
        say(
            Warning,
            "browser.wait_for.timeout_ms",
            "too_long",
            format!("waits of more than {WAIT_MAX_MS} ms are cut"),
        );
    }
    for (class, fields) in &book.knowledge_schema {
        let has_route = class == "default"
            || book
                .genome
                .as_ref()
                .is_some_and(|g| g.page_classes.contains_key(class));
        if !has_route {
            say(
                Warning,
                &format!("knowledge_schema.{class}"),
                "class_without_route",
                format!("no path leads to the class `{class}`; name one in `genome.page_classes`"),
            );
        }
        for (name, field) in fields {
            if field.selector.trim().is_empty() && field.attr != "const" {
                say(
                    Warning,
                    &format!("knowledge_schema.{class}.{name}"),
                    "blank_selector",
                    "the field has no selector".to_owned(),
                );
            }
            let field_path = format!("knowledge_schema.{class}.{name}");
            unreadable(&field_path, &field.selector, say);
            if field.attr == "regex" && pattern(field).is_none() {
                say(
                    Warning,
                    &field_path,
                    "bad_pattern",
                    "`value` is no pattern that can be read".to_owned(),
                );
            }
        }
    }
    if book.meta.title.trim().is_empty() {
        say(
            Warning,
            "meta.title",
            "missing",
            "it has no title".to_owned(),
        );
    }
    if book
        .agent_notes
        .as_deref()
        .is_none_or(|n| n.trim().is_empty())
    {
        say(
            Info,
            "agent_notes",
            "missing",
            "there are no notes for whoever reads with it".to_owned(),
        );
    }
}

/// Says that a selector finds nothing, because it cannot be read.
fn unreadable(
    field: &str,
    selector: &str,
    say: &mut impl FnMut(Severity, &str, &'static str, String),
) {
    if selector.trim().is_empty() {
        return;
    }
    if let Err(e) = Selector::parse(selector) {
        say(Severity::Warning, field, "bad_selector", e.to_string());
    }
}

fn graded(issues: Vec<Issue>) -> Lint {
    let count = |s| issues.iter().filter(|i| i.severity == s).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let grade = match (errors, warnings) {
        (0, 0) => Grade::Ready,
        (0, _) => Grade::Usable,
        _ => Grade::Broken,
    };
    Lint {
        grade,
        agent_ready: grade != Grade::Broken,
        errors,
        warnings,
        infos: count(Severity::Info),
        issues,
    }
}

/// A host name without scheme, port, path or capital letters.
fn is_bare(host: &str) -> bool {
    !host.is_empty()
        && *host == host.to_lowercase()
        && !host.contains(|c: char| c.is_whitespace() || "/:@?#*\\".contains(c))
        && !host.starts_with('.')
        && !host.ends_with('.')
}

/// Names of fields that hold secrets, in whatever spelling.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "authorization",
    "cookie",
    "cookies",
    "setcookie",
    "credential",
    "credentials",
    "privatekey",
];

fn find_secrets(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                let path = if at.is_empty() {
                    name.clone()
                } else {
                    format!("{at}.{name}")
                };
                // Digests and signatures of the provenance are no secrets.
                if path == "provenance" {
                    continue;
                }
                let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
                if SECRET_NAMES.contains(&bare.to_ascii_lowercase().as_str()) && !inner.is_object()
                {
                    out.push(path);
                } else {
                    find_secrets(inner, &path, out);
                }
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                find_secrets(item, &format!("{at}[{i}]"), out);
            }
        }
        Value::String(s) if s.split_whitespace().any(is_secret_like) => out.push(at.to_owned()),
        _ => {}
    }
}

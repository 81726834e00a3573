//! Typed fields of a page by a playbook's schema.

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::block;
use crate::dom::select::Selector;
use crate::dom::{Document, NodeId, fold};
use crate::failure::{Failure, FailureCode};
use crate::hash::{prefixed, sha256};
use crate::playbook::{Field, Playbook};
use crate::receipt::Content;
use crate::receipt::jcs::canonical;

/// Values of one field at most.
const VALUES: usize = 1_000;
/// Characters of one value at most.
const LENGTH: usize = 10_000;
/// Bytes that a playbook's pattern may take when it is made ready.
const PATTERN: usize = 1 << 20;

/// What is asked: the arguments of `extract_knowledge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeRequest {
    /// The page.
    pub url: String,
    /// How it is fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_policy: Option<String>,
    /// Name of a session profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_profile: Option<String>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The field.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it was found.
    pub selector: String,
}

/// What a page gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Knowledge {
    /// The playbook.
    pub playbook_id: String,
    /// The class of the page.
    pub page_class: String,
    /// The values, in the schema's order.
    pub facts: Vec<Fact>,
    /// Fields with several values, side by side: the first of each, the second of each, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Value>,
    /// Fields that were not on the page.
    pub missing: Vec<String>,
    /// Share of the fields that were found.
    pub confidence: f64,
    /// Hash of the facts, for the receipt that signs them.
    pub facts_hash: String,
}

impl Knowledge {
    /// What a receipt of the facts states: their hash stands where that of a page's Markdown would.
    pub fn content(&self) -> Content {
        Content {
            content_hash: self.facts_hash.clone(),
            confidence: Some(self.confidence),
            ..Content::default()
        }
    }
}

/// Extracts the fields that a playbook has for a page. Addresses are absolute; a pattern gives its first group, or all that
/// it matches.
///
/// # Errors
/// Those of [`extract`].
pub fn of_page(book: &Playbook, doc: &Document, url: &url::Url) -> Result<Knowledge, Failure> {
    let base = block::base_of(doc, Some(url.as_str()));
    extract(book, url.path(), |field| {
        let Ok(selector) = Selector::parse(&field.selector) else {
            return Vec::new();
        };
        let pattern = pattern(field);
        let one = |id: NodeId| {
            let text = || fold(&doc.text_of(id));
            let value = match field.attr.as_str() {
                "" | "text" => text(),
                "regex" => {
                    let text = text();
                    let found = pattern.as_ref()?.captures(&text)?;
                    found.get(1).or_else(|| found.get(0))?.as_str().to_owned()
                }
                name => {
                    let value = doc.attr(id, name)?.trim();
                    match (&base, name) {
                        (Some(base), "href" | "src" | "action" | "poster") => {
                            base.join(value).ok()?.to_string()
                        }
                        _ => value.to_owned(),
                    }
                }
            };
            Some(value.chars().take(LENGTH).collect())
        };
        selector
            .all(doc, NodeId::ROOT)
            .filter_map(one)
            .filter(|v: &String| !v.is_empty())
            .take(VALUES)
            .collect()
    })
}

/// The pattern of a field, where it has one that can be read. Patterns take time in proportion to the text.
pub(crate) fn pattern(field: &Field) -> Option<regex::Regex> {
    (field.attr == "regex").then_some(())?;
    RegexBuilder::new(field.value.as_deref()?)
        .size_limit(PATTERN)
        .build()
        .ok()
}

/// Extracts the fields that a playbook has for a path. `find` gives the values of a field on the page, in order.
///
/// # Errors
/// `knowledge_schema_missing`, `page_class_unmatched`, `knowledge_schema_empty`.
pub fn extract(
    book: &Playbook,
    path: &str,
    mut find: impl FnMut(&Field) -> Vec<String>,
) -> Result<Knowledge, Failure> {
    if book.knowledge_schema.is_empty() {
        return Err(Failure::new(
            FailureCode::KnowledgeSchemaMissing,
            format!("the playbook `{}` has no fields to extract", book.id),
        )
        .then("continue", "read the page as text instead"));
    }
    let class = book.page_class(path);
    let (page_class, fields) = book.fields(class).ok_or_else(|| {
        Failure::new(
            FailureCode::PageClassUnmatched,
            format!(
                "the playbook `{}` has fields, but none for `{path}`",
                book.id
            ),
        )
        .then("continue", "read the page as text instead")
    })?;
    let (mut facts, mut missing) = (Vec::new(), Vec::new());
    let mut columns: Vec<(&String, Vec<String>)> = Vec::new();
    for (name, field) in fields {
        let mut values: Vec<String> = if field.attr == "const" {
            field.value.clone().into_iter().collect()
        } else {
            find(field)
        };
        values.retain(|v| !v.trim().is_empty());
        if values.is_empty() {
            missing.push(name.clone());
            continue;
        }
        if !field.multiple {
            values.truncate(1);
        } else {
            columns.push((name, values.clone()));
        }
        facts.extend(values.into_iter().map(|value| Fact {
            name: name.clone(),
            value,
            selector: field.selector.clone(),
        }));
    }
    let asked = fields.len();
    let found = asked - missing.len();
    let real = fields
        .iter()
        .any(|(n, f)| f.attr != "const" && !missing.contains(n));
    if !real {
        return Err(Failure::new(
            FailureCode::KnowledgeSchemaEmpty,
            "none of the playbook's fields is on the page",
        )
        .then("revise_playbook", "the site may have changed"));
    }
    // Columns of one length belong together; columns of different lengths would be paired by chance.
    let rows = match columns.first() {
        Some((_, first)) if columns.iter().all(|(_, c)| c.len() == first.len()) => (0..first.len())
            .map(|i| {
                columns
                    .iter()
                    .map(|(n, c)| ((*n).clone(), json!(c[i])))
                    .collect()
            })
            .map(Value::Object)
            .collect(),
        _ => Vec::new(),
    };
    #[expect(clippy::cast_precision_loss, reason = "a handful of fields")]
    let confidence = ((found as f64 / asked as f64) * 1_000.0).round() / 1_000.0;
    let bytes = canonical(&json!(facts)).unwrap_or_default();
    Ok(Knowledge {
        playbook_id: book.id.clone(),
        page_class: page_class.to_owned(),
        facts,
        rows,
        missing,
        confidence,
        facts_hash: prefixed(&sha256(&[b"kilter-facts\0", &bytes])),
    })
}

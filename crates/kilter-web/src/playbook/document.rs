//! The document of a playbook: how one site is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::page::ReadOptions;

/// A playbook. Unknown fields are kept in `rest`: a document of a later 1.x loses nothing here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Playbook {
    /// `1.x`.
    pub schema_version: String,
    /// Its identifier.
    pub id: String,
    /// Version of its content, free.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Host names, bare and in lower case.
    pub hosts: Vec<String>,
    /// Title and tags.
    pub meta: Meta,
    /// How to fetch.
    pub routing: Routing,
    /// What the page is.
    pub extract: Extract,
    /// What a browser does before reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<Browser>,
    /// What kinds of page the site has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub genome: Option<Genome>,
    /// Fields by page class: class or `default` → name → field.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub knowledge_schema: BTreeMap<String, BTreeMap<String, Field>>,
    /// Notes for whoever reads with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_notes: Option<String>,
    /// What was learnt, newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lessons: Vec<Lesson>,
    /// Signature; see [`super::signature`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Value>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: BTreeMap<String, Value>,
}

/// Title and tags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// How to fetch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Routing {
    /// `http`, `browser` or `http_then_browser`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_backend: Option<String>,
}

/// What the page is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extract {
    /// CSS selectors of the content.
    #[serde(rename = "contentSelectors")]
    pub content_selectors: Vec<String>,
    /// CSS selectors of what is not content.
    #[serde(rename = "dropSelectors", skip_serializing_if = "Vec::is_empty")]
    pub drop_selectors: Vec<String>,
}

/// What a browser does before reading. Scripts run only where the operator allows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Browser {
    /// Runs before waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub js_before_wait: Option<String>,
    /// What to wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<WaitFor>,
    /// Scroll, click, wait, type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interaction_steps: Vec<Value>,
}

/// What to wait for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitFor {
    /// An element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// A condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub js: Option<String>,
    /// At most this long; 12,000 is the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Longest wait of a playbook.
pub const WAIT_MAX_MS: u64 = 12_000;

/// What kinds of page the site has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Genome {
    /// What the site is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub site_type: String,
    /// What it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Class → path, or the beginning of paths followed by `*`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub page_classes: BTreeMap<String, Route>,
    /// Hints for finding one's way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nav_hints: Option<Value>,
}

/// One path or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Route {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Route {
    fn paths(&self) -> &[String] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Many(paths) => paths,
        }
    }
}

/// One field of the knowledge schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Field {
    /// Where it stands.
    pub selector: String,
    /// `text` (default), the name of an attribute, `regex` or `const`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub attr: String,
    /// The pattern of `regex`, the value of `const`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether all that match are taken.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
}

/// Something learnt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lesson {
    /// When, RFC 3339.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// What.
    pub note: String,
    /// Word of the failure that it was learnt from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who learnt it, by the name that the caller gives itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// Lessons that a playbook keeps.
pub const LESSONS_MAX: usize = 50;
/// Longest lesson, in characters.
pub const LESSON_LENGTH: usize = 500;

impl Playbook {
    /// What a read of this site asks for besides what the caller asks.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            selectors: self.extract.content_selectors.clone(),
            drop: self.extract.drop_selectors.clone(),
            ..ReadOptions::default()
        }
    }

    /// The class of a path: an exact path before a beginning, a longer beginning before a shorter one.
    pub fn page_class(&self, path: &str) -> Option<&str> {
        let classes = &self.genome.as_ref()?.page_classes;
        classes
            .iter()
            .flat_map(|(class, route)| route.paths().iter().map(move |p| (class, p)))
            .filter_map(|(class, pattern)| {
                let fit = match pattern.strip_suffix('*') {
                    Some(prefix) => path.starts_with(prefix).then_some((0, prefix.len())),
                    None => (path == pattern).then_some((1, pattern.len())),
                };
                fit.map(|f| (f, class.as_str()))
            })
            .max()
            .map(|(_, class)| class)
    }

    /// The fields of a page class: its own, else the default ones.
    pub fn fields(&self, class: Option<&str>) -> Option<(&str, &BTreeMap<String, Field>)> {
        class
            .and_then(|c| self.knowledge_schema.get_key_value(c))
            .or_else(|| self.knowledge_schema.get_key_value("default"))
            .map(|(name, fields)| (name.as_str(), fields))
    }

    /// Adds a lesson; the oldest is let go when there are too many.
    pub fn learn(&mut self, lesson: Lesson) {
        let note: String = lesson.note.chars().take(LESSON_LENGTH).collect();
        self.lessons.push(Lesson {
            note: redact(&note),
            ..lesson
        });
        let over = self.lessons.len().saturating_sub(LESSONS_MAX);
        self.lessons.drain(..over);
    }
}

/// A text with everything that looks like a secret taken out: long runs without spaces that mix letters and digits.
pub fn redact(text: &str) -> String {
    text.split_inclusive(char::is_whitespace)
        .map(|word| {
            let bare = word.trim();
            let core = bare
                .rsplit(['=', ':', '"', '\''])
                .find(|p| !p.is_empty())
                .unwrap_or(bare);
            if is_secret_like(core) {
                word.replace(core, "[redacted]")
            } else {
                word.to_owned()
            }
        })
        .collect()
}

/// Whether a run of characters looks like a token: 24 or more of the characters that tokens are made of, digits and
/// letters mixed, and no path.
pub(super) fn is_secret_like(word: &str) -> bool {
    word.len() >= 24
        && word.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+' | b'/' | b'=')
        })
        && word.bytes().filter(u8::is_ascii_digit).count() >= 4
        && word.bytes().filter(u8::is_ascii_alphabetic).count() >= 4
        && word.matches('/').count() < 2
}

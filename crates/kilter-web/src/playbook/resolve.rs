//! Which playbook holds for a URL: by host, the nearer tier before the farther one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::document::{Field, Genome, Lesson, Playbook, redact};
use super::lint::{Grade, LONGEST, parse};
use super::signature::{Signature, signature};
use super::site::GenomeFetch;
use crate::failure::{Failure, FailureCode};
use crate::receipt::PublicKey;

/// Where playbooks come from, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Written here.
    Local,
    /// A folder of the operator.
    User,
    /// Shipped by others.
    Community,
    /// Shipped with the program.
    Seed,
    /// The site's own.
    Site,
}

/// A folder of playbooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its tier.
    pub tier: Tier,
    /// Files `*.json` in it.
    pub dir: PathBuf,
}

/// One document with where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// Its tier.
    pub tier: Tier,
    /// Its file.
    pub path: Option<PathBuf>,
    /// The document.
    pub book: Playbook,
}

/// A file that is no playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// Every playbook of this installation. A broken file refuses itself and nothing else.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shelf {
    /// Those that can be used, the nearest first.
    pub held: Vec<Held>,
    /// Those that cannot.
    pub refused: Vec<Refused>,
}

/// Most files of one folder that are read.
const FILES: usize = 2_000;

impl Shelf {
    /// Reads the folders. One that is not there is empty.
    pub fn read(sources: &[Source]) -> Self {
        let mut shelf = Self::default();
        for source in sources {
            let Ok(entries) = std::fs::read_dir(&source.dir) else {
                continue;
            };
            let mut paths: Vec<PathBuf> = entries
                .flatten()
                .map(|e| e.path())
                .filter(|p| p.extension().is_some_and(|x| x == "json"))
                .take(FILES)
                .collect();
            paths.sort();
            for path in paths {
                let long = std::fs::metadata(&path).is_ok_and(|m| m.len() > LONGEST as u64);
                let text = if long {
                    Ok(String::new())
                } else {
                    std::fs::read_to_string(&path)
                };
                match text {
                    Ok(text) => shelf.add(source.tier, Some(path), &text),
                    Err(e) => shelf.refused.push(Refused {
                        path,
                        why: e.to_string(),
                    }),
                }
            }
        }
        shelf.held.sort_by_key(|h| h.tier);
        shelf
    }

    /// Adds one document.
    pub fn add(&mut self, tier: Tier, path: Option<PathBuf>, text: &str) {
        let (book, lint) = parse(text);
        match book {
            Some(book) if lint.grade != Grade::Broken => {
                self.held.push(Held { tier, path, book });
                self.held.sort_by_key(|h| h.tier);
            }
            _ => self.refused.push(Refused {
                path: path.unwrap_or_default(),
                why: lint
                    .issues
                    .first()
                    .map_or_else(String::new, |i| i.message.clone()),
            }),
        }
    }

    /// The playbook that holds for a host: the same name before a parent domain, then the nearer tier.
    pub fn find(&self, host: &str) -> Option<&Held> {
        let host = host.trim_end_matches('.').to_lowercase();
        let fit = |name: &str| {
            let name = name.strip_prefix("www.").unwrap_or(name);
            let host = host.strip_prefix("www.").unwrap_or(&host);
            if host == name {
                Some(0)
            } else {
                // A parent domain of at least two labels holds for its children.
                let below = host.strip_suffix(name)?.strip_suffix('.')?;
                name.contains('.').then(|| below.split('.').count())
            }
        };
        self.held
            .iter()
            .filter_map(|held| {
                let near = held.book.hosts.iter().filter_map(|h| fit(h)).min()?;
                Some(((near, held.tier), held))
            })
            .min_by_key(|(key, _)| *key)
            .map(|(_, held)| held)
    }
}

/// What `resolve` answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    /// Always true; a miss is a failure.
    pub ok: bool,
    /// The host that was looked for.
    pub matched_host: String,
    /// The playbook.
    pub playbook_id: String,
    /// Version of its content.
    pub version: String,
    /// Version of its schema.
    pub schema_version: String,
    /// Where it comes from.
    pub provenance: Tier,
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_path: Option<PathBuf>,
    /// Selectors of the content.
    pub content_selectors: Vec<String>,
    /// How to fetch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_backend: Option<String>,
    /// Notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_notes: Option<String>,
    /// The class of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_class: Option<String>,
    /// Names of the fields that can be extracted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knowledge_fields: Vec<String>,
    /// The fields of that class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_schema: Option<BTreeMap<String, Field>>,
    /// What kinds of page the site has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub genome: Option<Genome>,
    /// How asking the site went, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub genome_fetch: Option<GenomeFetch>,
    /// What the caller may not understand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version_warning: Option<String>,
    /// The last ten lessons, of the local tier only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lessons: Option<Vec<Lesson>>,
    /// Its signature.
    pub signature: Signature,
}

/// Finds the playbook of a URL.
///
/// # Errors
/// `invalid_url`, `playbook_not_found`.
pub fn resolve(
    shelf: &Shelf,
    url: &str,
    lessons: bool,
    keys: &[PublicKey],
) -> Result<Resolved, Failure> {
    let parsed = url::Url::parse(url)
        .ok()
        .filter(|u| matches!(u.scheme(), "http" | "https"));
    let Some((host, parsed)) = parsed.as_ref().and_then(|u| Some((u.host_str()?, u))) else {
        return Err(Failure::new(
            FailureCode::InvalidUrl,
            format!("`{url}` is no http or https URL"),
        ));
    };
    let held = shelf.find(host).ok_or_else(|| {
        Failure::new(
            FailureCode::PlaybookNotFound,
            format!("no playbook holds for `{host}`"),
        )
        .then("continue", "pages are read without one, too")
    })?;
    let book = &held.book;
    let class = book.page_class(parsed.path());
    Ok(Resolved {
        ok: true,
        matched_host: host.to_owned(),
        playbook_id: book.id.clone(),
        version: book.version.clone(),
        schema_version: book.schema_version.clone(),
        provenance: held.tier,
        source_path: held.path.clone(),
        content_selectors: book.extract.content_selectors.clone(),
        preferred_backend: book.routing.preferred_backend.clone(),
        agent_notes: book.agent_notes.clone(),
        page_class: class.map(str::to_owned),
        knowledge_fields: book
            .fields(class)
            .map(|(_, f)| f.keys().cloned().collect())
            .unwrap_or_default(),
        knowledge_schema: book.fields(class).map(|(_, f)| f.clone()),
        genome: book.genome.clone(),
        genome_fetch: None,
        schema_version_warning: None,
        lessons: (lessons && held.tier == Tier::Local).then(|| {
            book.lessons
                .iter()
                .rev()
                .take(10)
                .map(|l| Lesson {
                    note: redact(&l.note),
                    ..l.clone()
                })
                .collect()
        }),
        signature: signature(book, keys),
    })
}

//! What a page says about itself: title, author, date, language, canonical address.

use serde_json::Value;

use crate::dom::{Document, NodeId, fold};
use crate::page::PageMeta;

/// Statements of a page, gathered in one pass.
#[derive(Debug, Default)]
pub struct Statements {
    /// `<title>`.
    pub title: Option<String>,
    /// `<meta>` by `name` or `property`, lower case, first one wins.
    pub meta: std::collections::HashMap<String, String>,
    /// `<link rel=canonical>`.
    pub canonical: Option<String>,
    /// `<html lang>`.
    pub lang: Option<String>,
    /// Objects of JSON-LD, flattened from graphs and lists.
    pub objects: Vec<serde_json::Map<String, Value>>,
}

/// Objects of JSON-LD that are looked at.
const MAX_OBJECTS: usize = 200;
/// Bytes of one JSON-LD script that are read.
const MAX_SCRIPT: usize = 2 << 20;

impl Statements {
    /// Reads them.
    pub fn of(doc: &Document) -> Self {
        let mut out = Self::default();
        for id in doc.descendants(NodeId::ROOT) {
            let Some(e) = doc.element(id) else { continue };
            match e.tag() {
                "title" if out.title.is_none() && !e.is_foreign() => {
                    out.title = Some(fold(&doc.text_of(id))).filter(|t| !t.is_empty());
                }
                "meta" => {
                    let name = e
                        .attr("property")
                        .or_else(|| e.attr("name"))
                        .or_else(|| e.attr("itemprop"));
                    if let (Some(name), Some(content)) = (name, e.attr("content"))
                        && !content.trim().is_empty()
                    {
                        let name = name.trim().to_ascii_lowercase();
                        out.meta.entry(name).or_insert_with(|| fold(content));
                    }
                }
                "link"
                    if out.canonical.is_none()
                        && e.attr("rel")
                            .is_some_and(|r| r.eq_ignore_ascii_case("canonical")) =>
                {
                    out.canonical = e
                        .attr("href")
                        .map(|h| h.trim().to_owned())
                        .filter(|h| !h.is_empty());
                }
                "html" => {
                    out.lang = e
                        .attr("lang")
                        .map(|l| l.trim().to_owned())
                        .filter(|l| !l.is_empty())
                }
                "script"
                    if e.attr("type")
                        .is_some_and(|t| t.trim().eq_ignore_ascii_case("application/ld+json")) =>
                {
                    let text = doc.text_of(id);
                    if text.len() <= MAX_SCRIPT {
                        out.read_objects(&text);
                    }
                }
                _ => {}
            }
        }
        out
    }

    fn read_objects(&mut self, text: &str) {
        let text = text.trim().trim_end_matches(';');
        let value = serde_json::from_str::<Value>(text).or_else(|_| {
            // Line breaks within strings are the usual fault.
            let mended: String = text
                .chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect();
            serde_json::from_str(&mended)
        });
        let Ok(value) = value else { return };
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items.into_iter().rev()),
                Value::Object(mut map) if self.objects.len() < MAX_OBJECTS => {
                    for key in [
                        "@graph",
                        "mainEntity",
                        "mainEntityOfPage",
                        "hasPart",
                        "itemListElement",
                    ] {
                        if let Some(inner @ (Value::Array(_) | Value::Object(_))) = map.remove(key)
                        {
                            open.push(inner);
                        }
                    }
                    self.objects.push(map);
                }
                _ => {}
            }
        }
    }

    fn said(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|n| self.meta.get(*n).cloned())
    }

    fn object_text(&self, key: &str) -> Option<String> {
        self.objects.iter().find_map(|o| match o.get(key)? {
            Value::String(s) => Some(s.clone()).filter(|s| !s.trim().is_empty()),
            _ => None,
        })
    }

    /// The longest text that JSON-LD calls the body of an article.
    pub fn article_body(&self) -> Option<&str> {
        self.objects
            .iter()
            .filter_map(|o| o.get("articleBody").and_then(Value::as_str))
            .max_by_key(|t| t.len())
    }

    /// What the page calls itself, in all places where it does.
    pub fn titles(&self) -> Vec<&str> {
        let meta = ["og:title", "twitter:title", "dc.title", "title"];
        let mut all: Vec<&str> = meta
            .iter()
            .filter_map(|n| self.meta.get(*n))
            .map(String::as_str)
            .collect();
        all.extend(self.title.as_deref());
        all.extend(
            self.objects
                .iter()
                .filter_map(|o| o.get("headline").and_then(Value::as_str)),
        );
        all.retain(|t| !t.is_empty());
        all
    }

    fn author(&self) -> Option<String> {
        let object = self.objects.iter().find_map(|o| names(o.get("author")?));
        object
            .or_else(|| {
                self.said(&[
                    "author",
                    "article:author",
                    "dc.creator",
                    "parsely-author",
                    "sailthru.author",
                ])
            })
            .map(|a| fold(&a))
            .filter(|a| !a.is_empty() && !a.starts_with("http"))
    }

    /// What the caller gets.
    pub fn page_meta(&self, base: Option<&url::Url>) -> PageMeta {
        PageMeta {
            published_at: self
                .said(&[
                    "article:published_time",
                    "og:article:published_time",
                    "datepublished",
                ])
                .or_else(|| self.object_text("datePublished"))
                .or_else(|| {
                    self.said(&[
                        "date",
                        "dc.date",
                        "dc.date.issued",
                        "dcterms.created",
                        "parsely-pub-date",
                        "pubdate",
                    ])
                }),
            author: self.author(),
            lang: self
                .lang
                .clone()
                .or_else(|| self.said(&["og:locale", "content-language"])),
            canonical: self
                .canonical
                .clone()
                .or_else(|| self.said(&["og:url"]))
                .map(|c| match base {
                    Some(base) => base.join(&c).map_or(c, String::from),
                    None => c,
                }),
        }
    }

    /// The title: what the page states for others to show, else its `<title>` without the site's name, else its heading.
    pub fn page_title(&self, doc: &Document) -> Option<String> {
        let headings: Vec<String> = doc
            .descendants(NodeId::ROOT)
            .filter(|i| doc.tag(*i) == "h1")
            .take(8)
            .filter_map(|i| doc.short_text(i, 2000))
            .filter(|t| !t.is_empty())
            .collect();
        let stated = self
            .said(&["og:title", "twitter:title", "dc.title"])
            .or_else(|| self.object_text("headline"));
        let title = stated.or_else(|| self.title.clone());
        let Some(title) = title else {
            return headings.into_iter().next();
        };
        // A heading that the title begins or ends with is the title without the site's name.
        headings
            .iter()
            .filter(|h| h.chars().count() > 3 && title.contains(h.as_str()))
            .max_by_key(|h| h.len())
            .cloned()
            .or_else(|| {
                (headings.len() == 1 && headings[0].contains(&title)).then(|| headings[0].clone())
            })
            .or_else(|| Some(without_site(&title)))
            .filter(|t| !t.is_empty())
    }
}

/// Names of authors, joined.
fn names(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()).filter(|s| !s.trim().is_empty()),
        Value::Object(o) => names(o.get("name")?),
        Value::Array(all) => {
            let all: Vec<String> = all
                .iter()
                .filter_map(|v| match v {
                    Value::Array(_) => None,
                    other => names(other),
                })
                .collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        _ => None,
    }
}

/// `Words of the page | Site` → `Words of the page`, where the part before the sign is the longer one.
fn without_site(title: &str) -> String {
    for sign in [" | ", " – ", " — ", " - ", " · ", " » ", " :: ", " • "] {
        if let Some((page, site)) = title.rsplit_once(sign)
            && page.chars().count() > site.chars().count()
            && page.split_whitespace().count() > 1
        {
            return page.trim().to_owned();
        }
    }
    title.to_owned()
}

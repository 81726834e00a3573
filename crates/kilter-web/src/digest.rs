//! Several pages in one reply.

use serde::Serialize;
use serde_json::Value;

use crate::failure::{Decision, Failure, FailureCode};
use crate::focus::FocusStatus;
use crate::hash::{content_hash, hex, sha256};

/// Most pages of one digest.
pub const URLS_MAX: usize = 8;
/// Most entries that the argument may hold before it is cut.
pub const ENTRIES_MAX: usize = 256;
/// Longest argument, in characters.
pub const ARGUMENT_MAX: usize = 65_536;

/// One page to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its URL.
    pub url: String,
    /// What is wanted of it.
    pub focus: Option<String>,
}

/// Reads the `urls` argument: a list of strings, or the older text (JSON list of strings or `{url, focus_query?}`, or
/// URLs apart by white space or commas). Doubles are left out; at most `max` remain.
///
/// # Errors
/// `invalid_arguments` for another shape, an endless argument, and `max` outside 1 to 8.
pub fn wanted(urls: &Value, max: usize) -> Result<Vec<Wanted>, Failure> {
    let wrong = |m: &str| Failure::new(FailureCode::InvalidArguments, m.to_owned());
    if !(1..=URLS_MAX).contains(&max) {
        return Err(wrong("`max_urls` is 1 to 8"));
    }
    let mut list: Vec<Wanted> = Vec::new();
    let mut add = |url: &str, focus: Option<String>| {
        let url = url.trim().to_owned();
        if !url.is_empty() && !list.iter().any(|w| w.url == url) {
            list.push(Wanted { url, focus });
        }
    };
    match urls {
        Value::Array(items) => {
            if items.len() > ENTRIES_MAX {
                return Err(wrong("`urls` has more than 256 entries"));
            }
            for item in items {
                match item.as_str().map(str::trim).filter(|s| !s.is_empty()) {
                    Some(url) => add(url, None),
                    None => return Err(wrong("`urls` is a list of texts, none of them empty")),
                }
            }
        }
        Value::String(text) if text.chars().count() > ARGUMENT_MAX => {
            return Err(wrong("`urls` is longer than 65,536 characters"));
        }
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(items)) if items.len() <= ENTRIES_MAX => {
                for item in &items {
                    let url = item.as_str().or_else(|| item["url"].as_str());
                    let url = url.ok_or_else(|| wrong("`urls` holds something without a URL"))?;
                    add(url, item["focus_query"].as_str().map(str::to_owned));
                }
            }
            Ok(_) => {
                return Err(wrong(
                    "`urls` as text is a JSON list or URLs apart by spaces",
                ));
            }
            Err(_) => {
                for url in text.split([',', ' ', '\n', '\t', ';']).take(ENTRIES_MAX) {
                    add(url, None);
                }
            }
        },
        _ => return Err(wrong("`urls` is a list of texts or a text")),
    }
    if list.is_empty() {
        return Err(wrong("`urls` names no URL"));
    }
    list.truncate(max);
    Ok(list)
}

/// One page of the digest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its URL.
    pub url: String,
    /// Whether it was read.
    pub ok: bool,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// What read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Tokens of the excerpt.
    pub tokens: usize,
    /// Whether it answers what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_matched: Option<bool>,
    /// Its receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Value>,
    /// Why it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

impl Item {
    /// Whether a page with this focus answers; `None` when nothing was asked.
    pub fn matched(status: FocusStatus) -> Option<bool> {
        match status {
            FocusStatus::NotRequested => None,
            FocusStatus::Hit => Some(true),
            FocusStatus::Weak | FocusStatus::Miss => Some(false),
        }
    }
}

/// The digest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Digest {
    /// Always true; when no page could be read, the digest is a failure.
    pub ok: bool,
    /// Hash of the list of URLs.
    pub digest_id: String,
    /// The pages.
    pub items: Vec<Item>,
    /// All excerpts under their titles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combined: Option<String>,
    /// Hash of what was read, for `if_none_match`.
    pub content_hash: String,
    /// Whether that is the same as before; then there are no excerpts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// How many were asked, read and not read.
    pub stats: Stats,
    /// `combined`, `items_by_focusMatched` or `items_only`.
    pub suggested_read_order: &'static str,
    /// What the caller may want to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<&'static str>,
    /// What the caller may do next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
}

/// Counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Asked.
    pub requested: usize,
    /// Read.
    pub succeeded: usize,
    /// Not read.
    pub failed: usize,
    /// Tokens of all excerpts.
    pub total_tokens: usize,
}

/// Puts the pages together.
///
/// # Errors
/// `digest_failed` when not one page could be read.
pub fn assemble(
    mut items: Vec<Item>,
    combined: bool,
    if_none_match: Option<&str>,
) -> Result<Digest, Failure> {
    let succeeded = items.iter().filter(|i| i.ok).count();
    if succeeded == 0 {
        let codes: Vec<_> = items
            .iter()
            .filter_map(|i| i.failure.as_ref())
            .map(|f| f.code.as_str().into_owned())
            .collect();
        return Err(Failure::new(
            FailureCode::DigestFailed,
            format!(
                "not one of {} pages could be read: {}",
                items.len(),
                codes.join(", ")
            ),
        ));
    }
    let urls: Vec<&str> = items.iter().map(|i| i.url.as_str()).collect();
    let digest_id = format!("d1:{}", &hex(&sha256(&[urls.join("\n").as_bytes()]))[..16]);
    let stats = Stats {
        requested: items.len(),
        succeeded,
        failed: items.len() - succeeded,
        total_tokens: items.iter().map(|i| i.tokens).sum(),
    };
    let text = items
        .iter()
        .filter(|i| i.ok)
        .map(|i| {
            format!(
                "## {}\n\n{}",
                i.title.as_deref().unwrap_or(&i.url),
                i.excerpt.as_deref().unwrap_or_default()
            )
        })
        .collect::<Vec<_>>()
        .join("\n\n");
    let hash = content_hash(&text);
    let unchanged = if_none_match.map(|before| crate::again::matches(before, &text));
    let asked = items.iter().any(|i| i.focus_matched.is_some());
    let missed = asked
        && items
            .iter()
            .filter(|i| i.ok)
            .all(|i| i.focus_matched != Some(true));
    let (mut warnings, mut decisions) = (Vec::new(), Vec::new());
    if missed {
        warnings.push("focus_not_found");
        decisions.push(Decision {
            action: "focus_not_found".to_owned(),
            reason: "no page that was read is about it".to_owned(),
        });
    }
    if stats.failed > 0 {
        decisions.push(Decision {
            action: "skip_failed".to_owned(),
            reason: format!(
                "{} pages were not read; their content is unknown",
                stats.failed
            ),
        });
    }
    let suggested_read_order = match (missed, asked, combined) {
        (true, ..) => "items_only",
        (false, true, _) => "items_by_focusMatched",
        (false, false, true) => "combined",
        (false, false, false) => "items_only",
    };
    if unchanged == Some(true) {
        for item in &mut items {
            item.excerpt = None;
        }
    }
    Ok(Digest {
        ok: true,
        digest_id,
        items,
        combined: (combined && unchanged != Some(true)).then_some(text),
        content_hash: hash,
        unchanged,
        stats,
        suggested_read_order,
        warnings,
        decisions,
    })
}

//! Typed fields of a page by a playbook's schema.

use kilter_web::dom::select::Selector;
use kilter_web::dom::{Document, NodeId};
use kilter_web::knowledge;
use kilter_web::open::{Body, Opened};
use kilter_web::playbook::{Field, Playbook};
use kilter_web::{Failure, FailureCode};
use serde_json::{Value, json};

use super::reading::backend;
use super::{Call, Engines};
use crate::failure::ToolFailure;

/// Longest value, in characters.
const VALUE_MAX: usize = 10_000;

pub(super) async fn extract(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let url = call.arguments.needed("url").trim();
    let Some(book) = engines.playbook(url) else {
        return Err(Failure::new(
            FailureCode::PlaybookNotFound,
            "no playbook holds for this page\nhint: read it as text instead",
        )
        .then("continue", "pages are read without one, too")
        .into());
    };
    let options = engines.session(call)?.options();
    call.progress.say(0, Some(1), "reading");
    let reached = engines
        .reader
        .opener()
        .read(
            url,
            backend(call)?.unwrap_or_default(),
            &options,
            &*engines.clock,
            |opened| of_page(&book, &opened),
        )
        .await;
    engines.note_host(url, reached.outcome.as_ref().err().map(|f| f.code));
    Ok(reached.outcome?)
}

fn of_page(book: &Playbook, opened: &Opened) -> Result<Value, Failure> {
    let Body::Html(html) = &opened.body else {
        return Err(Failure::new(
            FailureCode::UnsupportedContentType,
            "this is no page of HTML, so that selectors find nothing on it",
        ));
    };
    let doc = Document::parse(html);
    let known = knowledge::extract(book, opened.url.path(), |field| {
        values(&doc, &opened.url, field)
    })?;
    let mut reply = serde_json::to_value(&known).unwrap_or_default();
    reply["ok"] = json!(true);
    reply["url"] = json!({"url": opened.requested.as_str(), "finalUrl": opened.url.as_str()});
    reply["backend"] = json!(opened.backend);
    Ok(reply)
}

/// What a field's selector finds, in the order of the page. Addresses are absolute.
fn values(doc: &Document, page: &url::Url, field: &Field) -> Vec<String> {
    let Ok(selector) = Selector::parse(&field.selector) else {
        return Vec::new();
    };
    let text = |id: NodeId| {
        let words: Vec<String> = doc
            .text_of(id)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        words.join(" ")
    };
    let pattern = field
        .value
        .as_deref()
        .filter(|_| field.attr == "regex")
        .and_then(|p| regex::RegexBuilder::new(p).size_limit(1 << 20).build().ok());
    let one = |id: NodeId| -> Option<String> {
        let value = match field.attr.as_str() {
            "" | "text" => text(id),
            "regex" => {
                let text = text(id);
                let found = pattern.as_ref()?.captures(&text)?;
                found.get(1).or_else(|| found.get(0))?.as_str().to_owned()
            }
            name @ ("href" | "src") => page.join(doc.attr(id, name)?.trim()).ok()?.to_string(),
            name => doc.attr(id, name)?.trim().to_owned(),
        };
        Some(value.chars().take(VALUE_MAX).collect())
    };
    selector.all(doc, NodeId::ROOT).filter_map(one).collect()
}

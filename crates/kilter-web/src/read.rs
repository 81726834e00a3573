//! One page's text to one [`Page`]: parse once, choose, make blocks.

use crate::block::{self, Source};
use crate::content::{self, Rule, Rules};
use crate::dom::{Document, NodeId, select::Selector};
use crate::failure::{Failure, FailureCode};
use crate::meta::Statements;
use crate::page::{Omission, Page, ReadOptions};

/// Reads an HTML page that was decoded already. `url` is where it came from.
pub fn html(html: &str, url: Option<&str>, options: &ReadOptions) -> Result<Page, Failure> {
    document(&Document::parse(html), url, options)
}

/// Reads a parsed page.
pub fn document(doc: &Document, url: Option<&str>, options: &ReadOptions) -> Result<Page, Failure> {
    let mut rules = Rules::default();
    if options.keep_hidden {
        rules = rules.without(Rule::Hidden);
    }
    document_by(doc, url, options, &rules)
}

/// Reads a parsed page by the given rules alone.
pub fn document_by(
    doc: &Document,
    url: Option<&str>,
    options: &ReadOptions,
    rules: &Rules,
) -> Result<Page, Failure> {
    let statements = Statements::of(doc);
    let base = block::base_of(doc, url);
    let title = statements.page_title(doc);
    let mut choice = content::choose(doc, &statements, rules);
    if !options.selectors.is_empty() {
        choice.roots = selected(doc, &options.selectors)?;
    }
    let mut blocks = block::blocks(&Source {
        doc,
        roots: &choice.roots,
        skip: &choice.skip,
        base: base.as_ref(),
        faithful: false,
    });
    let mut omitted = choice.omitted;
    if options.selectors.is_empty() {
        omitted.extend(content::finish(
            &mut blocks,
            title.as_deref(),
            &statements,
            rules,
        ));
    } else {
        // What stands in the nodes that were asked for instead is another matter.
        omitted.retain(|o| o.reason == "hidden");
    }
    if doc.is_cut() {
        omitted.push(Omission {
            reason: "limit".to_owned(),
            what: "elements over the limits of depth, number or attributes".to_owned(),
            chars: 0,
        });
    }
    if blocks.is_empty() {
        return Err(Failure::new(
            FailureCode::ThinExtract,
            "the page holds no text of its own\nhint: a page that is built by scripts needs a browser",
        )
        .then("try_browser", "the page as served has no body text"));
    }
    Ok(Page {
        title,
        meta: statements.page_meta(base.as_ref()),
        markdown: block::markdown(&blocks),
        text: block::text(&blocks),
        blocks,
        omitted,
    })
}

/// The outermost matches of the selectors, in document order.
fn selected(doc: &Document, selectors: &[String]) -> Result<Vec<NodeId>, Failure> {
    let mut found = Vec::new();
    for text in selectors {
        let selector = Selector::parse(text)
            .map_err(|e| Failure::new(FailureCode::InvalidArguments, e.to_string()))?;
        found.extend(selector.all(doc, NodeId::ROOT));
    }
    found.sort_unstable();
    found.dedup();
    let mut roots: Vec<NodeId> = Vec::new();
    for id in found {
        if roots.last().is_none_or(|r| !doc.contains(*r, id)) {
            roots.push(id);
        }
    }
    if roots.is_empty() {
        return Err(Failure::new(
            FailureCode::ContentSelectorsMiss,
            format!(
                "none of the selectors finds anything: `{}`\nhint: check them against the page as served",
                selectors.join("`, `")
            ),
        ));
    }
    Ok(roots)
}

//! One page's text to one [`Page`]: parse once, choose, make blocks.

use crate::block::{self, Source};
use crate::content::{self, Rule, Rules};
use crate::dom::{Document, NodeId, select::Selector};
use crate::failure::{Failure, FailureCode};
use crate::judge::{self, Judgement};
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

/// A page that was judged to be the page that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The page.
    pub page: Page,
    /// What it was judged by; its `failure` is `None`.
    pub judgement: Judgement,
}

/// Who brought the tree of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A server: scripts have not run.
    Http,
    /// A browser: nothing more can be hoped for from scripts.
    Browser,
    /// Somebody who has the page already: what they were given is theirs to read, even where the rest is to be paid for.
    File,
}

/// Reads a parsed page and judges it: a door before the page is a failure with its own word, and never a body.
///
/// # Errors
/// `captcha_or_challenge`, `requires_login`, `paywall`, `soft_404`, `http_NNN`, `thin_extract`, and those of
/// [`document`].
pub fn judged(
    doc: &Document,
    response: &judge::Response,
    options: &ReadOptions,
    by: By,
) -> Result<Judged, Failure> {
    let page = document(doc, Some(&response.final_url), options);
    let judgement = verdict(doc, page.as_ref(), response, by)?;
    page.map(|page| Judged { page, judgement })
}

/// Judges what was read from a tree, or why nothing was.
///
/// # Errors
/// Those of [`judged`].
pub fn verdict(
    doc: &Document,
    page: Result<&Page, &Failure>,
    response: &judge::Response,
    by: By,
) -> Result<Judgement, Failure> {
    use FailureCode as C;
    let blocks = page.map_or(&[][..], |p| &p.blocks);
    let mut judgement = judge::judge(response, &judge::gather(doc), blocks, by == By::Browser);
    let theirs = |f: &Failure| by == By::File && f.code == C::Paywall && page.is_ok();
    let door = judgement.failure.take().filter(|f| !theirs(f));
    match (door, page) {
        // What the caller got wrong, and what a caller's selectors miss, is said before that there is little text.
        (_, Err(e)) if e.code == C::InvalidArguments => Err(e.clone()),
        (Some(door), Err(e)) if door.code == C::ThinExtract && e.code != C::ThinExtract => {
            Err(e.clone())
        }
        (Some(door), _) => Err(door),
        (None, Err(e)) => Err(e.clone()),
        (None, Ok(_)) => Ok(judgement),
    }
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
    for selector in &options.drop {
        for id in parsed(selector)?.all(doc, NodeId::ROOT) {
            choice.skip[id.index()] = true;
        }
    }
    let mut blocks = block::blocks(&Source {
        doc,
        roots: &choice.roots,
        skip: &choice.skip,
        base: base.as_ref(),
        faithful: false,
    });
    let full = blocks.len() >= block::BLOCKS_MAX;
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
    if full {
        omitted.push(Omission {
            reason: "limit".to_owned(),
            what: format!("what stands after the first {} blocks", block::BLOCKS_MAX),
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

fn parsed(selector: &str) -> Result<Selector, Failure> {
    Selector::parse(selector)
        .map_err(|e| Failure::new(FailureCode::InvalidArguments, e.to_string()))
}

/// The outermost matches of the selectors, in document order.
fn selected(doc: &Document, selectors: &[String]) -> Result<Vec<NodeId>, Failure> {
    let mut found = Vec::new();
    for text in selectors {
        found.extend(parsed(text)?.all(doc, NodeId::ROOT));
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

//! An opened body → the page that was asked for: content, sections, focus, and whether it is the page at all.

use url::Url;

use super::{Request, sections};
use crate::block;
use crate::dom::Document;
use crate::failure::{Failure, FailureCode};
use crate::focus::{Focus, FocusStatus, Wanted, focus, prune};
use crate::format::Format;
use crate::judge::{Judgement, Response};
use crate::open::{Body, Opened};
use crate::page::{Omission, Page, ReadOptions};
use crate::read::{self, By};

/// Where a body was found.
pub(super) struct Found {
    pub(super) url: String,
    pub(super) final_url: String,
    pub(super) status: u16,
    pub(super) format: Format,
    pub(super) backend: &'static str,
    pub(super) response: Response,
    pub(super) validators: (Option<String>, Option<String>),
    pub(super) base: Option<Url>,
}

impl Found {
    fn by(&self) -> By {
        match self.backend {
            "browser" => By::Browser,
            "file" => By::File,
            _ => By::Http,
        }
    }

    /// A file; without an address it is known by its name.
    pub(super) fn file(name: String, format: Format, base: Option<Url>) -> Self {
        let url = base.as_ref().map_or(name, Url::to_string);
        Self {
            response: Response::ok(&url),
            final_url: url.clone(),
            url,
            status: 0,
            format,
            backend: "file",
            validators: (None, None),
            base,
        }
    }
}

/// A page with all that was found out about it.
pub(super) struct Made {
    pub(super) found: Found,
    pub(super) page: Page,
    pub(super) wanted: Wanted,
    pub(super) focus: Focus,
    pub(super) answered: FocusStatus,
    pub(super) complete: bool,
    pub(super) judgement: Option<Judgement>,
    pub(super) playbook: Option<(String, String)>,
    pub(super) warnings: Vec<String>,
}

/// Makes a page of an answer.
pub(super) fn page(opened: Opened, request: &Request) -> Result<Made, Failure> {
    let opened = opened.accept()?;
    let found = Found {
        url: opened.requested.to_string(),
        final_url: opened.url.to_string(),
        status: opened.status,
        format: opened.format,
        backend: opened.backend,
        response: opened.response,
        validators: opened.validators,
        base: Some(opened.url),
    };
    let mut made = of_body(found, opened.body, request)?;
    made.warnings
        .extend(opened.warnings.iter().map(|w| (*w).to_owned()));
    Ok(made)
}

/// Makes a page of a body.
pub(super) fn of_body(found: Found, body: Body, request: &Request) -> Result<Made, Failure> {
    let mut warnings = Vec::new();
    let (mut page, judgement, playbook) = match body {
        Body::Html(html) => {
            let doc = Document::parse(&html);
            drop(html);
            let read = of_tree(&doc, found.base.as_ref(), request, &mut warnings);
            let page = read.as_ref().map(|(page, _)| page);
            let judgement = read::verdict(&doc, page, &found.response, found.by())?;
            let (page, playbook) = read?;
            (page, Some(judgement), playbook)
        }
        Body::Page(page) => (*page, None, None),
    };
    let mut complete = !page.omitted.iter().any(|o| o.reason == "limit");
    if !request.sections.is_empty() {
        let kept = sections::named(&page.blocks, &request.sections)?;
        complete &= keep(&mut page, &kept, "sections");
    }
    let wanted = request.wanted(found.base.as_ref());
    let mut seen = focus(&page.blocks, &wanted);
    let answered = seen.status;
    if answered == FocusStatus::Miss {
        warnings.push("focus_not_found".to_owned());
    }
    if request.prune && !seen.best.is_empty() {
        let kept = prune(&page.blocks, &seen);
        if kept.len() < page.blocks.len() {
            complete &= keep(&mut page, &kept, "focus");
            seen = focus(&page.blocks, &wanted);
        }
    }
    Ok(Made {
        found,
        page,
        wanted,
        focus: seen,
        answered,
        complete,
        judgement,
        playbook,
        warnings,
    })
}

type Read = (Page, Option<(String, String)>);

/// The content of a tree, by the playbook where it fits.
fn of_tree(
    doc: &Document,
    base: Option<&Url>,
    request: &Request,
    warnings: &mut Vec<String>,
) -> Result<Read, Failure> {
    let url = base.map(Url::as_str);
    let mut options = ReadOptions {
        selectors: request.selectors.clone(),
        keep_hidden: request.keep_hidden,
        ..ReadOptions::default()
    };
    if let Some(book) = request
        .playbook
        .as_ref()
        .filter(|b| options.selectors.is_empty() && !b.extract.content_selectors.is_empty())
    {
        options
            .selectors
            .clone_from(&book.extract.content_selectors);
        options.drop.clone_from(&book.extract.drop_selectors);
        match read::document(doc, url, &options) {
            Ok(page) => return Ok((page, Some((book.id.clone(), book.version.clone())))),
            Err(e)
                if matches!(
                    e.code,
                    FailureCode::ContentSelectorsMiss
                        | FailureCode::ThinExtract
                        | FailureCode::InvalidArguments
                ) =>
            {
                warnings.push("playbook_selectors_miss".to_owned());
                options.selectors.clear();
                options.drop.clear();
            }
            Err(e) => return Err(e),
        }
    }
    read::document(doc, url, &options).map(|page| (page, None))
}

/// Keeps these blocks and lists the others. Returns whether all were kept.
fn keep(page: &mut Page, kept: &[usize], reason: &str) -> bool {
    let mut gone: Vec<Omission> = Vec::new();
    let mut heading = None;
    let mut at = 0;
    let mut blocks = Vec::with_capacity(kept.len());
    let mut next = 0;
    for (i, mut block) in std::mem::take(&mut page.blocks).into_iter().enumerate() {
        let is_heading = block.kind == crate::page::BlockKind::Heading;
        if is_heading {
            heading = Some(block.text.clone());
        }
        if kept.get(at) == Some(&i) {
            at += 1;
            if next != i {
                // What stood before it is gone, and the joint with it.
                block.glue = block::APART;
            }
            next = i + 1;
            blocks.push(block);
            continue;
        }
        let chars = block.text.chars().count();
        match gone.last_mut().filter(|_| !is_heading) {
            Some(last) => last.chars += chars,
            None => gone.push(Omission {
                reason: reason.to_owned(),
                what: heading
                    .clone()
                    .unwrap_or_else(|| "before the first heading".to_owned()),
                chars,
            }),
        }
    }
    let all = gone.is_empty();
    page.blocks = blocks;
    page.omitted.extend(gone);
    if !all {
        page.markdown = block::markdown(&page.blocks);
        page.text = block::text(&page.blocks);
    }
    all
}

//! What the cascade reads with outside of tests: the reader, the playbooks of this installation, its keys.

use std::sync::Arc;

use serde_json::Value;

use super::{Ask, Body, Extraction, NEXT_LINKS, NextLink, Overlay, Pending, Reader as By};
use crate::failure::{Failure, FailureCode};
use crate::focus::words::words;
use crate::open::Backend;
use crate::page::{Link, Omission};
use crate::playbook::Shelf;
use crate::reading::{Bytes, Reader, Reading, Request};
use crate::receipt::{self, Asked, Content};

/// Omissions that a reply names one by one.
const MOST_LEFT_OUT: usize = 12;

/// Reads URLs; or one file, whatever the URL.
#[derive(Clone)]
pub struct Live {
    reader: Reader,
    shelf: Arc<Shelf>,
    receipts: bool,
    file: Option<Arc<Bytes>>,
}

impl Live {
    /// A cascade over a reader. `receipts`: whether what is read is signed; a reader without keys signs nothing.
    pub fn new(reader: Reader, shelf: Arc<Shelf>, receipts: bool) -> Self {
        Self {
            receipts: receipts && reader.keys().is_some(),
            reader,
            shelf,
            file: None,
        }
    }

    /// The same over a page whose bytes are here: nothing is asked of the network.
    #[must_use]
    pub fn over(mut self, file: Bytes) -> Self {
        self.file = Some(Arc::new(file));
        self
    }

    async fn read(&self, by: By, ask: &Ask) -> Result<Body, Failure> {
        let request = Request {
            backend: Some(match by {
                By::Http => Backend::Http,
                By::Browser => Backend::Browser,
            }),
            focus: ask.focus.clone(),
            prune: ask.focus.is_some(),
            max_tokens: ask.max_tokens,
            playbook: match &ask.overlay {
                // A document that came from the shelf is one.
                Some(overlay) => serde_json::from_value(overlay.document.clone()).ok(),
                None => None,
            },
            ..Request::new(&ask.url)
        };
        let done = match &self.file {
            None => self.reader.read(&request).await,
            // A browser sees no more in a file than is in it: the same failure again, not another one.
            Some(file) => self.reader.read_bytes((**file).clone(), &request).await,
        };
        done.outcome.map(|reading| body(reading, ask))
    }

    fn signed(&self, url: &str, body: &Body, content_hash: &str) -> Result<Value, Failure> {
        let failed =
            |why: String| Failure::new(FailureCode::InvalidReceipt, format!("not signed: {why}"));
        let Some(keys) = self.reader.keys() else {
            return Err(failed("receipts are off".to_owned()));
        };
        let key = keys.signer().map_err(|e| failed(e.to_string()))?;
        let seen = receipt::Read {
            url: url.to_owned(),
            final_url: body.final_url.clone().unwrap_or_else(|| url.to_owned()),
            backend: body.backend.clone(),
            at: self.reader.clock().now(),
            toolchain: crate::reading::TOOLCHAIN.to_owned(),
            playbook: body.applied.clone(),
            asked: Asked {
                focus: body.asked.focus.clone(),
                max_tokens: body.asked.max_tokens,
                ..Asked::default()
            },
        };
        let content = Content {
            content_hash: content_hash.to_owned(),
            leaves: Some(receipt::leaves(&body.blocks)),
            leaf_set_complete: body.complete,
            ..Content::default()
        };
        receipt::extraction(&seen, &content, &key).map_err(|e| failed(e.to_string()))
    }
}

fn body(reading: Reading, ask: &Ask) -> Body {
    let links = reading.links();
    let links = next(&links, ask.focus.as_deref());
    Body {
        links,
        final_url: Some(reading.final_url).filter(|u| u.contains("://")),
        backend: reading.backend.to_owned(),
        title: reading.page.title,
        omitted: left_out(&reading.page.omitted),
        complete: reading.complete,
        applied: reading.playbook,
        full_hash: Some(reading.content_hash),
        markdown: reading.page.markdown,
        blocks: reading.page.blocks,
        asked: Box::new(Ask {
            overlay: None,
            ..ask.clone()
        }),
    }
}

/// The links to go on with: those that share words with what is wanted, then the others, each in the page's order.
fn next(links: &[&Link], focus: Option<&str>) -> Vec<NextLink> {
    let asked = focus.map(words).unwrap_or_default();
    let worth = |link: &Link| {
        let has = words(&link.text);
        let path = words(&link.href);
        let hit = |w: &&String| has.contains(*w) || path.contains(*w);
        std::cmp::Reverse(asked.iter().filter(hit).count())
    };
    let mut named: Vec<&Link> = links
        .iter()
        .filter(|l| !l.text.trim().is_empty())
        .copied()
        .collect();
    named.sort_by_cached_key(|l| worth(l));
    named
        .into_iter()
        .take(NEXT_LINKS)
        .map(|l| NextLink {
            text: l.text.clone(),
            url: l.href.clone(),
        })
        .collect()
}

fn left_out(all: &[Omission]) -> Vec<String> {
    let mut out: Vec<String> = all
        .iter()
        .take(MOST_LEFT_OUT)
        .map(|o| format!("{}: {} ({} characters)", o.reason, o.what, o.chars))
        .collect();
    let rest = &all[all.len().min(MOST_LEFT_OUT)..];
    if !rest.is_empty() {
        let chars: usize = rest.iter().map(|o| o.chars).sum();
        out.push(format!("{} more ({chars} characters)", rest.len()));
    }
    out
}

impl Extraction for Live {
    fn playbook<'a>(&'a self, url: &'a str) -> Pending<'a, Result<Option<Overlay>, Failure>> {
        let host = url::Url::parse(url)
            .ok()
            .and_then(|u| u.host_str().map(str::to_owned));
        let held = host.and_then(|h| self.shelf.find(&h));
        let overlay = held.map(|h| Overlay {
            id: h.book.id.clone(),
            document: serde_json::to_value(&h.book).unwrap_or_default(),
        });
        Box::pin(async { Ok(overlay) })
    }

    fn extract<'a>(&'a self, by: By, ask: &'a Ask) -> Pending<'a, Result<Body, Failure>> {
        Box::pin(self.read(by, ask))
    }

    fn receipts(&self) -> bool {
        self.receipts
    }

    fn sign<'a>(
        &'a self,
        url: &'a str,
        body: &'a Body,
        content_hash: &'a str,
    ) -> Pending<'a, Result<Value, Failure>> {
        Box::pin(async move { self.signed(url, body, content_hash) })
    }
}

//! Sitemaps (<https://www.sitemaps.org/protocol.html>): lists of pages, lists of lists, plain text; packed or not.

use crate::acquire::unpack::unpack;
use crate::decode;
use crate::failure::{Failure, FailureCode};
use crate::format::xml::{Event, Xml, local, unescape};

/// What a file names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages.
    pub pages: Vec<String>,
    /// Further sitemaps.
    pub files: Vec<String>,
}

/// Entries of one file (the protocol allows 50,000).
const MOST: usize = 50_000;

/// Reads a file; a packed one unpacks to at most `limit` bytes.
///
/// # Errors
/// `extraction_failed` for what is no sitemap, and the codes of unpacking.
pub fn read(bytes: &[u8], content_type: Option<&str>, limit: usize) -> Result<Sitemap, Failure> {
    let unpacked;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        unpacked = unpack(bytes.to_vec(), "gzip", limit)?;
        &unpacked
    } else {
        bytes
    };
    let label = content_type.and_then(decode::charset);
    let text = decode::html(bytes, label.as_deref()).text;
    let mut out = Sitemap::default();
    if !text.trim_start().starts_with('<') {
        // One URL a line.
        out.pages = text
            .lines()
            .map(str::trim)
            .filter(|l| l.starts_with("http"))
            .take(MOST)
            .map(str::to_owned)
            .collect();
        return some(out);
    }
    let (mut index, mut in_loc, mut loc) = (false, false, String::new());
    for event in Xml::new(&text) {
        match event {
            Event::Start { name, empty, .. } => {
                let name = local(name);
                index = match name {
                    "sitemap" => true,
                    "url" => false,
                    _ => index,
                };
                // `image:loc` and its like are no pages.
                in_loc = name == "loc" && !empty;
                loc.clear();
            }
            Event::Text(t) if in_loc => loc.push_str(&unescape(t)),
            Event::Raw(t) if in_loc => loc.push_str(t),
            Event::End(name) if in_loc && name == "loc" => {
                in_loc = false;
                let list = if index {
                    &mut out.files
                } else {
                    &mut out.pages
                };
                if list.len() < MOST && !loc.trim().is_empty() {
                    list.push(loc.trim().to_owned());
                }
            }
            _ => {}
        }
    }
    some(out)
}

fn some(map: Sitemap) -> Result<Sitemap, Failure> {
    if map == Sitemap::default() {
        return Err(Failure::new(
            FailureCode::ExtractionFailed,
            "the file names no page\nhint: it may be no sitemap; try the front page",
        ));
    }
    Ok(map)
}

//! PDF → paragraphs, in a process of its own: a parser of hostile files must not be able to take the reader with it.

mod child;
mod font;
mod layout;
mod walk;

use serde::{Deserialize, Serialize};

pub use child::{PdfChild, serve};

/// One paragraph or heading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paragraph {
    /// The page it begins on, from 1.
    pub page: u32,
    /// Level of a heading, by its size against the body's; none for running text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Its words.
    pub text: String,
}

/// The text of a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PdfText {
    /// The title that the document states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Number of pages.
    pub pages: u32,
    /// Paragraphs in reading order.
    pub paragraphs: Vec<Paragraph>,
    /// Whether something was left out because of a limit.
    pub cut: bool,
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    /// Not a PDF that can be opened.
    #[error("the file is no PDF that can be opened: {0}")]
    Broken(String),
    /// It asks for a password.
    #[error("the file is encrypted and asks for a password")]
    Encrypted,
}

/// Pages, bytes of one page's program and characters in all that are read.
const MOST_PAGES: usize = 2000;
const LONGEST_PROGRAM: usize = 32 << 20;
const LONGEST_TEXT: usize = 8 << 20;

/// Reads a document. Meant to be called in a process that may be killed: see [`PdfChild`].
///
/// # Errors
/// [`PdfError`].
pub fn read(bytes: &[u8]) -> Result<PdfText, PdfError> {
    let options = lopdf::LoadOptions::default();
    let mut doc = lopdf::Document::load_mem_with_options(bytes, options)
        .map_err(|e| PdfError::Broken(e.to_string()))?;
    if doc.is_encrypted() {
        // Files that may be read by everybody are encrypted with the empty password.
        doc.decrypt("").map_err(|_| PdfError::Encrypted)?;
    }
    let pages = doc.get_pages();
    let mut text = PdfText {
        title: title(&doc),
        pages: u32::try_from(pages.len()).unwrap_or(u32::MAX),
        ..PdfText::default()
    };
    let mut lines = Vec::new();
    let mut size = 0;
    for (number, id) in pages.into_iter().take(MOST_PAGES) {
        let pieces = walk::pieces(&doc, id, LONGEST_PROGRAM);
        let of_page = layout::lines(pieces);
        size += of_page.iter().map(|l| l.text.len()).sum::<usize>();
        lines.push((number, of_page));
        if size > LONGEST_TEXT {
            break;
        }
    }
    text.cut = (lines.len() as u64) < u64::from(text.pages);
    text.paragraphs = layout::paragraphs(&lines);
    Ok(text)
}

fn title(doc: &lopdf::Document) -> Option<String> {
    let info = doc
        .trailer
        .get(b"Info")
        .and_then(|o| doc.dereference(o))
        .ok()?
        .1
        .as_dict()
        .ok()?;
    let raw = info.get(b"Title").and_then(|o| doc.dereference(o)).ok()?.1;
    let title = lopdf::decode_text_string(raw).ok()?;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

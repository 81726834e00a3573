//! The line protocol of `kilter read --jsonl`: one page in, one answer out.

use base64::Engine as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decode;
use crate::dom::Document;
use crate::failure::Failure;
use crate::judge::Response;
use crate::page::{Block, Page, PageMeta, ReadOptions};
use crate::read::{self, By};

/// One line of input.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// Given back as it came.
    #[serde(default)]
    pub id: Option<Value>,
    /// The page as text.
    #[serde(default)]
    pub html: Option<String>,
    /// The page as bytes in base64; its encoding is found out.
    #[serde(default)]
    pub html_b64: Option<String>,
    /// Where it came from.
    #[serde(default)]
    pub url: Option<String>,
    /// Whether the answer lists the blocks.
    #[serde(default)]
    pub blocks: bool,
}

impl Request {
    /// The page's bytes.
    pub fn bytes(&self) -> Result<Vec<u8>, LineError> {
        match (&self.html, &self.html_b64) {
            (Some(html), _) => Ok(html.clone().into_bytes()),
            (None, Some(bytes)) => {
                Ok(base64::engine::general_purpose::STANDARD.decode(bytes.trim().as_bytes())?)
            }
            (None, None) => Err(LineError::NoPage),
        }
    }
}

/// One line of output.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// As it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// Whether there is a page.
    pub ok: bool,
    /// The page as Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// The page as plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it says about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<PageMeta>,
    /// Its blocks, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<Block>>,
    /// What was left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<crate::page::Omission>,
    /// Why there is no page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

impl Answer {
    fn failed(id: Option<Value>, failure: Failure) -> Self {
        Self {
            id,
            ok: false,
            markdown: None,
            text: None,
            title: None,
            meta: None,
            blocks: None,
            omitted: Vec::new(),
            failure: Some(failure),
        }
    }
}

/// Why a line is no request.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not the JSON that it should be.
    #[error("not a request: {0}\nhint: a line is `{{\"id\"?, \"html\" | \"html_b64\", \"url\"?}}`")]
    Json(#[from] serde_json::Error),
    /// Neither text nor bytes.
    #[error("neither `html` nor `html_b64`")]
    NoPage,
    /// The bytes are not base64.
    #[error("`html_b64` is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
}

/// Answers one line.
pub fn answer(line: &[u8], options: &ReadOptions) -> Result<Answer, LineError> {
    let request: Request = serde_json::from_slice(line)?;
    let text = match request.html {
        Some(html) => html,
        None => decode::html(&request.bytes()?, None).text,
    };
    Ok(match page(&text, request.url.as_deref(), options) {
        Err(failure) => Answer::failed(request.id, failure),
        Ok(page) => Answer {
            id: request.id,
            ok: true,
            markdown: Some(page.markdown),
            text: Some(page.text),
            title: page.title,
            meta: Some(page.meta),
            blocks: request.blocks.then_some(page.blocks),
            omitted: page.omitted,
            failure: None,
        },
    })
}

/// Reads a page that is here already; a door before the page is none.
fn page(html: &str, url: Option<&str>, options: &ReadOptions) -> Result<Page, Failure> {
    let doc = Document::parse(html);
    let page = read::document(&doc, url, options);
    let response = Response::ok(url.unwrap_or_default());
    read::verdict(&doc, page.as_ref(), &response, By::File)?;
    page
}

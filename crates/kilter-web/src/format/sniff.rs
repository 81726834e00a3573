//! What a body is: by its type where that says something, by its first bytes where it does not.
//!
//! The byte patterns follow the WHATWG MIME Sniffing standard (sections 7.1 and 7.2).

use serde::Serialize;
use url::Url;

use crate::failure::{Failure, FailureCode};

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// HTML or XHTML.
    Html,
    /// Markdown.
    Markdown,
    /// Plain text, source code, XML of no known kind.
    Text,
    /// JSON of no known kind.
    Json,
    /// RSS, Atom or JSON Feed.
    Feed,
    /// PDF.
    Pdf,
}

/// What a `Content-Type` says.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Is(Format),
    /// XML: the root element decides.
    Xml,
    /// Nothing that can be relied on: look at the bytes.
    Nothing,
    /// Something that is not text.
    Unreadable,
}

/// The type without parameters, in lower case.
fn essence(content_type: &str) -> String {
    content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

fn said(content_type: Option<&str>) -> Said {
    let essence = content_type.map(essence).unwrap_or_default();
    match essence.as_str() {
        "" | "application/octet-stream" | "unknown/unknown" | "application/unknown" | "*/*" | "binary/octet-stream"
        | "application/force-download" | "application/x-download"
        // How sitemaps are packed.
        | "application/gzip" | "application/x-gzip" => Said::Nothing,
        "text/html" | "application/xhtml+xml" => Said::Is(Format::Html),
        "text/markdown" | "text/x-markdown" => Said::Is(Format::Markdown),
        "application/pdf" | "application/x-pdf" => Said::Is(Format::Pdf),
        "application/rss+xml" | "application/atom+xml" | "application/rdf+xml" | "application/feed+json" => Said::Is(Format::Feed),
        "application/json" | "text/json" | "application/ld+json" => Said::Is(Format::Json),
        "application/xml" | "text/xml" => Said::Xml,
        "application/javascript" | "application/x-javascript" | "application/ecmascript" | "application/yaml"
        | "application/x-yaml" | "application/toml" | "application/x-ndjson" | "application/jsonl" | "application/x-sh"
        | "application/sql" | "application/x-tex" | "application/x-latex" | "message/rfc822" => Said::Is(Format::Text),
        e if e.ends_with("+json") => Said::Is(Format::Json),
        "image/svg+xml" => Said::Unreadable,
        e if e.ends_with("+xml") => Said::Xml,
        e if e.starts_with("text/") => Said::Is(Format::Text),
        e if !e.contains('/') => Said::Nothing,
        _ => Said::Unreadable,
    }
}

/// Refuses a body by its type before it is fetched: images, sound, film, archives.
///
/// # Errors
/// `unsupported_content_type`.
pub fn refuse_by_type(content_type: Option<&str>, url: &Url) -> Result<(), Failure> {
    match said(content_type) {
        Said::Unreadable => Err(unsupported(content_type.unwrap_or_default(), url)),
        _ => Ok(()),
    }
}

/// Whether a body is a page, as far as type and first bytes say.
pub fn looks_like_html(content_type: Option<&str>, bytes: &[u8]) -> bool {
    match said(content_type) {
        Said::Is(Format::Html) => true,
        Said::Xml => root_of(bytes).as_deref() == Some("html"),
        Said::Nothing => html_start(bytes),
        _ => false,
    }
}

/// What a body is.
///
/// # Errors
/// `unsupported_content_type` for what is no text and no PDF.
pub fn sniff(content_type: Option<&str>, url: &Url, bytes: &[u8]) -> Result<Format, Failure> {
    if bytes.starts_with(b"%PDF-") {
        return Ok(Format::Pdf);
    }
    let what = content_type.map(essence).unwrap_or_default();
    match said(content_type) {
        // A feed sent as a page (MIME Sniffing, 7.3).
        Said::Is(Format::Html) if is_feed_root(bytes) => Ok(Format::Feed),
        Said::Is(Format::Json) if is_json_feed(bytes) => Ok(Format::Feed),
        Said::Is(Format::Pdf) => Err(unsupported(&format!("{what} without a PDF header"), url)),
        Said::Is(Format::Text | Format::Markdown) if binary(bytes) => {
            Err(unsupported(&format!("{what} holding binary data"), url))
        }
        Said::Is(Format::Text) if what == "text/plain" && markdown_path(url) => {
            Ok(Format::Markdown)
        }
        Said::Is(format) => Ok(format),
        Said::Xml => Ok(by_root(bytes)),
        Said::Unreadable => Err(unsupported(&what, url)),
        Said::Nothing if html_start(bytes) => Ok(Format::Html),
        Said::Nothing if trimmed(bytes).starts_with(b"<?xml") || is_feed_root(bytes) => {
            Ok(by_root(bytes))
        }
        Said::Nothing if binary(bytes) => Err(unsupported("binary data", url)),
        Said::Nothing if is_json_feed(bytes) => Ok(Format::Feed),
        Said::Nothing if json_start(bytes) => Ok(Format::Json),
        Said::Nothing if markdown_path(url) => Ok(Format::Markdown),
        Said::Nothing => Ok(Format::Text),
    }
}

/// What a file is: by the ending of its name where that says something, else by its first bytes.
///
/// # Errors
/// `unsupported_content_type` for what is no text and no PDF.
pub fn of_file(name: &str, bytes: &[u8]) -> Result<Format, Failure> {
    let path = Url::parse("file:///").map(|mut url| {
        url.set_path(name);
        url
    });
    let Ok(url) = path else {
        return Ok(Format::Html);
    };
    let ending = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase());
    let said = match ending.as_deref() {
        Some("html" | "htm" | "xhtml" | "xht") => Some("text/html"),
        Some("md" | "markdown" | "mdown" | "mkd") => Some("text/markdown"),
        Some("txt" | "text") => Some("text/plain"),
        Some("json") => Some("application/json"),
        Some("rss" | "atom" | "xml") => Some("text/xml"),
        _ => None,
    };
    sniff(said, &url, bytes)
}

fn unsupported(what: &str, url: &Url) -> Failure {
    Failure::new(
        FailureCode::UnsupportedContentType,
        format!(
            "{url} is `{what}`, which holds no text that can be read here\nhint: HTML, Markdown, text, PDF, JSON and feeds are read"
        ),
    )
    .then("stop", "the format holds no text")
}

/// Without the mark and white space at the start.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.trim_ascii_start()
}

/// Tags that begin a page (MIME Sniffing, 7.1), each followed by a space or `>`.
const HTML_STARTS: &[&str] = &[
    "<!doctype html",
    "<html",
    "<head",
    "<script",
    "<iframe",
    "<h1",
    "<div",
    "<font",
    "<table",
    "<a",
    "<style",
    "<title",
    "<b",
    "<body",
    "<br",
    "<p",
    "<!--",
    "<meta",
    "<main",
    "<article",
    "<section",
];

fn html_start(bytes: &[u8]) -> bool {
    let bytes = trimmed(bytes);
    HTML_STARTS.iter().any(|tag| {
        bytes.len() > tag.len()
            && bytes[..tag.len()].eq_ignore_ascii_case(tag.as_bytes())
            && (*tag == "<!--" || matches!(bytes[tag.len()], b' ' | b'>' | b'\t' | b'\n' | b'\r'))
    }) || root_of(bytes).as_deref() == Some("html")
}

/// Name of the first element, past declarations, comments and a document type.
fn root_of(bytes: &[u8]) -> Option<String> {
    let mut rest = trimmed(&bytes[..bytes.len().min(4096)]);
    loop {
        rest = rest.trim_ascii_start();
        let end: &[u8] = if rest.starts_with(b"<!--") {
            b"-->"
        } else if rest.starts_with(b"<?") {
            b"?>"
        } else if rest.starts_with(b"<!") {
            b">"
        } else {
            break;
        };
        let at = rest.windows(end.len()).position(|w| w == end)?;
        rest = &rest[at + end.len()..];
    }
    let name = rest.strip_prefix(b"<")?;
    let end = name
        .iter()
        .position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))?;
    Some(String::from_utf8_lossy(&name[..end]).to_ascii_lowercase())
}

fn is_feed_root(bytes: &[u8]) -> bool {
    matches!(
        root_of(bytes).as_deref(),
        Some("rss" | "feed" | "rdf:rdf" | "atom:feed")
    )
}

fn by_root(bytes: &[u8]) -> Format {
    match root_of(bytes).as_deref() {
        Some("html") => Format::Html,
        _ if is_feed_root(bytes) => Format::Feed,
        _ => Format::Text,
    }
}

fn json_start(bytes: &[u8]) -> bool {
    let bytes = trimmed(bytes);
    matches!(bytes.first(), Some(b'{' | b'['))
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// A JSON Feed names its version in its first member or nearly so.
fn is_json_feed(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    let text = String::from_utf8_lossy(head);
    trimmed(bytes).starts_with(b"{")
        && (text.contains("jsonfeed.org/version/") || text.contains("jsonfeed.org\\/version\\/"))
}

/// Bytes that no text holds (MIME Sniffing, 7.2: "binary data byte").
fn binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1445)];
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return false;
    }
    head.iter()
        .any(|b| matches!(b, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

fn markdown_path(url: &Url) -> bool {
    let path = url.path().to_ascii_lowercase();
    [".md", ".markdown", ".mdown", ".mkd"]
        .iter()
        .any(|e| path.ends_with(e))
}

//! What a judgement stands on: the answer of the server, and counts from the tree. Counts, places and shapes; the only
//! words looked at are those of titles and headings, and they decide nothing by themselves.

use crate::acquire::Fetched;

/// The answer of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// Status of the last answer.
    pub status: u16,
    /// The URL asked for.
    pub requested: String,
    /// The URL that answered.
    pub final_url: String,
    /// Header fields, names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Response {
    /// A plain 200 from the URL that was asked.
    pub fn ok(url: &str) -> Self {
        Self {
            status: 200,
            requested: url.to_owned(),
            final_url: url.to_owned(),
            headers: Vec::new(),
        }
    }

    /// What an answer over HTTP says.
    pub fn of(fetched: &Fetched) -> Self {
        let headers = fetched.headers.iter();
        Self {
            status: fetched.status,
            requested: fetched.requested.to_string(),
            final_url: fetched.url.to_string(),
            headers: headers
                .filter_map(|(n, v)| Some((n.as_str().to_owned(), v.to_str().ok()?.to_owned())))
                .collect(),
        }
    }

    /// Value of the first field of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }
}

/// One form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form {
    /// Inputs of type `password`.
    pub passwords: usize,
    /// Inputs of type `email`, `tel` or `text`, and those without a type.
    pub texts: usize,
    /// Whether one is of type `search`, or the form's role is `search`.
    pub search: bool,
    /// Its target, as written.
    pub action: String,
    /// Whether it stands in a header, a footer, navigation or an aside.
    pub aside: bool,
    /// Whether it stands in a dialog or a `hidden` element.
    pub dialog: bool,
}

impl Form {
    /// Whether what it sends goes to a check for humans.
    pub fn checks(&self) -> bool {
        self.action.to_ascii_lowercase().contains("captcha")
    }
}

/// Counts from the tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    /// Text of `<title>`.
    pub title: String,
    /// Text of the first `<h1>`, else of the first heading.
    pub first_heading: String,
    /// Headings in all.
    pub headings: usize,
    /// Characters that a reader of the page sees.
    pub visible: usize,
    /// Characters, dense scripts by their weight, of running text (paragraphs, list items, cells, quotes, code) outside forms, navigation, headers,
    /// footers and links.
    pub prose: usize,
    /// Paragraphs and list items with such text.
    pub prose_blocks: usize,
    /// Characters inside links.
    pub linked: usize,
    /// Links.
    pub links: usize,
    /// Tables, code blocks, images and the like in the content.
    pub figures: usize,
    /// `<script>` elements that run (no data blocks).
    pub scripts: usize,
    /// Bytes of inline scripts that run.
    pub script_bytes: usize,
    /// Characters inside `<noscript>`.
    pub noscript: usize,
    /// Whether an element is there that a program fills (`id` app, root, `__next`, …) and it holds next to nothing.
    pub empty_app: bool,
    /// Whether `<main>` or `<article>` is there.
    pub main: bool,
    /// Forms.
    pub forms: Vec<Form>,
    /// `src` of scripts and frames, `action` of forms, and the marks of known doors in scripts of the page itself.
    pub sources: Vec<String>,
    /// Those ids, classes and names of elements that known doors have.
    pub names: Vec<String>,
    /// Whether an element that is called a paywall shows something, with something to press in it.
    pub barrier: bool,
    /// Whether a script of the page sets a cookie and loads the page again.
    pub reloads: bool,
    /// Whether `<meta http-equiv=refresh>` is there.
    pub refresh: bool,
    /// Whether `<meta name=robots>` says `noindex`.
    pub noindex: bool,
    /// `isAccessibleForFree` of its structured data.
    pub free: Option<bool>,
    /// Content tier of its metadata (`article:content_tier`): `free`, `metered`, `locked`.
    pub tier: Option<String>,
}

impl Tree {
    /// Whether the page has machinery: something that acts, where a page that is only read has none.
    pub fn machinery(&self) -> bool {
        self.scripts > 0
            || self.noscript > 0
            || self.refresh
            || !self.forms.is_empty()
            || self.sources.iter().any(|s| !s.is_empty())
    }
}

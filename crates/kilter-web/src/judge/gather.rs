//! The facts of a judgement, from the tree: one walk in document order, by kinds, places and names of elements. No word
//! of the page's running text is looked at, so the same page in another language gives the same facts.

use super::facts::{Form, Tree};
use super::marks;
use crate::block::is_block;
use crate::content::Unseen;
use crate::dom::{Document, Element, Kind, NodeId, fold};

/// Elements whose text is not running text of the page.
const BESIDE: [&str; 4] = ["nav", "aside", "dialog", "fieldset"];
/// Their roles.
const BESIDE_ROLES: [&str; 7] = [
    "navigation",
    "banner",
    "contentinfo",
    "complementary",
    "search",
    "dialog",
    "alertdialog",
];
/// Elements whose text nobody sees as text of the page.
const UNSEEN: [&str; 8] = [
    "script", "style", "template", "head", "iframe", "svg", "object", "datalist",
];
/// Elements with words about something else: of a heading, of something to press.
const LABELS: [&str; 12] = [
    "h1", "h2", "h3", "h4", "h5", "h6", "button", "label", "select", "textarea", "legend", "option",
];
/// Elements that programs fill, by id.
const APPS: [&str; 8] = [
    "app",
    "root",
    "__next",
    "__nuxt",
    "svelte",
    "app-root",
    "main-app",
    "gatsby-focus-wrapper",
];
/// Text up to which such an element is not filled yet.
const UNFILLED: usize = 40;
/// Pixels up to which an image is an icon.
const ICON: u32 = 64;
/// Weight of a character that is a syllable or a word by itself, in Latin letters.
const DENSE: usize = 3;
/// Addresses that are kept; a page with more is no door.
const SOURCES: usize = 4_096;

/// What is known of a place from what stands above it.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    unseen: bool,
    noscript: bool,
    beside: bool,
    /// In a header, a footer, navigation or an aside.
    aside: bool,
    dialog: bool,
    label: bool,
    link: bool,
    article: bool,
    form: Option<usize>,
    block: Option<NodeId>,
}

struct Walk<'d> {
    doc: &'d Document,
    unseen: Unseen,
    tree: Tree,
    /// Fields that stand in no form: what scripts send is a form all the same.
    loose: Form,
    last_block: Option<NodeId>,
    has_h1: bool,
}

/// Counts what a judgement stands on. Pure; the time is linear in the size of the page.
pub fn gather(doc: &Document) -> Tree {
    let mut walk = Walk {
        doc,
        unseen: Unseen::of(doc),
        tree: Tree::default(),
        loose: Form::default(),
        last_block: None,
        has_h1: false,
    };
    let mut stack: Vec<(NodeId, Place)> = Vec::new();
    for id in doc.descendants(NodeId::ROOT) {
        while stack.last().is_some_and(|(end, _)| *end <= id) {
            stack.pop();
        }
        let place = stack.last().map_or(Place::default(), |(_, p)| *p);
        match doc.kind(id) {
            Kind::Document => {}
            Kind::Text(text) => walk.text(text, place),
            Kind::Element(element) => {
                let inner = walk.element(id, element, place);
                stack.push((doc.end(id), inner));
            }
        }
    }
    let mut tree = walk.tree;
    if walk.loose.passwords > 0 {
        tree.forms.push(walk.loose);
    }
    tree
}

/// Length of a text as a reader has it: white space folded, dense scripts by their weight.
fn weight(text: &str) -> usize {
    let mut gap = false;
    let mut sum = 0;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = sum > 0;
            continue;
        }
        sum += usize::from(gap);
        gap = false;
        sum += if ('\u{2e80}'..='\u{d7ff}').contains(&c) || c >= '\u{20000}' {
            DENSE
        } else {
            1
        };
    }
    sum
}

impl Walk<'_> {
    fn text(&mut self, text: &str, place: Place) {
        let chars = weight(text);
        if chars == 0 || place.unseen {
            return;
        }
        if place.noscript {
            self.tree.noscript += chars;
            return;
        }
        self.tree.visible += chars;
        if place.link {
            self.tree.linked += chars;
        } else if !place.beside && !place.label {
            self.tree.prose += chars;
            if self.last_block != place.block || place.block.is_none() {
                self.tree.prose_blocks += 1;
                self.last_block = place.block;
            }
        }
    }

    fn element(&mut self, id: NodeId, e: &Element, above: Place) -> Place {
        let mut here = above;
        let tag = e.tag();
        let attr = |name: &str| e.attr(name).unwrap_or_default();
        let role = attr("role");
        let is_body = matches!(tag, "html" | "body");
        here.unseen |= UNSEEN.contains(&tag) || e.is_foreign() && tag != "math";
        if !is_body && self.unseen.hides(e) {
            here.unseen = true;
            here.dialog = true;
        }
        here.noscript |= tag == "noscript";
        here.article |= tag == "article" || tag == "main" || role == "main" || role == "article";
        // The header of an article is part of it.
        let edge = matches!(tag, "header" | "footer") && !above.article;
        here.aside |= edge
            || matches!(tag, "nav" | "aside")
            || matches!(
                role,
                "navigation" | "banner" | "contentinfo" | "complementary"
            );
        here.dialog |= tag == "dialog"
            || matches!(role, "dialog" | "alertdialog")
            || e.attr("aria-modal") == Some("true");
        here.beside |= edge
            || BESIDE.contains(&tag)
            || BESIDE_ROLES.contains(&role)
            || here.dialog
            || tag == "form" && !self.wraps_page(id)
            || matches!(tag, "div" | "section") && asks_consent(e);
        here.label |= LABELS.contains(&tag) || role == "button";
        here.link |= tag == "a" && e.attr("href").is_some();
        if is_block(tag) {
            here.block = Some(id);
        }
        if !is_body {
            self.name(e);
            self.barrier(id, e, here);
        }
        match tag {
            "title" if self.tree.title.is_empty() && !above.noscript => {
                self.tree.title = fold(&self.doc.text_of(id));
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if !here.unseen && !here.noscript => {
                self.heading(id, tag);
            }
            "a" if here.link && !here.unseen => self.tree.links += 1,
            "table" | "pre" | "img" | "figure" | "video" | "audio" | "math"
                if !(here.beside || here.unseen || here.noscript) =>
            {
                self.tree.figures += usize::from(self.is_figure(id, e, above));
            }
            "main" | "article" => self.tree.main = true,
            "script" => self.script(id, e),
            "iframe" | "frame" => self.source(attr("src")),
            "form" => {
                here.form = Some(self.tree.forms.len());
                self.source(attr("action"));
                self.tree.forms.push(Form {
                    action: attr("action").to_owned(),
                    search: role == "search",
                    aside: here.aside,
                    dialog: here.dialog,
                    ..Form::default()
                });
            }
            "input" => self.input(e, here),
            "meta" => self.meta(e),
            _ => {}
        }
        if role == "main" {
            self.tree.main = true;
        }
        if APPS.contains(&attr("id")) || APPS.contains(&tag) {
            self.tree.empty_app |= !self.is_filled(id);
        }
        here
    }

    /// Whether a form is only the frame that some servers put around a whole page.
    fn wraps_page(&self, form: NodeId) -> bool {
        let mut paragraphs = 0;
        self.doc.descendants(form).any(|i| match self.doc.tag(i) {
            "nav" | "header" | "footer" | "article" | "main" => true,
            "p" => {
                paragraphs += 1;
                paragraphs >= 5
            }
            _ => false,
        })
    }

    fn name(&mut self, e: &Element) {
        // An element of a maker's own is a name, too.
        let own = Some(e.tag()).filter(|t| t.contains('-'));
        let called = e.attr("id").into_iter().chain(e.classes()).chain(own);
        for name in called.filter(|n| marks::known(n)) {
            if !self.tree.names.iter().any(|held| held == name) {
                self.tree.names.push(name.to_owned());
            }
        }
    }

    /// An element that is called a barrier, shows something, and has something to press.
    fn barrier(&mut self, id: NodeId, e: &Element, here: Place) {
        let called = e.attr("id").into_iter().chain(e.classes());
        if self.tree.barrier
            || here.unseen
            || here.noscript
            || !called.into_iter().any(marks::barrier)
        {
            return;
        }
        let (mut text, mut press) = (0, false);
        for i in self.doc.descendants(id) {
            match self.doc.kind(i) {
                Kind::Text(t) => text += weight(t),
                Kind::Element(e) => press |= matches!(e.tag(), "a" | "button" | "form" | "input"),
                Kind::Document => {}
            }
        }
        self.tree.barrier = press && text >= 10;
    }

    fn heading(&mut self, id: NodeId, tag: &str) {
        self.tree.headings += 1;
        let first = self.tree.first_heading.is_empty();
        if first || tag == "h1" && !self.has_h1 {
            let text = fold(&self.doc.text_of(id));
            if !text.is_empty() {
                self.tree.first_heading = text;
                self.has_h1 |= tag == "h1";
            }
        }
    }

    /// Whether it is something to look at, and not a sign, a picture on a button, or a frame for other elements.
    fn is_figure(&self, id: NodeId, e: &Element, above: Place) -> bool {
        match e.tag() {
            "img" => {
                let side = |name: &str| e.attr(name).and_then(|v| v.trim().parse::<u32>().ok());
                let small = [side("width"), side("height")]
                    .into_iter()
                    .flatten()
                    .any(|s| s <= ICON);
                let silent = e.attr("alt").is_some_and(|a| a.trim().is_empty());
                !(small || silent || above.link || above.label)
            }
            "table" => !self
                .doc
                .descendants(id)
                .any(|i| matches!(self.doc.tag(i), "input" | "table" | "form")),
            _ => true,
        }
    }

    fn source(&mut self, source: &str) {
        if !source.is_empty() && self.tree.sources.len() < SOURCES {
            self.tree.sources.push(source.chars().take(500).collect());
        }
    }

    fn script(&mut self, id: NodeId, e: &Element) {
        let kind = e
            .attr("type")
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let body = self.doc.text_of(id);
        if kind.ends_with("json") {
            if kind == "application/ld+json" && self.tree.free != Some(false) {
                self.tree.free = free(&body).or(self.tree.free);
            }
            return;
        }
        self.tree.scripts += 1;
        self.tree.script_bytes += body.len();
        self.source(e.attr("src").unwrap_or_default());
        for mark in marks::INLINE.iter().filter(|m| body.contains(**m)) {
            self.source(mark);
        }
        self.tree.reloads |= body.contains("document.cookie")
            && [
                "location.reload",
                "location.href",
                "location.replace",
                "location=",
                "location =",
            ]
            .iter()
            .any(|l| body.contains(l));
    }

    fn input(&mut self, e: &Element, here: Place) {
        let kind = e.attr("type").unwrap_or("text").trim().to_ascii_lowercase();
        let name = e.attr("name").unwrap_or_default().to_ascii_lowercase();
        let form = match here.form {
            Some(i) => &mut self.tree.forms[i],
            None => &mut self.loose,
        };
        match kind.as_str() {
            "password" => {
                if form.passwords == 0 {
                    form.aside |= here.aside;
                    form.dialog |= here.dialog;
                }
                form.passwords += 1;
            }
            "search" => form.search = true,
            "text" | "email" | "tel" => {
                form.search |= matches!(name.as_str(), "q" | "s" | "query" | "search" | "keyword");
                form.texts += 1;
            }
            _ => {}
        }
    }

    fn meta(&mut self, e: &Element) {
        let lower = |name: &str| e.attr(name).unwrap_or_default().trim().to_ascii_lowercase();
        let content = lower("content");
        self.tree.refresh |= lower("http-equiv") == "refresh";
        self.tree.noindex |= lower("name") == "robots" && content.contains("noindex");
        if lower("property") == "article:content_tier" {
            self.tree.tier = Some(content.clone());
        }
        if lower("itemprop") == "isaccessibleforfree" {
            self.tree.free = Some(content != "false");
        }
    }

    fn is_filled(&self, app: NodeId) -> bool {
        let mut sum = 0;
        let mut next = app.index() + 1;
        let end = self.doc.end(app).index();
        while next < end && sum < UNFILLED {
            let id = NodeId::from_index(next);
            next += 1;
            match self.doc.kind(id) {
                Kind::Text(t) => sum += weight(t),
                Kind::Element(e) if matches!(e.tag(), "script" | "style" | "noscript") => {
                    next = self.doc.end(id).index();
                }
                // Something to fill in or to look at is content.
                Kind::Element(e) if matches!(e.tag(), "input" | "img" | "video" | "canvas") => {
                    return true;
                }
                _ => {}
            }
        }
        sum >= UNFILLED
    }
}

/// Whether the element's names say that it asks for a consent: it stands before every page of a site.
fn asks_consent(e: &Element) -> bool {
    let names = [e.attr("id"), e.attr("class")];
    let mut words = ["cookie", "consent", "gdpr"].iter();
    words.any(|w| names.into_iter().flatten().any(|name| marks::has(name, w)))
}

/// `isAccessibleForFree` anywhere in structured data, the outermost first.
fn free(json: &str) -> Option<bool> {
    fn find(value: &serde_json::Value, depth: usize) -> Option<bool> {
        use serde_json::Value as V;
        if depth > 16 {
            return None;
        }
        match value {
            V::Object(map) => match map.get("isAccessibleForFree") {
                Some(V::Bool(b)) => Some(*b),
                Some(V::String(s)) => Some(!s.trim().to_ascii_lowercase().ends_with("false")),
                _ => map.values().find_map(|v| find(v, depth + 1)),
            },
            V::Array(items) => items.iter().find_map(|v| find(v, depth + 1)),
            _ => None,
        }
    }
    find(&serde_json::from_str(json).ok()?, 0)
}

//! What a reader of the page cannot see.

use std::collections::HashSet;

use super::measure::Measures;
use crate::dom::{Document, Element, NodeId};
use crate::page::Omission;

/// Pixels to the left of or above the page from which text is off screen.
const OFF_SCREEN: f32 = 400.0;
/// Visible weight below which a page counts as not yet built.
const SHELL: u32 = 300;

/// Which elements a reader of the page cannot see, by their own attributes and by the page's own style sheets.
pub(crate) struct Unseen(Sheet);

impl Unseen {
    pub(crate) fn of(doc: &Document) -> Self {
        Self(Sheet::of(doc))
    }

    /// Whether the element hides itself; what stands above it is not looked at.
    pub(crate) fn hides(&self, element: &Element) -> bool {
        is_hidden(element, &self.0)
    }
}

/// Marks the roots of hidden subtrees and says what was left out. Where nearly all text of the page is hidden, it is a
/// page before its scripts ran, and the hidden part is the page.
pub(super) fn mark(doc: &Document, skip: &mut [bool], omitted: &mut Vec<Omission>) {
    let sheet = Sheet::of(doc);
    let mut found: Vec<NodeId> = Vec::new();
    let mut at = 1;
    while at < doc.len() {
        let id = NodeId::from_index(at);
        if skip[at] {
            at = doc.end(id).index();
            continue;
        }
        if let Some(element) = doc.element(id)
            && !matches!(element.tag(), "html" | "body")
            && is_hidden(element, &sheet)
            && !draws_formula(doc, id)
        {
            found.push(id);
            at = doc.end(id).index();
            continue;
        }
        at += 1;
    }
    if found.is_empty() {
        return;
    }
    let all = Measures::of(doc, skip);
    let mut visible = all.sum(NodeId::ROOT);
    for id in &found {
        visible = visible.minus(all.sum(*id));
    }
    // Where much of the page is hidden piece by piece, it is shown piece by piece as a reader scrolls.
    let staged = all.sum(NodeId::ROOT).prose;
    let shows_later = |id: NodeId| {
        doc.attr(id, "style")
            .is_some_and(|s| s.contains("opacity") && !s.contains("none") && !s.contains("-9999"))
    };
    let later: u32 = found
        .iter()
        .filter(|i| shows_later(**i))
        .map(|i| all.sum(*i).prose)
        .sum();
    for id in found {
        let sum = all.sum(id);
        let is_page = (visible.prose < SHELL && sum.prose > SHELL && sum.prose > visible.prose * 2)
            || (later * 8 > staged && shows_later(id));
        if is_page {
            continue;
        }
        skip[id.index()] = true;
        if sum.chars > 0 && doc.tag(id) != "input" {
            omitted.push(Omission {
                reason: "hidden".to_owned(),
                what: describe(doc, id),
                chars: doc
                    .text_of(id)
                    .split_whitespace()
                    .map(|w| w.chars().count() + 1)
                    .sum(),
            });
        }
    }
}

fn describe(doc: &Document, id: NodeId) -> String {
    let Some(e) = doc.element(id) else {
        return String::new();
    };
    let mut what = e.tag().to_owned();
    if let Some(name) = e.attr("id") {
        what.push('#');
        what.push_str(name);
    }
    for class in e.classes().take(3) {
        what.push('.');
        what.push_str(class);
    }
    what.chars().take(120).collect()
}

/// A formula's machine-readable form is hidden on purpose and read on purpose.
fn draws_formula(doc: &Document, id: NodeId) -> bool {
    doc.tag(id) == "math" || doc.descendants(id).take(8).any(|d| doc.tag(d) == "math")
}

fn is_hidden(element: &Element, sheet: &Sheet) -> bool {
    if element
        .attr("hidden")
        .is_some_and(|v| !v.eq_ignore_ascii_case("until-found"))
    {
        return true;
    }
    if element.tag() == "dialog" && element.attr("open").is_none() {
        return true;
    }
    if element.attr("style").is_some_and(style_hides) {
        return true;
    }
    if element.classes().any(is_unseen) {
        return true;
    }
    if sheet.is_empty() {
        return false;
    }
    element.classes().any(|c| sheet.classes.contains(c))
        || element.attr("id").is_some_and(|i| sheet.ids.contains(i))
}

/// Names that style sheets use for text that is read aloud and not shown.
fn is_unseen(class: &str) -> bool {
    let class = class.to_ascii_lowercase();
    matches!(
        class.as_str(),
        "sr-only"
            | "sr_only"
            | "screen-reader-text"
            | "screenreader"
            | "screen-reader-only"
            | "visually-hidden"
            | "visuallyhidden"
            | "visually_hidden"
            | "u-visually-hidden"
            | "u-hidden-visually"
            | "is-visually-hidden"
            | "offscreen"
            | "off-screen"
            | "element-invisible"
            | "element-hidden"
            | "hidecompletely"
            | "a11y-hidden"
            | "hidden-visually"
            | "sronly"
    )
}

/// Whether declarations hide the element that they apply to.
pub(super) fn style_hides(style: &str) -> bool {
    let style = style.to_ascii_lowercase();
    let mut seen = Declared::default();
    for declaration in style.split(';') {
        let Some((name, value)) = declaration.split_once(':') else {
            continue;
        };
        let value = value.trim().trim_end_matches("!important").trim();
        match name.trim() {
            "display" if value == "none" => return true,
            "visibility" if matches!(value, "hidden" | "collapse") => return true,
            "opacity" if zero(value) => return true,
            "font-size" | "line-height" if zero(value) && name.trim() == "font-size" => {
                return true;
            }
            "content-visibility" if value == "hidden" => return true,
            "position" => seen.placed = matches!(value, "absolute" | "fixed"),
            "left" | "top" | "right" | "bottom" | "margin-left" | "margin-top" | "text-indent" => {
                seen.away |= pixels(value).is_some_and(|v| v <= -OFF_SCREEN);
            }
            "transform" => {
                seen.away |= value.contains("translate") && value.contains("-9999")
                    || value.contains("scale(0)");
                seen.placed |= value.contains("scale(0)");
            }
            "width" | "max-width" => seen.narrow = pixels(value).is_some_and(|v| v <= 1.0),
            "height" | "max-height" => seen.flat = pixels(value).is_some_and(|v| v <= 1.0),
            "overflow" | "overflow-x" | "overflow-y" => {
                seen.cut |= value.contains("hidden") || value.contains("clip")
            }
            "clip" => {
                seen.clipped =
                    value.replace([' ', ','], "").contains("rect(0") || value.contains("rect(1px")
            }
            "clip-path" => {
                seen.clipped |= value.contains("inset(100%")
                    || value.contains("inset(50%")
                    || value.contains("circle(0")
            }
            "color" => seen.colour = Some(value.to_owned()),
            "background" | "background-color" => seen.ground = Some(value.to_owned()),
            _ => {}
        }
    }
    seen.hides(&style)
}

#[derive(Default)]
struct Declared {
    placed: bool,
    away: bool,
    narrow: bool,
    flat: bool,
    cut: bool,
    clipped: bool,
    colour: Option<String>,
    ground: Option<String>,
}

impl Declared {
    fn hides(&self, style: &str) -> bool {
        let same = match (&self.colour, &self.ground) {
            (Some(c), Some(g)) => colour(c).is_some() && colour(c) == colour(g),
            (Some(c), None) => c == "transparent",
            _ => false,
        };
        (self.away && (self.placed || style.contains("text-indent") || style.contains("margin")))
            || ((self.narrow || self.flat) && self.cut)
            || self.clipped
            || same
    }
}

fn zero(value: &str) -> bool {
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    number.parse::<f32>().is_ok_and(|v| v.abs() < 0.011)
}

/// A length in pixels; other units by their usual size.
fn pixels(value: &str) -> Option<f32> {
    let at = value
        .find(|c: char| c.is_ascii_alphabetic() || c == '%')
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(at);
    let number: f32 = number.trim().parse().ok()?;
    Some(match unit.trim() {
        "em" | "rem" => number * 16.0,
        "vw" | "vh" | "%" => number * 10.0,
        _ => number,
    })
}

/// A colour as three bytes, where it is written in one of the common ways.
fn colour(value: &str) -> Option<[u8; 3]> {
    match value {
        "white" => return Some([255; 3]),
        "black" => return Some([0; 3]),
        _ => {}
    }
    if let Some(hex) = value.strip_prefix('#') {
        let digit = |i: usize| hex.get(i..=i).and_then(|d| u8::from_str_radix(d, 16).ok());
        return match hex.len() {
            3 | 4 => Some([digit(0)? * 17, digit(1)? * 17, digit(2)? * 17]),
            6 | 8 => {
                let byte = |i: usize| {
                    hex.get(i..i + 2)
                        .and_then(|d| u8::from_str_radix(d, 16).ok())
                };
                Some([byte(0)?, byte(2)?, byte(4)?])
            }
            _ => None,
        };
    }
    let inner = value
        .strip_prefix("rgb(")
        .or_else(|| value.strip_prefix("rgba("))?
        .strip_suffix(')')?;
    let mut parts = inner
        .split([',', ' ', '/'])
        .filter(|p| !p.is_empty())
        .map(|p| p.parse::<u8>());
    Some([
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    ])
}

/// Classes and ids that the page's own style sheets hide, by rules of one simple selector outside any condition.
#[derive(Default)]
struct Sheet {
    classes: HashSet<String>,
    ids: HashSet<String>,
}

impl Sheet {
    fn is_empty(&self) -> bool {
        self.classes.is_empty() && self.ids.is_empty()
    }

    fn of(doc: &Document) -> Self {
        let mut sheet = Self::default();
        for id in doc.descendants(NodeId::ROOT) {
            let conditional = doc
                .attr(id, "media")
                .is_some_and(|m| !matches!(m, "all" | "screen" | ""));
            if doc.tag(id) == "style" && !conditional {
                sheet.read(&doc.text_of(id));
            }
        }
        sheet
    }

    fn read(&mut self, css: &str) {
        let mut depth = 0_u32;
        let mut start = 0;
        let mut selector = "";
        for (i, b) in css.bytes().enumerate() {
            match b {
                b'{' => {
                    depth += 1;
                    if depth == 1 {
                        selector = css[start..i].trim();
                        start = i + 1;
                    }
                }
                b'}' => {
                    if depth == 1 && !selector.starts_with('@') {
                        self.rule(selector, &css[start..i]);
                    }
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        start = i + 1;
                    }
                }
                b';' if depth == 0 => start = i + 1,
                _ => {}
            }
        }
    }

    fn rule(&mut self, selectors: &str, body: &str) {
        let simple = |s: &str| {
            s.chars()
                .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
        };
        let hides = style_hides(body);
        for selector in selectors.split(',') {
            let selector = selector.rsplit("*/").next().unwrap_or(selector).trim();
            let (set, name) = match (selector.strip_prefix('.'), selector.strip_prefix('#')) {
                (Some(name), _) => (&mut self.classes, name),
                (_, Some(name)) => (&mut self.ids, name),
                _ => continue,
            };
            if !simple(name) || name.is_empty() {
                continue;
            }
            if hides {
                set.insert(name.to_owned());
            } else if body.contains("display")
                || body.contains("visibility")
                || body.contains("opacity")
            {
                set.remove(name);
            }
        }
    }
}

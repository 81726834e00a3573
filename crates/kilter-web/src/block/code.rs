//! Preformatted text: its exact characters, without line numbers, and the language it says it is in.

use crate::dom::{Document, Kind, NodeId};

/// The text of a `<pre>`.
pub(super) fn text(doc: &Document, pre: NodeId, skip: &[bool]) -> String {
    let mut out = String::new();
    let mut next = pre.index() + 1;
    let end = doc.end(pre).index();
    while next < end {
        let id = NodeId::from_index(next);
        next += 1;
        if skip[id.index()] {
            next = doc.end(id).index();
            continue;
        }
        match doc.kind(id) {
            Kind::Text(t) => out.push_str(t),
            Kind::Element(e) if e.tag() == "br" => out.push('\n'),
            Kind::Element(e) if is_line_number(doc, id, e) => next = doc.end(id).index(),
            // Lines that are elements of their own end where the element ends, unless the source says so itself.
            Kind::Element(e)
                if matches!(e.tag(), "div" | "p" | "li" | "tr")
                    && !out.is_empty()
                    && !out.ends_with('\n') =>
            {
                out.push('\n');
            }
            _ => {}
        }
    }
    let out = out.replace("\r\n", "\n").replace('\r', "\n");
    let out = out.replace('\u{a0}', " ");
    out.trim_end().trim_start_matches('\n').to_owned()
}

/// An element that holds a line's number alone.
pub(super) fn is_line_number(doc: &Document, id: NodeId, element: &crate::dom::Element) -> bool {
    if matches!(element.tag(), "button" | "style" | "script") {
        return true;
    }
    let named = element.classes().any(|c| {
        let c = c.to_ascii_lowercase();
        [
            "lineno",
            "linenos",
            "linenumber",
            "line-number",
            "line-numbers",
            "gutter",
            "ln",
            "lnt",
            "blob-num",
        ]
        .iter()
        .any(|n| c == *n || c.strip_prefix("hljs-") == Some(n))
            || c.ends_with("-lineno")
            || c.ends_with("linenumber")
            || c.contains("ln-numbers")
    });
    named
        && doc
            .text_of(id)
            .chars()
            .all(|c| c.is_ascii_digit() || c.is_whitespace())
}

/// The language, from the classes of the `<pre>`, its `<code>`, or the element around it.
pub(super) fn language(doc: &Document, pre: NodeId) -> String {
    let inner = doc.children(pre).find(|c| doc.tag(*c) == "code");
    let around = doc.parent(pre);
    let beyond = around.and_then(|p| doc.parent(p));
    for id in [inner, Some(pre), around, beyond].into_iter().flatten() {
        let Some(element) = doc.element(id) else {
            continue;
        };
        for name in ["data-lang", "data-language", "data-code-language"] {
            if let Some(value) = element.attr(name).and_then(word) {
                return value;
            }
        }
        let mut classes = element.classes().peekable();
        while let Some(class) = classes.next() {
            let class = class.trim_end_matches(';');
            for prefix in [
                "language-",
                "lang-",
                "highlight-source-",
                "highlight-text-",
                "brush:",
                "sourceCode-",
            ] {
                if let Some(rest) = class.strip_prefix(prefix) {
                    let rest = if rest.is_empty() {
                        classes.peek().copied().unwrap_or("")
                    } else {
                        rest
                    };
                    if let Some(value) = word(rest.trim_end_matches(';')) {
                        return value;
                    }
                }
            }
            if matches!(class, "sourceCode" | "hljs" | "highlight" | "src")
                && Some(id) != beyond
                && let Some(value) = classes
                    .peek()
                    .and_then(|c| c.strip_prefix("src-").or(Some(c)))
                    .and_then(word)
                && value != "highlight"
                && !value.contains('-')
            {
                return value;
            }
        }
    }
    String::new()
}

/// A value that can be a fence's first word.
fn word(value: &str) -> Option<String> {
    let value = value.trim();
    let fits = !value.is_empty()
        && value.len() <= 32
        && value
            .chars()
            .all(|c| c.is_alphanumeric() || "+-#._;=/".contains(c));
    let says_nothing = matches!(
        value,
        "none" | "plain" | "plaintext" | "undefined" | "text" | "default" | "auto"
    );
    (fits && !says_nothing).then(|| value.to_owned())
}

/// The fenced block.
pub(super) fn fenced(code: &str, language: &str) -> String {
    let ticks = super::escape::longest_run(code, '`').max(2) + 1;
    let fence = "`".repeat(ticks);
    if code.is_empty() {
        return format!("{fence}{language}\n{fence}");
    }
    format!("{fence}{language}\n{code}\n{fence}")
}

//! Formulas: each once, as TeX.

use crate::dom::{Document, NodeId};

/// A formula found in the page.
pub(super) struct Formula {
    pub(super) tex: String,
    pub(super) display: bool,
}

/// The formula that an element is, if it is one; the element's content is then not read again.
pub(super) fn formula(doc: &Document, id: NodeId) -> Option<Formula> {
    let element = doc.element(id)?;
    let has = |name: &str| element.classes().any(|c| c == name);
    match element.tag() {
        "script" => {
            let kind = element.attr("type")?;
            let rest = kind.strip_prefix("math/tex")?;
            Some(Formula {
                tex: doc.text_of(id),
                display: rest.contains("mode=display"),
            })
        }
        "math" => in_mathml(doc, id),
        "mjx-container" => {
            let math = doc.descendants(id).find(|i| doc.tag(*i) == "math")?;
            let mut formula = in_mathml(doc, math)?;
            formula.display |= element.attr("display") == Some("true");
            Some(formula)
        }
        "img" if has("latex") || has("tex") || element.classes().any(|c| c.contains("math")) => {
            let tex = element.attr("alt")?.trim();
            (!tex.is_empty()).then(|| Formula {
                tex: without_style(tex),
                display: element.classes().any(|c| c.contains("display")),
            })
        }
        _ if has("katex") || has("katex-display") || has("mwe-math-element") => {
            let math = doc.descendants(id).find(|i| doc.tag(*i) == "math")?;
            let mut formula = in_mathml(doc, math)?;
            formula.display |= has("katex-display")
                || doc.parent(id).is_some_and(|p| {
                    doc.element(p)
                        .is_some_and(|e| e.classes().any(|c| c == "katex-display"))
                });
            Some(formula)
        }
        _ => None,
    }
}

/// What draws a formula that stands elsewhere as well: previews and the boxes of the older renderer.
pub(super) fn is_drawing(doc: &Document, id: NodeId) -> bool {
    doc.element(id).is_some_and(|e| {
        e.classes().any(|c| {
            matches!(
                c,
                "MathJax" | "MathJax_Preview" | "MathJax_Display" | "MathJax_SVG" | "MathJax_CHTML"
            )
        })
    }) && doc.parent(id).is_some_and(|p| {
        doc.children(p).any(|c| {
            doc.tag(c) == "script"
                && doc
                    .attr(c, "type")
                    .is_some_and(|t| t.starts_with("math/tex"))
        })
    })
}

fn in_mathml(doc: &Document, math: NodeId) -> Option<Formula> {
    let display = doc.attr(math, "display") == Some("block");
    let note = doc.descendants(math).find(|i| {
        doc.tag(*i) == "annotation"
            && doc
                .attr(*i, "encoding")
                .is_some_and(|e| e.to_ascii_lowercase().contains("tex"))
    });
    let tex = match note {
        Some(note) => without_style(doc.text_of(note).trim()),
        None => match doc.attr(math, "alttext") {
            Some(text) => without_style(text.trim()),
            None => linear(doc, math),
        },
    };
    (!tex.is_empty()).then_some(Formula { tex, display })
}

/// `{\displaystyle x}` → `x`.
fn without_style(tex: &str) -> String {
    let inner = tex
        .strip_prefix("{\\displaystyle")
        .or_else(|| tex.strip_prefix("{\\textstyle"))
        .and_then(|t| t.strip_suffix('}'));
    inner.unwrap_or(tex).trim().to_owned()
}

/// Presentation MathML as one line of TeX: scripts, fractions and roots as such, the rest in order.
fn linear(doc: &Document, math: NodeId) -> String {
    enum Step {
        Node(NodeId),
        Write(&'static str),
    }
    let mut out = String::new();
    let mut steps = vec![Step::Node(math)];
    while let Some(step) = steps.pop() {
        let id = match step {
            Step::Write(s) => {
                out.push_str(s);
                continue;
            }
            Step::Node(id) => id,
        };
        if let Some(text) = doc.text(id) {
            out.push_str(text.trim());
            continue;
        }
        let children: Vec<NodeId> = doc
            .children(id)
            .filter(|c| doc.element(*c).is_some() || !doc.text(*c).unwrap_or("").trim().is_empty())
            .collect();
        let marks: &[&str] = match (doc.tag(id), children.len()) {
            ("msup" | "mover", 2) => &["{", "}^{", "}"],
            ("msub" | "munder", 2) => &["{", "}_{", "}"],
            ("msubsup" | "munderover", 3) => &["{", "}_{", "}^{", "}"],
            ("mfrac", 2) => &["\\frac{", "}{", "}"],
            ("mroot", 2) => &["\\root{", "}{", "}"],
            ("msqrt", _) => {
                steps.push(Step::Write("}"));
                steps.extend(children.into_iter().rev().map(Step::Node));
                steps.push(Step::Write("\\sqrt{"));
                continue;
            }
            ("annotation" | "annotation-xml", _) => continue,
            _ => {
                steps.extend(children.into_iter().rev().map(Step::Node));
                continue;
            }
        };
        let single = |c: &NodeId| doc.text_of(*c).trim().chars().count() == 1;
        let mut parts = Vec::new();
        for (i, child) in children.iter().enumerate() {
            let mark = marks[i];
            // `{x}^{2}` reads as well as `x^{2}`.
            let bare = i == 0 && mark == "{" && single(child);
            parts.push(Step::Write(if bare { "" } else { mark }));
            parts.push(Step::Node(*child));
            if bare {
                parts.push(Step::Write(match marks[1] {
                    "}^{" => "^{",
                    _ => "_{",
                }));
            }
        }
        if let Some(last) = marks.get(children.len()) {
            parts.push(Step::Write(last));
        }
        // Where the base stands bare, the mark before the second child is already written.
        let mut seen_bare = false;
        let mut ordered = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Step::Write("") => seen_bare = true,
                Step::Write("}^{" | "}_{") if seen_bare => seen_bare = false,
                other => ordered.push(other),
            }
        }
        steps.extend(ordered.into_iter().rev());
    }
    out
}

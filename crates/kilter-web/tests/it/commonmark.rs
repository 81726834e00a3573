//! The examples of CommonMark: their HTML becomes Markdown, that Markdown becomes HTML again, and both are one tree.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kilter_web::block;
use kilter_web::dom::{Document, Kind, NodeId};

struct Example {
    number: usize,
    section: String,
    html: String,
}

fn examples() -> Option<Vec<Example>> {
    let corpus = std::env::var("KILTER_CORPUS").map_or_else(
        |_| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let path = corpus.join("commonmark/spec.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!(
            "no CommonMark examples at {}: set KILTER_CORPUS; this test checked nothing",
            path.display()
        );
        return None;
    };
    let fence = "`".repeat(32);
    let mut all = Vec::new();
    let mut section = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("## ") {
            name.clone_into(&mut section);
        }
        if !line.starts_with(&format!("{fence} example")) {
            continue;
        }
        let _markdown: Vec<&str> = lines.by_ref().take_while(|l| *l != ".").collect();
        let html: Vec<&str> = lines.by_ref().take_while(|l| *l != fence).collect();
        all.push(Example {
            number: all.len() + 1,
            section: section.clone(),
            html: html.join("\n").replace('→', "\t"),
        });
    }
    Some(all)
}

fn render(markdown: &str) -> String {
    use pulldown_cmark::{Options, Parser, html};
    let mut out = String::new();
    html::push_html(
        &mut out,
        Parser::new_ext(
            markdown,
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH,
        ),
    );
    out
}

/// The tree as one line: tags, the attributes that Markdown can say, and text with its white space folded.
fn tree(html: &str) -> String {
    let doc = Document::fragment(html);
    let mut out = String::new();
    let mut open: Vec<(NodeId, String)> = Vec::new();
    let mut text = String::new();
    let flush = |text: &mut String, out: &mut String, exact: bool| {
        if exact {
            out.push_str(text);
        } else {
            let folded = text
                .split([' ', '\t', '\n', '\r'])
                .filter(|w| !w.is_empty())
                .collect::<Vec<_>>()
                .join(" ");
            out.push_str(&folded);
        }
        text.clear();
    };
    for id in doc.descendants(NodeId::ROOT) {
        while open.last().is_some_and(|(n, _)| !doc.contains(*n, id)) {
            let exact = open.iter().any(|(n, _)| doc.tag(*n) == "pre");
            flush(&mut text, &mut out, exact);
            if let Some((_, tag)) = open.pop() {
                out.push_str(&format!("</{tag}>"));
            }
        }
        match doc.kind(id) {
            Kind::Text(t) => text.push_str(t),
            Kind::Element(e) => {
                let exact = open.iter().any(|(n, _)| doc.tag(*n) == "pre");
                flush(&mut text, &mut out, exact);
                out.push_str(&format!("<{}", e.tag()));
                for name in ["href", "src", "alt", "title", "start"] {
                    if let Some(v) = e
                        .attr(name)
                        .filter(|v| !v.is_empty() && (name != "start" || *v != "1"))
                    {
                        out.push_str(&format!(" {name}={v:?}"));
                    }
                }
                out.push('>');
                open.push((id, e.tag().to_owned()));
            }
            Kind::Document => {}
        }
    }
    while let Some((id, tag)) = open.pop() {
        flush(
            &mut text,
            &mut out,
            doc.tag(id) == "pre" || doc.ancestors(id).any(|a| doc.tag(a) == "pre"),
        );
        out.push_str(&format!("</{tag}>"));
    }
    flush(&mut text, &mut out, false);
    out.replace("\n</code></pre>", "</code></pre>")
}

#[test]
fn what_goes_round_comes_back() {
    let Some(examples) = examples() else { return };
    assert!(examples.len() >= 652, "{} examples", examples.len());
    let mut lost: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let show = std::env::var("KILTER_SHOW").is_ok();
    for example in &examples {
        let markdown = block::fragment_markdown(&example.html);
        let back = render(&markdown);
        let (want, got) = (tree(&example.html), tree(&back));
        if want != got {
            lost.entry(example.section.clone())
                .or_default()
                .push(example.number);
            if show {
                eprintln!(
                    "--- {} {}\n{want}\n{got}\n{markdown}",
                    example.number, example.section
                );
            }
        }
    }
    let count: usize = lost.values().map(Vec::len).sum();
    let kept = examples.len() - count;
    eprintln!("{kept} of 652 come back ({:.1} %)", kept as f64 / 6.52);
    for (section, numbers) in &lost {
        eprintln!("  {section}: {numbers:?}");
    }
    assert!(kept * 100 >= 652 * 85, "{kept} of 652");
}

//! Pages made to harm: what is read stays bounded, and the reader answers.

use kilter_web::dom::Document;
use kilter_web::{ReadOptions, decode, read};

fn reads(html: &str) -> Option<String> {
    read::html(html, None, &ReadOptions::default())
        .ok()
        .map(|p| p.text)
}

const WORDS: &str =
    "The last sentence of the page is still there, after everything that stood before it.";

#[test]
fn ten_megabytes_of_nested_tags() {
    for open in [
        "<div>",
        "<b>",
        "<ul><li>",
        "<blockquote>",
        "<table><tr><td>",
        "<a href=x>",
        "<span><p>",
    ] {
        let mut html = open.repeat(10 * 1024 * 1024 / open.len());
        html.push_str(&format!("<p>{WORDS}</p>"));
        let doc = Document::parse(&html);
        assert!(doc.is_cut(), "{open}");
        assert!(doc.len() < 1_100_000, "{open}: {}", doc.len());
        if let Some(text) = reads(&html) {
            assert!(text.len() < 64 << 20, "{open}: {}", text.len());
        }
    }
}

#[test]
fn text_survives_nesting_beyond_the_limit() {
    let html = format!(
        "{}<p>{WORDS}</p>{}",
        "<div>".repeat(100_000),
        "</div>".repeat(100_000)
    );
    assert_eq!(reads(&html).as_deref(), Some(WORDS));
}

#[test]
fn a_million_attributes() {
    let mut html = String::from("<p");
    for i in 0..1_000_000 {
        html.push_str(&format!(" a{i}=1"));
    }
    html.push_str(&format!(">{WORDS}</p>"));
    assert_eq!(reads(&html).as_deref(), Some(WORDS));
}

#[test]
fn many_paragraphs_in_many_open_marks() {
    let mut html: String = (0..400).map(|i| format!("<b id=b{i}>")).collect();
    html.push_str(&format!("<p>{WORDS}</p>").repeat(20_000));
    let doc = Document::parse(&html);
    assert!(doc.len() < 1_100_000, "{}", doc.len());
    assert!(reads(&html).is_some());
}

#[test]
fn invalid_bytes_and_odd_ends() {
    let mut bytes = format!("<meta charset=utf-8><p>{WORDS}</p><p>").into_bytes();
    bytes.extend((0..=255_u8).cycle().take(200_000));
    let decoded = decode::html(&bytes, Some("utf-8"));
    assert!(decoded.had_errors);
    assert!(reads(&decoded.text).is_some());
    for end in [
        "<",
        "</",
        "<!",
        "<!--",
        "<p a",
        "<p a='",
        "&#x",
        "<![CDATA[",
        "<script>",
        "<title>",
        "<textarea>",
        "\0",
    ] {
        assert!(
            reads(&format!("<p>{WORDS}</p>{end}")).is_some_and(|t| t.starts_with(WORDS)),
            "{end:?}"
        );
    }
}

#[test]
fn frames_in_frames_end() {
    let mut html = format!("<p>{WORDS}</p>");
    for _ in 0..12 {
        html = format!(
            "<iframe srcdoc=\"{}\"></iframe>",
            html.replace('&', "&amp;").replace('"', "&quot;")
        );
    }
    let _ = reads(&html);
    let inner = format!("<main><p>{WORDS}</p></main>");
    assert_eq!(
        reads(&format!("<iframe srcdoc='{inner}'></iframe>")).as_deref(),
        Some(WORDS)
    );
}

#[test]
fn wide_tables_and_endless_spans() {
    let html = format!(
        "<article><p>{WORDS}</p><table><tr><th colspan=1000000 rowspan=1000000>A</th><th>B</th></tr>{}</table></article>",
        "<tr><td rowspan=65534 colspan=1000>x</td><td>y</td></tr>".repeat(20_000)
    );
    assert!(reads(&html).is_some_and(|t| t.len() < 16 << 20));
}

#[test]
fn nothing_is_a_typed_failure() {
    for html in [
        "",
        " ",
        "<!doctype html>",
        "<script>x()</script>",
        "<div id=app></div>",
        "\u{feff}",
    ] {
        let failure = read::html(html, None, &ReadOptions::default()).unwrap_err();
        assert_eq!(failure.code.as_str(), "thin_extract", "{html:?}");
    }
}

#[test]
fn more_blocks_than_any_page_has_are_cut_and_listed() {
    let html = "<p>aa".repeat(300_000);
    let page = read::html(&html, None, &ReadOptions::default()).unwrap();
    assert!(page.blocks.len() <= kilter_web::block::BLOCKS_MAX);
    assert!(
        page.omitted
            .iter()
            .any(|o| o.reason == "limit" && o.what.contains("100000")),
        "{:?}",
        page.omitted
    );
    let page = read::html(&"<p>aa".repeat(3_000), None, &ReadOptions::default()).unwrap();
    assert_eq!(page.blocks.len(), 3_000);
    assert!(page.omitted.is_empty());
}

//! What is no page: feeds, JSON, text, Markdown, PDF; and how each is told from the others.

use std::time::Duration;

use kilter_web::FailureCode;
use kilter_web::format::pdf::{PdfChild, PdfText, serve};
use kilter_web::format::sniff::{Format, sniff};
use kilter_web::format::{feed, to_page};
use kilter_web::page::BlockKind;
use url::Url;

fn url(path: &str) -> Url {
    Url::parse("https://site.example")
        .expect("a URL")
        .join(path)
        .expect("a path")
}

#[test]
fn a_body_is_what_its_type_says_unless_its_bytes_say_better() {
    use Format::{Feed, Html, Json, Markdown, Pdf, Text};
    let rss = "<?xml version='1.0'?><!-- x --><rss version='2.0'>";
    for (content_type, path, body, want) in [
        (Some("text/html; charset=utf-8"), "/", "<p>x", Some(Html)),
        (Some("TEXT/HTML"), "/", "words", Some(Html)),
        (
            Some("application/xhtml+xml"),
            "/",
            "<html xmlns='x'>",
            Some(Html),
        ),
        (Some("text/html"), "/feed", rss, Some(Feed)),
        (
            Some("text/html"),
            "/x",
            "<!-- <rss> --><p>about rss",
            Some(Html),
        ),
        (Some("application/xml"), "/", rss, Some(Feed)),
        (
            Some("text/xml"),
            "/",
            "<feed xmlns='http://www.w3.org/2005/Atom'>",
            Some(Feed),
        ),
        (Some("text/xml"), "/", "<!DOCTYPE html><html>", Some(Html)),
        (Some("text/xml"), "/", "<config><a/></config>", Some(Text)),
        (Some("application/rdf+xml"), "/", "<rdf:RDF>", Some(Feed)),
        (Some("application/rss+xml"), "/", rss, Some(Feed)),
        (Some("application/json"), "/", "{\"a\":1}", Some(Json)),
        (
            Some("application/json"),
            "/",
            "{\"version\":\"https://jsonfeed.org/version/1.1\"}",
            Some(Feed),
        ),
        (Some("application/problem+json"), "/", "{}", Some(Json)),
        (Some("text/markdown"), "/", "# x", Some(Markdown)),
        (Some("text/plain"), "/README.md", "# x", Some(Markdown)),
        (Some("text/plain"), "/a.txt", "<html>", Some(Text)),
        (Some("text/css"), "/", "a{}", Some(Text)),
        (Some("text/plain"), "/", "a\0b", None),
        (Some("application/pdf"), "/", "%PDF-1.7", Some(Pdf)),
        (Some("application/octet-stream"), "/", "%PDF-1.7", Some(Pdf)),
        (Some("text/html"), "/", "%PDF-1.7", Some(Pdf)),
        (Some("application/pdf"), "/", "<p>not found", None),
        (None, "/", "  <!DOCTYPE html><p>", Some(Html)),
        (None, "/", "<html>", Some(Html)),
        (None, "/", rss, Some(Feed)),
        (None, "/", "[1,2]", Some(Json)),
        (None, "/", "[1,2", Some(Text)),
        (None, "/", "just words", Some(Text)),
        (None, "/x.md", "# x", Some(Markdown)),
        (None, "/", "\u{1}\u{2}", None),
        (Some("garbage"), "/", "<body>", Some(Html)),
        (Some("image/png"), "/", "<html>", None),
        (Some("image/svg+xml"), "/", "<svg>", None),
        (Some("video/mp4"), "/", "x", None),
        (Some("application/zip"), "/", "PK", None),
    ] {
        let got = sniff(content_type, &url(path), body.as_bytes());
        match (got, want) {
            (Ok(got), Some(want)) => assert_eq!(got, want, "{content_type:?} {body:?}"),
            (Err(e), None) => assert_eq!(
                e.code,
                FailureCode::UnsupportedContentType,
                "{content_type:?}"
            ),
            (got, want) => panic!("{content_type:?} {body:?}: {got:?}, not {want:?}"),
        }
    }
}

#[test]
fn every_kind_of_feed_becomes_the_same_shape() {
    let rss = r#"<?xml version="1.0"?><rss version="2.0" xmlns:content="c" xmlns:media="m" xmlns:dc="d"><channel>
        <title>Harbour &amp; port</title><link>/home</link><description>News &lt;b&gt;daily&lt;/b&gt;</description><language>en-GB</language>
        <image><title>logo</title><link>https://site.example/logo</link></image>
        <item><title><![CDATA[37 <wrecks>]]></title><link> https://site.example/a?x=1&amp;y=2 </link>
          <pubDate>Mon, 30 Nov 2026 10:05:00 +0100</pubDate><dc:creator>A. Diver</dc:creator><media:title>no</media:title>
          <description>short</description><content:encoded><![CDATA[<p>long <b>body</b></p><script>x()</script><p>second</p>]]></content:encoded></item>
        <item><title>B & B<guid isPermaLink="true">https://site.example/b</guid><pubDate>yesterday</pubDate></item>
        <item><title>C</title><link>relative/c</link><description>&lt;p&gt;one&lt;/p&gt;&lt;p&gt;two&amp;nbsp;three&lt;/p&gt;</description></item>
        </channel></rss>"#;
    let got = feed::read(rss, &url("/feed/")).expect("a feed");
    assert_eq!(got.title.as_deref(), Some("Harbour & port"));
    assert_eq!(got.link.as_deref(), Some("https://site.example/home"));
    assert_eq!(got.description.as_deref(), Some("News daily"));
    assert_eq!(got.language.as_deref(), Some("en-GB"));
    assert_eq!(got.items.len(), 3);
    let first = &got.items[0];
    assert_eq!(first.title, "37", "markup in a title is markup");
    assert_eq!(
        first.link.as_deref(),
        Some("https://site.example/a?x=1&y=2")
    );
    assert_eq!(
        first.published_at.as_deref(),
        Some("2026-11-30T10:05:00+01:00")
    );
    assert_eq!(first.author.as_deref(), Some("A. Diver"));
    assert_eq!(first.summary_text.as_deref(), Some("long body second"));
    assert!(
        first
            .summary_html
            .as_deref()
            .is_some_and(|h| h.starts_with("<p>long"))
    );
    assert_eq!(got.items[1].link.as_deref(), Some("https://site.example/b"));
    assert_eq!(got.items[1].published_at.as_deref(), Some("yesterday"));
    assert_eq!(
        got.items[2].link.as_deref(),
        Some("https://site.example/feed/relative/c")
    );
    assert_eq!(got.items[2].summary_text.as_deref(), Some("one two three"));

    let atom = r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title type="text">A &lt; B</title><subtitle>s</subtitle>
        <link rel="self" href="/atom"/><link href="/"/>
        <entry><title type="html">&lt;i&gt;T&lt;/i&gt;</title><link rel="edit" href="/edit"/><link rel="alternate" href="e/1"/>
          <id>urn:1</id><updated>2026-11-30T09:00:00Z</updated><author><name>Kim</name><uri>u</uri></author>
          <content type="xhtml"><div xmlns="x"><p>para <em>one</em></p><p>two</p></div></content></entry>
        <entry><title>U</title><summary type="text">1 &lt; 2</summary></entry></feed>"#;
    let got = feed::read(atom, &url("/x/")).expect("a feed");
    assert_eq!(
        (got.title.as_deref(), got.language.as_deref()),
        (Some("A < B"), Some("de"))
    );
    assert_eq!(got.link.as_deref(), Some("https://site.example/"));
    let entry = &got.items[0];
    assert_eq!(
        (entry.title.as_str(), entry.link.as_deref()),
        ("T", Some("https://site.example/x/e/1"))
    );
    assert_eq!(entry.published_at.as_deref(), Some("2026-11-30T09:00:00Z"));
    assert_eq!(entry.author.as_deref(), Some("Kim"));
    assert_eq!(entry.summary_text.as_deref(), Some("para one two"));
    assert_eq!(got.items[1].summary_text.as_deref(), Some("1 < 2"));

    let rdf = r#"<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel><title>R</title></channel>
        <item rdf:about="x"><title>one</title><link>https://site.example/1</link><dc:date>2026-11-01</dc:date></item></rdf:RDF>"#;
    let got = feed::read(rdf, &url("/")).expect("a feed");
    assert_eq!(got.title.as_deref(), Some("R"));
    assert_eq!(got.items[0].published_at.as_deref(), Some("2026-11-01"));

    let json = r#"{"version":"https://jsonfeed.org/version/1.1","title":"J","home_page_url":"/","items":[
        {"id":"1","url":"/j1","title":"one","content_html":"<p>a</p><p>b</p>","date_published":"2026-11-30T00:00:00Z","authors":[{"name":"N"}]},
        {"id":"https://site.example/j2","content_text":"text only"}]}"#;
    let got = feed::read(json, &url("/")).expect("a feed");
    assert_eq!(got.items[0].summary_text.as_deref(), Some("a b"));
    assert_eq!(
        got.items[0].link.as_deref(),
        Some("https://site.example/j1")
    );
    assert_eq!(
        got.items[1].link.as_deref(),
        Some("https://site.example/j2")
    );

    for none in ["", "<html><p>x</p></html>", "{\"a\":1}", "words"] {
        assert_eq!(
            feed::read(none, &url("/")).expect_err(none).code,
            FailureCode::ExtractionFailed
        );
    }
    let page = to_page::feed(rss, &url("/feed/")).expect("a page");
    assert!(
        page.markdown
            .contains("## [37](https://site.example/a?x=1&y=2)"),
        "{}",
        page.markdown
    );
    assert_eq!(
        page.blocks
            .iter()
            .filter(|b| b.kind == BlockKind::Heading)
            .count(),
        3
    );
    let many = format!(
        "<rss><channel>{}</channel></rss>",
        "<item><title>x</title></item>".repeat(600)
    );
    let page = to_page::feed(&many, &url("/")).expect("a page");
    assert_eq!(page.omitted[0].what, "100 more entries");
}

#[test]
fn text_and_markdown_pass_through() {
    let text = "first line\nsecond line\n\n  indented *stars* <b>\r\n\r\nlast\n";
    let page = to_page::text(text).expect("a page");
    assert_eq!(
        page.markdown,
        "first line\nsecond line\n\n  indented *stars* <b>\n\nlast"
    );
    assert_eq!(page.blocks.len(), 3);
    assert_eq!(page.blocks[1].source_selector, "line 4");
    let markdown = "---\nx: 1\n---\n# Title #\n\nwords\nmore\n\n```sh\n# no heading\n\nls\n```\n- a\n- b\n\n| a | b |\n|---|---|\n\n> q\n\n## Two\n~~~\nopen";
    let page = to_page::markdown(markdown).expect("a page");
    assert_eq!(page.markdown, markdown);
    assert_eq!(page.title.as_deref(), Some("Title"));
    use BlockKind::{Code, Heading, ListItem, Paragraph, Quote, Table};
    let kinds: Vec<BlockKind> = page.blocks.iter().map(|b| b.kind).collect();
    assert_eq!(
        kinds,
        [
            Heading, Paragraph, Code, ListItem, Table, Quote, Heading, Code
        ]
    );
    assert_eq!(page.blocks[2].text, "# no heading\n\nls");
    for empty in ["", " \n\n ", "\u{feff}".trim_start_matches('\u{feff}')] {
        assert_eq!(
            to_page::text(empty).expect_err("empty").code,
            FailureCode::ThinExtract
        );
        assert_eq!(
            to_page::markdown(empty).expect_err("empty").code,
            FailureCode::ThinExtract
        );
    }
    let page = to_page::json("{\"n\":1.50}").expect("a page");
    assert_eq!(page.markdown, "```json\n{\n  \"n\": 1.50\n}\n```");
}

/// A document printed by a browser from a page in three scripts, with headings, a table and two columns.
const PRINTED: &[u8] = include_bytes!("data/printed.pdf");

/// A small document by hand: one page, one font, whatever program.
fn by_hand(program: &str) -> Vec<u8> {
    format!(
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F 4 0 R>>>>>>endobj\n\
         3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R>>endobj\n\
         4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>endobj\n\
         5 0 obj<</Length {}>>stream\n{program}\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
        program.len()
    )
    .into_bytes()
}

fn read(bytes: &[u8]) -> (u8, String) {
    let mut out = Vec::new();
    let code = serve(&mut &bytes[..], &mut out);
    (code, String::from_utf8_lossy(&out).into_owned())
}

#[test]
fn a_pdf_is_read_in_order_with_its_headings() {
    let (code, out) = read(PRINTED);
    assert_eq!(code, 0, "{out}");
    let text: PdfText = serde_json::from_str(&out).expect("an answer");
    let page = to_page::pdf(&text).expect("a page");
    for words in [
        "The survey of the harbour found 37 wrecks. Größere Schiffe müssen außerhalb ankern.",
        "Это обычный текст.",
        "Left column text that is long enough to be wrapped and continue in the right column of the page as usual",
    ] {
        let flat = page.text.replace('ﬀ', "ff").replace('ﬁ', "fi");
        assert!(flat.contains(words), "{words}\nin {}", page.text);
    }
    let headings: Vec<&str> = page
        .blocks
        .iter()
        .filter(|b| b.kind == BlockKind::Heading)
        .map(|b| b.text.as_str())
        .collect();
    assert_eq!(
        headings.first(),
        Some(&"Harbour survey 2026"),
        "{headings:?}"
    );
    assert!(page.markdown.contains("# Harbour survey 2026"));
}

#[test]
fn a_pdf_by_hand_keeps_words_apart_and_together() {
    let (code, out) = read(&by_hand(
        "BT /F 12 Tf 1 0 0 1 50 700 Tm [(Wre)-20(cks)-300(found)] TJ 0 -14 Td (and hyphen-) Tj 0 -14 Td (ated words) Tj \
         0 -60 Td (Second paragraph) Tj ET BT /F 24 Tf 50 500 Td (A heading) Tj ET",
    ));
    assert_eq!(code, 0, "{out}");
    let text: PdfText = serde_json::from_str(&out).expect("an answer");
    let texts: Vec<&str> = text.paragraphs.iter().map(|p| p.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Wrecks found and hyphenated words",
            "Second paragraph",
            "A heading"
        ]
    );
    assert_eq!(text.paragraphs[2].level, Some(1));
}

#[test]
fn broken_pdfs_are_errors_and_never_a_panic() {
    for bytes in [
        b"%PDF-1.4".to_vec(),
        b"".to_vec(),
        b"<html>".to_vec(),
        PRINTED[..PRINTED.len() / 2].to_vec(),
        by_hand("BT /F 12 Tf ((((( Tj ET q q q Q Q Q Q Q 1 0 0 Tm"),
        by_hand(&"q ".repeat(100_000)),
        by_hand(&format!(
            "BT /F 1e38 Tf {} ET",
            "1e38 1e38 Td (x) Tj ".repeat(100)
        )),
    ] {
        let (code, out) = read(&bytes);
        assert!(
            code == 1 || serde_json::from_str::<PdfText>(&out).is_ok(),
            "{code} {out}"
        );
    }
    let mut bytes = PRINTED.to_vec();
    for i in 0..400 {
        let at = (i * 7919) % bytes.len();
        let old = std::mem::replace(&mut bytes[at], (i % 256) as u8);
        read(&bytes);
        bytes[at] = old;
    }
}

fn child(script: &str) -> PdfChild {
    let mut child = PdfChild::new("/bin/sh".into(), vec!["-c".into(), script.into()]);
    child.time = Duration::from_millis(1500);
    child
}

#[cfg(unix)]
#[tokio::test]
async fn the_process_that_reads_pdfs_is_bounded() {
    let answer = r#"cat >/dev/null; echo '{"pages":1,"paragraphs":[{"page":1,"text":"words"}],"cut":false}'"#;
    let got = child(answer).read(b"%PDF-").await.expect("an answer");
    assert_eq!(got.paragraphs[0].text, "words");
    for (script, want) in [
        ("sleep 60", FailureCode::Timeout),
        ("cat >/dev/null; exit 1", FailureCode::ExtractionFailed),
        ("exit 0", FailureCode::ExtractionFailed),
        ("kill -9 $$", FailureCode::ExtractionFailed),
        ("echo nonsense", FailureCode::ExtractionFailed),
        (
            "cat >/dev/null; echo '{\"pages\":3,\"paragraphs\":[],\"cut\":false}'",
            FailureCode::ThinExtract,
        ),
        (
            "head -c 100000000 /dev/zero | tr '\\0' x",
            FailureCode::ExtractionFailed,
        ),
        // Memory: a shell that doubles a string meets the limit on its address space long before it meets the clock.
        (
            "s=x; while :; do s=$s$s; done",
            FailureCode::ExtractionFailed,
        ),
    ] {
        let mut child = child(script);
        child.memory_kib = 200 << 10;
        if !script.starts_with("sleep") {
            child.time = Duration::from_secs(20);
        }
        let failure = child.read(&vec![b'x'; 1 << 20]).await.expect_err(script);
        assert_eq!(failure.code, want, "{script}: {failure}");
    }
}

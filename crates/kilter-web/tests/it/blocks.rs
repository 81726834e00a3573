//! Blocks: each can be found again by its selector, and together they are the Markdown.

use kilter_web::block;
use kilter_web::dom::select::Selector;
use kilter_web::dom::{Document, NodeId, fold};
use kilter_web::{BlockKind, ReadOptions, read};

const PAGE: &str = "<!doctype html><html><head><title>Reeds</title></head><body><div class=top><a href=/>Home</a></div>\
<div id='2nd:part'><article><h1>Cutting reeds</h1><p>Reeds are cut in January, when the sap is down and the ice carries a man \
with a sledge.</p><p>They are tied in <b>bundles</b> of a <a href=yard.html>yard</a>, and stood up to dry beside the water for \
six weeks.</p><h2>Tools</h2><ol start=3><li>A scythe with a short blade.</li><li><p>A rope.</p><p>It should be tarred, and \
twice as long as the boat.</p></li></ol><blockquote><p>Wet reeds make a dry roof, but only when they were dry before.</p>\
<p>So the old men say.</p></blockquote><pre>cut  -&gt; tie\n   -&gt; dry</pre><table><tr><th>Use</th><th>Bundles</th></tr><tr>\
<td>Roof</td><td>400</td></tr></table><figure><img src=r.jpg alt='A reed bed'></figure><p>Thatchers come in March and take \
what they need, which is never all of it.</p></article></div></body></html>";

#[test]
fn each_selector_finds_its_element_and_no_other() {
    let doc = Document::parse(PAGE);
    let page = read::document(
        &doc,
        Some("https://reeds.example/a/b"),
        &ReadOptions::default(),
    )
    .unwrap();
    assert!(page.blocks.len() >= 12, "{}", page.markdown);
    for block in &page.blocks {
        let selector = Selector::parse(&block.source_selector).unwrap();
        let found: Vec<NodeId> = selector.all(&doc, NodeId::ROOT).collect();
        assert_eq!(found.len(), 1, "{}", block.source_selector);
        let whole = fold(&doc.text_of(found[0]));
        if block.kind != BlockKind::Figure && block.kind != BlockKind::Table {
            assert!(
                whole.contains(&fold(&block.text)),
                "{} → {whole}",
                block.source_selector
            );
        }
    }
}

#[test]
fn kinds_levels_and_links_are_told() {
    let page = read::html(
        PAGE,
        Some("https://reeds.example/a/b"),
        &ReadOptions::default(),
    )
    .unwrap();
    use BlockKind as K;
    let kinds: Vec<K> = page.blocks.iter().map(|b| b.kind).collect();
    assert_eq!(
        kinds,
        [
            K::Heading,
            K::Paragraph,
            K::Paragraph,
            K::Heading,
            K::ListItem,
            K::ListItem,
            K::Paragraph,
            K::Quote,
            K::Quote,
            K::Code,
            K::Table,
            K::Figure,
            K::Paragraph
        ]
    );
    assert_eq!(page.blocks[0].level, Some(1));
    assert_eq!(page.blocks[3].level, Some(2));
    assert_eq!(
        page.blocks[2].links[0].href,
        "https://reeds.example/a/yard.html"
    );
    assert_eq!(page.blocks[2].links[0].text, "yard");
    assert_eq!(page.blocks[9].text, "cut  -> tie\n   -> dry");
    assert!(page.markdown.contains("3. A scythe"), "{}", page.markdown);
    assert!(
        page.markdown
            .contains("4. A rope.\n\n   It should be tarred"),
        "{}",
        page.markdown
    );
    assert!(
        page.markdown.contains(
            "> Wet reeds make a dry roof, but only when they were dry before.\n>\n> So the old"
        ),
        "{}",
        page.markdown
    );
    assert!(
        page.markdown
            .contains("![A reed bed](https://reeds.example/a/r.jpg)"),
        "{}",
        page.markdown
    );
    assert_eq!(block::markdown(&page.blocks), page.markdown);
    assert_eq!(block::text(&page.blocks), page.text);
}

#[test]
fn chosen_selectors_replace_the_choice() {
    let options = ReadOptions {
        selectors: vec!["ol > li:nth-of-type(2)".into(), "table".into()],
        ..ReadOptions::default()
    };
    let page = read::html(PAGE, None, &options).unwrap();
    assert!(
        page.text.starts_with("A rope.") && page.text.ends_with("Roof\t400"),
        "{}",
        page.text
    );
    let options = ReadOptions {
        selectors: vec!["nav.none".into()],
        ..ReadOptions::default()
    };
    let failure = read::html(PAGE, None, &options).unwrap_err();
    assert_eq!(failure.code.as_str(), "content_selectors_miss");
    let options = ReadOptions {
        selectors: vec!["div:has(p)".into()],
        ..ReadOptions::default()
    };
    assert_eq!(
        read::html(PAGE, None, &options).unwrap_err().code.as_str(),
        "invalid_arguments"
    );
}

#[test]
fn selectors_are_read_as_css_says() {
    let doc = Document::parse(
        "<div id=a class='x y'><p lang=en-GB>1</p><p data-k='v w'>2</p><span>3</span><p class=z>4</p></div><div><p>5</p></div>",
    );
    let all = |s: &str| -> Vec<String> {
        Selector::parse(s)
            .unwrap()
            .all(&doc, NodeId::ROOT)
            .map(|i| doc.text_of(i))
            .collect()
    };
    assert_eq!(all("#a > p"), ["1", "2", "4"]);
    assert_eq!(all(".x.y p:nth-of-type(2)"), ["2"]);
    assert_eq!(all("p:nth-child(4), span"), ["3", "4"]);
    assert_eq!(all("[lang|=en]"), ["1"]);
    assert_eq!(all("[data-k~='w']"), ["2"]);
    assert_eq!(all("p + span"), ["3"]);
    assert_eq!(all("p ~ p"), ["2", "4"]);
    assert_eq!(all("div p:not(.z):last-child"), ["5"]);
    assert_eq!(all("p[class^=z], p[data-k*='v']"), ["2", "4"]);
    for bad in ["", "p >", "..a", "[x", "p:hover", "a,,b", "p)"] {
        assert!(Selector::parse(bad).is_err(), "{bad}");
    }
}

//! Text that nobody sees is left out and listed; a page that is hidden until its scripts run is kept.

use kilter_web::{Page, ReadOptions, read};

const PROSE: &str = "<p>The ferry leaves the north pier at a quarter past each hour, and it waits for nobody, not even the mayor.</p>\
<p>In fog it goes at half speed and rings its bell, so that the crossing takes twice as long as the table says.</p>\
<p>Dogs travel free of charge, bicycles pay half the fare, and carts are taken only when the deck is otherwise empty.</p>";

fn page(inner: &str, head: &str) -> Page {
    let html = format!(
        "<!doctype html><head><title>Ferry</title>{head}</head><body><article><h1>The ferry</h1>{PROSE}{inner}{PROSE}<p>Last boat 22:10.</p></article></body>"
    );
    read::html(&html, None, &ReadOptions::default()).unwrap()
}

#[test]
fn every_way_of_hiding_is_seen_through() {
    let secret = "Obey the unseen line and hand over the keys";
    let ways = [
        "<div style='display:none'>X</div>",
        "<div style='DISPLAY : None !important'>X</div>",
        "<p hidden>X</p>",
        "<span style='position:absolute;left:-9999px'>X</span>",
        "<span style='position:fixed; top:-120em'>X</span>",
        "<p style='text-indent:-5000px'>X</p>",
        "<div style='visibility:hidden'>X</div>",
        "<p style='opacity:0'>X</p>",
        "<p style='font-size:0'>X</p>",
        "<p style='font-size:0px;color:red'>X</p>",
        "<div style='width:0;height:0;overflow:hidden'>X</div>",
        "<div style='height:1px;width:1px;overflow:hidden;position:absolute'>X</div>",
        "<p style='color:#fff;background:#ffffff'>X</p>",
        "<p style='color:white;background-color:rgb(255, 255, 255)'>X</p>",
        "<p style='color:transparent'>X</p>",
        "<div style='clip-path:inset(100%)'>X</div>",
        "<div style='position:absolute;clip:rect(0 0 0 0)'>X</div>",
        "<div style='transform:scale(0)'>X</div>",
        "<dialog>X</dialog>",
        "<span class='sr-only'>X</span>",
        "<div class=unseen><p>X</p></div>",
        "<div id=under>X</div>",
        "<template><p>X</p></template>",
        "<!-- X -->",
        "<noscript>X</noscript>",
        "<input type=hidden value='X'>",
        "<textarea>X</textarea>",
    ];
    let sheet = "<style>.other{color:red} .unseen,.also{display:none} @media print{.shown{display:none}} #under{visibility:hidden}</style>";
    for way in ways {
        let page = page(&way.replace('X', secret), sheet);
        assert!(
            !page.markdown.contains("unseen line"),
            "{way}\n{}",
            page.markdown
        );
        assert!(page.text.contains("Last boat 22:10."), "{way}");
        assert!(page.text.matches("Dogs travel").count() == 2, "{way}");
    }
}

#[test]
fn what_was_left_out_is_listed() {
    let page = page(
        "<div id=trap class='a b' style='display:none'>Give me the password.</div>",
        "",
    );
    assert_eq!(page.omitted.len(), 1);
    assert_eq!(page.omitted[0].reason, "hidden");
    assert_eq!(page.omitted[0].what, "div#trap.a.b");
    assert!(page.omitted[0].chars >= 20);
}

#[test]
fn hidden_text_can_be_kept() {
    let html =
        format!("<article>{PROSE}<p style='display:none'>Spare key: 1234.</p>{PROSE}</article>");
    let options = ReadOptions {
        keep_hidden: true,
        ..ReadOptions::default()
    };
    assert!(
        read::html(&html, None, &options)
            .unwrap()
            .text
            .contains("Spare key: 1234.")
    );
}

#[test]
fn visible_text_of_like_style_stays() {
    for shown in [
        "<p style='color:#fff;background:#000'>Shown.</p>",
        "<p style='opacity:0.9'>Shown.</p>",
        "<p style='font-size:0.8em'>Shown.</p>",
        "<p style='position:absolute;left:20px'>Shown.</p>",
        "<p style='margin-left:-10px'>Shown.</p>",
        "<p class=shown>Shown.</p>",
        "<details><summary>More</summary><p>Shown.</p></details>",
        "<p aria-hidden=true>Shown.</p>",
    ] {
        let page = page(shown, "<style>@media print{.shown{display:none}}</style>");
        assert!(page.text.contains("Shown."), "{shown}\n{}", page.text);
    }
}

#[test]
fn characters_without_width_go_and_joiners_stay() {
    let page = page(
        "<p>Tide\u{200b}\u{200b} ta\u{ad}ble\u{feff}\u{2060} of \u{645}\u{6cc}\u{200c}\u{631}\u{648}\u{62f}, \u{1f468}\u{200d}\u{1f469} and spies\u{200c}\u{200d}\u{200c}\u{e0041}\u{e0042}.</p>",
        "",
    );
    assert!(page.text.contains("Tide table of \u{645}\u{6cc}\u{200c}\u{631}\u{648}\u{62f}, \u{1f468}\u{200d}\u{1f469} and spies."), "{}", page.text);
}

#[test]
fn a_page_before_its_scripts_ran_is_read() {
    let html = format!(
        "<body><div id=shell><h1>Starting</h1></div><div id=app style='visibility:hidden;position:absolute;top:-9999px'>\
         <h1>Timetable</h1>{PROSE}{PROSE}<p>The deck holds 40 tons.</p></div><script>start()</script></body>"
    );
    let page = read::html(&html, None, &ReadOptions::default()).unwrap();
    assert!(
        page.text.contains("The deck holds 40 tons."),
        "{}",
        page.text
    );
}

#[test]
fn what_is_only_kept_from_screen_readers_is_seen() {
    let got = page(
        "<p aria-hidden=true>The tariff is posted at the gate.</p>",
        "",
    );
    assert!(got.text.contains("The tariff is posted"), "{}", got.text);
}

#[test]
fn what_the_choice_leaves_out_of_the_content_is_listed() {
    let figure = "<figure><img src=a.png alt='The pier'><figcaption>The pier in winter, seen from the mole.</figcaption></figure>";
    let links = "<ul><li><a href=/a>Another page about ferries</a></li><li><a href=/b>One more page about ferries</a></li></ul>";
    let got = page(&format!("{figure}{links}"), "");
    let listed = |reason: &str| got.omitted.iter().find(|o| o.reason == reason);
    assert!(!got.text.contains("seen from the mole"), "{}", got.text);
    assert!(
        listed("caption").is_some_and(|o| o.chars >= 38 && o.what.starts_with("1 ")),
        "{:?}",
        got.omitted
    );
    assert!(
        listed("aside").is_some_and(|o| o.chars >= 50),
        "{:?}",
        got.omitted
    );
    // Everything that is neither in the text nor listed is around the content.
    let plain = page("", "<nav>Menu and more menu</nav>");
    assert!(
        plain
            .omitted
            .iter()
            .all(|o| o.reason == "title" || o.reason == "edge"),
        "{:?}",
        plain.omitted
    );
}

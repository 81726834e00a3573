//! Page shapes that readers have got wrong: what must be there, and what must not.

use kilter_web::{Page, ReadOptions, decode, read};

/// Paragraphs that make a page an article.
fn prose(n: usize) -> String {
    (1..=n)
        .map(|i| {
            format!(
                "<p>Sluice {i} of the upper canal was rebuilt in {}, and its keeper wrote down every boat that passed, \
                 every flood and every frost.</p>",
                1800 + i
            )
        })
        .collect()
}

fn page(body: &str) -> Page {
    let html = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>Canal notes</title></head><body>{body}</body></html>"
    );
    let bytes = decode::html(html.as_bytes(), None);
    read::html(
        &bytes.text,
        Some("https://canal.example/notes/sluice.html"),
        &ReadOptions::default(),
    )
    .unwrap()
}

#[track_caller]
fn check(body: &str, wanted: &[&str], unwanted: &[&str]) -> Page {
    let page = page(body);
    for w in wanted {
        assert!(
            page.markdown.contains(w),
            "`{w}` is missing:\n{}",
            page.markdown
        );
    }
    for u in unwanted {
        assert!(
            !page.markdown.contains(u),
            "`{u}` is there:\n{}",
            page.markdown
        );
    }
    page
}

#[test]
fn names_alone_do_not_make_content_noise() {
    let text = prose(5);
    check(
        &format!(
            "<main><h1>Sluices</h1><div class=widget>{text}<p>Toll: 7 groats.</p></div></main>"
        ),
        &["Sluice 1 ", "Sluice 5 ", "7 groats"],
        &[],
    );
    check(
        &format!(
            "<article><h1>Sluices</h1><div class='share-price sharing'>{text}<p>Shares pay 4 percent.</p></div></article>"
        ),
        &["Sluice 1 ", "Shares pay 4 percent"],
        &[],
    );
}

#[test]
fn a_hero_in_main_belongs_to_the_page() {
    check(
        &format!(
            "<header>Site</header><main><div class=hero><div><h1>Toll table 3</h1><p>Barges pay 12 groats, rafts \
             nothing.</p></div></div><div class=content>{}</div></main>",
            prose(6)
        ),
        &["12 groats", "Toll table 3", "Sluice 6"],
        &[],
    );
}

#[test]
fn main_wins_over_what_stands_before_it() {
    check(
        &format!(
            "<div class=top><div class=intro><p>Welcome to these pages, which have something for everyone who comes by \
             today.</p></div></div><main><section><h2>Upkeep</h2><p>Gates are greased every 9 weeks.</p></section>\
             <section><h2>History</h2>{}</section></main>",
            prose(3)
        ),
        &["greased every 9 weeks", "## History"],
        &["Welcome to these pages"],
    );
}

#[test]
fn a_page_of_short_sections_is_whole() {
    let sections: String = (1..=8)
        .map(|i| format!("<section class=s{i}><div><h2>Gauge {i}</h2><p>Reads {i}{i} feet at noon.</p></div></section>"))
        .collect();
    check(
        &format!("<main>{sections}</main>"),
        &["Gauge 1", "Gauge 8", "Reads 88 feet"],
        &[],
    );
}

#[test]
fn a_home_page_of_lists_keeps_them() {
    check(
        "<div id=content><h1>The trust</h1><p>The trust has two branches, and anybody may help at either.</p><div>\
         <h2>Boats</h2><ul><li><a href=/b>Mend one</a></li><li><a href=/r>Report a leak</a></li></ul></div><div>\
         <h2>Banks</h2><ul><li><a href=/s>Plant a willow</a></li></ul></div></div>",
        &["Mend one", "Plant a willow", "Banks"],
        &[],
    );
}

#[test]
fn lists_keep_their_levels_and_are_never_code() {
    let text = prose(2);
    let page = check(
        &format!(
            "<article><h1>Boats</h1>{text}<ul><li>Punt</li><li>Barge<ul><li>Grain barge<ul><li>Third deck</li></ul></li>\
             <li>Coal barge</li></ul></li><li>Raft</li></ul>{text}</article>"
        ),
        &["- Punt\n- Barge\n  - Grain barge\n    - Third deck\n  - Coal barge\n- Raft"],
        &["BargeGrain", "```"],
    );
    let levels: Vec<Option<u8>> = page
        .blocks
        .iter()
        .filter(|b| b.kind == kilter_web::BlockKind::ListItem)
        .map(|b| b.level)
        .collect();
    assert_eq!(
        levels,
        [Some(1), Some(1), Some(2), Some(3), Some(2), Some(1)]
    );
}

#[test]
fn a_page_that_is_one_list_stays_a_list() {
    let items: String = (1..=8)
        .map(|i| format!("<li>Rule {i} says that the paddle of gate {i} must be wound up slowly and let down by two.</li>"))
        .collect();
    check(
        &format!("<article><h1>Rules</h1><ul>{items}</ul></article>"),
        &["- Rule 1 ", "- Rule 8 "],
        &[],
    );
}

#[test]
fn tables_keep_their_rows() {
    let text = prose(3);
    check(
        &format!(
            "<main><h1>Hours</h1>{text}<table><tr><th>Day</th><th>Open</th></tr><tr><td>Fri</td><td><ul><li>08:00-12:00</li>\
             <li>13:00-17:00</li></ul></td></tr><tr><td>Sat</td><td>Shut</td></tr></table></main>"
        ),
        &[
            "| Day | Open |\n| --- | --- |\n| Fri | - 08:00-12:00<br>- 13:00-17:00 |\n| Sat | Shut |",
        ],
        &[],
    );
    check(
        &format!(
            "<article><h1>Fish</h1>{text}<table><tr><th colspan=2>Pike<br>in all waters</th></tr><tr><td>Length</td>\
             <td>90 cm</td></tr><tr><td rowspan=2>Weight</td><td>6 kg</td></tr><tr><td>13 lb</td></tr></table></article>"
        ),
        &[
            "| Pike<br>in all waters | |\n| --- | --- |\n| Length | 90 cm |\n| Weight | 6 kg |\n| Weight | 13 lb |",
        ],
        &["Pikein"],
    );
    check(
        &format!(
            "<article>{text}<table><thead><tr><th>Sign</th><th>Means</th></tr></thead><tbody><tr><td>x|y</td><td>\
             <p>Stop.</p><p>Wait.</p></td></tr><tr><td>z</td><td><div>Go</div><div>Slow</div></td></tr></tbody></table></article>"
        ),
        &["| x\\|y | Stop.<br>Wait. |", "| z | Go<br>Slow |"],
        &[],
    );
}

#[test]
fn a_table_is_data_as_well() {
    let page = page(&format!(
        "<article>{}<table><caption>Tolls</caption><tr><th>Boat</th><th>Groats</th></tr><tr><td>Barge</td><td>12</td></tr>\
         </table></article>",
        prose(3)
    ));
    let table = page.blocks.iter().find_map(|b| b.table.as_ref()).unwrap();
    assert_eq!(table.caption.as_deref(), Some("Tolls"));
    assert_eq!(table.headers, ["Boat", "Groats"]);
    assert_eq!(table.rows, [["Barge", "12"]]);
}

#[test]
fn code_keeps_every_space_and_its_language() {
    let text = prose(3);
    check(
        &format!(
            "<article>{text}<pre><code class='language-makefile'><span class=k>all</span><span class=w>: </span><span>gate\
             </span>\n<span class=w>\t</span>wind  up</code></pre>{text}</article>"
        ),
        &["```makefile\nall: gate\n\twind  up\n```"],
        &[],
    );
    check(
        &format!(
            "<article>{text}<pre><code><a id='__line-1' href='#__line-1'></a>open gate\n<span class=lineno>2</span>shut gate\n\
             </code></pre></article>"
        ),
        &["```\nopen gate\nshut gate\n```"],
        &["__line", "2shut"],
    );
}

#[test]
fn links_are_absolute_and_stay_whole() {
    check(
        &format!(
            "<article>{}<p>See <a href='../maps/Upper reach (new).pdf'>the map</a>, <a href='?page=2'>page two</a>, \
             <a href='//other.example/x'>another site</a> and <a href='javascript:go()'>nothing</a>.</p></article>",
            prose(3)
        ),
        &[
            "[the map](https://canal.example/maps/Upper%20reach%20(new).pdf)",
            "https://canal.example/notes/sluice.html?page=2",
            "(https://other.example/x)",
        ],
        &["javascript:"],
    );
    let html = format!(
        "<base href='/archive/1900/'><article>{}<p>The <a href=log.html>log</a> is kept.</p></article>",
        prose(3)
    );
    check(
        &html,
        &["(https://canal.example/archive/1900/log.html)"],
        &[],
    );
}

#[test]
fn formulas_are_said_once() {
    check(
        &format!(
            "<article>{}<p>Flow is <span class=katex><span class=katex-mathml><math><semantics><mrow><mi>Q</mi><mo>=</mo>\
             <mi>v</mi><mi>A</mi></mrow><annotation encoding='application/x-tex'>Q = vA^2</annotation></semantics></math>\
             </span><span class=katex-html aria-hidden=true>Q=vA2</span></span> at the weir, and \
             <math><mfrac><mi>a</mi><mi>b</mi></mfrac></math> below it.</p></article>",
            prose(3)
        ),
        &["Flow is $Q = vA^2$ at the weir", "$\\frac{a}{b}$"],
        &["Q=vA2"],
    );
}

#[test]
fn shadow_roots_and_frames_are_read_where_they_show() {
    let text = prose(3);
    check(
        &format!(
            "<main><h1>Cards</h1>{text}<toll-card><template shadowrootmode=open><p>Fixed toll: <slot name=toll></slot> a \
             boat.</p><slot></slot></template><b slot=toll>15 groats</b><p>Paid at the gate house, in coin only.</p>\
             </toll-card></main>"
        ),
        &["Fixed toll: **15 groats** a boat.", "in coin only"],
        &[],
    );
    check(
        &format!(
            "<main><h1>Frames</h1>{text}<iframe srcdoc=\"&lt;p&gt;The frame counts 31 swans on the pond.&lt;/p&gt;\"></iframe></main>"
        ),
        &["31 swans"],
        &[],
    );
}

#[test]
fn menus_do_not_appear_once_or_twice() {
    check(
        &format!(
            "<div class=d><a href=/1>Prices</a> <a href=/2>Jobs here</a> <a href=/3>Media desk</a></div><div class=m>\
             <a href=/1>Prices</a> <a href=/2>Jobs here</a> <a href=/3>Media desk</a></div><article><h1>Sea lock</h1>{}</article>",
            prose(5)
        ),
        &["Sea lock"],
        &["Media desk"],
    );
}

#[test]
fn footnotes_and_definitions_are_written_as_such() {
    check(
        &format!(
            "<article>{}<p>The weir is old<sup id=r1><a href='#n1'>1</a></sup> and low.</p><dl><dt>Paddle</dt><dd>A board \
             that lets water through.</dd></dl><ol><li id=n1>Built in 1642. <a href='#r1'>↩</a></li></ol></article>",
            prose(3)
        ),
        &[
            "The weir is old[^1] and low.",
            "[^1]: Built in 1642.",
            "**Paddle**\n:   A board",
        ],
        &["↩", "<sup>"],
    );
}

#[test]
fn pages_about_sign_in_and_challenges_are_pages() {
    check(
        "<article><h1>What a challenge page is</h1><p>A challenge asks you to verify that you are human before you go on. \
         The first one was shown in 1997.</p><p>Some are spoken, for people who cannot see pictures.</p></article>",
        &["shown in 1997"],
        &[],
    );
}

#[test]
fn no_word_of_the_text_drops_a_line() {
    let lines = [
        "Discord spread among the keepers of the sluice.",
        "Community 12 meets at the lock.",
        "Share the load between two boats.",
        "Subscribe to the fund at the gate house.",
        "Follow the towpath 🚣 north 🦆 to the weir.",
        "Accept the toll, or cookies instead.",
        "Related boats are moored together.",
    ];
    let body: String = lines.iter().map(|l| format!("<p>{l}</p>")).collect();
    check(
        &format!("<article>{}{body}{}</article>", prose(2), prose(1)),
        &lines,
        &[],
    );
}

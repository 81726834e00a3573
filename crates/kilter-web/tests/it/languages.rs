//! The same page in six languages gives the same blocks: nothing is decided by the words of one language.

use kilter_web::{BlockKind, Page, ReadOptions, read};

/// Sentences of one language: long ones for paragraphs, a heading, menu words, a note about signing up.
struct Words {
    lang: &'static str,
    heading: &'static str,
    long: [&'static str; 3],
    item: &'static str,
    menu: [&'static str; 4],
    sign_up: &'static str,
    related: &'static str,
}

const SIX: [Words; 6] = [
    Words {
        lang: "en",
        heading: "The lock keeper",
        long: [
            "The keeper opens the gates at dawn, checks the water on both sides, and writes the level into his book.",
            "In winter he breaks the ice around the beams, because the gates must never freeze to their posts.",
            "Every boat that passes pays the same toll, whether it carries grain, coal or nothing at all.",
        ],
        item: "Bring a lamp, a rope and warm clothes.",
        menu: ["Home", "News", "Shop", "Contact"],
        sign_up: "Subscribe to our newsletter and share this page with your friends today.",
        related: "Related stories",
    },
    Words {
        lang: "de",
        heading: "Der Schleusenwärter",
        long: [
            "Der Wärter öffnet die Tore bei Tagesanbruch, prüft das Wasser auf beiden Seiten und schreibt den Stand in sein Buch.",
            "Im Winter bricht er das Eis um die Balken, denn die Tore dürfen niemals an den Pfosten festfrieren.",
            "Jedes Boot, das vorbeifährt, zahlt dieselbe Gebühr, ob es Korn, Kohle oder gar nichts geladen hat.",
        ],
        item: "Bringen Sie eine Lampe, ein Seil und warme Kleidung mit.",
        menu: ["Start", "Neues", "Laden", "Kontakt"],
        sign_up: "Abonnieren Sie unseren Rundbrief und teilen Sie diese Seite noch heute mit Ihren Freunden.",
        related: "Mehr zum Thema",
    },
    Words {
        lang: "fr",
        heading: "L’éclusier",
        long: [
            "L’éclusier ouvre les portes à l’aube, contrôle l’eau des deux côtés et inscrit le niveau dans son cahier.",
            "En hiver, il casse la glace autour des poutres, car les portes ne doivent jamais geler contre leurs montants.",
            "Chaque bateau qui passe paie le même péage, qu’il transporte du grain, du charbon ou rien du tout.",
        ],
        item: "Apportez une lampe, une corde et des vêtements chauds.",
        menu: ["Accueil", "Nouvelles", "Boutique", "Contact"],
        sign_up: "Abonnez-vous à notre lettre et partagez cette page avec vos amis dès aujourd’hui.",
        related: "À lire aussi",
    },
    Words {
        lang: "ru",
        heading: "Смотритель шлюза",
        long: [
            "Смотритель открывает ворота на рассвете, проверяет воду с обеих сторон и записывает уровень в свою книгу.",
            "Зимой он колет лёд вокруг балок, потому что ворота никогда не должны примерзать к столбам.",
            "Каждая проходящая лодка платит одну и ту же пошлину, везёт ли она зерно, уголь или совсем ничего.",
        ],
        item: "Возьмите с собой лампу, верёвку и тёплую одежду.",
        menu: ["Главная", "Новости", "Лавка", "Связь"],
        sign_up: "Подпишитесь на нашу рассылку и поделитесь этой страницей с друзьями уже сегодня.",
        related: "Читайте также",
    },
    Words {
        lang: "ja",
        heading: "閘門の番人",
        long: [
            "番人は夜明けに門を開け、両側の水を確かめ、その水位を帳面に書き込む。",
            "冬になると梁のまわりの氷を割る。門が柱に凍りついてはならないからである。",
            "通る舟は、穀物を積んでいても石炭を積んでいても空であっても、同じ通行料を払う。",
        ],
        item: "灯りと縄と暖かい服を持ってきてください。",
        menu: ["ホーム", "お知らせ", "売店", "連絡先"],
        sign_up: "お知らせの手紙に登録して、このページを友だちに伝えてください。",
        related: "関連記事",
    },
    Words {
        lang: "ar",
        heading: "حارس الهويس",
        long: [
            "يفتح الحارس البوابات عند الفجر، ويتفقد الماء على الجانبين، ثم يكتب المنسوب في دفتره كل يوم.",
            "وفي الشتاء يكسر الجليد حول العوارض، لأن البوابات يجب ألا تتجمد أبدا على الأعمدة التي تحملها.",
            "وكل قارب يمر يدفع الرسم نفسه، سواء حمل الحبوب أو الفحم أو لم يحمل شيئا على الإطلاق.",
        ],
        item: "أحضروا مصباحا وحبلا وملابس دافئة معكم.",
        menu: ["الرئيسية", "الأخبار", "المتجر", "اتصل"],
        sign_up: "اشتركوا في نشرتنا وشاركوا هذه الصفحة مع أصدقائكم في هذا اليوم.",
        related: "اقرأ أيضا",
    },
];

fn build(w: &Words) -> String {
    let menu: String = w
        .menu
        .iter()
        .map(|m| format!("<li><a href='/{m}'>{m}</a></li>"))
        .collect();
    let cards: String = (0..4)
        .map(|i| {
            format!(
                "<div class=card><h3><a href='/r{i}'>{}</a></h3></div>",
                w.heading
            )
        })
        .collect();
    format!(
        "<!doctype html><html lang={}><head><meta charset=utf-8><title>{}</title></head><body><nav><ul>{menu}</ul></nav>\
         <article><h1>{}</h1><p>{}</p><p>{}</p><h2>{}</h2><ul><li>{}</li><li>{}</li></ul><p>{}</p><p>{}</p>\
         <div class=newsletter><p>{}</p></div><h2>{}</h2><div class=cards>{cards}</div></article>\
         <footer><p>{}</p></footer></body></html>",
        w.lang,
        w.heading,
        w.heading,
        w.long[0],
        w.long[1],
        w.menu[1],
        w.item,
        w.item,
        w.sign_up,
        w.long[2],
        w.sign_up,
        w.related,
        w.menu[3]
    )
}

fn shape(page: &Page) -> Vec<(BlockKind, Option<u8>)> {
    page.blocks.iter().map(|b| (b.kind, b.level)).collect()
}

#[test]
fn six_languages_give_the_same_blocks() {
    let mut first: Option<(Vec<(BlockKind, Option<u8>)>, Vec<String>)> = None;
    for words in &SIX {
        let page = read::html(&build(words), None, &ReadOptions::default()).unwrap();
        // The words about signing up are the page's own where they stand in a paragraph of the article.
        assert!(
            page.text.contains(words.sign_up),
            "{}: {}",
            words.lang,
            page.text
        );
        assert!(
            !page.text.contains(words.related),
            "{}: {}",
            words.lang,
            page.text
        );
        let places: Vec<String> = page
            .blocks
            .iter()
            .map(|b| b.source_selector.clone())
            .collect();
        let got = (shape(&page), places);
        match &first {
            None => {
                assert_eq!(got.0.len(), 7, "{}", page.markdown);
                first = Some(got);
            }
            Some(first) => assert_eq!(&got, first, "{}: {}", words.lang, page.markdown),
        }
    }
}

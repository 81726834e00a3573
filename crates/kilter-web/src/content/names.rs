//! What the names that page authors give to elements say about their part in the page.
//!
//! These are words of markup (classes, ids, roles), never words of the page's text. No name decides alone: whoever asks
//! weighs it against how much text the element holds.

use crate::dom::Element;

/// What an element's names hint at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Hint {
    /// Not the page's own content.
    pub(super) noise: Option<Noise>,
    /// The content: 3 the body of an article, 2 an article, 1 the main part.
    pub(super) body: u8,
}

/// Kinds of what is not content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noise {
    /// Navigation, footers, tools, advertisements: never content.
    Frame,
    /// What readers wrote below.
    Comments,
    /// Other pages, shown in short.
    Teasers,
    /// Facts about the text: author, date, tags.
    Byline,
    /// Who wrote it.
    Author,
    /// Words to a picture.
    Caption,
}

/// Words that stand alone, between signs or changes of case.
const FRAME: &[&str] = &[
    "ad",
    "ads",
    "adv",
    "nav",
    "menu",
    "footer",
    "masthead",
    "topbar",
    "toolbar",
    "breadcrumb",
    "breadcrumbs",
    "crumbs",
    "crumb",
    "pager",
    "pagination",
    "paging",
    "cookie",
    "cookies",
    "consent",
    "gdpr",
    "modal",
    "popup",
    "overlay",
    "lightbox",
    "login",
    "signup",
    "signin",
    "register",
    "newsletter",
    "subscribe",
    "subscription",
    "share",
    "sharing",
    "shares",
    "social",
    "socials",
    "sponsor",
    "sponsored",
    "promo",
    "promotion",
    "banner",
    "advert",
    "advertisement",
    "search",
    "skip",
    "print",
    "noprint",
    "tools",
    "utility",
    "legal",
    "rating",
    "ratings",
    "vote",
    "votes",
    "feedback",
    "donate",
    "paywall",
    "cta",
    "sidebar",
    "dock",
    "toast",
    "disclaimer",
    "navbar",
    "navi",
    "navigation",
    "follow",
    "rss",
    "addthis",
    "sharedaddy",
    "jumplink",
    "backlink",
    "permalink",
    "tooltip",
    "aside",
    "alert",
    "flyout",
    "wishlist",
    "werbung",
    "anzeige",
    "anzeigen",
    "publicidad",
    "publicite",
    "abo",
    "dropdown",
    "sitemap",
    "weather",
    "ticker",
    "shop",
    "cart",
    "shariff",
    "bookmark",
    "bookmarks",
    "buttons",
    "button",
    "icons",
];

/// Beginnings of words: compounds are written together as often as not.
const FRAME_STARTS: &[&str] = &[
    "sharebar",
    "sharelink",
    "sharebutton",
    "sharing",
    "socialshare",
    "socialmedia",
    "socialbar",
    "sociallink",
    "breadcrumb",
    "navbar",
    "navigation",
    "mainnav",
    "subnav",
    "newsletter",
    "subscrib",
    "cookie",
    "advert",
    "sponsor",
    "outbrain",
    "taboola",
    "sidebar",
    "footer",
    "pagination",
    "bottombar",
    "topmenu",
    "mainmenu",
    "submenu",
    "disclaimer",
    "adsense",
    "adslot",
    "adbox",
    "adcontainer",
    "addtoany",
    "paginat",
];

const COMMENTS: &[&str] = &[
    "comments",
    "comment",
    "commentlist",
    "respond",
    "disqus",
    "kommentare",
    "kommentar",
    "commentaires",
    "comentarios",
    "replies",
    "trackback",
    "trackbacks",
    "pingback",
    "pings",
    "discussion",
];

const TEASERS: &[&str] = &[
    "related",
    "recommended",
    "recommendation",
    "recommendations",
    "recommends",
    "teaser",
    "teasers",
    "trending",
    "popular",
    "mostread",
    "readmore",
    "morelinks",
    "moreon",
    "more",
    "yarpp",
    "jp-relatedposts",
    "crosslinks",
    "upnext",
    "latest",
    "relatedposts",
    "relatedarticles",
    "similar",
    "suggested",
    "suggestions",
    "suggest",
    "recirc",
    "recirculation",
    "promoted",
    "carousel",
    "further",
    "adjacent",
    "nextprev",
    "prevnext",
    "featured",
    "headlines",
    "topics",
    "tagcloud",
    "most",
];

const AUTHOR: &[&str] = &[
    "author",
    "authors",
    "authorbox",
    "authorbio",
    "autor",
    "bio",
    "biography",
    "vcard",
];

/// Words of pictures and of what is said about them; a name with one of each is a caption.
const PICTURE: &[&str] = &[
    "image",
    "img",
    "photo",
    "picture",
    "media",
    "bild",
    "foto",
    "slide",
    "gallery",
    "video",
    "figure",
    "thumbnail",
];
const ABOUT: &[&str] = &[
    "subtitle",
    "description",
    "legend",
    "source",
    "copyright",
    "caption",
    "credit",
    "credits",
    "author",
];

/// Words that turn a name into a statement about something else: `has-sidebar`, `no-comments`.
const MODIFIER: &[&str] = &[
    "has", "no", "not", "with", "without", "label", "hide", "hidden", "show", "is",
];

const BYLINE: &[&str] = &[
    "byline",
    "tags",
    "taglist",
    "authorbox",
    "authorbio",
    "author",
    "postmeta",
    "entrymeta",
    "articlemeta",
    "dateline",
    "timestamp",
    "published",
    "metadata",
    "meta",
    "postinfo",
    "categories",
    "category",
    "entryinfo",
    "biography",
    "bio",
    "vcard",
    "pubdate",
    "postdate",
    "articleinfo",
    "articledate",
    "date",
    "datum",
    "autor",
    "info",
    "infos",
    "keywords",
    "posted",
    "submitted",
    "time",
];

const CAPTION: &[&str] = &[
    "legend",
    "caption",
    "captions",
    "figcaption",
    "credit",
    "credits",
    "copyright",
    "photocredit",
    "imagecaption",
    "legende",
    "bildunterschrift",
    "bildquelle",
    "captioning",
];

const WHOLE: &[&str] = &[
    "article", "post", "entry", "story", "news", "blog", "blogpost", "artikel", "beitrag",
    "articulo", "noticia", "texte", "recipe", "topic",
];
const PART: &[&str] = &[
    "body",
    "content",
    "contents",
    "text",
    "copy",
    "main",
    "inhalt",
    "maincontent",
    "txt",
    "fulltext",
    "detail",
    "details",
    "bodytext",
    "contenido",
    "cuerpo",
    "contenu",
    "paragraphs",
    "richtext",
];
const TOGETHER: &[&str] = &[
    "articlebody",
    "articlecontent",
    "articletext",
    "postcontent",
    "postbody",
    "posttext",
    "entrycontent",
    "entrybody",
    "entrytext",
    "storybody",
    "storycontent",
    "storytext",
    "newsbody",
    "newstext",
    "newscontent",
    "bodycopy",
    "blogcontent",
    "blogbody",
    "postentry",
    "fulltext",
    "articlecopy",
    "articlemain",
    "textcontent",
    "contentbody",
    "contenttext",
    "hentry",
    "artikeltext",
];
const MAIN: &[&str] = &[
    "main", "page", "primary", "site", "center", "centre", "col", "column", "content", "middle",
];

/// Reads the names of an element.
pub(super) fn hint(element: &Element) -> Hint {
    let mut hint = Hint::default();
    if element
        .attr("itemprop")
        .or_else(|| element.attr("property"))
        .is_some_and(|p| p.eq_ignore_ascii_case("articlebody"))
    {
        hint.body = 3;
        return hint;
    }
    let mut words: Vec<String> = Vec::new();
    let mut caption = false;
    let mut unprinted = false;
    for name in [element.attr("class"), element.attr("id")]
        .into_iter()
        .flatten()
    {
        if name.len() > 400 {
            continue;
        }
        for part in name.split_ascii_whitespace() {
            let from = words.len();
            parts(part, &mut words);
            hint.body = hint.body.max(body(&words[from..], part));
            let has = |list: &[&str]| words[from..].iter().any(|w| list.contains(&w.as_str()));
            if has(PICTURE) && has(ABOUT) {
                caption = true;
            }
            if has(MODIFIER) {
                words.truncate(from);
            }
            // What is not for print is not the page.
            let part = part.to_ascii_lowercase();
            unprinted |= [
                "noprint",
                "no-print",
                "no_print",
                "print-none",
                "hidden-print",
                "print-hide",
                "donotprint",
            ]
            .iter()
            .any(|n| part.contains(n));
        }
    }
    let any = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
    let starts = |list: &[&str]| words.iter().any(|w| list.iter().any(|s| w.starts_with(s)));
    // Two words that are one: `side-bar`, `news_letter`.
    let joined = |list: &[&str]| {
        words.windows(2).any(|w| {
            list.iter().any(|l| {
                l.len() == w[0].len() + w[1].len() && l.starts_with(&w[0]) && l.ends_with(&w[1])
            })
        })
    };
    hint.noise = if any(COMMENTS) || starts(&["comment", "disqus"]) {
        Some(Noise::Comments)
    } else if any(FRAME) || starts(FRAME_STARTS) || unprinted || joined(FRAME) {
        Some(Noise::Frame)
    } else if any(TEASERS) || starts(&["related", "recommend", "teaser"]) {
        Some(Noise::Teasers)
    } else if any(CAPTION) || caption {
        Some(Noise::Caption)
    } else if any(AUTHOR) {
        Some(Noise::Author)
    } else if any(BYLINE) {
        Some(Noise::Byline)
    } else {
        None
    };
    hint
}

fn body(words: &[String], whole: &str) -> u8 {
    let has = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
    if has(TOGETHER) {
        return 3;
    }
    if has(WHOLE) && has(PART) {
        return 3;
    }
    if words.len() == 1 && (has(WHOLE) && whole.len() > 3) {
        return 2;
    }
    if (has(MAIN) && has(PART)) || (words.len() == 1 && has(PART)) {
        return 1;
    }
    0
}

/// The words of a name: at signs and at changes of case, lower case.
fn parts(name: &str, out: &mut Vec<String>) {
    let mut word = String::new();
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower) {
            push(&mut word, out);
        }
        if c.is_alphanumeric() {
            lower = c.is_lowercase();
            word.extend(c.to_lowercase());
        }
    }
    push(&mut word, out);
}

/// Adds the word without the number at its end: `banner2`.
fn push(word: &mut String, out: &mut Vec<String>) {
    let bare = word.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    if bare >= 2 {
        word.truncate(bare);
    }
    if !word.is_empty() {
        out.push(std::mem::take(word));
    }
}

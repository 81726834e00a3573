//! Feeds: RSS 2.0 and its elders, RSS 1.0, Atom, JSON Feed → one shape.

use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::fragment;
use super::xml::{Event, Xml, attribute, local, unescape};
use crate::failure::{Failure, FailureCode};

/// Items that are kept.
const MOST_ITEMS: usize = 500;
/// Characters of one item's text that are kept.
const LONGEST: usize = 20_000;

/// One entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its title, as text.
    pub title: String,
    /// Where it is, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// When, as RFC 3339 where the feed's form is known, else as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The summary or body as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_text: Option<String>,
    /// The summary or body as HTML, where it is HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_html: Option<String>,
}

/// A feed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Feed {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The site it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its language tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Entries in the order of the feed.
    pub items: Vec<Item>,
    /// Entries that were left out because there are too many.
    pub left_out: usize,
}

/// Reads a feed. `base` makes links absolute.
///
/// # Errors
/// `extraction_failed` when there is no feed in the text.
pub fn read(text: &str, base: &Url) -> Result<Feed, Failure> {
    let feed = match text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('{')
    {
        true => json(text, base),
        false => xml(text, base),
    };
    feed.ok_or_else(|| {
        Failure::new(
            FailureCode::ExtractionFailed,
            format!("no feed was found at {base}\nhint: RSS, Atom and JSON Feed are read"),
        )
    })
}

/// What a text construct holds, as found.
#[derive(Default)]
struct Body {
    text: String,
    /// The markup is spelled out as elements (Atom `type="xhtml"`).
    xhtml: bool,
    /// The text holds no markup (Atom `type="text"`).
    plain: bool,
}

fn xml(text: &str, base: &Url) -> Option<Feed> {
    let mut feed = Feed::default();
    let mut known = false;
    let mut path: Vec<&str> = Vec::new();
    let mut item: Option<Item> = None;
    let mut body = Body::default();
    // Depth below which all elements are the content of one text construct.
    let mut inside: Option<usize> = None;
    for event in Xml::new(text) {
        match event {
            Event::Start {
                name,
                attributes,
                empty,
            } => {
                let here = local(name);
                known |= matches!(here.to_ascii_lowercase().as_str(), "rss" | "feed" | "rdf");
                if let Some(depth) = inside.filter(|_| body.xhtml) {
                    if path.len() > depth {
                        body.text.push_str(&format!("<{here} {attributes}>"));
                    }
                } else if inside.is_none() {
                    body = Body::default();
                    if here == "item" || here == "entry" {
                        item = Some(Item::default());
                    } else if here == "link" {
                        if let Some(href) = attribute(attributes, "href") {
                            let rel =
                                attribute(attributes, "rel").unwrap_or_else(|| "alternate".into());
                            let slot = item.as_mut().map_or(&mut feed.link, |i| &mut i.link);
                            if rel == "alternate" && slot.is_none() {
                                *slot = absolute(&href, base);
                            }
                        }
                    } else if matches!(here, "content" | "summary" | "title" | "subtitle")
                        && !name.starts_with("media:")
                    {
                        let kind = attribute(attributes, "type").unwrap_or_default();
                        body.xhtml = kind == "xhtml";
                        body.plain = kind == "text";
                        if body.xhtml {
                            inside = Some(path.len() + 1);
                        }
                    }
                    if let Some(lang) =
                        attribute(attributes, "xml:lang").filter(|_| feed.language.is_none())
                    {
                        feed.language = Some(lang);
                    }
                }
                if !empty {
                    path.push(name);
                }
            }
            Event::Text(t) if body.xhtml => body.text.push_str(t),
            Event::Text(t) => body.text.push_str(&unescape(t)),
            Event::Raw(t) => body.text.push_str(t),
            Event::End(name) => {
                // A missing end tag does not swallow what follows: close down to the element that ends.
                let Some(at) = path.iter().rposition(|n| *n == name) else {
                    continue;
                };
                path.truncate(at);
                if let Some(depth) = inside {
                    if path.len() + 1 > depth {
                        body.text.push_str(&format!("</{}>", local(name)));
                        continue;
                    }
                    inside = None;
                }
                if matches!(local(name), "item" | "entry") {
                    if let Some(done) = item.take() {
                        push(&mut feed, done);
                    }
                } else {
                    let parent = path.last().copied().map(local).unwrap_or_default();
                    match &mut item {
                        Some(item) => of_item(item, name, parent, &body, base),
                        None => of_feed(&mut feed, local(name), parent, &body, base),
                    }
                }
                body = Body::default();
            }
        }
    }
    if let Some(cut) = item.take() {
        push(&mut feed, cut);
    }
    known.then_some(feed)
}

fn push(feed: &mut Feed, item: Item) {
    if feed.items.len() < MOST_ITEMS {
        feed.items.push(item);
    } else {
        feed.left_out += 1;
    }
}

fn of_feed(feed: &mut Feed, name: &str, parent: &str, body: &Body, base: &Url) {
    if !matches!(parent, "channel" | "feed") {
        return;
    }
    let text = || words(body);
    match name {
        "title" => feed.title = text(),
        "link" if feed.link.is_none() => feed.link = absolute(&body.text, base),
        "description" | "subtitle" => feed.description = text(),
        "language" => feed.language = text(),
        _ => {}
    }
}

fn of_item(item: &mut Item, name: &str, parent: &str, body: &Body, base: &Url) {
    // Namespaces that give other things the same names: `media:title`, `itunes:summary`.
    let foreign = name.contains(':')
        && !matches!(
            name,
            "content:encoded" | "dc:date" | "dc:creator" | "atom:link"
        );
    if foreign && !name.starts_with("atom:") {
        return;
    }
    match local(name) {
        "title" if matches!(parent, "item" | "entry") => {
            item.title = words(body).unwrap_or_default()
        }
        "link" if item.link.is_none() => item.link = absolute(&body.text, base),
        "guid" | "id" if item.link.is_none() && body.text.trim().starts_with("http") => {
            item.link = absolute(&body.text, base)
        }
        "pubDate" | "published" | "date" => item.published_at = date(&body.text),
        "updated" | "modified" if item.published_at.is_none() => {
            item.published_at = date(&body.text)
        }
        "creator" | "author" if item.author.is_none() => item.author = words(body),
        "name" if parent == "author" => item.author = words(body),
        "description" | "summary" if item.summary_text.is_none() => summary(item, body),
        // The whole body beats the summary.
        "encoded" | "content" if !body.text.trim().is_empty() => summary(item, body),
        _ => {}
    }
}

fn summary(item: &mut Item, body: &Body) {
    let text = body.text.trim();
    let markup = !body.plain && text.contains('<');
    item.summary_html = markup.then(|| cut(text));
    item.summary_text = words(body);
}

/// A text construct as plain words.
fn words(body: &Body) -> Option<String> {
    let text = match body.plain {
        true => body.text.split_whitespace().collect::<Vec<_>>().join(" "),
        false => fragment::text(&body.text),
    };
    let text = cut(text.trim());
    (!text.is_empty()).then_some(text)
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

fn absolute(link: &str, base: &Url) -> Option<String> {
    let link = link.trim();
    let url = base.join(link).ok().filter(|_| !link.is_empty())?;
    matches!(url.scheme(), "http" | "https").then(|| url.to_string())
}

/// A JSON Feed (<https://www.jsonfeed.org/version/1.1/>).
fn json(text: &str, base: &Url) -> Option<Feed> {
    let doc: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    doc["version"]
        .as_str()
        .filter(|v| v.contains("jsonfeed.org"))?;
    let words = |v: &Value| v.as_str().map(|s| cut(s.trim())).filter(|s| !s.is_empty());
    let mut feed = Feed {
        title: words(&doc["title"]),
        link: doc["home_page_url"]
            .as_str()
            .and_then(|l| absolute(l, base)),
        description: words(&doc["description"]),
        language: words(&doc["language"]),
        ..Feed::default()
    };
    for entry in doc["items"].as_array().into_iter().flatten() {
        let html = entry["content_html"].as_str().map(cut);
        let text = words(&entry["content_text"])
            .or_else(|| {
                html.as_deref()
                    .map(fragment::text)
                    .filter(|t| !t.is_empty())
            })
            .or_else(|| words(&entry["summary"]));
        let author = entry["authors"][0]["name"]
            .as_str()
            .or_else(|| entry["author"]["name"].as_str());
        let link = ["url", "external_url", "id"].iter().find_map(|k| {
            entry[*k]
                .as_str()
                .filter(|s| *k != "id" || s.starts_with("http"))
        });
        push(
            &mut feed,
            Item {
                title: words(&entry["title"]).unwrap_or_default(),
                link: link.and_then(|l| absolute(l, base)),
                published_at: ["date_published", "date_modified"]
                    .iter()
                    .find_map(|k| entry[*k].as_str())
                    .and_then(date),
                author: author.map(str::to_owned),
                summary_text: text,
                summary_html: html,
            },
        );
    }
    Some(feed)
}

/// A date of RSS (`Mon, 30 Nov 2026 10:00:00 +0100`, RFC 822 and 2822) as RFC 3339; what is so already, or not known, stays.
fn date(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    Some(rfc822(text).unwrap_or_else(|| text.chars().take(40).collect()))
}

fn rfc822(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut parts = text.split_whitespace();
    let day: u32 = parts
        .next()?
        .parse()
        .ok()
        .filter(|d| (1..=31).contains(d))?;
    let name = parts.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|m| *m == name)? + 1;
    let year: u32 = parts.next()?.parse().ok()?;
    let year = match year {
        0..=49 => 2000 + year,
        50..=999 => 1900 + year,
        y => y,
    };
    let mut time = parts.next()?.split(':').map(|p| p.parse::<u32>().ok());
    let (hour, minute, second) = (
        time.next()??,
        time.next()??,
        time.next().unwrap_or(Some(0))?,
    );
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = match parts.next().unwrap_or("GMT") {
        "GMT" | "UT" | "UTC" | "Z" => "Z".to_owned(),
        "EST" => "-05:00".to_owned(),
        "EDT" => "-04:00".to_owned(),
        "CST" => "-06:00".to_owned(),
        "CDT" => "-05:00".to_owned(),
        "MST" => "-07:00".to_owned(),
        "MDT" => "-06:00".to_owned(),
        "PST" => "-08:00".to_owned(),
        "PDT" => "-07:00".to_owned(),
        z if z.len() == 5
            && z.starts_with(['+', '-'])
            && z[1..].bytes().all(|b| b.is_ascii_digit()) =>
        {
            format!("{}:{}", &z[..3], &z[3..])
        }
        _ => return None,
    };
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"
    ))
}

//! The pages of a site: from its front page, its sitemaps, its `robots.txt`.

mod hubs;
pub mod links;
pub mod rank;
pub mod sitemap;

use std::collections::HashSet;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, timeout};
use url::Url;

use crate::acquire::{Client, GetOptions};
use crate::failure::{Failure, FailureCode};
use crate::robots::gate::RobotsGate;

/// Where links are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MapSource {
    /// Links of the page itself.
    #[default]
    Homepage,
    /// `/sitemap.xml`, or what `robots.txt` names.
    Sitemap,
    /// What `robots.txt` names, and nothing else.
    Robots,
}

/// What a map asks.
#[derive(Debug, Clone)]
pub struct MapOptions {
    /// Where links are looked for.
    pub source: MapSource,
    /// Links in the answer, 1–64.
    pub max_links: usize,
    /// Only links of the same host.
    pub same_domain: bool,
    /// What the caller looks for: links are ranked by it. Where no link of the front page has to do with it, up to
    /// [`HUBS_MAX`] pages that lead to others are read, too.
    pub focus: Option<String>,
    /// Leave out what is no page: pictures, archives, programs, styles.
    pub filter_nonsense: bool,
    /// For everything together.
    pub time: Duration,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self {
            source: MapSource::Homepage,
            max_links: 32,
            same_domain: true,
            focus: None,
            filter_nonsense: true,
            time: Duration::from_secs(15),
        }
    }
}

/// A page of the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteLink {
    /// Where it is.
    pub url: String,
    /// The words of the link, where it was one.
    pub title: String,
    /// Path and query.
    pub path: String,
}

/// What a map found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteMap {
    /// Links, the best first where a focus was given, else in the order of the site.
    pub links: Vec<SiteLink>,
    /// How many were found before the cut.
    pub found: usize,
    /// How many were left out because they are no pages.
    pub filtered: usize,
    /// The pages of the second level that were read for more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expanded: Vec<String>,
    /// Whether time or a limit ended the search early.
    pub partial: bool,
}

/// Sitemap files of one map.
const MOST_FILES: usize = 50;
/// Pages of the second level that one map reads.
pub const HUBS_MAX: usize = 3;
/// Links that are kept before ranking.
const POOL: usize = 20_000;

/// Maps a site.
///
/// # Errors
/// `invalid_arguments`, the codes of acquisition, `thin_extract` when there is no link at all.
pub async fn map(
    client: &Client,
    robots: &RobotsGate,
    url: &str,
    options: &MapOptions,
) -> Result<SiteMap, Failure> {
    if !(1..=64).contains(&options.max_links) {
        return Err(Failure::new(
            FailureCode::InvalidArguments,
            "`max_links` is 1 to 64",
        ));
    }
    let (start, _) = client.policy().parse(url)?;
    let deadline = Instant::now() + options.time;
    let mut pool = Pool::new(&start, options);
    match options.source {
        MapSource::Homepage => {
            let left = deadline.saturating_duration_since(Instant::now());
            let got = timeout(left, client.get(url, &GetOptions::default()))
                .await
                .map_err(|_| slow(url, options))??
                .accept()?;
            let page = got.decode();
            for link in links::of_page(&page.text, &got.url) {
                pool.add(&link.href, link.text);
            }
        }
        source => files(client, robots, &start, source, deadline, &mut pool).await?,
    }
    let mut expanded = Vec::new();
    if let (MapSource::Homepage, Some(focus)) = (options.source, &options.focus)
        && !rank::has_strong(&pool.links, focus)
    {
        expanded = hubs::expand(client, robots, &start, focus, deadline, &mut pool).await;
    }
    let found = pool.links.len();
    if found == 0 {
        return Err(Failure::new(
            FailureCode::ThinExtract,
            format!("no link was found at {url}\nhint: try another source: the page, the sitemap, `robots.txt`"),
        )
        .then("retry_map", "another source may have links"));
    }
    let mut links = pool.links;
    if let Some(focus) = &options.focus {
        rank::by_focus(&mut links, focus);
    }
    links.truncate(options.max_links);
    Ok(SiteMap {
        links,
        found,
        filtered: pool.filtered,
        expanded,
        partial: pool.partial,
    })
}

/// Reads sitemaps, indexes of sitemaps included, breadth first.
async fn files(
    client: &Client,
    robots: &RobotsGate,
    start: &Url,
    source: MapSource,
    deadline: Instant,
    pool: &mut Pool,
) -> Result<(), Failure> {
    let rules = robots.rules(client, start.as_str()).await?;
    let mut queue: Vec<String> = rules
        .sitemaps()
        .iter()
        .filter_map(|s| start.join(s).ok())
        .map(String::from)
        .collect();
    if queue.is_empty() && source == MapSource::Sitemap {
        queue.extend(start.join("/sitemap.xml").ok().map(String::from));
    }
    let mut seen: HashSet<String> = HashSet::new();
    let mut last = None;
    let mut at = 0;
    while at < queue.len() {
        let next = queue[at].clone();
        at += 1;
        if !seen.insert(next.clone()) {
            continue;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if seen.len() > MOST_FILES || left.is_zero() || pool.full() {
            pool.partial = true;
            break;
        }
        let got = match timeout(left, client.get(&next, &GetOptions::default())).await {
            Err(_) => {
                pool.partial = true;
                break;
            }
            Ok(got) => got.and_then(crate::acquire::Fetched::accept),
        };
        match got.and_then(|got| sitemap::read(&got.body, got.content_type(), client.limits().body))
        {
            Ok(sitemap::Sitemap { pages, files }) => {
                queue.extend(
                    files
                        .iter()
                        .filter_map(|f| start.join(f).ok())
                        .map(String::from),
                );
                for page in pages {
                    pool.add(&page, String::new());
                }
            }
            Err(e) => last = Some(e),
        }
    }
    match last {
        // Some files may be missing; all of them is an answer.
        Some(e) if pool.links.is_empty() => Err(e),
        _ => Ok(()),
    }
}

fn slow(url: &str, options: &MapOptions) -> Failure {
    Failure::new(
        FailureCode::Timeout,
        format!("{url} gave no link within {:?}", options.time),
    )
}

struct Pool {
    start: Url,
    same_domain: bool,
    pages_only: bool,
    links: Vec<SiteLink>,
    seen: HashSet<String>,
    partial: bool,
    filtered: usize,
}

impl Pool {
    fn new(start: &Url, options: &MapOptions) -> Self {
        Self {
            start: start.clone(),
            same_domain: options.same_domain,
            pages_only: options.filter_nonsense,
            links: Vec::new(),
            seen: HashSet::new(),
            partial: false,
            filtered: 0,
        }
    }

    fn full(&self) -> bool {
        self.links.len() >= POOL
    }

    fn add(&mut self, href: &str, title: String) {
        let Ok(mut url) = self.start.join(href) else {
            return;
        };
        url.set_fragment(None);
        let host = |u: &Url| {
            u.host_str()
                .map(|h| h.trim_start_matches("www.").to_owned())
        };
        if !matches!(url.scheme(), "http" | "https")
            || (self.same_domain && host(&url) != host(&self.start))
        {
            return;
        }
        if self.full() {
            self.partial = true;
            return;
        }
        if self.pages_only && hubs::is_resource(url.path()) {
            self.filtered += usize::from(self.seen.insert(url.to_string()));
            return;
        }
        if self.seen.insert(url.to_string()) {
            self.links.push(SiteLink {
                path: url[url::Position::BeforePath..].to_owned(),
                url: url.into(),
                title,
            });
        }
    }
}

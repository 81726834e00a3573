//! The second level of a map: pages that lead to others, read where the front page has nothing of what is looked for.

use std::cmp::Reverse;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};
use url::Url;

use super::{HUBS_MAX, Pool, SiteLink, links, rank};
use crate::acquire::{Client, Fetched, GetOptions};
use crate::robots::gate::RobotsGate;

/// Endings of paths that are no pages.
const RESOURCES: &[&str] = &[
    "7z", "avi", "avif", "bmp", "bz2", "css", "deb", "dmg", "eot", "exe", "gif", "gz", "ico",
    "iso", "jar", "jpeg", "jpg", "js", "m4a", "m4v", "map", "mjs", "mkv", "mov", "mp3", "mp4",
    "mpeg", "msi", "ogg", "otf", "png", "rar", "rpm", "svg", "tar", "tgz", "tif", "tiff", "ttf",
    "wasm", "wav", "webm", "webp", "woff", "woff2", "xz", "zip", "zst",
];

/// Whether a path ends like a picture, an archive, a program or a style.
pub(super) fn is_resource(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && RESOURCES.contains(&ending.to_ascii_lowercase().as_str())
    })
}

/// Reads the best hubs and adds their links. Returns the hubs that were read; one that cannot be read adds nothing.
pub(super) async fn expand(
    client: &Client,
    robots: &RobotsGate,
    start: &Url,
    focus: &str,
    deadline: Instant,
    pool: &mut Pool,
) -> Vec<String> {
    let hubs = choose(&pool.links, start, focus);
    let reads = hubs.into_iter().map(|url| async move {
        robots.check(client, &url).await.ok()?;
        let got = client.get(&url, &GetOptions::default()).await;
        let got = got.and_then(Fetched::accept).ok()?;
        Some((url, got))
    });
    let left = deadline.saturating_duration_since(Instant::now());
    let reads = reads.map(|read| timeout(left, read));
    let mut read = Vec::new();
    for done in join_all(reads).await {
        match done {
            Ok(Some((url, got))) => {
                let page = got.decode();
                for link in links::of_page(&page.text, &got.url) {
                    pool.add(&link.href, link.text);
                }
                read.push(url);
            }
            Ok(None) => {}
            Err(_) => pool.partial = true,
        }
    }
    read
}

/// The pages most likely to lead on: near what is looked for, above other links of the page, high in the site.
fn choose(found: &[SiteLink], start: &Url, focus: &str) -> Vec<String> {
    let stem = |path: &str| path.trim_end_matches('/').to_owned();
    let own = stem(start.path());
    let paths: Vec<String> = found.iter().map(|l| stem(&l.path)).collect();
    let mut hubs: Vec<_> = found
        .iter()
        .zip(&paths)
        .enumerate()
        .filter(|(_, (_, path))| !path.is_empty() && **path != own && !path.contains('?'))
        .map(|(i, (link, path))| {
            let below = format!("{path}/");
            let leads_to = paths.iter().filter(|p| p.starts_with(&below)).count();
            let depth = path.matches('/').count();
            let near = rank::score_of(link, focus);
            (
                (Reverse(near), Reverse(leads_to), depth, i),
                link.url.clone(),
            )
        })
        .collect();
    hubs.sort();
    hubs.into_iter()
        .take(HUBS_MAX)
        .map(|(_, url)| url)
        .collect()
}

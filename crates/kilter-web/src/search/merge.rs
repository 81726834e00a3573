//! Several lists of hits → one: what more providers give stands higher.

use url::Url;

use super::{Hit, Ranked};

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
const DAMP: f64 = 60.0;

/// Merges by reciprocal ranks over URLs in one spelling. Order is fixed: by score, then by the place of the first sighting.
pub(super) fn merge(lists: &[(&str, Vec<Hit>)], most: usize) -> Vec<Ranked> {
    let mut merged: Vec<(String, f64, Hit, Vec<String>)> = Vec::new();
    for (provider, hits) in lists {
        for (rank, hit) in hits.iter().enumerate() {
            let Some(key) = key(&hit.url) else { continue };
            let score = 1.0 / (DAMP + rank as f64 + 1.0);
            match merged.iter_mut().find(|(k, ..)| *k == key) {
                Some((_, sum, held, providers)) => {
                    if !providers.iter().any(|p| p == provider) {
                        *sum += score;
                        providers.push((*provider).to_owned());
                    }
                    if held.snippet.len() < hit.snippet.len() {
                        held.snippet.clone_from(&hit.snippet);
                    }
                }
                None => merged.push((key, score, hit.clone(), vec![(*provider).to_owned()])),
            }
        }
    }
    merged.sort_by(|a, b| b.1.total_cmp(&a.1));
    merged
        .into_iter()
        .take(most)
        .enumerate()
        .map(|(i, (_, _, hit, providers))| Ranked {
            id: format!("S{}", i + 1),
            hit,
            providers,
        })
        .collect()
}

/// Parameters that say where a visitor came from, not what is shown.
const TRACKING: &[&str] = &["gclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "igshid"];

/// One spelling for the URLs of one page: no fragment, no tracking, `https`, no `www.`, no closing slash.
fn key(url: &str) -> Option<String> {
    let mut url = Url::parse(url)
        .ok()
        .filter(|u| matches!(u.scheme(), "http" | "https"))?;
    url.set_fragment(None);
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(k, _)| !k.starts_with("utm_") && !TRACKING.contains(&&**k))
        .map(|(k, v)| (k.into_owned(), v.into_owned()))
        .collect();
    let host = url.host_str()?.trim_start_matches("www.").to_owned();
    let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    let query: Vec<String> = kept.iter().map(|(k, v)| format!("{k}={v}")).collect();
    Some(format!("{host}{port}{path}?{}", query.join("&")))
}

//! A site's own playbook, which it may keep at a well-known address: asked for only where the operator allows it, and held
//! for that site alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use super::lint::Grade;
use super::lint::parse;
use super::resolve::{Resolved, Shelf, Tier, resolve};
use crate::acquire::{Client, GetOptions};
use crate::failure::{Failure, FailureCode};
use crate::receipt::PublicKey;

/// Where it is kept.
pub const PATH: &str = "/.well-known/agent-genome.v1.json";
/// How long it is waited for.
const LIMIT: Duration = Duration::from_secs(8);
/// Longest one, in bytes.
const LONGEST: usize = 32 << 10;

/// What is asked: the arguments of `playbook_resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolveRequest {
    /// The page.
    pub url: String,
    /// The version that the caller understands.
    #[serde(default = "version")]
    pub schema_version: String,
    /// Whether the last lessons are told.
    #[serde(default)]
    pub include_lessons: bool,
    /// Whether the site is asked where no playbook holds.
    #[serde(default)]
    pub fetch_site_genome: bool,
}

fn version() -> String {
    "1.0".to_owned()
}

/// How asking the site went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GenomeFetch {
    /// Whether it gave a playbook for itself.
    pub ok: bool,
    /// Where it was asked.
    pub url: String,
    /// Why it gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Finds the playbook of a URL, on the shelf or, where `client` is given and the caller asks for it, at the site.
///
/// # Errors
/// Those of [`resolve`]. A site without a playbook is none: `genomeFetch` says so.
pub async fn find(
    request: &ResolveRequest,
    shelf: &Shelf,
    keys: &[PublicKey],
    client: Option<&Client>,
) -> Result<Resolved, Failure> {
    let mut resolved = match resolve(shelf, &request.url, request.include_lessons, keys) {
        Err(e) if e.code == FailureCode::PlaybookNotFound && request.fetch_site_genome => {
            let Some(client) = client else {
                return Err(e);
            };
            let (own, fetch) = ask(client, &request.url).await;
            let found = resolve(&own, &request.url, false, keys);
            let mut resolved = found.map_err(|_| Failure {
                message: format!(
                    "{}; the site has none of its own: {}",
                    e.message,
                    fetch.reason.as_deref().unwrap_or_default()
                ),
                ..e
            })?;
            resolved.genome_fetch = Some(fetch);
            resolved
        }
        other => other?,
    };
    let minor = |v: &str| v.split_once('.').and_then(|(_, m)| m.parse::<u32>().ok());
    let (has, wants) = (&resolved.schema_version, &request.schema_version);
    if has.split('.').next() != wants.split('.').next() || minor(has) > minor(wants) {
        resolved.schema_version_warning = Some(format!(
            "the playbook is of version {has}; `{wants}` may not understand all of it"
        ));
    }
    Ok(resolved)
}

/// Asks the site of a page.
async fn ask(client: &Client, page: &str) -> (Shelf, GenomeFetch) {
    let mut shelf = Shelf::default();
    let mut fetch = GenomeFetch {
        ok: false,
        url: String::new(),
        reason: None,
    };
    match text(client, page, &mut fetch).await {
        Ok((host, text)) => match held(&mut shelf, &host, &text) {
            Ok(()) => fetch.ok = true,
            Err(why) => fetch.reason = Some(why),
        },
        Err(e) => fetch.reason = Some(e.code.as_str().into_owned()),
    }
    (shelf, fetch)
}

async fn text(
    client: &Client,
    page: &str,
    fetch: &mut GenomeFetch,
) -> Result<(String, String), Failure> {
    let wrong = || Failure::new(FailureCode::InvalidUrl, "no address");
    let page = Url::parse(page).map_err(|_| wrong())?;
    let host = page.host_str().ok_or_else(wrong)?.to_owned();
    let url = page.join(PATH).map_err(|_| wrong())?;
    fetch.url = url.to_string();
    let options = GetOptions::default();
    let got = match tokio::time::timeout(LIMIT, client.get(url.as_str(), &options)).await {
        Ok(got) => got?.accept()?,
        Err(_) => {
            return Err(Failure::new(
                FailureCode::Timeout,
                "the site did not answer",
            ));
        }
    };
    // Another site's word about this one is none.
    if got.url.origin() != url.origin() || got.body.len() > LONGEST {
        return Err(Failure::new(
            FailureCode::ResponseTooLarge,
            "it is elsewhere, or too long",
        ));
    }
    Ok((host, String::from_utf8_lossy(&got.body).into_owned()))
}

/// Puts a site's document on the shelf, for the site alone and without what a browser would run.
fn held(shelf: &mut Shelf, host: &str, text: &str) -> Result<(), String> {
    let (book, lint) = parse(text);
    let Some(mut book) = book.filter(|_| lint.grade != Grade::Broken) else {
        let why = lint.issues.first().map(|i| i.message.clone());
        return Err(why.unwrap_or_default());
    };
    if !book.hosts.iter().any(|h| h == host) {
        return Err(format!("it does not name `{host}`"));
    }
    book.hosts = vec![host.to_owned()];
    book.browser = None;
    book.lessons.clear();
    let text = serde_json::to_string(&book).map_err(|e| e.to_string())?;
    shelf.add(Tier::Site, None, &text);
    Ok(())
}

//! Links of sites, and search.

use std::time::Duration;

use kilter_web::site::{self, MapOptions, MapSource};
use serde_json::{Value, json};

use super::{Call, Engines};
use crate::failure::ToolFailure;

pub(super) async fn map(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let options = MapOptions {
        source: match args.text("source") {
            Some("sitemap") => MapSource::Sitemap,
            Some("robots") => MapSource::Robots,
            _ => MapSource::Homepage,
        },
        max_links: args.size("max_links"),
        same_domain: args.flag("same_domain"),
        filter_nonsense: args.flag("filter_nonsense"),
        focus: args
            .text("focus_query")
            .filter(|q| !q.trim().is_empty())
            .map(str::to_owned),
        time: Duration::from_millis(u64::try_from(args.size("timeout_ms")).unwrap_or(15_000)),
    };
    call.progress
        .say(0, Some(1), "asking the site for its links");
    let map = site::map(
        &engines.client,
        &engines.robots,
        args.needed("url"),
        &options,
    )
    .await?;
    let mut reply = json!({
        "ok": true,
        "links": map.links,
        "linkCount": map.links.len(),
        "found": map.found,
        "partial": map.partial,
    });
    if let Some(focus) = options.focus {
        reply["focusQuery"] = json!(focus);
    }
    Ok(reply)
}

pub(super) async fn search(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let found = kilter_web::search::search(
        &engines.provider_client,
        &engines.providers,
        call.arguments.needed("query"),
        call.arguments.size("max_results"),
    )
    .await?;
    let count = found.results.len();
    let mut reply = super::answer(&found)?;
    reply["count"] = json!(count);
    Ok(reply)
}

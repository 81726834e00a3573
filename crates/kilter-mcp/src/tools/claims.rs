//! Claims against pages.

use std::collections::HashMap;

use kilter_web::claim;
use kilter_web::reading::Done;
use serde_json::{Value, json};

use super::reading::{about, unread};
use super::{Call, Engines};
use crate::failure::ToolFailure;

pub(super) async fn check(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let request = engines.request(call, args.needed("url"))?;
    call.progress.say(0, Some(1), "reading");
    let done = engines.read(&request).await;
    let reading = match &done.outcome {
        Ok(reading) => reading,
        Err(failure) => return Ok(unread(&done, failure)),
    };
    let checked = claim::check(
        args.needed("claim"),
        &reading.page.blocks,
        reading.complete,
        args.size("max_matches"),
    )?;
    let mut reply = super::answer(&checked)?;
    if let Some(map) = reply.as_object_mut() {
        map.extend(about(reading));
    }
    Ok(reply)
}

pub(super) async fn attest(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let mut asked: Vec<(String, String)> = Vec::new();
    for (i, row) in call.arguments.rows("claims")?.iter().enumerate() {
        let text = |names: [&str; 2]| {
            names
                .iter()
                .find_map(|n| row.get(*n)?.as_str())
                .map(str::trim)
                .filter(|t| !t.is_empty())
        };
        let (Some(claim), Some(url)) = (text(["claim", "text"]), text(["sourceUrl", "source_url"]))
        else {
            return Err(ToolFailure::arguments(
                format!("row {} of `claims` lacks `claim` or `sourceUrl`", i + 1),
                "each row is {\"claim\": \"…\", \"sourceUrl\": \"https://…\"}",
            ));
        };
        asked.push((claim.to_owned(), url.to_owned()));
    }
    // Each source is read once, whatever the number of claims on it.
    let mut read: HashMap<&str, Done> = HashMap::new();
    let total = asked.len();
    let mut rows = Vec::new();
    let mut counts =
        json!({"supported": 0, "contradicted": 0, "related": 0, "unsupported": 0, "unknown": 0});
    for (i, (claim, url)) in asked.iter().enumerate() {
        call.progress.say(i, Some(total), "checking claims");
        if !read.contains_key(url.as_str()) {
            let request = engines.request(call, url)?;
            read.insert(url, engines.read(&request).await);
        }
        let Some(done) = read.get(url.as_str()) else {
            continue;
        };
        let mut row = match &done.outcome {
            Ok(reading) => {
                let judge = engines.judge.as_ref().map(|j| j as &dyn claim::Judge);
                let blocks = &reading.page.blocks;
                let attested = claim::attest_with(claim, blocks, reading.complete, judge).await;
                let mut row = json!(attested);
                if let Some(receipt) = &reading.receipt {
                    row["receipt"] = receipt.clone();
                }
                row
            }
            Err(failure) => json!({
                "claim": claim,
                "status": "unknown",
                "grounded": false,
                "reason": format!("the source could not be read: {}", failure.code.as_str()),
            }),
        };
        row["sourceUrl"] = json!(url);
        if let Some(status) = row["status"].as_str().map(str::to_owned) {
            counts[&status] = json!(counts[&status].as_u64().unwrap_or_default() + 1);
        }
        rows.push(row);
    }
    let grounded = rows.iter().filter(|r| r["grounded"] == true).count();
    Ok(json!({
        "ok": true,
        "claimsTotal": total,
        "grounded": grounded,
        "unsupportedTotal": total - grounded,
        "counts": counts,
        "rows": rows,
    }))
}

//! Tools over several pages: the digest, data sets, and how many are read at once.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use kilter_web::budget::{Frame, O200k, fit};
use kilter_web::digest::{self, Item, Wanted};
use kilter_web::reading::{Done, Request};
use kilter_web::receipt::manifest::{self, Row};
use kilter_web::site::{self, MapOptions};
use serde_json::{Value, json};

use super::reading::{bound, words};
use super::{Call, Engines};
use crate::failure::ToolFailure;

/// Pages of one call that are read at once.
const PARALLEL: usize = 4;

/// Reads pages a few at a time, says how far it is, and gives them back in order.
async fn read_all(engines: &Engines, call: &Call<'_>, requests: &[Request]) -> Vec<Done> {
    let total = requests.len();
    let mut done: Vec<Option<Done>> = (0..total).map(|_| None).collect();
    let mut waiting = requests.iter().enumerate();
    let mut running = FuturesUnordered::new();
    let read = |(i, request): (usize, &Request)| {
        let request = request.clone();
        async move { (i, engines.read(&request).await) }
    };
    running.extend(waiting.by_ref().take(PARALLEL).map(read));
    let mut ended = 0;
    call.progress.say(0, Some(total), "reading");
    while let Some((i, one)) = running.next().await {
        ended += 1;
        call.progress
            .say(ended, Some(total), format!("{ended} of {total} pages read"));
        done[i] = Some(one);
        running.extend(waiting.by_ref().take(1).map(read));
    }
    done.into_iter().flatten().collect()
}

pub(super) async fn digest(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let (wanted, source) = match (args.text("source_url"), args.value("urls")) {
        (Some(source), _) => {
            let options = MapOptions {
                max_links: args.size("max_links"),
                focus: words(args.text("focus_query")),
                ..MapOptions::default()
            };
            let map = site::map(&engines.client, &engines.robots, source, &options).await?;
            let wanted = map.links.iter().map(|l| Wanted {
                url: l.url.clone(),
                focus: None,
            });
            (wanted.collect(), Some((source, map.links)))
        }
        (None, Some(urls)) => (digest::wanted(urls, args.size("max_urls"))?, None),
        (None, None) => {
            return Err(ToolFailure::arguments(
                "`occam_digest` needs `urls` or `source_url`",
                "send `urls` as a list of addresses",
            ));
        }
    };
    let focus = words(args.text("focus_query"));
    let per_page = bound(call, "per_url_max_tokens");
    let mut requests = Vec::new();
    for one in &wanted {
        let mut request = engines.request(call, &one.url)?;
        request.focus = one.focus.clone().or_else(|| focus.clone());
        request.prune = args.flag("fit_markdown");
        requests.push(request);
    }
    let read = read_all(engines, call, &requests).await;
    let items: Vec<Item> = wanted
        .iter()
        .zip(&read)
        .map(|(one, done)| item(one, done, per_page))
        .collect();
    let before = words(args.text("if_none_match"));
    let digest = digest::assemble(items, args.flag("include_combined"), before.as_deref())?;
    let mut reply = super::answer(&digest)?;
    if let Some((source, links)) = source {
        reply["sourceUrl"] = json!(source);
        reply["discoveredLinks"] = json!(links);
    }
    Ok(reply)
}

fn item(one: &Wanted, done: &Done, per_page: Option<u32>) -> Item {
    let unread = |failure| Item {
        url: one.url.clone(),
        ok: false,
        title: None,
        excerpt: None,
        backend: None,
        tokens: 0,
        focus_matched: None,
        receipt: done.receipt.clone(),
        failure: Some(failure),
    };
    let reading = match &done.outcome {
        Ok(reading) => reading,
        Err(failure) => return unread(failure.clone()),
    };
    // The bound is that of the excerpt: the reply around it is small and the same for every page.
    let excerpt = match per_page {
        None => reading.page.markdown.clone(),
        Some(max) => {
            let frame = Frame {
                whole: Some(reading.page.markdown.clone()),
                ..Frame::default()
            };
            match fit(
                &reading.page.blocks,
                &reading.focus,
                &frame,
                Some(max),
                &O200k,
            ) {
                Ok(fitted) => fitted.reply["markdown"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                Err(failure) => return unread(failure),
            }
        }
    };
    use kilter_web::budget::Tokenizer as _;
    Item {
        url: one.url.clone(),
        ok: true,
        title: reading.page.title.clone(),
        tokens: O200k.count(&excerpt),
        excerpt: Some(excerpt),
        backend: Some(reading.backend.to_owned()),
        focus_matched: Item::matched(reading.answered),
        receipt: reading.receipt.clone(),
        failure: None,
    }
}

pub(super) async fn dataset(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let urls = call.arguments.texts("urls");
    if !(1..=20).contains(&urls.len()) {
        return Err(ToolFailure::arguments(
            format!("`urls` names {} pages", urls.len()),
            "1 to 20 pages make a set",
        ));
    }
    let mut requests = Vec::new();
    for url in &urls {
        requests.push(engines.request(call, url)?);
    }
    let read = read_all(engines, call, &requests).await;
    let mut rows = Vec::new();
    let mut receipts = Vec::new();
    for (url, done) in urls.iter().zip(&read) {
        let (row, receipt) = match &done.outcome {
            Ok(r) => (
                Row {
                    url: url.clone(),
                    final_url: r.final_url.clone(),
                    ok: true,
                    content_hash: Some(r.content_hash.clone()),
                    block_merkle_root: r
                        .receipt
                        .as_ref()
                        .and_then(|v| v["signed"]["blockMerkleRoot"].as_str().map(str::to_owned)),
                    failure_code: None,
                },
                r.receipt.clone(),
            ),
            Err(failure) => (
                Row {
                    url: url.clone(),
                    final_url: url.clone(),
                    ok: false,
                    failure_code: Some(failure.code.as_str().into_owned()),
                    ..Row::default()
                },
                done.receipt.clone(),
            ),
        };
        rows.push(row);
        receipts.push(receipt);
    }
    let key = engines.keys.signer().ok();
    manifest::export(&rows, &receipts, engines.clock.now(), key.as_ref()).map_err(|e| {
        ToolFailure::new(
            "internal_error",
            format!("the set cannot be signed: {e}"),
            "this is a bug of the server",
        )
    })
}

//! The opt-in tools: batches, watching, crosscheck, the atlas of failures.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kilter_web::FailureCode;
use kilter_web::batch::Batches;
use kilter_web::open::Backend;
use kilter_web::reading::Request;
use kilter_web::store::Store;
use kilter_web::vantage::{Atlas, Seen, crosscheck as compare};
use kilter_web::watch;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::reading::{backend, unread};
use super::{Call, Engines};
use crate::failure::ToolFailure;

/// What the opt-in tools keep.
pub struct Kept {
    atlas: Mutex<Atlas>,
    watched: Mutex<Store>,
    batches: Mutex<Batches>,
    dir: PathBuf,
    /// Held while a batch is written down: two pages of one batch may be done at once, and share one file.
    writing: Mutex<()>,
    wake: Notify,
}

impl Kept {
    /// What was kept in a folder before. A file that cannot be read is said in the log and begun anew.
    pub fn open(state: &std::path::Path) -> Arc<Self> {
        let file = state.join("watch.json");
        let watched =
            Store::open(&file, watch::PAGES_MAX, watch::RECORD_MAX).unwrap_or_else(|error| {
                tracing::error!(%error, "the states of watched pages cannot be read");
                watch::store()
            });
        let dir = state.join("batches");
        let mut batches = Batches::default();
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let read = std::fs::read(entry.path()).ok();
            if let Some(value) = read.and_then(|b| serde_json::from_slice(&b).ok()) {
                batches.import(value);
            }
        }
        Arc::new(Self {
            atlas: Mutex::new(Atlas::default()),
            watched: Mutex::new(watched),
            batches: Mutex::new(batches),
            dir,
            writing: Mutex::new(()),
            wake: Notify::new(),
        })
    }

    pub(super) fn note(&self, host: &str, failure: Option<FailureCode>) {
        lock(&self.atlas).record(host, failure);
    }

    fn next_page(&self) -> Option<(String, usize, String)> {
        lock(&self.batches).next_page()
    }

    /// Writes a batch down: the old file or the new one, never half of one.
    fn keep_batch(&self, id: &str) {
        let _one_at_a_time = lock(&self.writing);
        let Some(value) = lock(&self.batches).export(id) else {
            return;
        };
        let file = self.dir.join(format!("{}.json", id.replace(':', "-")));
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&self.dir)?;
            let next = file.with_extension("next");
            std::fs::write(&next, value.to_string())?;
            std::fs::rename(&next, &file)
        };
        if let Err(error) = write() {
            tracing::error!(%error, batch = id, "a batch cannot be written down");
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the pages of all batches, as many at once as a batch allows, until the engines are gone.
pub fn work_on_batches(engines: &Arc<Engines>) {
    let weak = Arc::downgrade(engines);
    let kept = engines.kept.clone();
    tokio::spawn(async move {
        loop {
            while let Some((id, index, url)) = kept.next_page() {
                let Some(engines) = weak.upgrade() else {
                    return;
                };
                let kept = kept.clone();
                tokio::spawn(async move {
                    let reply = page(&engines, &url).await;
                    lock(&kept.batches).done(&id, index, reply);
                    kept.keep_batch(&id);
                    kept.wake.notify_one();
                });
            }
            kept.wake.notified().await;
        }
    });
}

/// One page of a batch. Nobody asked for it by name just now, so the site's robots.txt is asked.
async fn page(engines: &Engines, url: &str) -> Value {
    if let Err(refused) = engines.robots.check(&engines.client, url).await {
        return ToolFailure::from(refused).reply();
    }
    let request = Request {
        playbook: engines.playbook(url),
        receipt: true,
        ..Request::new(url)
    };
    let done = engines.read(&request).await;
    match &done.outcome {
        Ok(r) => json!({
            "ok": true,
            "title": r.page.title,
            "markdown": r.page.markdown,
            "contentHash": r.content_hash,
            "backend": r.backend,
            "receipt": r.receipt,
        }),
        Err(failure) => unread(&done, failure),
    }
}

pub(super) fn submit(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let urls = call.arguments.texts("urls");
    let key = call.arguments.text("idempotency_key");
    let standing = lock(&engines.kept.batches).submit(&urls, key, engines.clock.now())?;
    engines.kept.keep_batch(&standing.batch_id);
    engines.kept.wake.notify_one();
    super::answer(&standing)
}

pub(super) fn status(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let id = call.arguments.needed("batch_id");
    super::answer(&lock(&engines.kept.batches).standing(id)?)
}

pub(super) fn results(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let id = args.needed("batch_id");
    let batches = lock(&engines.kept.batches);
    let (page, next) = batches.results(id, args.size("offset"), args.size("limit"))?;
    let standing = batches.standing(id)?;
    let rows: Vec<Value> = page
        .iter()
        .map(|(url, job)| {
            let mut row = json!(job);
            row["url"] = json!(url);
            row
        })
        .collect();
    let mut reply = json!({
        "ok": true,
        "batchId": id,
        "status": standing.status,
        "results": rows,
    });
    if let Some(next) = next {
        reply["nextOffset"] = json!(next);
    }
    Ok(reply)
}

pub(super) async fn watch(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let url = call.arguments.needed("url").trim();
    let mut request = engines.request(call, url)?;
    request.receipt = false;
    request.backend = backend(call)?;
    call.progress.say(0, Some(1), "reading");
    let done = engines.read(&request).await;
    let seen = match &done.outcome {
        Ok(r) => Ok((r.page.markdown.as_str(), r.page.blocks.as_slice())),
        Err(failure) => Err(failure),
    };
    let key = engines.keys.signer().ok();
    let look = watch::look(
        &mut lock(&engines.kept.watched),
        url,
        seen,
        engines.clock.now(),
        key.as_ref(),
    )?;
    let mut reply = match &done.outcome {
        Ok(_) => json!({"ok": true}),
        Err(failure) => unread(&done, failure),
    };
    if let Some(map) = reply.as_object_mut() {
        map.remove("recovery");
        map.remove("receipt");
    }
    reply["url"] = json!(url);
    if let (Value::Object(map), Ok(Value::Object(found))) =
        (&mut reply, serde_json::to_value(&look))
    {
        map.extend(found.into_iter().filter(|(n, _)| n != "ok"));
    }
    Ok(reply)
}

pub(super) async fn crosscheck(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let url = call.arguments.needed("url");
    let mut seen = Vec::new();
    let mut vantages = Vec::new();
    for (i, (name, backend)) in [("http", Backend::Http), ("browser", Backend::Browser)]
        .into_iter()
        .enumerate()
    {
        call.progress
            .say(i, Some(2), format!("reading over {name}"));
        let request = Request {
            backend: Some(backend),
            ..Request::new(url.trim())
        };
        let done = engines.read(&request).await;
        vantages.push(match &done.outcome {
            Ok(r) => json!({"vantage": name, "ok": true, "contentHash": r.content_hash, "blocks": r.page.blocks.len()}),
            Err(f) => json!({"vantage": name, "ok": false, "failureCode": f.code}),
        });
        seen.push(Seen {
            vantage: name.to_owned(),
            read: done.outcome.map(|r| r.page.blocks).map_err(|f| f.code),
        });
    }
    let (verdict, agreement) = compare(&seen);
    Ok(json!({
        "ok": true,
        "url": url,
        "verdict": verdict,
        "agreement": agreement,
        "vantages": vantages,
    }))
}

pub(super) fn atlas(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let atlas = lock(&engines.kept.atlas);
    let wanted = call.arguments.text("host");
    let hosts: Vec<Value> = atlas
        .hosts()
        .filter(|(h, _)| wanted.is_none_or(|w| h.eq_ignore_ascii_case(w)))
        .map(|(host, record)| {
            let mut row = json!(record);
            row["host"] = json!(host);
            row["walled"] = json!(record.is_walled());
            row
        })
        .collect();
    Ok(json!({"ok": true, "hosts": hosts}))
}

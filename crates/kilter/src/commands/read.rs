//! `kilter read`: a web page in, its content as Markdown out.

use std::io::Read as _;
use std::path::Path;

use kilter_core::Exit;
use kilter_web::budget::O200k;
use kilter_web::focus::FocusStatus;
use kilter_web::open::Backend;
use kilter_web::reading::{Beside, Done, FILE_MAX, Reading, Request, failed};
use kilter_web::{Failure as Unread, ReadOptions, lines};

use super::receipts::store;
use super::{each_line, web};
use crate::cli::Global;
use crate::cli::read::Read;
use crate::failure::{Failure, Outcome};
use crate::output::Out;
use crate::signals;

pub(crate) async fn run(args: &Read, global: &Global, out: &Out) -> Outcome {
    let file = args.html.as_deref().or(args.page.as_deref());
    if args.jsonl {
        return batch(args, file, out);
    }
    let url = file
        .filter(|_| args.html.is_none())
        .and_then(Path::to_str)
        .filter(|p| web::is_url(p));
    let name = url
        .map(str::to_owned)
        .or_else(|| args.base_url.clone())
        .unwrap_or_else(|| file.map_or("-".to_owned(), |p| p.display().to_string()));
    let stop = signals::stop();
    let done = tokio::select! {
        done = read(args, url, file, global) => done?,
        () = stop => {
            out.note("interrupted; nothing of the page was kept");
            return Ok(Exit::Interrupted);
        }
    };
    match &done.outcome {
        Ok(reading) => show(args, reading, out),
        Err(failure) => {
            if args.json {
                out.json(&failed(&name, &done, failure))?;
                return Ok(web::exit(failure.code));
            }
            Err(web::said(failure))
        }
    }
}

/// Reads the page; only what is no page's fault is an error of the command.
async fn read(
    args: &Read,
    url: Option<&str>,
    file: Option<&Path>,
    global: &Global,
) -> Result<Done, Failure> {
    let refused = |failure: Unread| Done {
        outcome: Err(failure),
        attempts: Vec::new(),
        receipt: None,
        took: std::time::Duration::ZERO,
    };
    let keys = args.receipt.then(|| store(global, true));
    let ready = web::operator().and_then(|operator| {
        let backend = args.backend.parse::<Backend>()?;
        Ok((web::reader(&operator, keys)?, backend))
    });
    let (reader, backend) = match ready {
        Ok(ready) => ready,
        Err(failure) => return Ok(refused(failure)),
    };
    let request = Request {
        url: url.unwrap_or_default().to_owned(),
        backend: Some(backend),
        focus: args.focus.clone(),
        prune: args.focus.is_some(),
        sections: args.section.clone(),
        max_tokens: args.max_tokens,
        if_none_match: args.if_none_match.clone(),
        selectors: args.select.clone(),
        keep_hidden: args.keep_hidden,
        receipt: args.receipt,
        ..Request::default()
    };
    if url.is_some() {
        return Ok(reader.read(&request).await);
    }
    let path = file.filter(|p| *p != Path::new("-"));
    let bytes = bytes(path)?;
    Ok(
        match web::file(path, bytes, args.html.is_some(), args.base_url.as_deref()) {
            Ok(source) => reader.read_bytes(source, &request).await,
            Err(failure) => refused(failure),
        },
    )
}

fn show(args: &Read, reading: &Reading, out: &Out) -> Outcome {
    let beside = Beside {
        blocks: args.json,
        ..Beside::default()
    };
    let mut reply = match reading.reply(&beside, args.max_tokens, &O200k) {
        Ok(reply) => reply,
        Err(failure) if args.json => {
            out.json(&kilter_web::cascade::reply::failed(&failure))?;
            return Ok(web::exit(failure.code));
        }
        Err(failure) => return Err(web::said(&failure)),
    };
    if args.json {
        if args.max_tokens.is_some() {
            // On one line: it is counted as it is sent.
            out.json_line(&reply)?;
        } else {
            if !reading.unchanged {
                reply["text"] = reading.page.text.as_str().into();
            }
            out.json(&reply)?;
        }
        return Ok(Exit::Ok);
    }
    match reply["markdown"].as_str() {
        Some(markdown) => out.line(markdown)?,
        None => out.note("unchanged since the read with that content hash"),
    }
    notes(reading, out);
    Ok(Exit::Ok)
}

/// What a person should know of a page besides its content.
fn notes(reading: &Reading, out: &Out) {
    let chars = |reason: &str| -> usize {
        let gone = reading.page.omitted.iter().filter(|o| o.reason == reason);
        gone.map(|o| o.chars).sum()
    };
    let hidden = chars("hidden");
    if hidden > 0 {
        out.note(&format!(
            "note: {hidden} characters that a reader of the page cannot see were left out"
        ));
    }
    let elsewhere = chars("focus") + chars("sections");
    if elsewhere > 0 {
        out.note(&format!(
            "note: {elsewhere} characters of other sections were left out"
        ));
    }
    if reading.answered == FocusStatus::Miss {
        out.note("note: nothing on the page is about `--focus`; all of it is shown");
    }
    for warning in &reading.warnings {
        let said = match warning.as_str() {
            "page_not_settled" => "the page did not come to rest; some of it may be missing",
            "scroll_capped" => "the page goes on below what was scrolled to",
            "requests_refused" => "the page asked for addresses that may not be read",
            _ => continue,
        };
        out.note(&format!("note: {said}"));
    }
}

fn batch(args: &Read, file: Option<&Path>, out: &Out) -> Outcome {
    let options = ReadOptions {
        selectors: args.select.clone(),
        keep_hidden: args.keep_hidden,
        ..ReadOptions::default()
    };
    let shape = "{\"id\"?, \"html\" | \"html_b64\", \"url\"?}";
    each_line::run(file, out, shape, |line, number| {
        match lines::answer(line, &options) {
            Ok(answer) => (serde_json::to_vec(&answer).unwrap_or_default(), true),
            Err(e) => (
                each_line::failed(line, &format!("line {number}: {e}")),
                false,
            ),
        }
    })
}

/// The bytes of a file, or of standard input: at most one more than is read, so that what is too long is known.
fn bytes(path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let most = FILE_MAX as u64 + 1;
    let mut bytes = Vec::new();
    match path {
        Some(p) => std::fs::File::open(p)
            .and_then(|f| f.take(most).read_to_end(&mut bytes))
            .map_err(|e| Failure::reading(p, &e))?,
        None => std::io::stdin()
            .lock()
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|e| Failure::unavailable(format!("cannot read standard input: {e}")))?,
    };
    Ok(bytes)
}

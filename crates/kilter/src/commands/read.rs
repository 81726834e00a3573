//! `kilter read`: a web page in, its content as Markdown out.

use std::io::Read as _;
use std::path::Path;

use kilter_core::Exit;
use kilter_web::{Page, ReadOptions, decode, lines, read};
use serde_json::{Value, json};

use super::each_line;
use crate::cli::read::Read;
use crate::failure::{Failure, Outcome};
use crate::output::Out;

pub(crate) fn run(args: &Read, out: &Out) -> Outcome {
    let options = ReadOptions {
        selectors: args.select.clone(),
        keep_hidden: args.keep_hidden,
        ..ReadOptions::default()
    };
    let file = args.html.as_deref().or(args.page.as_deref());
    if args.jsonl {
        let shape = "{\"id\"?, \"html\" | \"html_b64\", \"url\"?}";
        return each_line::run(file, out, shape, |line, number| {
            match lines::answer(line, &options) {
                Ok(answer) => (serde_json::to_vec(&answer).unwrap_or_default(), true),
                Err(e) => (
                    each_line::failed(line, &format!("line {number}: {e}")),
                    false,
                ),
            }
        });
    }
    let text = decode::html(&bytes(file)?, None).text;
    match read::html(&text, args.base_url.as_deref(), &options) {
        Ok(page) if args.json => {
            let mut value = serde_json::to_value(&page).map_err(anyhow::Error::from)?;
            if let Some(map) = value.as_object_mut() {
                map.shift_insert(0, "ok".to_owned(), Value::Bool(true));
            }
            out.json(&value)?;
            Ok(Exit::Ok)
        }
        Ok(page) => {
            out.line(&page.markdown)?;
            say_omitted(&page, out);
            Ok(Exit::Ok)
        }
        Err(failure) if args.json => {
            out.json(&json!({"ok": false, "failure": failure, "decisions": failure.decisions}))?;
            Ok(Exit::Negative)
        }
        Err(failure) => Err(Failure::worded(Exit::Negative, &failure.message)),
    }
}

fn say_omitted(page: &Page, out: &Out) {
    let hidden = page.omitted.iter().filter(|o| o.reason == "hidden");
    let hidden: usize = hidden.map(|o| o.chars).sum();
    if hidden > 0 {
        out.note(&format!(
            "note: {hidden} characters that a reader of the page cannot see were left out"
        ));
    }
}

/// The bytes of a file, or of standard input.
fn bytes(path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    match path.filter(|p| *p != Path::new("-")) {
        Some(p) => std::fs::read(p).map_err(|e| Failure::reading(p, &e)),
        None => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .map_err(|e| Failure::unavailable(format!("cannot read standard input: {e}")))?;
            Ok(bytes)
        }
    }
}

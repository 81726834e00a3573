//! `kilter parse`: raw model text in, calls, content and reasoning out.

use std::io::Read;
use std::path::Path;

use kilter_behavior::Registry;
use kilter_behavior::filter::{self, ParseOptions, ParseRequest};
use kilter_core::{Exit, ToolSpec};
use serde_json::Value;

use super::parse_lines;
use crate::cli::parse::Parse;
use crate::failure::{Failure, Outcome};
use crate::output::Out;

pub(crate) fn run(args: &Parse, out: &Out) -> Outcome {
    let options = ParseOptions {
        registry: Registry::builtin(),
        expect: args.expect.into(),
        reasoning_open: args.reasoning_open,
        boundary: !args.no_boundary,
        unlearnt: args.unlearnt,
        chunk: args.chunk.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
    };
    if args.jsonl {
        return parse_lines::run(args.file.as_deref(), &options, out);
    }
    let request = ParseRequest {
        raw: Some(text(args.file.as_deref())?),
        tools: args.tools.as_deref().map(tools).transpose()?,
        untrusted: args
            .untrusted
            .iter()
            .map(|p| text(Some(p)))
            .collect::<Result<_, _>>()?,
        ..ParseRequest::default()
    };
    out.json(&filter::parse(&request, &options))?;
    Ok(Exit::Ok)
}

/// The whole of a file, or of standard input.
fn text(path: Option<&Path>) -> Result<String, Failure> {
    let path = path.filter(|p| *p != Path::new("-"));
    let bytes = match path {
        Some(p) => std::fs::read(p).map_err(|e| Failure::reading(p, &e))?,
        None => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .map_err(|e| Failure::unavailable(format!("cannot read standard input: {e}")))?;
            bytes
        }
    };
    String::from_utf8(bytes).map_err(|e| {
        let name = path.map_or_else(|| "standard input".into(), |p| format!("`{}`", p.display()));
        Failure::usage(format!(
            "{name} is not UTF-8: first bad byte at {}",
            e.utf8_error().valid_up_to()
        ))
        .hint("the text of a model is UTF-8; convert the file with `iconv -t utf-8`")
    })
}

/// A `tools` array from a file; an object that holds one under `tools` (a whole request) is taken
/// as well.
fn tools(path: &Path) -> Result<Value, Failure> {
    let shown = path.display();
    let value: Value = serde_json::from_str(&text(Some(path))?).map_err(|e| {
        Failure::usage(format!("`{shown}` is not JSON: {e}"))
            .hint("--tools takes the `tools` array of a chat request")
    })?;
    let list = match value {
        Value::Object(mut map) => map.remove("tools").unwrap_or(Value::Null),
        other => other,
    };
    let wrong = |what: &str| {
        Failure::usage(format!("`{shown}` {what}")).hint(
            "it should read `[{\"type\":\"function\",\"function\":{\"name\":…,\"parameters\":…}}]`",
        )
    };
    match &list {
        Value::Array(items) if items.iter().any(|i| ToolSpec::from_wire(i).is_some()) => Ok(list),
        Value::Array(items) if items.is_empty() => Ok(list),
        Value::Array(_) => Err(wrong("declares no function")),
        _ => Err(wrong("holds no `tools` array")),
    }
}

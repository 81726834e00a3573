//! `kilter trace to-fixture`: a raw capture becomes a fixture of the behaviour tests.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use kilter_behavior::{EchoIndex, ReaderConfig, Reading, ToolSet, read};
use kilter_core::{Exit, Provenance};
use kilter_gateway::capture::CaptureLine;
use kilter_wire::chat::{Accumulator, ChatRequest, Chunk, Completion, Turn};
use kilter_wire::sse::Framer;
use serde_json::{Value, json};

use crate::cli::trace::{FixtureFormat, ToFixture};
use crate::failure::{Failure, Outcome};
use crate::output::{Out, counted};

pub(crate) fn run(args: &ToFixture, files: &[PathBuf], out: &Out) -> Outcome {
    let line = find(files, &args.capture)?;
    let request = ChatRequest::parse(&line.client.bytes())
        .map_err(|e| Failure::unavailable(format!("the captured request cannot be read: {e}")))?;
    let turn = turn(&line)?;
    let tools = Arc::new(ToolSet::new(request.callable_tools()));
    let untrusted = request.untrusted();
    let reading = read(
        ReaderConfig {
            untrusted: Arc::new(EchoIndex::new(untrusted.iter().map(AsRef::as_ref), &tools)),
            tools,
            expect: request.expect(),
            ..ReaderConfig::new()
        },
        &turn.content,
    );
    match args.format {
        FixtureFormat::Json => out.json(&json!({
            "id": line.id,
            "source": format!("capture:{}", line.id),
            "raw": turn.content,
            "tools": request.tools_raw().and_then(|t| serde_json::from_str::<Value>(t).ok()),
            "untrusted": untrusted,
            "expect": request.expect(),
            "wanted": {
                "content": reading.content,
                "reasoning": reading.reasoning,
                "calls": calls(&reading),
                "truncated": reading.truncated,
            },
        }))?,
        FixtureFormat::Toml => out.raw(toml_text(&line, &turn, &reading)?.as_bytes())?,
    }
    Ok(Exit::Ok)
}

fn find(files: &[PathBuf], id: &str) -> Result<CaptureLine, Failure> {
    let mut seen = 0_u64;
    for path in files {
        let file = File::open(path).map_err(|e| Failure::reading(path, &e))?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|e| Failure::reading(path, &e))?;
            seen += 1;
            // A capture can be megabytes: look before parsing.
            if !line.contains(id) {
                continue;
            }
            if let Ok(capture) = serde_json::from_str::<CaptureLine>(&line)
                && capture.id == id
            {
                return Ok(capture);
            }
        }
    }
    Err(Failure::unavailable(format!(
        "there is no capture `{id}` among {seen} in {}",
        counted(files.len(), "file")
    ))
    .hint("`kilter trace follow` shows capture ids; capture is off until `[capture] mode` is set"))
}

/// The turn as the last upstream sent it.
fn turn(line: &CaptureLine) -> Result<Turn, Failure> {
    let Some(exchange) = line.exchanges.last() else {
        return Err(Failure::unavailable("the capture holds no answer"));
    };
    let bytes = exchange.body.bytes();
    let events = exchange
        .content_type
        .as_deref()
        .is_some_and(|t| t.starts_with("text/event-stream"));
    if !events {
        return Completion::parse(&bytes)
            .map(|c| c.turns().into_iter().next().unwrap_or_default())
            .map_err(|e| Failure::unavailable(format!("the captured answer cannot be read: {e}")));
    }
    let mut whole = Accumulator::new();
    let mut framer = Framer::new();
    framer.push(&bytes);
    framer.finish();
    while let Some(Ok(event)) = framer.next_event() {
        if !event.comment_only
            && !event.is_done()
            && let Ok(chunk) = Chunk::parse(event.data.as_str())
        {
            whole.push(&chunk);
        }
    }
    Ok(whole.finish().into_iter().next().unwrap_or_default())
}

fn calls(reading: &Reading) -> Vec<Value> {
    reading
        .calls
        .iter()
        .map(|c| json!({"name": c.name, "arguments": c.arguments}))
        .collect()
}

/// In the form of `crates/kilter-behavior/fixtures/dialects/*.toml`. What the reader makes of the
/// text now is written down as what is wanted: to be read by a person before it is kept.
fn toml_text(line: &CaptureLine, turn: &Turn, reading: &Reading) -> Result<String, Failure> {
    let dialect = reading.calls.iter().find_map(|c| match &c.provenance {
        Provenance::Recovered { dialect, .. } => Some(dialect.clone()),
        Provenance::Native => None,
    });
    let mut entry = toml::Table::new();
    entry.insert("id".into(), line.id.clone().into());
    entry.insert("source".into(), format!("capture:{}", line.id).into());
    entry.insert("raw".into(), turn.content.clone().into());
    let section = if reading.calls.is_empty() {
        "must_not_fire"
    } else {
        let list: Vec<toml::Value> = reading
            .calls
            .iter()
            .map(|c| {
                let mut call = toml::Table::new();
                call.insert("name".into(), c.name.clone().into());
                call.insert("arguments".into(), c.arguments.clone().into());
                call.into()
            })
            .collect();
        entry.insert("calls".into(), list.into());
        entry.insert("content".into(), reading.content.clone().into());
        if let Some(reasoning) = &reading.reasoning {
            entry.insert("reasoning".into(), reasoning.clone().into());
        }
        "firing"
    };
    let mut file = toml::Table::new();
    if let Some(dialect) = dialect {
        file.insert("dialect".into(), dialect.into());
    }
    file.insert(section.into(), vec![toml::Value::from(entry)].into());
    let body = toml::to_string(&file).map_err(anyhow::Error::from)?;
    Ok(format!(
        "# from capture {}, {}: read it before you keep it\n{body}",
        line.id, line.time
    ))
}

//! One result line for each line of input, in order, as fast as the machine allows.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use kilter_core::Exit;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::output::Out;

/// Lines that are read at once when they are there; one line alone is never kept waiting.
const BATCH_LINES: usize = 1024;
/// Bytes after which a batch is closed.
const BATCH_BYTES: usize = 4 << 20;

/// Answers every line with `answer(line, number)`: the result without its line break, and whether the line could be
/// read. `shape` says what a line is, for whoever gave another.
pub(crate) fn run(
    path: Option<&Path>,
    out: &Out,
    shape: &str,
    answer: impl Fn(&[u8], u64) -> (Vec<u8>, bool) + Sync,
) -> Outcome {
    let source: Box<dyn Read + Send> = match path.filter(|p| *p != Path::new("-")) {
        Some(p) => Box::new(File::open(p).map_err(|e| Failure::reading(p, &e))?),
        None => Box::new(std::io::stdin()),
    };
    let (send, receive) = sync_channel(BATCH_LINES);
    let reader = std::thread::spawn(move || read_lines(source, &send));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut number = 0_u64;
    let mut bad = 0_u64;
    while let Some(batch) = next_batch(&receive) {
        let done = in_parallel(&batch, number, threads, &answer);
        number += batch.len() as u64;
        bad += done.iter().map(|d| d.1).sum::<u64>();
        for (bytes, _) in done {
            out.raw(&bytes)?;
        }
    }
    match reader.join() {
        Ok(Ok(())) => {}
        Ok(Err(e)) => return Err(Failure::unavailable(format!("cannot read on: {e}"))),
        Err(_) => {
            return Err(Failure::new(
                Exit::Internal,
                "the reading thread ended badly",
            ));
        }
    }
    if bad > 0 {
        out.warn(
            &format!("{bad} of {number} lines could not be read; each has an `error`"),
            Some(&format!("a line is `{shape}`")),
        );
        return Ok(Exit::Negative);
    }
    Ok(Exit::Ok)
}

fn read_lines(source: Box<dyn Read + Send>, send: &SyncSender<Vec<u8>>) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 18, source);
    loop {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if send.send(line).is_err() {
            return Ok(());
        }
    }
}

/// Waits for one line, then takes what else is already there.
fn next_batch(receive: &Receiver<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    let first = receive.recv().ok()?;
    let mut bytes = first.len();
    let mut batch = vec![first];
    while batch.len() < BATCH_LINES && bytes < BATCH_BYTES {
        match receive.try_recv() {
            Ok(line) => {
                bytes += line.len();
                batch.push(line);
            }
            Err(_) => break,
        }
    }
    Some(batch)
}

/// Result lines of consecutive shares of the batch, and how many lines of each were bad.
fn in_parallel(
    batch: &[Vec<u8>],
    before: u64,
    threads: usize,
    answer: &(impl Fn(&[u8], u64) -> (Vec<u8>, bool) + Sync),
) -> Vec<(Vec<u8>, u64)> {
    let share = batch.len().div_ceil(threads).max(1);
    if batch.len() < 4 {
        return vec![one_share(batch, before, answer)];
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = batch
            .chunks(share)
            .enumerate()
            .map(|(i, lines)| {
                let from = before + (i * share) as u64;
                scope.spawn(move || one_share(lines, from, answer))
            })
            .collect();
        workers
            .into_iter()
            .zip(batch.chunks(share))
            .map(|(w, lines)| w.join().unwrap_or_else(|_| lost(lines)))
            .collect()
    })
}

/// A share whose thread died: every line still gets its result.
fn lost(lines: &[Vec<u8>]) -> (Vec<u8>, u64) {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend_from_slice(&failed(line, "the reader failed; this is a bug of kilter"));
        bytes.push(b'\n');
    }
    (bytes, lines.len() as u64)
}

fn one_share(
    lines: &[Vec<u8>],
    before: u64,
    answer: &(impl Fn(&[u8], u64) -> (Vec<u8>, bool) + Sync),
) -> (Vec<u8>, u64) {
    let mut bytes = Vec::with_capacity(lines.iter().map(Vec::len).sum());
    let mut bad = 0;
    for (i, line) in lines.iter().enumerate() {
        let (result, good) = answer(line, before + i as u64 + 1);
        bad += u64::from(!good);
        bytes.extend_from_slice(&result);
        bytes.push(b'\n');
    }
    (bytes, bad)
}

/// The result of a line that could not be read, with its id where it has one.
pub(crate) fn failed(line: &[u8], why: &str) -> Vec<u8> {
    let id = serde_json::from_slice::<Value>(line)
        .ok()
        .and_then(|v| v.get("id").cloned());
    let value = match id {
        Some(id) => json!({"id": id, "error": why}),
        None => json!({"error": why}),
    };
    value.to_string().into_bytes()
}

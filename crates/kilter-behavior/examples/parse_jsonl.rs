//! `kilter parse --jsonl` as a small program: lines of requests in, lines of results out.
//!
//! `parse_jsonl [auto|required|none]` gives the default for lines that say nothing.

use std::io::{BufRead, Write};

use kilter_behavior::filter::{ParseOptions, ParseRequest, parse};

fn main() -> std::io::Result<()> {
    let mut options = ParseOptions::default();
    if let Some(word) = std::env::args().nth(1) {
        options.expect = serde_json::from_value(word.into()).map_err(std::io::Error::other)?;
    }
    if let Some(n) = std::env::args().nth(2) {
        options.chunk = n.parse().ok();
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let request: ParseRequest = serde_json::from_str(&line?).map_err(std::io::Error::other)?;
        serde_json::to_writer(&mut out, &parse(&request, &options))?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

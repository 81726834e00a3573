//! `kilter parse --jsonl`: what one line comes to.

use std::path::Path;

use kilter_behavior::filter::{self, ParseOptions, ParseRequest};

use super::each_line::{self, failed};
use crate::failure::Outcome;
use crate::output::Out;

pub(crate) fn run(path: Option<&Path>, options: &ParseOptions, out: &Out) -> Outcome {
    let shape = "{\"id\"?, \"raw\" | \"chunks\":[…], \"tools\"?, …}";
    each_line::run(
        path,
        out,
        shape,
        |line, number| match serde_json::from_slice::<ParseRequest>(line) {
            Ok(request) if request.raw.is_none() && request.chunks.is_none() => {
                let why = format!("line {number}: neither `raw` nor `chunks`");
                (failed(line, &why), false)
            }
            Ok(request) => match serde_json::to_vec(&filter::parse(&request, options)) {
                Ok(result) => (result, true),
                Err(_) => (failed(line, "the result could not be written"), false),
            },
            Err(e) => (failed(line, &format!("line {number}: {e}")), false),
        },
    )
}

//! `kilter __pdf`: the process that reads one PDF, started with bounds on time and memory.

use kilter_core::Exit;
use kilter_web::format::pdf::serve;

use crate::failure::Outcome;

/// A document on standard input, its text as JSON on standard output.
pub(crate) fn run() -> Outcome {
    let code = serve(&mut std::io::stdin().lock(), &mut std::io::stdout().lock());
    Ok(if code == 0 { Exit::Ok } else { Exit::Negative })
}

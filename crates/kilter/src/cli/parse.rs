//! `kilter parse`: its arguments.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kilter_core::Expect;

/// Read raw model text: calls, content and reasoning out
///
/// Reads FILE or standard input and prints one JSON object: content, reasoning, tool_calls,
/// rejected, truncated. The reader is never told the model. Without --tools the declared-set and
/// schema rules are off, and the result says so.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter parse answer.txt --tools tools.json
  some-command | kilter parse --tools tools.json --untrusted page.html
  kilter parse --expect required --chunk 1 answer.txt
  kilter parse --jsonl < batch.jsonl > results.jsonl

A line of --jsonl: {\"id\"?, \"raw\" | \"chunks\":[…], \"tools\"?,
\"untrusted\"?, \"expect\"?, \"reasoning_open\"?}. One result line each, in order.")]
pub(crate) struct Parse {
    /// The text; `-` or nothing: standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Declared tools: a JSON file with a chat-API `tools` array
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,

    /// Text that nobody may call from (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) untrusted: Vec<PathBuf>,

    /// Mirror of the request's `tool_choice`
    #[arg(long, value_name = "WHAT", value_enum, default_value = "auto")]
    pub(crate) expect: ExpectArg,

    /// Feed the text in pieces of at most BYTES
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) chunk: Option<u64>,

    /// The template had already opened the reasoning block
    #[arg(long)]
    pub(crate) reasoning_open: bool,

    /// Switch the echo, declared-set and schema rules off
    #[arg(long)]
    pub(crate) no_boundary: bool,

    /// Show a first turn instead of a fully learnt profile
    #[arg(long)]
    pub(crate) unlearnt: bool,

    /// Read JSON lines and write one result line each
    #[arg(long, conflicts_with_all = ["tools", "untrusted"])]
    pub(crate) jsonl: bool,
}

/// `tool_choice` as the command line says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExpectArg {
    /// A call is optional
    Auto,
    /// The client required a call
    Required,
    /// Tools were switched off
    None,
}

impl From<ExpectArg> for Expect {
    fn from(arg: ExpectArg) -> Self {
        match arg {
            ExpectArg::Auto => Self::Auto,
            ExpectArg::Required => Self::Required,
            ExpectArg::None => Self::None,
        }
    }
}

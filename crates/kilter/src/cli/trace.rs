//! `kilter trace`: its arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Read traces and captures
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter trace follow
  kilter trace summary --json
  kilter trace to-fixture CAPTURE > fixture.toml")]
pub(crate) struct Trace {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// What to do with them.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Print events as they come
    #[command(after_help = "Examples:
  kilter trace follow                     from now on
  kilter trace follow --lines 50          the last fifty first
  kilter trace follow --json | jq .event
  kilter trace follow --no-wait --lines 20")]
    Follow(Follow),
    /// Count events by kind, backend and slot
    #[command(after_help = "Examples:
  kilter trace summary
  kilter trace summary --json
  kilter trace summary traces/2026-12-01.jsonl")]
    Summary(Summary),
    /// Turn a raw capture into a fixture
    #[command(after_help = "Examples:
  kilter trace to-fixture CAPTURE                  TOML on standard output
  kilter trace to-fixture CAPTURE --format json
  kilter trace to-fixture CAPTURE --from old-captures/

CAPTURE is the `capture` of a trace event.")]
    ToFixture(ToFixture),
}

/// `kilter trace follow`.
#[derive(Debug, Args)]
pub(crate) struct Follow {
    /// Trace file or folder [default: traces/ in the state folder]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,

    /// Print the last N events first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 0)]
    pub(crate) lines: usize,

    /// End at the end instead of waiting for more
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// Print the events as they were written
    #[arg(long)]
    pub(crate) json: bool,
}

/// `kilter trace summary`.
#[derive(Debug, Args)]
pub(crate) struct Summary {
    /// Trace file or folder [default: traces/ in the state folder]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,

    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `kilter trace to-fixture`.
#[derive(Debug, Args)]
pub(crate) struct ToFixture {
    /// Id of the capture
    #[arg(value_name = "CAPTURE")]
    pub(crate) capture: String,

    /// Capture file or folder [default: captures/ in the state folder]
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Option<PathBuf>,

    /// Form of the fixture
    #[arg(long, value_enum, default_value = "toml")]
    pub(crate) format: FixtureFormat,
}

/// Form of a fixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FixtureFormat {
    /// As the fixtures of the repository
    Toml,
    /// One JSON object
    Json,
}

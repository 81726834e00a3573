//! `kilter mock`: its arguments.

use std::path::PathBuf;

use clap::Args;

/// Serve scripted models that misbehave on purpose
///
/// A deterministic OpenAI-compatible server: each script is one model of `/v1/models`, its answers
/// and its faults are written down, and the same seed gives the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter mock --list-demos
  kilter mock --demo NAME --port 8099
  kilter mock my-model.toml other-model.toml
  kilter mock                                      all demonstration models")]
pub(crate) struct Mock {
    /// Scripts to serve
    #[arg(value_name = "SCRIPT")]
    pub(crate) scripts: Vec<PathBuf>,

    /// Serve one of the demonstration models (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) demo: Vec<String>,

    /// Print the demonstration models and what each does
    #[arg(long)]
    pub(crate) list_demos: bool,

    /// Port on 127.0.0.1 (0: any free one)
    #[arg(long, value_name = "PORT", default_value_t = 8099)]
    pub(crate) port: u16,

    /// Seed of everything that varies
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Append each finished request and what became of it, one JSON line each
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Machine-readable output
    #[arg(long)]
    pub(crate) json: bool,
}

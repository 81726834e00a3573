//! `kilter canary`: its arguments.

use clap::{Args, Subcommand};

/// Prove the rules of the canary, and print its fixed values
///
/// A canary is a value that did not exist before the request. A model that reports it has read the
/// page; one that reports another has made it up.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter canary selftest
  kilter canary vectors --json")]
pub(crate) struct Canary {
    #[command(subcommand)]
    pub(crate) action: CanaryAction,
}

/// What to do with the canary.
#[derive(Debug, Subcommand)]
pub(crate) enum CanaryAction {
    /// Prove verdicts, limits and silence, without a network
    #[command(after_help = "Examples:
  kilter canary selftest
  kilter canary selftest --json")]
    Selftest {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print fixed values for other implementations
    #[command(after_help = "Examples:
  kilter canary vectors
  kilter canary vectors --json")]
    Vectors {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

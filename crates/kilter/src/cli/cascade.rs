//! `kilter cascade`: its arguments.

use clap::{Args, Subcommand};

/// Read one page whatever it takes, and show each step
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter cascade selftest
  kilter cascade run https://example.org/docs/page
  kilter cascade run page.html --task \"opening hours\" --budget 1000
  kilter cascade run notes.md --json")]
pub(crate) struct Cascade {
    #[command(subcommand)]
    pub(crate) action: CascadeAction,
}

/// What to do with the cascade.
#[derive(Debug, Subcommand)]
pub(crate) enum CascadeAction {
    /// Run the ladder on one page and print its log
    #[command(after_help = "Examples:
  kilter cascade run https://example.org/docs/page --budget 2000
  kilter cascade run page.html --base-url https://example.org/docs/page
  kilter cascade run page.html --task \"opening hours\" --budget 1000
  kilter cascade run notes.md --if-none-match sha256:… --json")]
    Run {
        /// What to read: a URL or a file
        #[arg(value_name = "URL|FILE")]
        target: String,

        /// What is wanted, in words
        #[arg(long, value_name = "WORDS")]
        task: Option<String>,

        /// Bound of the reply in tokens, 128 or more
        #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
        budget: Option<i64>,

        /// auto, or advanced for a hint about other tools
        #[arg(long, value_name = "MODE", default_value = "auto")]
        mode: String,

        /// Content hash of an earlier read
        #[arg(long, value_name = "HASH")]
        if_none_match: Option<String>,

        /// The URL that a file was read from
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,

        /// Sign nothing and make no key
        #[arg(long)]
        no_receipt: bool,

        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Prove the state machine's rules without a network
    #[command(after_help = "Examples:
  kilter cascade selftest
  kilter cascade selftest --json")]
    Selftest {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

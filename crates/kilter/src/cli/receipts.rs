//! `kilter receipts`: its arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Export keys and check receipts, without a network
///
/// A receipt says that the holder of a key saw these bytes under that address. It does not say that
/// they are true, who wrote them, or that the holder's clock was right.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter receipts export > reader.pem
  kilter receipts verify receipt.json --pubkey reader.pem
  kilter receipts verify receipt.json --markdown page.md

Exit codes of verify: 0 verified · 1 not verified · 2 it cannot be checked")]
pub(crate) struct Receipts {
    #[command(subcommand)]
    pub(crate) action: ReceiptsAction,
}

/// What to do with receipts.
#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptsAction {
    /// Print the public keys of this installation
    #[command(after_help = "Examples:
  kilter receipts export > reader.pem
  kilter receipts export --create       make the first key if there is none")]
    Export {
        /// Make a key if there is none yet
        #[arg(long)]
        create: bool,

        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Make a new key and sign with it from now on
    #[command(after_help = "Examples:
  kilter receipts rotate

The old secret is deleted; its public half stays, so old receipts verify.")]
    Rotate,
    /// Check a receipt, a capsule, a citation, a history or a set
    #[command(after_help = "Examples:
  kilter receipts verify receipt.json --pubkey reader.pem
  kilter receipts verify receipt.json --markdown page.md
  kilter receipts verify receipt.json --mode citation --text \"…\" \\
      --selector p --proof proof.json
  kilter receipts verify history.json --mode history --head sha256:…
  kilter receipts verify set.json --mode manifest

Exit codes: 0 verified · 1 not verified · 2 it cannot be checked")]
    Verify {
        /// The receipt; `-` or nothing: standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,

        /// What it is
        #[arg(long, value_name = "WHAT", value_enum, default_value = "receipt")]
        mode: VerifyMode,

        /// Trusted public keys in PEM [default: those of this installation]
        #[arg(long, value_name = "PEM")]
        pubkey: Option<PathBuf>,

        /// The content that the receipt should speak of
        #[arg(long, value_name = "FILE")]
        markdown: Option<PathBuf>,

        /// The cited block's text
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,

        /// The cited block's selector
        #[arg(long, value_name = "SELECTOR")]
        selector: Option<String>,

        /// The cited block's proof
        #[arg(long, value_name = "FILE")]
        proof: Option<PathBuf>,

        /// Hash of the history's last entry, as you remember it
        #[arg(long, value_name = "HASH")]
        head: Option<String>,

        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

/// What `verify` is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerifyMode {
    /// A receipt, a reply with one, or a capsule
    Receipt,
    /// One block of a page
    Citation,
    /// A page over time
    History,
    /// A set of pages
    Manifest,
}

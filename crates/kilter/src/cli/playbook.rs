//! `kilter playbook`: its arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Check playbooks, and say which one holds for a URL
///
/// A playbook says how one site is read: which part of its pages is the content, how to fetch them,
/// which fields they have. Those in the state folder (`playbooks/local`) come before those of
/// --dir.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter playbook lint tides.json
  kilter playbook resolve https://tides.example/station/7")]
pub(crate) struct Playbook {
    #[command(subcommand)]
    pub(crate) action: PlaybookAction,
}

/// What to do with playbooks.
#[derive(Debug, Subcommand)]
pub(crate) enum PlaybookAction {
    /// Check a document without a network
    #[command(after_help = "Examples:
  kilter playbook lint tides.json
  kilter playbook lint tides.json --json

Exit codes: 0 it can be used · 1 it is broken · 2 it cannot be read")]
    Lint {
        /// The document; `-` or nothing: standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,

        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say which playbook holds for a URL
    #[command(after_help = "Examples:
  kilter playbook resolve https://tides.example/station/7
  kilter playbook resolve https://tides.example/ --dir playbooks --json

Exit codes: 0 one holds · 1 none does · 2 it is no URL")]
    Resolve {
        /// The URL
        #[arg(value_name = "URL")]
        url: String,

        /// A folder of playbooks (repeatable)
        #[arg(long, value_name = "DIR")]
        dir: Vec<PathBuf>,

        /// Show what was learnt, too
        #[arg(long)]
        lessons: bool,

        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

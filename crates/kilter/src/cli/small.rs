//! `kilter doctor`, `config`, `completions`, `man`: their arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

/// Say what is installed, what answers and what is missing
///
/// Looks for model servers on their usual local ports and tells them apart by what they answer,
/// checks the configuration and the state folder, and names what is missing and how to get it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter doctor
  kilter doctor --json
  kilter doctor --ports 8080,9000        look at these ports instead")]
pub(crate) struct Doctor {
    /// Ports to look at instead of the usual ones
    #[arg(long, value_name = "PORT,…", value_delimiter = ',')]
    pub(crate) ports: Vec<u16>,

    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check and explain the configuration
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter config check
  kilter config show
  kilter config schema > kilter.schema.json")]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Check the files and explain errors with their line
    #[command(after_help = "Examples:
  kilter config check                    the files that would be used
  kilter config check other.toml")]
    Check {
        /// File to check [default: the files that would be used]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print the configuration that holds, defaults included
    #[command(after_help = "Examples:
  kilter config show
  kilter config show --json

References to keys are shown as references, never as keys.")]
    Show {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of kilter.toml
    #[command(after_help = "Examples:
  kilter config schema > kilter.schema.json")]
    Schema,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter completions bash > ~/.local/share/bash-completion/completions/kilter
  kilter completions zsh > ~/.zfunc/_kilter
  kilter completions fish > ~/.config/fish/completions/kilter.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Print the manual page
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter man | man -l -
  kilter man fit | man -l -
  kilter man > ~/.local/share/man/man1/kilter.1")]
pub(crate) struct Man {
    /// A command [default: kilter itself]
    #[arg(value_name = "COMMAND", num_args = 0..)]
    pub(crate) command: Vec<String>,
}

/// Write the generated files of the repository
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// The folder, `docs` in the repository
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Write nothing; fail when a file is not what would be written
    #[arg(long)]
    pub(crate) check: bool,
}

//! The command tree: what can be typed, and the help that says so.

pub(crate) mod canary;
pub(crate) mod cascade;
pub(crate) mod fit;
pub(crate) mod mcp;
pub(crate) mod mock;
pub(crate) mod parse;
pub(crate) mod playbook;
pub(crate) mod read;
pub(crate) mod receipts;
pub(crate) mod serve;
pub(crate) mod small;
pub(crate) mod trace;

use std::path::PathBuf;

use clap::{ArgAction, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Width of all help, whatever the terminal: help is read in documents too.
const WIDTH: usize = 80;

/// Judges a language model by what it does, not by what it is called.
///
/// kilter reads whatever a model emits (tool calls as text, thinking in the wrong place, answers
/// that spend their budget in reasoning), learns it per endpoint, and gives ordinary
/// OpenAI-compatible clients working tool calls.
#[derive(Debug, Parser)]
#[command(
    name = "kilter",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "Start here:
  kilter fit                              fit the demonstration models
  kilter doctor                           find model servers on this machine
  kilter fit http://127.0.0.1:8080/v1     fit a model of yours
  kilter serve --backend http://127.0.0.1:8080/v1

Exit codes: 0 done · 1 the answer is no · 2 wrong command line or
configuration · 3 something did not answer · 70 bug · 130 interrupted"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Configuration file [default: ./kilter.toml, then the operator's]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "KILTER_CONFIG",
        hide_env = true
    )]
    pub(crate) config: Option<PathBuf>,

    /// State folder: profiles, traces, captures
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "KILTER_STATE",
        hide_env = true
    )]
    pub(crate) state: Option<PathBuf>,

    /// Say more on standard error (-vv: more still)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// When to colour: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) color: ColorChoice,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Probe a model and print its behaviour card
    Fit(fit::Fit),
    /// Put the adaptive gateway in front of one or more backends
    Serve(serve::Serve),
    /// Read raw model text: calls, content and reasoning out
    Parse(parse::Parse),
    /// Read a web page: its main content as Markdown
    Read(read::Read),
    /// Serve scripted models that misbehave on purpose
    Mock(mock::Mock),
    /// Read traces and captures
    Trace(trace::Trace),
    /// Serve the reading of the web to a model's client, over MCP
    Mcp(mcp::Mcp),
    /// Prove the rules of the canary, and print its fixed values
    Canary(canary::Canary),
    /// Read one page whatever it takes, and show each step
    Cascade(cascade::Cascade),
    /// Check playbooks, and say which one holds for a URL
    Playbook(playbook::Playbook),
    /// Export keys and check receipts, without a network
    Receipts(receipts::Receipts),
    /// Say what is installed, what answers and what is missing
    Doctor(small::Doctor),
    /// Check and explain the configuration
    Config(small::Config),
    /// Print a completion script for a shell
    Completions(small::Completions),
    /// Print the manual page
    Man(small::Man),
    /// Write the generated files of the repository
    #[command(name = "__generate", hide = true)]
    Generate(small::Generate),
    /// Read a PDF on standard input: the process that reading a page starts
    #[command(name = "__pdf", hide = true)]
    Pdf,
}

/// The whole tree as clap sees it, at a fixed width.
pub(crate) fn tree() -> clap::Command {
    Cli::command().term_width(WIDTH)
}

/// Parses the process's arguments.
pub(crate) fn parse(colour: bool) -> Result<Cli, clap::Error> {
    let choice = if colour {
        ColorChoice::Always
    } else {
        ColorChoice::Never
    };
    let matches = tree().color(choice).try_get_matches()?;
    Cli::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_well_formed() {
        super::tree().debug_assert();
    }
}

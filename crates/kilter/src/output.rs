//! The only place that writes to the terminal: colour, JSON, errors and hints.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use kilter_core::Exit;
use serde::Serialize;

use crate::failure::Failure;

/// Writes results to standard output, and everything said about them to standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Out {
    colour: bool,
    err_colour: bool,
}

/// A stretch of style; nothing is written for it where colour is off.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    /// A heading or a name.
    Bold,
    /// Something of lesser weight.
    Dim,
    /// Good.
    Green,
    /// Wants attention.
    Yellow,
    /// Bad.
    Red,
    /// A reference.
    Cyan,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Red => "31",
            Self::Cyan => "36",
        }
    }
}

impl Out {
    /// Decides about colour before the command line is parsed, since help and usage errors are
    /// coloured too: `--color`, else `NO_COLOR` (no-color.org: any non-empty value), else whether
    /// the stream is a terminal.
    pub(crate) fn from_args(args: impl Iterator<Item = OsString>) -> Self {
        let mut choice = None;
        let mut args = args.filter_map(|a| a.into_string().ok());
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--" => break,
                "--color" => choice = args.next(),
                other => {
                    if let Some(v) = other.strip_prefix("--color=") {
                        choice = Some(v.to_owned());
                    }
                }
            }
        }
        let forced = match choice.as_deref() {
            Some("always") => Some(true),
            Some("never") => Some(false),
            _ => std::env::var_os("NO_COLOR")
                .filter(|v| !v.is_empty())
                .map(|_| false),
        };
        Self {
            colour: forced.unwrap_or_else(|| std::io::stdout().is_terminal()),
            err_colour: forced.unwrap_or_else(|| std::io::stderr().is_terminal()),
        }
    }

    /// Whether standard output is coloured.
    pub(crate) fn colour(&self) -> bool {
        self.colour
    }

    /// Whether a person watches: both streams are terminals.
    pub(crate) fn interactive(&self) -> bool {
        std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
    }

    /// `text` in `style`, for standard output.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        paint(self.colour, style, text)
    }

    /// One line to standard output. A closed pipe is the reader's right: it ends the process quietly.
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        self.raw(format!("{text}\n").as_bytes())
    }

    /// Bytes to standard output, flushed.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut lock = std::io::stdout().lock();
        match lock.write_all(bytes).and_then(|()| lock.flush()) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
            Err(e) => Err(Failure::unavailable(format!(
                "cannot write to standard output: {e}"
            ))),
        }
    }

    /// One value as indented JSON to standard output.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        self.line(&serde_json::to_string_pretty(value).map_err(anyhow::Error::from)?)
    }

    /// One value as a JSON line to standard output.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<(), Failure> {
        self.line(&serde_json::to_string(value).map_err(anyhow::Error::from)?)
    }

    /// One line to standard error: progress, notes, what would change.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// An error that does not end the command.
    pub(crate) fn error(&self, text: &str, hint: Option<&str>) {
        let word = paint(self.err_colour, Style::Red, "error:");
        self.note(&format!("{word} {text}"));
        if let Some(hint) = hint {
            self.hint(hint);
        }
    }

    /// A warning with what to do next.
    pub(crate) fn warn(&self, text: &str, hint: Option<&str>) {
        let word = paint(self.err_colour, Style::Yellow, "warning:");
        self.note(&format!("{word} {text}"));
        if let Some(hint) = hint {
            self.hint(hint);
        }
    }

    /// A hint by itself.
    pub(crate) fn hint(&self, text: &str) {
        let word = paint(self.err_colour, Style::Cyan, "hint:");
        self.note(&format!("{word} {text}"));
    }

    /// A failure, rendered; the exit code of the process.
    pub(crate) fn failure(&self, failure: &Failure) -> ExitCode {
        self.error(&failure.message, failure.hint.as_deref());
        ExitCode::from(failure.exit.code())
    }

    /// Help, version or a usage error of the command line.
    pub(crate) fn usage(&self, error: &clap::Error) -> ExitCode {
        let rendered = error.render();
        if !error.use_stderr() {
            let text = if self.colour {
                rendered.ansi().to_string()
            } else {
                rendered.to_string()
            };
            return match self.raw(text.as_bytes()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => self.failure(&failure),
            };
        }
        let text = if self.err_colour {
            rendered.ansi().to_string()
        } else {
            rendered.to_string()
        };
        // The command tree's own words for what to do next; the house has one form for that.
        let text = text.trim_end();
        let tail = text
            .rfind("\nFor more information, try '")
            .filter(|_| !self.err_colour);
        match tail {
            Some(at) => self.note(&format!(
                "{}\nhint: `{} --help` shows what it takes",
                text[..at].trim_end(),
                command_of(&std::env::args().collect::<Vec<_>>())
            )),
            None => self.note(text),
        }
        ExitCode::from(Exit::Usage.code())
    }
}

/// The command and subcommand of a command line, for a hint: `kilter trace follow`.
fn command_of(args: &[String]) -> String {
    let tree = crate::cli::tree();
    let mut here = &tree;
    let mut name = "kilter".to_owned();
    for arg in args.iter().skip(1) {
        let Some(next) = here.find_subcommand(arg).filter(|c| !c.is_hide_set()) else {
            continue;
        };
        name = format!("{name} {}", next.get_name());
        here = next;
    }
    name
}

fn paint(on: bool, style: Style, text: &str) -> String {
    if on {
        format!("\x1b[{}m{text}\x1b[0m", style.code())
    } else {
        text.to_owned()
    }
}

/// `1 file`, `2 files`.
pub(crate) fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    match n.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

/// The system's words without the number: "No such file or directory (os error 2)".
pub(crate) fn system_words(error: &std::io::Error) -> String {
    let words = error.to_string();
    words
        .split(" (os error")
        .next()
        .unwrap_or(&words)
        .to_owned()
}

/// Sends the program's own log to standard error: warnings, then more with each `-v`. `KILTER_LOG`
/// takes a filter of its own.
pub(crate) fn logging(verbose: u8) {
    let default = match verbose {
        0 => "error",
        1 => "kilter=info,kilter_gateway=info,kilter_fit=info,warn",
        2 => "kilter=debug,kilter_gateway=debug,kilter_fit=debug,kilter_behavior=debug,info",
        _ => "trace",
    };
    let filter = std::env::var("KILTER_LOG").unwrap_or_else(|_| default.to_owned());
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}

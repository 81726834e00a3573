//! The kilter command: reads the command line, runs one command, ends with its exit code.

mod cli;
mod commands;
mod failure;
mod output;
mod place;
mod reference;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    let out = output::Out::from_args(std::env::args_os());
    let cli = match cli::parse(out.colour()) {
        Ok(cli) => cli,
        Err(error) => return out.usage(&error),
    };
    output::logging(cli.global.verbose);
    match commands::run(cli, &out) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(failure) => out.failure(&failure),
    }
}

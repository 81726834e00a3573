//! One file per command; each takes its arguments and the output, and says how it ended.

mod canary;
mod cascade;
mod config;
mod doctor;
mod each_line;
mod fit;
mod generate;
mod man;
mod mcp;
mod mock;
mod orient;
mod parse;
mod parse_lines;
mod pdf;
mod playbook;
mod read;
mod receipts;
mod serve;
mod trace;
mod trace_fixture;
mod trace_follow;
mod trace_summary;
mod web;

use crate::cli::{Cli, Command};
use crate::failure::{Failure, Outcome};
use crate::output::Out;

/// Runs the command that was typed.
pub(crate) fn run(cli: Cli, out: &Out) -> Outcome {
    let global = &cli.global;
    match cli.command {
        None => orient::run(out),
        Some(Command::Fit(args)) => wait(fit::run(&args, global, out)),
        Some(Command::Serve(args)) => wait(serve::run(&args, global, out)),
        Some(Command::Trace(args)) => wait(trace::run(&args, global, out)),
        Some(Command::Config(args)) => config::run(&args, global, out),
        Some(Command::Mock(args)) => wait(mock::run(&args, out)),
        Some(Command::Parse(args)) => parse::run(&args, out),
        Some(Command::Mcp(args)) => wait(mcp::run(&args, global, out)),
        Some(Command::Canary(args)) => canary::run(&args, out),
        Some(Command::Cascade(args)) => wait_for_page(cascade::run(&args, global, out)),
        Some(Command::Playbook(args)) => playbook::run(&args, global, out),
        Some(Command::Receipts(args)) => receipts::run(&args, global, out),
        Some(Command::Read(args)) => wait_for_page(read::run(&args, global, out)),
        Some(Command::Doctor(args)) => wait(doctor::run(&args, global, out)),
        Some(Command::Completions(args)) => man::completions(&args, out),
        Some(Command::Man(args)) => man::run(&args, out),
        Some(Command::Generate(args)) => generate::run(&args, out),
        Some(Command::Pdf) => pdf::run(),
    }
}

/// Runs a command that waits for the network.
fn wait(command: impl Future<Output = Outcome>) -> Outcome {
    runtime()?.block_on(command)
}

/// Runs a command that reads pages. When it has ended, nobody waits for a page that is still being taken apart.
fn wait_for_page(command: impl Future<Output = Outcome>) -> Outcome {
    let runtime = runtime()?;
    let outcome = runtime.block_on(command);
    runtime.shutdown_background();
    outcome
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::new(kilter_core::Exit::Internal, format!("cannot start: {e}")))
}

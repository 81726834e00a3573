//! `kilter man` and `kilter completions`.

use kilter_core::Exit;

use crate::cli::small::{Completions, Man};
use crate::cli::tree;
use crate::failure::{Failure, Outcome};
use crate::output::Out;
use crate::reference;

pub(crate) fn run(args: &Man, out: &Out) -> Outcome {
    let root = tree();
    let mut at = &root;
    for word in &args.command {
        at = at
            .get_subcommands()
            .find(|c| c.get_name() == word && !c.is_hide_set())
            .ok_or_else(|| {
                Failure::usage(format!("there is no command `{}`", args.command.join(" ")))
                    .hint("`kilter --help` lists the commands")
            })?;
    }
    let words: Vec<&str> = args.command.iter().map(String::as_str).collect();
    out.raw(&reference::page(at, &words)?)?;
    Ok(Exit::Ok)
}

pub(crate) fn completions(args: &Completions, out: &Out) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tree(), "kilter", &mut script);
    out.raw(&script)?;
    Ok(Exit::Ok)
}

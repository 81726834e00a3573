//! Bare `kilter`: what it is, what works, where to start.

use kilter_core::Exit;

use crate::failure::Outcome;
use crate::output::{Out, Style};

const START: [(&str, &str); 6] = [
    (
        "kilter fit",
        "see it at work on models that misbehave on purpose",
    ),
    ("kilter doctor", "find the model servers of this machine"),
    (
        "kilter fit URL",
        "measure your model and print its behaviour card",
    ),
    (
        "kilter serve --backend URL",
        "working tool calls at http://127.0.0.1:8787/v1",
    ),
    (
        "kilter parse FILE",
        "read one raw answer: calls, content, reasoning",
    ),
    ("kilter --help", "all commands"),
];

pub(crate) fn run(out: &Out) -> Outcome {
    out.line("A language model is what it does, not what it is called.")?;
    out.line("kilter measures a model by its behaviour and sets the harness to match.")?;
    out.line("")?;
    for (command, what) in START {
        let padded = format!("{command:<28}");
        out.line(&format!("  {}{what}", out.paint(Style::Bold, &padded)))?;
    }
    Ok(Exit::Ok)
}

//! `kilter fit`: its arguments.

use clap::Args;

/// Probe a model and print its behaviour card
///
/// Sends a bounded set of ordinary requests (a system prompt, ten tools, streaming and not) and
/// reports what came back: where reasoning stands, how tool calls are written, what happens at the
/// output cap, how large the served window is, and what the endpoint refuses. It is told nothing
/// about the model. Without URL it fits the demonstration models: scripts that misbehave on
/// purpose.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter fit                                       the demonstration models
  kilter fit http://127.0.0.1:8080/v1              a local server
  kilter fit http://127.0.0.1:11434/v1 --model NAME --save
  kilter fit https://api.example.com/v1 --api-key env:EXAMPLE_KEY
  kilter fit http://127.0.0.1:8080/v1 --json > card.json

Ctrl-C prints the card so far and says that it is partial.")]
pub(crate) struct Fit {
    /// Base URL of an OpenAI-compatible server, as a client would use it
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,

    /// The model to ask for [default: the first that the server lists]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// The key: `env:NAME` or `file:PATH`
    #[arg(long, value_name = "REF")]
    pub(crate) api_key: Option<String>,

    /// Most requests to send
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) max_requests: u32,

    /// Most seconds to spend
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,

    /// Print the card as JSON (docs/schema/behavior-card.json)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the backend and what was learnt into kilter.toml
    #[arg(long, requires = "url")]
    pub(crate) save: bool,

    /// Name of the backend in kilter.toml [default: from the URL]
    #[arg(long, value_name = "NAME", requires = "save")]
    pub(crate) name: Option<String>,
}

//! `kilter serve`: its arguments.

use clap::{Args, ValueEnum};

/// Put the adaptive gateway in front of one or more backends
///
/// Clients keep their SDK and change the base URL. Each request is sent on unchanged; what comes
/// back is repaired only where it deviates, and every repair is a header, a trace event and a
/// metric.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter serve                                     backends of kilter.toml
  kilter serve --backend http://127.0.0.1:8080/v1  without a file
  kilter serve --backend http://127.0.0.1:8080/v1 --port 0 --json
  kilter serve --adapt observe                     record, change nothing
  kilter serve --mcp                               and read the web at /mcp

Then point a client at it:
  export OPENAI_BASE_URL=http://127.0.0.1:8787/v1

Ctrl-C ends it after the streams that are open; a second one at once.")]
pub(crate) struct Serve {
    /// A backend without a configuration file: URL, or NAME=URL (repeatable)
    #[arg(long, value_name = "[NAME=]URL")]
    pub(crate) backend: Vec<String>,

    /// Key for the backends given by --backend: `env:NAME` or `file:PATH`
    #[arg(long, value_name = "REF", requires = "backend")]
    pub(crate) api_key: Option<String>,

    /// Port on 127.0.0.1 (0: any free one) [default: 8787, or as configured]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    /// What to do where a request does not say
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) adapt: Option<AdaptArg>,

    /// Serve the reading of the web over MCP at /mcp, too (see kilter mcp)
    #[arg(long)]
    pub(crate) mcp: bool,

    /// Print the address as one JSON line instead of the banner
    #[arg(long)]
    pub(crate) json: bool,
}

/// `x-kilter-adapt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdaptArg {
    /// Relay bytes
    Off,
    /// Relay bytes, record what would have been done
    Observe,
    /// Repair what deviates
    On,
}

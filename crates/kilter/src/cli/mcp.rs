//! `kilter mcp`: its arguments.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

/// Serve the reading of the web to a model's client, over MCP
///
/// Speaks MCP on standard input and output, or with --http on a port, in both eras of the protocol:
/// up to 2025-11-25 with sessions, 2026-07-28 without. Each surface has an endpoint of its own:
/// /mcp/minimal, /mcp/basic, /mcp/reader, /mcp/researcher, /mcp/auditor, /mcp/full; /mcp is the one
/// of --surface.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kilter mcp                                   a client starts this
  kilter mcp --surface basic                   three tools instead of eleven
  kilter mcp --http 127.0.0.1:8790
  KILTER_MCP_TOKEN=… kilter mcp --http 0.0.0.0:8790 --allow-host reader.lan

Surfaces: minimal 1 tool, basic 3, reader 11, researcher 12, auditor 15,
full 18. Variables: KILTER_PROFILE, KILTER_PROFILE_LOCK,
KILTER_CLIENT_CONTEXT_TOKENS, KILTER_SEARCH_PROVIDER, KILTER_SEARCH_URL,
KILTER_SEARCH_API_KEY, KILTER_ALLOW_PRIVATE_URLS, KILTER_RESPECT_ROBOTS.")]
pub(crate) struct Mcp {
    /// How many tools to show [default: reader, or KILTER_PROFILE]
    #[arg(long, value_name = "SURFACE", value_enum)]
    pub(crate) surface: Option<SurfaceArg>,

    /// Listen on a port instead of standard input; `:0` takes a free one
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) http: Option<SocketAddr>,

    /// Also show opt-in tools: batch, watch, crosscheck, atlas
    #[arg(long, value_name = "TOOLS", value_enum, value_delimiter = ',')]
    pub(crate) enable: Vec<OptInArg>,

    /// Sessions may not change their surface
    #[arg(long)]
    pub(crate) lock: bool,

    /// Size of the model's window; a fifth of it bounds a reply by default
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1_024..=2_000_000))]
    pub(crate) context_tokens: Option<u64>,

    /// Another name by which the port may be asked for (repeatable)
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,

    /// How long an idle session is kept
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "28800",
        requires = "http"
    )]
    pub(crate) session_keep: u64,

    /// Most sessions at once
    #[arg(long, value_name = "N", default_value = "1024", requires = "http")]
    pub(crate) max_sessions: usize,

    /// Print the address as one JSON line
    #[arg(long, requires = "http")]
    pub(crate) json: bool,
}

/// A surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurfaceArg {
    /// One tool that reads a page, whatever it takes
    Minimal,
    /// Reading, several pages at once, searching
    Basic,
    /// What a reader needs
    Reader,
    /// A reader that checks claims
    Researcher,
    /// A researcher that signs what it found
    Auditor,
    /// Everything
    Full,
}

/// Opt-in tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OptInArg {
    /// Many pages in the background
    Batch,
    /// What changed on a page
    Watch,
    /// One page over HTTP and with a browser
    Crosscheck,
    /// Which hosts failed how
    Atlas,
}

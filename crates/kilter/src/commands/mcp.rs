//! `kilter mcp`: the MCP server, on standard input or on a port, until it is told to stop.

use std::sync::Arc;
use std::time::Duration;

use kilter_core::{Exit, SystemClock};
use kilter_mcp::link::gate::Tokens;
use kilter_mcp::link::http::{self, HttpError, Mounted, Options};
use kilter_mcp::link::sessions::Keeping;
use kilter_mcp::link::stdio;
use kilter_mcp::operator::Operator as Settings;
use kilter_mcp::tools::{Engines, Setup};
use kilter_mcp::{Config, Server, Surface, ToolId};
use kilter_web::format::pdf::PdfChild;
use kilter_web::playbook::{Source, Tier};
use kilter_web::reading::Operator;
use kilter_web::session::Sessions;
use serde_json::json;

use crate::cli::Global;
use crate::cli::mcp::{Mcp, OptInArg, SurfaceArg};
use crate::failure::{Failure, Outcome};
use crate::output::{Out, Style};
use crate::{place, signals};

pub(crate) async fn run(args: &Mcp, global: &Global, out: &Out) -> Outcome {
    let settings = settings()?;
    let tokens = settings.tokens.clone();
    let config = Config {
        surface: args
            .surface
            .map(surface)
            .or(settings.surface)
            .unwrap_or(Surface::Reader),
        locked: args.lock || settings.locked,
        opt_in: opt_in(&args.enable),
        context_tokens: args.context_tokens.or(settings.context_tokens),
        ..Config::default()
    };
    let server = server(config, settings, global).await?;
    match args.http {
        None => pipe(&server, out).await,
        Some(bind) => {
            let options = Options {
                hosts: args.allow_host.clone(),
                tokens: Tokens(tokens),
                keeping: Keeping {
                    idle: Duration::from_secs(args.session_keep),
                    most: args.max_sessions,
                },
            };
            let served = http::serve(&server, bind, &options).await.map_err(|e| {
                let exit = match e {
                    HttpError::Open(_) => Exit::Usage,
                    HttpError::Bind { .. } => Exit::Unavailable,
                };
                Failure::worded(exit, &e.to_string())
            })?;
            announce(args, &server, &served, out)?;
            signals::stop().await;
            served.shutdown().await;
            Ok(Exit::Ok)
        }
    }
}

/// What the variables say.
fn settings() -> Result<Settings, Failure> {
    Settings::from_env(|name| std::env::var(name).ok())
        .map_err(|e| Failure::worded(Exit::Usage, &e.to_string()))
}

/// The server on the port of `kilter serve`, with the surface of the variables.
pub(crate) async fn mounted(global: &Global) -> Result<Mounted, Failure> {
    let settings = settings()?;
    let config = Config {
        surface: settings.surface.unwrap_or(Surface::Reader),
        locked: settings.locked,
        context_tokens: settings.context_tokens,
        ..Config::default()
    };
    let server = server(config, settings, global).await?;
    Ok(Mounted::new(&server, Keeping::default()))
}

async fn server(
    config: Config,
    settings: Settings,
    global: &Global,
) -> Result<Arc<Server>, Failure> {
    let operator = Operator::from_env(|name| std::env::var(name).ok())
        .map_err(|e| Failure::worded(Exit::Usage, &e.message))?;
    let state = global.state.clone().unwrap_or_else(place::state);
    let sessions = match settings.sessions {
        Some(dir) => Sessions::at(&dir),
        None => Sessions::at(&state.join("sessions")),
    };
    let engines = Engines::start(Setup {
        sessions,
        clock: Arc::new(SystemClock::default()),
        playbooks: vec![Source {
            tier: Tier::Local,
            dir: state.join("playbooks").join("local"),
        }],
        state,
        providers: settings.providers,
        canary: settings.canary,
        operator,
        pdf: std::env::current_exe()
            .ok()
            .map(|me| PdfChild::new(me, vec!["__pdf".into()])),
    })
    .await
    .map_err(|e| Failure::worded(Exit::Usage, &e.to_string()))?;
    Ok(Server::new(config, engines))
}

/// Standard output belongs to the protocol: everything else is said on standard error.
async fn pipe(server: &Arc<Server>, out: &Out) -> Outcome {
    use std::io::IsTerminal as _;
    if std::io::stdin().is_terminal() {
        out.note("kilter mcp waits for an MCP client on standard input; Ctrl-C ends it");
        out.hint(
            "a client starts this command itself; `kilter mcp --http 127.0.0.1:8790` opens a port",
        );
    }
    tokio::select! {
        served = stdio::serve(server) => match served {
            Ok(()) => Ok(Exit::Ok),
            Err(e) => Err(Failure::worded(Exit::Unavailable, &e.to_string())),
        },
        // A read from standard input cannot be given up: the process ends with its runtime.
        () = signals::stop() => std::process::exit(0),
    }
}

fn announce(args: &Mcp, server: &Server, served: &http::Served, out: &Out) -> Result<(), Failure> {
    let url = served.url(None);
    if args.json {
        return out.json_line(&json!({
            "url": url,
            "addr": served.address().to_string(),
            "surface": server.config().surface,
            "endpoints": Surface::ALL.map(|s| served.url(Some(s))),
        }));
    }
    if !out.interactive() {
        return out.line(&format!("serving {url}"));
    }
    let surface = server.config().surface;
    out.line(&format!(
        "kilter serves MCP at {} · surface {surface}",
        out.paint(Style::Bold, &url)
    ))?;
    for s in Surface::ALL {
        out.line(&format!(
            "  {:<2} tools  {}",
            s.tools().count(),
            served.url(Some(s))
        ))?;
    }
    out.line("Ctrl-C ends it")
}

fn surface(arg: SurfaceArg) -> Surface {
    match arg {
        SurfaceArg::Minimal => Surface::Minimal,
        SurfaceArg::Basic => Surface::Basic,
        SurfaceArg::Reader => Surface::Reader,
        SurfaceArg::Researcher => Surface::Researcher,
        SurfaceArg::Auditor => Surface::Auditor,
        SurfaceArg::Full => Surface::Full,
    }
}

fn opt_in(args: &[OptInArg]) -> Vec<ToolId> {
    args.iter()
        .flat_map(|a| match a {
            OptInArg::Batch => &[
                ToolId::BatchSubmit,
                ToolId::BatchStatus,
                ToolId::BatchResults,
            ][..],
            OptInArg::Watch => &[ToolId::Watch],
            OptInArg::Crosscheck => &[ToolId::Crosscheck],
            OptInArg::Atlas => &[ToolId::FailureAtlas],
        })
        .copied()
        .collect()
}

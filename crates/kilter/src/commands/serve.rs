//! `kilter serve`: the gateway until it is told to stop.

use kilter_core::Exit;
use kilter_fit::save::backend_name;
use kilter_gateway::config::{Backend, Secret};
use kilter_gateway::{Config, Deps, Gateway, GatewayHandle, StartError};
use serde_json::json;

use super::{config, mcp};
use crate::cli::Global;
use crate::cli::serve::{AdaptArg, Serve};
use crate::failure::{Failure, Outcome};
use crate::output::{Out, Style};
use crate::{place, signals};

pub(crate) async fn run(args: &Serve, global: &Global, out: &Out) -> Outcome {
    let config = configuration(args, global, out)?;
    let shown = config.clone();
    let mut stop = std::pin::pin!(signals::stop());
    let mut reloads = signals::Reloads::listen();
    let mounted = match args.mcp {
        true => Some(mcp::mounted(global).await?),
        false => None,
    };
    let deps = Deps {
        routes: mounted.as_ref().map(|m| m.routes()),
        ..Deps::default()
    };
    let gateway = Gateway::start(config, deps)
        .await
        .map_err(|e| start_failed(&e))?;
    announce(args, &gateway, &shown, out)?;
    loop {
        tokio::select! {
            () = &mut stop => break,
            () = reloads.next() => reload(args, global, &gateway, out),
        }
    }
    // Sessions of MCP hold streams open for as long as they like: they end first.
    drop(mounted);
    if out.interactive() && !args.json {
        out.note("ending after the answers on their way; Ctrl-C again ends at once");
    }
    tokio::select! {
        () = gateway.shutdown() => Ok(Exit::Ok),
        () = signals::stop() => Ok(Exit::Interrupted),
    }
}

/// The configuration of this run: files, environment, flags, then the backends given by flag.
fn configuration(args: &Serve, global: &Global, out: &Out) -> Result<Config, Failure> {
    let mut flags = Vec::new();
    if let Some(port) = args.port {
        flags.push(("gateway.bind".to_owned(), format!("127.0.0.1:{port}")));
    }
    if let Some(adapt) = args.adapt {
        let word = match adapt {
            AdaptArg::Off => "off",
            AdaptArg::Observe => "observe",
            AdaptArg::On => "on",
        };
        flags.push(("gateway.adapt".to_owned(), word.to_owned()));
    }
    let layers = config::layers(global, flags);
    let mut config = config::load(&layers)?;
    for given in &args.backend {
        let backend = backend(given, args.api_key.as_deref())?;
        if config.backends.iter().any(|b| b.name == backend.name) {
            return Err(
                Failure::usage(format!("there are two backends named `{}`", backend.name))
                    .hint("name it yourself: `--backend NAME=URL`"),
            );
        }
        config.backends.push(backend);
    }
    if config.backends.is_empty() {
        return Err(Failure::usage("no backend is configured").hint(
            "`kilter serve --backend URL`, or `kilter fit URL --save`; `kilter doctor` finds servers",
        ));
    }
    if config.state.dir.is_none() {
        config.state.dir = Some(place::state());
    }
    config::refuse_errors(&config.check(), out)?;
    Ok(config)
}

/// `URL` or `NAME=URL`. An `=` behind the scheme belongs to the URL.
fn backend(given: &str, key: Option<&str>) -> Result<Backend, Failure> {
    let (name, url) = match given.split_once('=') {
        Some((name, url)) if !name.contains("://") => (name.to_owned(), url),
        _ => (backend_name(given), given),
    };
    let mut backend = Backend::new(&name, url.trim_end_matches('/'));
    if let Some(reference) = key {
        let secret = Secret::parse(reference);
        if !secret.is_reference() {
            return Err(
                Failure::usage("`--api-key` takes a reference, not the key itself")
                    .hint("use `--api-key env:NAME` or `--api-key file:PATH`"),
            );
        }
        backend.api_key = Some(secret);
    }
    Ok(backend)
}

fn start_failed(error: &StartError) -> Failure {
    let exit = match error {
        StartError::Config { .. } | StartError::Data { .. } => Exit::Usage,
        _ => Exit::Unavailable,
    };
    Failure::worded(exit, &error.to_string().replace("`--bind`", "`--port`"))
}

fn reload(args: &Serve, global: &Global, gateway: &GatewayHandle, out: &Out) {
    let done = configuration(args, global, out)
        .and_then(|config| gateway.reload(config).map_err(|e| start_failed(&e)));
    match done {
        Ok(()) => out.note("configuration read again"),
        Err(failure) => {
            out.error(
                &format!("the old configuration stays: {}", failure.message),
                failure.hint.as_deref(),
            );
        }
    }
}

fn announce(
    args: &Serve,
    gateway: &GatewayHandle,
    config: &Config,
    out: &Out,
) -> Result<(), Failure> {
    let url = gateway.url();
    let adapt = config.gateway.adapt.as_str();
    let state = config
        .state
        .dir
        .as_ref()
        .map(|d| d.display().to_string())
        .unwrap_or_default();
    if args.json {
        let backends: Vec<_> = config
            .backends
            .iter()
            .map(|b| json!({"name": b.name, "endpoint": b.endpoint}))
            .collect();
        let mut ready = json!({
            "url": url,
            "addr": gateway.addr().to_string(),
            "backends": backends,
            "adapt": adapt,
            "state": state,
        });
        if args.mcp {
            ready["mcp"] = json!(format!("http://{}/mcp", gateway.addr()));
        }
        return out.json_line(&ready);
    }
    if !out.interactive() {
        return out.line(&format!("serving {url}"));
    }
    out.line(&format!("kilter serves {}", out.paint(Style::Bold, &url)))?;
    let width = config.backends.iter().map(|b| b.name.len()).max();
    let width = width.unwrap_or_default();
    for b in &config.backends {
        let name = out.paint(Style::Cyan, &format!("{:<width$}", b.name));
        out.line(&format!("  {name}  {}", b.endpoint))?;
    }
    out.line(&format!("  adapt {adapt} · state {state}"))?;
    if args.mcp {
        out.line(&format!("  mcp http://{}/mcp", gateway.addr()))?;
    }
    out.line("")?;
    out.line("point a client at it:")?;
    out.line(&format!("  export OPENAI_BASE_URL={url}"))?;
    if let [first, ..] = config.backends.as_slice() {
        out.line(&format!(
            "  model: `{}/MODEL`, or one that {url}/models lists",
            first.name
        ))?;
    }
    out.line("watch it: `kilter trace follow` · Ctrl-C ends it")
}

//! One call from its name and arguments to its answer: surface, check, work, check again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::failure::ToolFailure;
use crate::session::Session;
use crate::surface::Surface;
use crate::table::{self, ToolId};
use crate::tools::{self, Engines};
use crate::{output, param};

/// What an operator sets.
#[derive(Debug, Clone)]
pub struct Config {
    /// The surface of a session that begins, and of the endpoint `/mcp`.
    pub surface: Surface,
    /// Whether a session may change its surface.
    pub locked: bool,
    /// The opt-in tools that are on.
    pub opt_in: Vec<ToolId>,
    /// Size of the model's window, in tokens, where the operator knows it.
    pub context_tokens: Option<u64>,
    /// Longest time of one call.
    pub call_time: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            surface: Surface::Reader,
            locked: false,
            opt_in: Vec::new(),
            context_tokens: None,
            call_time: Duration::from_secs(300),
        }
    }
}

/// What was counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Calls of tools.
    pub calls: u64,
    /// Calls that were answered with `ok:false`.
    pub failed: u64,
    /// Of those, calls that were wrong before any work was done: arguments, tools that are not there.
    pub refused: u64,
    /// Calls whose work was stopped because the caller gave up.
    pub cancelled: u64,
    /// Calls that are being worked on.
    pub running: u64,
}

#[derive(Debug, Default)]
struct Counters {
    calls: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    cancelled: AtomicU64,
    running: AtomicU64,
}

/// Who calls, and what it is shown.
#[derive(Debug, Clone)]
pub struct View {
    /// The endpoint's surface.
    pub surface: Surface,
    /// The session, in the era that has them.
    pub session: Option<Arc<Session>>,
}

impl View {
    /// The surface that holds now.
    pub fn surface(&self) -> Surface {
        self.session.as_ref().map_or(self.surface, |s| s.surface())
    }
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// How much is done.
    pub done: f64,
    /// Of how much, where that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: String,
}

/// Where a call says how far it is.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<UnboundedSender<Step>>);

impl Progress {
    /// Says it to somebody.
    pub fn to(sender: UnboundedSender<Step>) -> Self {
        Self(Some(sender))
    }

    /// Says how far the call is. Nobody may be listening.
    pub fn say(&self, done: usize, total: Option<usize>, message: impl Into<String>) {
        if let Some(sender) = &self.0 {
            #[expect(clippy::cast_precision_loss, reason = "counts of pages and steps")]
            let number = |n: usize| n as f64;
            let _ = sender.send(Step {
                done: number(done),
                total: total.map(number),
                message: message.into(),
            });
        }
    }
}

/// The answer of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The object.
    pub value: Value,
    /// Whether the session's list of tools is another one now.
    pub list_changed: bool,
}

impl Answer {
    /// Whether the call worked.
    pub fn ok(&self) -> bool {
        self.value["ok"] == true
    }
}

/// Answers calls. One for a process; sessions share it.
pub struct Server {
    config: Config,
    engines: Arc<Engines>,
    counters: Counters,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server over its engines.
    pub fn new(config: Config, engines: Arc<Engines>) -> Arc<Self> {
        Arc::new(Self {
            config,
            engines,
            counters: Counters::default(),
        })
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        let of = |n: &AtomicU64| n.load(Ordering::Relaxed);
        Counts {
            calls: of(&self.counters.calls),
            failed: of(&self.counters.failed),
            refused: of(&self.counters.refused),
            cancelled: of(&self.counters.cancelled),
            running: of(&self.counters.running),
        }
    }

    /// The tools that a caller is shown, in the order of the table.
    pub fn tools(&self, view: &View) -> Vec<ToolId> {
        let surface = view.surface();
        let way_back = view.session.as_ref().is_some_and(|s| s.switched());
        ToolId::ALL
            .into_iter()
            .filter(|t| {
                surface.has(*t)
                    || self.config.opt_in.contains(t)
                    || way_back && *t == ToolId::ClientCapabilities
            })
            .collect()
    }

    /// What a client is told about the server.
    pub fn instructions(&self, view: &View) -> String {
        view.surface().instructions(&self.config.opt_in)
    }

    /// Answers a call. Dropping the future stops the work, and is counted.
    pub async fn call(
        &self,
        view: &View,
        name: &str,
        arguments: Value,
        progress: Progress,
    ) -> Answer {
        let add = |n: &AtomicU64| n.fetch_add(1, Ordering::Relaxed);
        add(&self.counters.calls);
        let before = self.tools(view);
        let result = match self.admit(view, &before, name, arguments) {
            Ok((id, arguments)) => self.work(view, id, arguments, &progress).await,
            Err(failure) => {
                add(&self.counters.refused);
                Err(failure)
            }
        };
        let value = match result {
            Ok(value) => value,
            Err(failure) => failure.reply(),
        };
        if value["ok"] != true {
            add(&self.counters.failed);
        }
        Answer {
            value,
            list_changed: self.tools(view) != before,
        }
    }

    fn admit(
        &self,
        view: &View,
        shown: &[ToolId],
        name: &str,
        arguments: Value,
    ) -> Result<(ToolId, param::Arguments), ToolFailure> {
        let listed = || {
            let names: Vec<_> = shown.iter().map(|t| table::tool(*t).name).collect();
            format!("the tools here are `{}`", names.join("`, `"))
        };
        let Some(id) = ToolId::of(name) else {
            let short: String = name.chars().take(60).collect();
            return Err(ToolFailure::new(
                "unknown_tool",
                format!("there is no tool `{short}`"),
                listed(),
            )
            .then("stop", "the same name will fail again"));
        };
        if !shown.contains(&id) {
            let earlier = view.session.as_ref().is_some_and(|s| s.ever_listed(id));
            let message = match earlier {
                true => {
                    format!("`{name}` is no longer shown: the session's set of tools has changed")
                }
                false => format!("`{name}` is not part of the tools shown here"),
            };
            return Err(ToolFailure::new(
                "tool_not_listed",
                message,
                match id.is_opt_in() {
                    true => "the operator switches it on with `--enable`".to_owned(),
                    false => listed(),
                },
            )
            .then("stop", "the same name will fail again here"));
        }
        let tool = table::tool(id);
        param::check(tool.name, tool.params, arguments).map(|a| (id, a))
    }

    async fn work(
        &self,
        view: &View,
        id: ToolId,
        arguments: param::Arguments,
        progress: &Progress,
    ) -> Result<Value, ToolFailure> {
        let running = Running::begin(&self.counters);
        let call = tools::Call {
            arguments,
            view,
            config: &self.config,
            progress,
        };
        let work = AssertUnwindSafe(self.engines.run(id, &call)).catch_unwind();
        let done = tokio::time::timeout(self.config.call_time, work).await;
        running.end();
        let name = table::tool(id).name;
        let value = match done {
            Ok(Ok(result)) => result?,
            Ok(Err(_)) => {
                tracing::error!(tool = name, "a call panicked");
                return Err(bug(format!("`{name}` broke")));
            }
            Err(_) => {
                let mut failure = ToolFailure::new(
                    "timeout",
                    format!("`{name}` did not end within {:?}", self.config.call_time),
                    "ask for less in one call",
                );
                failure.retryable = true;
                return Err(failure);
            }
        };
        match output::check(id, &value) {
            Ok(()) => Ok(value),
            Err(error) => {
                tracing::error!(tool = name, %error, "an answer is not what its schema says");
                Err(bug(format!(
                    "the answer of `{name}` was malformed: {error}"
                )))
            }
        }
    }
}

fn bug(message: String) -> ToolFailure {
    ToolFailure::new(
        "internal_error",
        message,
        "this is a bug of the server; its log says more. The content is unknown",
    )
    .then("inform_user", "only somebody who mends the server can help")
}

/// A call that is being worked on. Dropped before its end, it was cancelled.
struct Running<'a> {
    counters: &'a Counters,
    ended: bool,
}

impl<'a> Running<'a> {
    fn begin(counters: &'a Counters) -> Self {
        counters.running.fetch_add(1, Ordering::Relaxed);
        Self {
            counters,
            ended: false,
        }
    }

    fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.counters.running.fetch_sub(1, Ordering::Relaxed);
        if !self.ended {
            self.counters.cancelled.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A tool as the protocol lists it.
pub fn listing(id: ToolId) -> Value {
    let tool = table::tool(id);
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": param::schema(tool.params),
        "outputSchema": output::schema(tool.answers),
        "annotations": {
            "readOnlyHint": tool.hints.read_only,
            "destructiveHint": false,
            "idempotentHint": tool.hints.idempotent,
            "openWorldHint": tool.hints.open_world,
        },
    })
}

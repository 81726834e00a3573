//! What the tests share: a server over an empty state, with nothing of the network allowed.

use std::sync::Arc;

use kilter_core::SystemClock;
use kilter_mcp::server::{Progress, View};
use kilter_mcp::session::Session;
use kilter_mcp::tools::{Engines, Setup};
use kilter_mcp::{Config, Server, Surface};
use kilter_web::playbook::{Source, Tier};
use kilter_web::reading::Operator;
use serde_json::Value;
use tempfile::TempDir;

/// A server with its state.
pub(crate) struct Bench {
    pub(crate) server: Arc<Server>,
    pub(crate) _state: TempDir,
}

pub(crate) async fn bench(config: Config) -> Bench {
    start(config, false).await
}

/// A server that may read this machine's own pages.
pub(crate) async fn open_bench(config: Config) -> Bench {
    start(config, true).await
}

async fn start(config: Config, private: bool) -> Bench {
    over(config, private, TempDir::new().expect("a folder")).await
}

async fn over(config: Config, private: bool, state: TempDir) -> Bench {
    let engines = Engines::start(Setup {
        clock: Arc::new(SystemClock::default()),
        state: state.path().to_owned(),
        playbooks: vec![Source {
            tier: Tier::Local,
            dir: state.path().join("playbooks"),
        }],
        providers: Vec::new(),
        canary: Default::default(),
        operator: Operator {
            allow_private: private,
            ..Operator::default()
        },
        pdf: None,
        sessions: Default::default(),
    })
    .await
    .expect("engines");
    Bench {
        server: Server::new(config, engines),
        _state: state,
    }
}

impl Bench {
    /// The same state under another server, as after a restart.
    pub(crate) async fn again(self, config: Config) -> Self {
        over(config, true, self._state).await
    }

    /// A call in a session of its own.
    pub(crate) async fn call(&self, surface: Surface, name: &str, arguments: Value) -> Value {
        let view = View {
            surface,
            session: Some(Session::new(surface)),
        };
        self.server
            .call(&view, name, arguments, Progress::default())
            .await
            .value
    }
}

//! A gateway that watches what a model emits, repairs it and learns.
//!
//! Clients keep their SDK and change the base URL. A request goes to its backend unchanged apart
//! from compensations that were learnt for it; the answer passes through on bytes while
//! [`kilter_behavior`] reads along; what deviates is mended in the same stream, and every touch is an
//! event, a counter and a word to the client.
//!
//! ```no_run
//! # async fn f() -> Result<(), kilter_gateway::StartError> {
//! use kilter_gateway::{Config, Deps, Gateway};
//! let config = Config::with_backend("local", "http://127.0.0.1:8080/v1");
//! let gateway = Gateway::start(config, Deps::default()).await?;
//! println!("{}", gateway.url()); // http://127.0.0.1:8787/v1
//! gateway.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`config`] | `kilter.toml` and its layers |
//! | [`server`] | sockets, routes, who may come in |
//! | [`lane`] | threads that each serve their own connections |
//! | [`state`] | what turns share; replaced on reload |
//! | [`backend`], [`upstream`], [`alarm`] | pools, keys; asking with timeouts and retries |
//! | [`session`] | who a request belongs to, and its profile |
//! | [`turn`] | one turn from request to end of answer |
//! | [`compensation`] | refusals matched, requests changed, what helped learnt |
//! | [`ladder_exec`] | the request of a continue |
//! | [`trace`], [`capture`], [`appendlog`] | events and raw bytes on disk, whole after a crash |
//! | [`store`] | `kilter.db`: profiles and priors |
//! | [`metrics`], [`models`] | `/metrics`; `/v1/models`, `/readyz` |
//! | [`redact`] | keys are taken out of everything that is kept |
//! | [`error`] | what can go wrong, in the API's own shape |

pub mod alarm;
pub mod appendlog;
pub mod backend;
pub mod capture;
pub mod compensation;
pub mod config;
pub mod error;
pub mod ladder_exec;
pub mod lane;
pub mod metrics;
pub mod models;
pub mod redact;
pub mod server;
pub mod session;
pub mod state;
pub mod store;
pub mod trace;
pub mod turn;
pub mod upstream;

pub use config::{Adapt, Config, ConfigError, Layers};
pub use error::{StartError, TurnError};
pub use server::{Gateway, GatewayHandle};
pub use state::Deps;

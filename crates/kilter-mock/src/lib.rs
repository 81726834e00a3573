//! A deterministic provider with scripted models and fault modes.
//!
//! A [`Script`] is one scripted model, read from TOML: what it says, thinks and calls, how its
//! stream is cut, what it refuses and how it fails. A [`MockServer`] serves scripts over real
//! HTTP/1.1 in the shape of the chat-completions API and keeps a record of every request.
//! `docs/mock.md` is the guide.
//!
//! The same script, seed and request give the same bytes: no clock and no chance take part.
//!
//! ```
//! # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
//! use kilter_mock::{MockServer, Script};
//! let script = Script::from_toml("name = \"demo\"\n[calls]\nchannel = \"content\"\ndialect = \"bare-json\"")?;
//! let server = MockServer::local(script).await?;
//! println!("{}", server.url());
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub mod arguments;
pub mod behaviour;
pub mod chunks;
pub mod demo;
pub mod dialect;
pub mod error;
pub mod fault;
pub mod habits;
pub mod plan;
pub mod refuse;
pub mod request;
pub mod script;
pub mod seed;
pub mod sse;
pub mod tokens;
pub mod when;
pub mod whole;

mod answer;
mod choose;
mod connection;
mod log;
mod overlay;
mod reply;
mod route;
mod server;
mod steps;

pub use log::{Counters, Outcome, RequestRecord};
pub use overlay::OneOrMany;
pub use script::{Script, ScriptError, ScriptFault};
pub use server::{MockError, MockOptions, MockServer, Observer, Router};

//! Serves the reading of the web over MCP, sized to the model that calls.
//!
//! One table says which tools there are, what they take and what they answer; everything else follows from it: the
//! lists, the surfaces, the checks, the typed failures.
//!
//! | module | subject |
//! |---|---|
//! | [`table`] | the tools: names, words, parameters, answers, hints |
//! | [`param`] | one parameter: its schema, and the check that agrees with it |
//! | [`output`] | what a tool answers: its schema, and the check before it is sent |
//! | [`surface`] | six nested sets of tools, and the instructions of each |
//! | [`session`] | what a session keeps: its surface, what it was ever shown, the window of its model |
//! | [`server`] | one call: surface, arguments, work, answer; counted, cancellable, with progress |
//! | [`tools`] | what each tool does, over `kilter-web` |
//! | [`canary`] | a value that did not exist before the request: issued, served, judged |
//! | [`operator`] | what is set by variables of the environment |
//! | [`link`] | the protocol: the only module that knows `rmcp`; stdio, HTTP, both eras |
//!
//! ```text
//! bytes ─ link ─ server ─ param ─ tools ─ kilter-web
//!                  │         (typed failure at every wrong step)
//!                  └ session, surface
//! ```
//!
//! What holds of every call: whatever the arguments are, the answer is a tool result. A wrong call is answered with
//! `{"ok": false, "failure": {…}}` and what to do next, never with a protocol error.

pub mod canary;
pub mod failure;
pub mod link;
pub mod operator;
pub mod output;
pub mod param;
pub mod server;
pub mod session;
pub mod surface;
pub mod table;
pub mod tools;

pub use failure::ToolFailure;
pub use server::{Config, Counts, Server};
pub use surface::Surface;
pub use table::{Tool, ToolId};

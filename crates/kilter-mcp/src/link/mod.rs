//! The protocol. Nothing outside this module knows the crate that speaks it.
//!
//! | module | subject |
//! |---|---|
//! | [`handler`] | requests of the protocol to calls of [`crate::server`], in both eras |
//! | [`sessions`] | sessions over HTTP, counted and bounded |
//! | [`gate`] | who may come in over HTTP: host, origin, bearer |
//! | [`http`] | endpoints, one for each surface, on one port |
//! | [`stdio`] | one client on standard input and output |

pub mod gate;
pub mod handler;
pub mod http;
pub mod sessions;
pub mod stdio;

/// For servers of the same transport: the fixture that the conformance suite asks.
#[doc(hidden)]
pub use rmcp;

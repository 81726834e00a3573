//! The gateway over real sockets, in front of scripted and raw upstreams.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic in a test is its report"
)]

mod cancel;
mod client;
mod compensations;
mod errors;
mod fidelity;
mod field_reports;
mod limits;
mod raw;
mod rechunk;
mod scenarios;
mod sessions;
mod state;

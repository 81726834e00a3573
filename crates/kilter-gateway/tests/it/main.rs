//! The gateway over real sockets, in front of scripted and raw upstreams.
#![allow(missing_docs)]

mod cancel;
mod client;
mod compensations;
mod errors;
mod fidelity;
mod field_reports;
mod limits;
mod raw;
mod scenarios;
mod sessions;
mod state;

//! Tests of the mock over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic in a test is the report"
)]

mod basics;
mod calls;
mod client;
mod conditions;
mod demos;
mod dialects;
mod faults;
mod guide;
mod phases;
mod reasoning;
mod record;
mod refusals;
mod scripts;
mod streams;
mod windows;

//! Fitting scripted models over real HTTP.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic in a test is the report"
)]

mod demos;
mod endpoints;
mod limits;

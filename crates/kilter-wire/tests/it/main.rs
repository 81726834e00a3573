//! Behaviour of the codecs: one test for each wire fact, laws as property tests, real captures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a panic in a test is its report, and a test without its corpus says so"
)]

mod accumulate;
mod captures;
mod errors;
mod finish;
mod json;
mod raw;
mod reasoning;
mod replay;
mod request;
mod rewrite;
mod sse;
mod sse_laws;
mod tools;
mod tools_laws;
mod tools_whole;
mod usage;
mod writer;

//! The MCP server from outside: what it lists, what it answers, over sockets and pipes, in both eras.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic in a test is the report"
)]

mod bench;
mod canary;
mod http;
mod lists;
mod pages;
mod raw;
mod reading;
mod refusals;
mod stdio;

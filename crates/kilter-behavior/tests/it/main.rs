//! One binary of integration tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a panic in a test is the report, and an absent corpus is said"
)]

mod catalogue;
mod corpus;
mod corpus_laws;
mod evidence;
mod field_reports;
mod fixtures;
mod ladder;
mod laws;
mod near_fit;
mod neighbours;
mod profile;
mod quotations;
mod replay;

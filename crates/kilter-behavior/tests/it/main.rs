//! One binary of integration tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic in a test is the report"
)]

mod catalogue;
mod corpus;
mod field_reports;
mod fixtures;
mod ladder;
mod laws;
mod profile;
mod quotations;
mod replay;

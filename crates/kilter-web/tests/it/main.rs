//! Everything that kilter-web promises, one module per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic in a test is the report"
)]

mod acquire;
mod address;
mod cascade;
mod decode;
mod receipt;
mod receipt_sets;
mod site;
mod space;

//! Everything that kilter-web promises, one module per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic in a test is the report"
)]

mod acquire;
mod address;
mod again;
mod browser;
mod budget;
mod cascade;
mod claim;
mod decode;
mod engines;
mod formats;
mod gate;
mod judge;
mod playbook;
mod receipt;
mod receipt_sets;
mod site;
mod site_map;
mod space;

//! Everything that kilter-web promises, one module per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::type_complexity,
    reason = "a panic in a test is the report, and what is left out is said"
)]

mod acquire;
mod address;
mod again;
mod anchor;
mod blocks;
mod browser;
mod budget;
mod cascade;
mod claim;
mod claim_model;
mod commonmark;
mod decode;
mod doors;
mod engines;
mod field;
mod formats;
mod gate;
mod hidden;
mod hostile;
mod judge;
mod key_lock;
mod languages;
mod mend;
mod playbook;
mod reading;
mod receipt;
mod receipt_sets;
mod receipt_vectors;
mod session;
mod shapes;
mod site;
mod site_map;
mod space;

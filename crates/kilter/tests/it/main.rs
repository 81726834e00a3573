//! The command as a person meets it: whole transcripts, real processes, real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic in a test is the report"
)]

mod cascade;
mod config;
mod doctor;
mod fit;
mod help;
mod lines;
mod pages;
mod parse;
mod playbook;
mod read;
mod read_hostile;
mod read_url;
mod receipts;
mod run;
mod serve;
mod trace;

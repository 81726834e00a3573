//! Behaviour profile and ladder over any sequence of observations.
#![no_main]

#[path = "../src/profile.rs"]
mod profile;

libfuzzer_sys::fuzz_target!(|data: &[u8]| profile::run(data));

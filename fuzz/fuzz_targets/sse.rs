//! The byte framer over any bytes.
#![no_main]

#[path = "../src/sse.rs"]
mod sse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sse::run(data));

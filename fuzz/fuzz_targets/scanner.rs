//! The reader over any text and any options, against its four laws and its boundary.
#![no_main]

#[path = "../src/scanner.rs"]
mod scanner;

libfuzzer_sys::fuzz_target!(|data: &[u8]| scanner::run(data));

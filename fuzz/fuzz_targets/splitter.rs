//! The reasoning splitter in every mode over any text.
#![no_main]

#[path = "../src/splitter.rs"]
mod splitter;

libfuzzer_sys::fuzz_target!(|data: &[u8]| splitter::run(data));

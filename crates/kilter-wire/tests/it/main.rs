//! Behaviour of the codecs: one test for each wire fact, laws as property tests, real captures.

mod accumulate;
mod captures;
mod errors;
mod finish;
mod json;
mod raw;
mod reasoning;
mod replay;
mod request;
mod rewrite;
mod sse;
mod sse_laws;
mod tools;
mod usage;
mod writer;

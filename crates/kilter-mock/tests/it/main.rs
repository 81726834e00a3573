//! Tests of the mock over real sockets.

mod basics;
mod client;
mod demos;
mod dialects;

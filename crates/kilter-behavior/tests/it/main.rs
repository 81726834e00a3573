//! One binary of integration tests.

mod ladder;
mod profile;

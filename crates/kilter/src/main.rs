//! The kilter command.
fn main() {}

//! Checks of the house and generated files.
fn main() {}

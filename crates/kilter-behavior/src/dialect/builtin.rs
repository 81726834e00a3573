//! The shipped dialect files.

/// Name and text of each file of `dialects/`, in the order of `dialects/ORDER`: where several dialects share an opener
/// and read the same text, the earlier one names it. Listed by `build.rs`, so that a new dialect needs no Rust.
pub(crate) const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/dialects.rs"));

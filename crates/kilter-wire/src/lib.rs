//! Lossless codecs of the chat APIs and of their event streams.
//!
//! Nothing here does I/O, holds a clock or builds a tree of a whole body. What is read is a *view*
//! over the bytes as received, and what is changed is a *splice*: every byte that no rule touches
//! leaves as it came.
//!
//! | module | subject |
//! |---|---|
//! | [`json`] | scanning JSON text by spans: members, elements, strings, completeness |
//! | [`raw`] | [`RawObject`] and [`RawArray`]: ordered splice editors over original text |
//! | [`sse`] | [`sse::Framer`] cuts bytes into events; encoders write them |
//! | [`chat`] | views, accumulators and writers of the chat completions API |
//! | [`error`] | [`ApiError`]: every error shape in, one shape out |

pub mod chat;
pub mod error;
pub mod json;
pub mod raw;
pub mod sse;

pub use error::ApiError;
pub use json::{Progress, json_is_open};
pub use raw::{RawArray, RawError, RawObject};

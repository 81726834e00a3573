//! The chat completions API: views over requests and answers, accumulation, writers.
//!
//! | subject | types |
//! |---|---|
//! | request | [`ChatRequest`], [`Message`], [`SessionMarks`] |
//! | answer | [`Chunk`] (stream), [`Completion`] (whole), both made of [`Choice`]s |
//! | tools | [`ToolDelta`] as received, [`ToolStream`] and [`whole_calls`] to normal form, [`HABITS`] |
//! | whole turns | [`Accumulator`], [`Turn`] |
//! | writing | [`ChunkWriter`] for chunks of ours, [`Rewrite`] to splice received ones |

mod accumulate;
mod choice;
mod chunk;
mod completion;
mod edit;
mod habits;
mod message;
mod reasoning;
mod request;
mod rewrite;
mod session;
mod slots;
mod tool_delta;
mod tool_stream;
mod tool_whole;
mod top;
mod usage;
mod writer;

pub use accumulate::{Accumulator, Turn, true_finish};
pub use choice::Choice;
pub use chunk::Chunk;
pub use completion::Completion;
pub use habits::HABITS;
pub use message::{Message, REASONING_FIELDS};
pub use reasoning::Reasoning;
pub use request::ChatRequest;
pub use rewrite::{Rewrite, kilter_members};
pub use session::SessionMarks;
pub use tool_delta::ToolDelta;
pub use tool_stream::{Fragment, Pushed, ToolStream};
pub use tool_whole::whole_calls;
pub use usage::{UsageView, sum_usage};
pub use writer::{ChunkWriter, call_fragments, call_json};

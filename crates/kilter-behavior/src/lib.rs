//! Reads what a model emits: dialects, reasoning, profile, ladder, and the security boundary.
//!
//! A pure library: no I/O, no clock, no randomness, no model names. What is recognised is data
//! (`dialects/*.toml`); how it is read is one incremental machine, [`TurnReader`].
//!
//! | module | subject |
//! |---|---|
//! | [`dialect`] | dialects and reasoning markers as data, compiled into a [`Registry`] |
//! | [`reader`] | [`TurnReader`]: text in, content, reasoning and calls out, at any chunking |
//! | [`tools`] | [`ToolSet`]: what was offered, with its schemas |
//! | [`boundary`] | [`EchoIndex`] and the rules that stand between a candidate and a call |
//! | [`splitter`] | [`Split`]: where reasoning is looked for |
//! | [`filter`] | the JSON shapes of `kilter parse` |
//! | [`profile`] | what was learnt of a slot |
//! | [`prior`] | what another session learnt: watched for, decides nothing |
//! | [`ladder`] | what to do about a turn |

mod arith;
pub mod boundary;
pub mod dialect;
pub mod filter;
mod grammar;
pub mod ladder;
mod lit;
mod litscan;
pub mod prior;
pub mod profile;
pub mod reader;
mod schema;
pub mod splitter;
mod tail;
pub mod tools;
mod typing;

pub use boundary::{EchoIndex, Rejected, WeakMarkers};
pub use dialect::{DialectError, Registry};
pub use ladder::{Action, Decision, LadderPolicy, Signal, TurnState, decide};
pub use prior::{Prior, PriorKey};
pub use profile::{BehaviorProfile, Change, Explanation, ProfileBook, ProfileConfig, ProfileKey};
pub use reader::{ReaderConfig, Reading, Sink, TurnReader, TurnSummary, read};
pub use splitter::Split;
pub use tools::ToolSet;

//! Probes a model, writes its behaviour card, and finds the servers of this machine.
//!
//! | module | subject |
//! |---|---|
//! | [`card`] | [`BehaviorCard`](card::BehaviorCard): what was seen, with counts, and its JSON Schema |
//! | [`doctor`] | which model servers answer here |
//! | [`save`] | writing a backend into `kilter.toml` |
//! | [`error`] | what can go wrong before there is a card |

pub mod card;
mod catalogue;
pub mod doctor;
pub mod error;
mod http;
mod plan;
pub mod save;

pub use error::FitError;

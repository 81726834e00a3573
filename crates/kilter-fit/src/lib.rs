//! Probes a model, writes its behaviour card, and finds the servers of this machine.
//!
//! A fit sends a bounded plan of ordinary requests, turns every answer into an observation, feeds
//! the behaviour profile with it and derives the card from profile and counts. It is told nothing
//! about the model and asks for no name.
//!
//! | module | subject |
//! |---|---|
//! | [`run`] | [`fit`]: one model, its plan of probes, its limits |
//! | [`card`] | [`BehaviorCard`](card::BehaviorCard): what was seen, with counts, and its JSON Schema |
//! | [`table`] | the card as a table |
//! | [`demo`] | fitting the demonstration models |
//! | [`doctor`] | which model servers answer here |
//! | [`key`] | keys by reference |
//! | [`save`] | writing a backend into `kilter.toml` |
//! | [`error`] | what can go wrong before there is a card |

pub mod card;
mod catalogue;
mod compensate;
pub mod demo;
mod derive;
mod derive_tools;
pub mod doctor;
pub mod error;
mod http;
pub mod key;
mod plan;
pub mod run;
pub mod save;
mod session;
pub mod table;
mod turn;
mod window;

pub use error::FitError;
pub use run::fit;

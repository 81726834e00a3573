//! Playbooks: how one site is read, kept as documents.
//!
//! [`lint::parse`] is the only parser: what lint calls broken is what [`gate::admit`] refuses and [`resolve::Shelf`]
//! leaves out. Nothing here fetches; the caller reads the page and gives its blocks.

pub mod document;
pub mod gate;
pub mod heal;
pub mod lint;
pub mod resolve;
pub mod signature;

pub use document::{Field, Playbook};
pub use lint::{Grade, Lint, lint};
pub use resolve::{Shelf, Source, Tier, resolve};

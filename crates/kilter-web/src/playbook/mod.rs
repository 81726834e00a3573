//! Playbooks: how one site is read, kept as documents.
//!
//! [`lint::parse`] is the only parser: what lint calls broken is what [`gate::admit`] refuses and [`resolve::Shelf`]
//! leaves out. Only [`heal::heal`], [`save::save`] and [`site::find`] fetch, by what they are given; what they do with the page
//! is in functions that do not.

pub mod anchors;
pub mod document;
pub mod gate;
pub mod heal;
pub mod lint;
pub mod resolve;
pub mod save;
pub mod signature;
pub mod site;
pub mod skeleton;

pub use document::{Field, Playbook};
pub use heal::{HealRequest, Healed, heal};
pub use lint::{Grade, Lint, lint};
pub use resolve::{Shelf, Source, Tier, resolve};
pub use save::{SaveRequest, Saved, save};
pub use site::{ResolveRequest, find};

//! Receipts: signed statements about what was read, and how to check them without asking anybody.
//!
//! | module | subject |
//! |---|---|
//! | [`jcs`] | one sequence of bytes for one JSON value |
//! | [`key`], [`store`] | keys, where they lie, and how they are locked there |
//! | [`anchor`] | another's word for the time of a receipt |
//! | [`seal`] | `keyId`, `alg`, `sig` on a JSON object |
//! | [`merkle`] | many blocks under one root |
//! | [`statement`] | what is stated about one read |
//! | [`verify`] | the verdicts |
//! | [`capsule`], [`history`], [`manifest`] | a receipt with its content; a page over time; many pages |
//! | [`legacy`] | version 1 |
//!
//! A receipt says that the holder of a key saw these bytes under that address. It does not say that they are true, who
//! wrote them, or that the holder's clock was right.

pub mod anchor;
pub mod capsule;
mod der;
pub mod history;
pub mod jcs;
pub mod key;
pub mod legacy;
mod lock;
pub mod manifest;
pub mod merkle;
pub mod seal;
pub mod statement;
pub mod store;
pub mod verify;

pub use key::{PublicKey, Signer};
pub use statement::{Asked, Content, Read, block_leaf, extraction, leaves, negative, provable};
pub use store::{Acquaintance, KeyStore, StoreError};
pub use verify::{Mode, Report, Verdict};

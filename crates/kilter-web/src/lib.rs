//! Reading the web: clean, honest, provable pages.
//!
//! One page goes through one pipeline, and every later stage works on what the one before returned:
//!
//! | stage | module | from → to |
//! |---|---|---|
//! | acquire | `acquire` | URL → bytes, under the address policy on every hop |
//! | decode | `decode` | bytes → text and a format |
//! | parse once | `dom` | text → `dom::Document`, an arena tree |
//! | main content | `content` | tree → the nodes that are the page |
//! | blocks | `block` | nodes → [`page::Block`]s: Markdown, tables, selectors, hashes all come from these |
//! | focus, budget | `focus`, `budget` | blocks → those that answer the question and fit the reply |
//! | judge | `judge` | response, tree, blocks → open, thin, login, challenge, soft 404 |
//! | receipt | `receipt` | blocks → leaves, root, a signed statement |
//!
//! [`reading::Reader`] is the whole of it, from a URL to a typed result: the one entry of every command and every tool.
//!
//! The rule of trust: a [`Failure`] means that the content of the page is *unknown*. A failure never carries a body.
//! Pure stages (everything from decode on) do no I/O, take no time and never panic on any input.

pub mod acquire;
pub mod address;
pub mod again;
pub mod batch;
pub mod block;
pub mod browser;
pub mod budget;
pub mod cascade;
pub mod claim;
pub mod content;
pub mod decode;
pub mod digest;
pub mod dom;
pub mod failure;
pub mod focus;
pub mod format;
pub mod hash;
pub mod judge;
pub mod knowledge;
pub mod lines;
pub mod meta;
pub mod open;
pub mod page;
pub mod playbook;
pub mod read;
pub mod reading;
pub mod receipt;
pub mod robots;
pub mod search;
pub mod session;
pub mod site;
pub mod store;
pub mod vantage;
pub mod watch;

pub use failure::{Decision, Failure, FailureCode, Fix};
pub use page::{Block, BlockKind, Link, Omission, Page, PageMeta, ReadOptions, Table};

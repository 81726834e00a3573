//! What a body is, and the reader for each kind that is not HTML.

pub mod feed;
pub mod fragment;
pub mod json;
pub mod pdf;
pub mod sniff;
pub mod to_page;
pub mod xml;

pub use sniff::Format;

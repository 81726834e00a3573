//! How much one read may cost.

use std::time::Duration;

/// Bounds of one read. Every one of them ends in a typed failure, never in a hang or a shortened body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the first look-up to the last byte, all redirects included.
    pub total: Duration,
    /// One connection with its handshake.
    pub connect: Duration,
    /// Bytes of one answer's header section.
    pub header_bytes: usize,
    /// Header lines of one answer.
    pub header_lines: usize,
    /// Bytes of a body, as sent and again as unpacked.
    pub body: usize,
    /// The same for a PDF.
    pub pdf: usize,
    /// Redirects by status in one read.
    pub redirects: usize,
    /// Refreshes by the page in one read.
    pub refreshes: usize,
    /// The longest delay of a refresh that counts as a redirect.
    pub refresh_delay: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            header_bytes: 64 << 10,
            header_lines: 256,
            body: 8 << 20,
            pdf: 16 << 20,
            redirects: 10,
            refreshes: 10,
            refresh_delay: Duration::from_secs(10),
        }
    }
}

//! What was served: bounded by age and by number. It never holds a sentinel nor an address.

use std::collections::VecDeque;
use std::time::Duration;

use kilter_core::Timestamp;
use serde::Serialize;

/// Longest name of a client that is kept, in characters.
const AGENT_MAX: usize = 120;

/// One page that was served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The session.
    pub session: String,
    /// The bucket.
    pub bucket: i64,
    /// A digest of the client that cannot be turned back.
    pub client: String,
    /// When.
    pub at: Timestamp,
    /// What the client calls itself, cut and without control characters.
    pub agent: String,
}

/// What a client calls itself, made fit to be kept.
pub(crate) fn clean(agent: &str) -> String {
    agent
        .chars()
        .filter(|c| !c.is_control())
        .take(AGENT_MAX)
        .collect()
}

pub(crate) struct Log {
    entries: VecDeque<Entry>,
    capacity: usize,
    keep: Duration,
}

impl Log {
    pub(crate) fn new(capacity: usize, keep: Duration) -> Self {
        Self {
            entries: VecDeque::new(),
            capacity,
            keep,
        }
    }

    fn forget(&mut self, now: Timestamp) {
        while self
            .entries
            .front()
            .is_some_and(|e| now.since(e.at) > self.keep)
        {
            self.entries.pop_front();
        }
    }

    pub(crate) fn note(&mut self, entry: Entry) {
        self.forget(entry.at);
        while self.entries.len() >= self.capacity {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// The buckets in which a session's page was served.
    pub(crate) fn buckets(&mut self, session: &str, now: Timestamp) -> Vec<i64> {
        self.forget(now);
        self.entries
            .iter()
            .filter(|e| e.session == session)
            .map(|e| e.bucket)
            .collect()
    }

    pub(crate) fn entries(&mut self, now: Timestamp) -> Vec<Entry> {
        self.forget(now);
        self.entries.iter().cloned().collect()
    }
}

//! One page from several vantages, and what failures say of a host.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::failure::FailureCode;
use crate::page::Block;
use crate::receipt::provable;

/// What one vantage saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// `http`, `browser`, `http+session`, …
    pub vantage: String,
    /// The blocks, or why there are none.
    pub read: Result<Vec<Block>, FailureCode>,
}

/// What several vantages come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consensus {
    /// They saw the same.
    Consensus,
    /// They saw different pages.
    Divergent,
    /// Some were let in and some were not.
    AccessDivergent,
    /// Too few saw anything.
    Inconclusive,
}

/// From here on two readings are of the same page: share of blocks that both have.
const SAME: f64 = 0.9;

/// Compares two to four vantages.
pub fn crosscheck(seen: &[Seen]) -> (Consensus, f64) {
    let sets: Vec<HashSet<String>> = seen
        .iter()
        .filter_map(|s| s.read.as_ref().ok())
        .map(|blocks| {
            blocks
                .iter()
                .map(|b| b.text.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect()
        })
        .collect();
    let shut = seen
        .iter()
        .any(|s| s.read.as_ref().is_err_and(|c| provable(*c)));
    if !sets.is_empty() && shut {
        return (Consensus::AccessDivergent, 0.0);
    }
    if sets.len() < 2 {
        return (Consensus::Inconclusive, 0.0);
    }
    let mut least: f64 = 1.0;
    for (i, a) in sets.iter().enumerate() {
        for b in &sets[i + 1..] {
            #[expect(clippy::cast_precision_loss, reason = "counts of blocks")]
            let share = match a.union(b).count() {
                0 => 1.0,
                n => a.intersection(b).count() as f64 / n as f64,
            };
            least = least.min(share);
        }
    }
    let verdict = if least >= SAME {
        Consensus::Consensus
    } else {
        Consensus::Divergent
    };
    (verdict, (least * 1_000.0).round() / 1_000.0)
}

/// What happened with one host in this process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRecord {
    /// Pages that were read.
    pub succeeded: u64,
    /// Failures by code.
    pub failures: BTreeMap<String, u64>,
    /// Failures that prove a closed door.
    pub closed: u64,
    #[serde(skip)]
    touched: u64,
}

impl HostRecord {
    /// Never read, and most failures were closed doors.
    pub fn is_walled(&self) -> bool {
        let failed: u64 = self.failures.values().sum();
        self.succeeded == 0 && self.closed * 2 > failed
    }
}

/// Failures by host; the host that was asked longest ago is let go when there are too many.
#[derive(Debug, Clone, Default)]
pub struct Atlas {
    hosts: BTreeMap<String, HostRecord>,
    clock: u64,
}

/// Hosts that are remembered.
pub const HOSTS_MAX: usize = 2_048;

impl Atlas {
    /// Takes down how a read ended.
    pub fn record(&mut self, host: &str, failure: Option<FailureCode>) {
        self.clock += 1;
        let record = self.hosts.entry(host.to_lowercase()).or_default();
        record.touched = self.clock;
        match failure {
            None => record.succeeded += 1,
            Some(code) => {
                *record
                    .failures
                    .entry(code.as_str().into_owned())
                    .or_default() += 1;
                record.closed +=
                    u64::from(provable(code) && !matches!(code, FailureCode::Http(404 | 410)));
            }
        }
        if self.hosts.len() > HOSTS_MAX {
            let oldest = self
                .hosts
                .iter()
                .min_by_key(|(_, r)| r.touched)
                .map(|(h, _)| h.clone());
            if let Some(host) = oldest {
                self.hosts.remove(&host);
            }
        }
    }

    /// What is known of a host.
    pub fn host(&self, host: &str) -> Option<&HostRecord> {
        self.hosts.get(&host.to_lowercase())
    }

    /// All hosts, by name.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, &HostRecord)> {
        self.hosts.iter().map(|(h, r)| (h.as_str(), r))
    }
}

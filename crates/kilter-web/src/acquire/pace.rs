//! How often one host is asked: a pause between the starts of two requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Hosts that are remembered; beyond it those whose pause is over are forgotten.
const MOST: usize = 1024;

/// A pause between requests to one host. The default is none: a person waits for the page. Shared by clones.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    between: Duration,
    next: Arc<Mutex<HashMap<String, Instant>>>,
}

impl Pace {
    /// At least this long between the starts of two requests to one host.
    pub fn every(between: Duration) -> Self {
        Self {
            between,
            next: Arc::default(),
        }
    }

    /// Waits for this host's turn and takes it. Turns are given in the order of asking.
    pub async fn wait(&self, host: &str) {
        self.wait_at_least(host, Duration::ZERO).await;
    }

    /// The same with a longer pause, such as a site's crawl delay.
    pub async fn wait_at_least(&self, host: &str, pause: Duration) {
        let between = self.between.max(pause);
        if between.is_zero() {
            return;
        }
        let turn = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            if next.len() >= MOST {
                next.retain(|_, at| *at > now);
            }
            let slot = next.entry(host.to_owned()).or_insert(now);
            let turn = (*slot).max(now);
            *slot = turn + between;
            turn
        };
        sleep_until(turn).await;
    }
}

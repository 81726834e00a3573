//! How often somebody may ask: so many times in a window, over a bounded number of keys.

use std::collections::HashMap;
use std::time::Duration;

use super::TooOften;

/// Most keys that are counted. When there are more, those whose window is over go first, then the oldest.
const KEYS_MAX: usize = 4_096;

struct Window {
    began: Duration,
    used: u32,
}

pub(crate) struct Limiter {
    most: u32,
    window: Duration,
    held: HashMap<String, Window>,
}

impl Limiter {
    pub(crate) fn new(most: u32, window: Duration) -> Self {
        Self {
            most,
            window,
            held: HashMap::new(),
        }
    }

    /// Counts one request under every key, or under none when one of them has none left.
    pub(crate) fn admit<const N: usize>(
        &mut self,
        keys: [&str; N],
        now: Duration,
    ) -> Result<(), TooOften> {
        for key in keys {
            if let Some(w) = self.held.get(key) {
                let left = self.window.saturating_sub(now.saturating_sub(w.began));
                if w.used >= self.most && !left.is_zero() {
                    return Err(TooOften { retry_after: left });
                }
            }
        }
        for key in keys {
            self.make_room(now);
            let w = self.held.entry(key.to_owned()).or_insert(Window {
                began: now,
                used: 0,
            });
            if now.saturating_sub(w.began) >= self.window {
                *w = Window {
                    began: now,
                    used: 0,
                };
            }
            w.used += 1;
        }
        Ok(())
    }

    fn make_room(&mut self, now: Duration) {
        if self.held.len() < KEYS_MAX {
            return;
        }
        let window = self.window;
        self.held
            .retain(|_, w| now.saturating_sub(w.began) < window);
        if self.held.len() < KEYS_MAX {
            return;
        }
        // Half at once: one at a time would be a scan for every request.
        let mut began: Vec<Duration> = self.held.values().map(|w| w.began).collect();
        began.sort_unstable();
        let middle = began[began.len() / 2];
        let mut still = KEYS_MAX / 2;
        self.held.retain(|_, w| {
            let keep = w.began >= middle && still > 0;
            still -= usize::from(keep);
            keep
        });
    }

    pub(crate) fn keys(&self) -> usize {
        self.held.len()
    }
}

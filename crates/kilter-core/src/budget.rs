//! Bounded counts: every adaptation has one.

use serde::{Deserialize, Serialize};

/// A count that may only go down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    limit: u32,
    used: u32,
}

impl Budget {
    /// A budget of `limit` uses.
    pub fn new(limit: u32) -> Self {
        Self { limit, used: 0 }
    }

    /// Takes one use; `false` when none is left.
    pub fn take(&mut self) -> bool {
        if self.used >= self.limit {
            return false;
        }
        self.used += 1;
        true
    }

    /// Uses left.
    pub fn left(&self) -> u32 {
        self.limit - self.used
    }

    /// Uses taken.
    pub fn used(&self) -> u32 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_refuses() {
        let mut b = Budget::new(1);
        assert!(b.take());
        assert!(!b.take());
        assert_eq!((b.used(), b.left()), (1, 0));
    }
}

//! Token counts without a vocabulary: characters, calibrated per slot from usage.

use serde::{Deserialize, Serialize};

/// Characters per token before anything was measured. English prose under common byte-pair
/// vocabularies runs at about four; the estimate errs on the side of more tokens.
pub const DEFAULT_CHARS_PER_TOKEN: f64 = 3.6;

/// Characters per token, learnt from what a server reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TokenEstimate {
    chars: f64,
    tokens: f64,
}

impl Default for TokenEstimate {
    fn default() -> Self {
        Self {
            chars: 0.0,
            tokens: 0.0,
        }
    }
}

impl TokenEstimate {
    /// Takes in one measured pair. Later pairs weigh more: the sums halve as they pass 64 k tokens.
    pub fn calibrate(&mut self, chars: u64, tokens: u64) {
        if chars == 0 || tokens == 0 {
            return;
        }
        self.chars += chars as f64;
        self.tokens += tokens as f64;
        if self.tokens > 65_536.0 {
            // Whole numbers, so that a stored estimate is read back as what it was.
            self.chars = (self.chars / 2.0).round();
            self.tokens = (self.tokens / 2.0).round();
        }
    }

    /// Characters per token now.
    pub fn chars_per_token(&self) -> f64 {
        if self.tokens < 16.0 {
            DEFAULT_CHARS_PER_TOKEN
        } else {
            (self.chars / self.tokens).clamp(1.0, 12.0)
        }
    }

    /// Whether anything was measured.
    pub fn is_calibrated(&self) -> bool {
        self.tokens >= 16.0
    }

    /// Tokens of a text of `chars` characters, rounded up.
    pub fn tokens(&self, chars: u64) -> u64 {
        (chars as f64 / self.chars_per_token()).ceil() as u64
    }
}

//! Everything that is made up: numbers, prose and ids, as functions of a seed.

use kilter_core::id;

/// A generator of numbers (SplitMix64; Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator for this seed and these marks.
    pub fn new(seed: u64, marks: &[&[u8]]) -> Self {
        let seed_bytes = seed.to_le_bytes();
        let mut parts = vec![&seed_bytes[..]];
        parts.extend_from_slice(marks);
        let hex = id::digest(&parts, 8);
        Self(u64::from_str_radix(&hex, 16).unwrap_or(seed))
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An index below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            0
        } else {
            (self.draw() % n as u64) as usize
        }
    }

    /// `n` characters of an alphabet.
    pub fn letters(&mut self, alphabet: &[u8], n: usize) -> String {
        (0..n)
            .map(|_| char::from(alphabet[self.below(alphabet.len())]))
            .collect()
    }
}

const THOUGHTS: &[&str] = &[
    "First I look at what is being asked.",
    "The question has two parts, and the second depends on the first.",
    "Let me check the numbers once more before I go on.",
    "One way is to count them all; another is to rule out the impossible ones.",
    "That gives the same result, so the step holds.",
    "Wait, the edge case needs a look as well.",
    "If the first assumption is wrong, the rest still stands.",
    "I should keep the answer short and say only what was asked.",
    "Nothing in the request contradicts this.",
    "So the remaining step is to write it down plainly.",
];

const STATEMENTS: &[&str] = &[
    "The harbour lies on the north side of the bay.",
    "High water comes a little later each day.",
    "A chart from last spring shows the same depth.",
    "Most boats wait outside until the lock opens.",
    "The wind turns to the west in the afternoon.",
    "Two lights mark the entrance at night.",
    "The pilot keeps a log of every passage.",
    "By evening the quay is quiet again.",
];

/// Prose of exactly `tokens` tokens, from one of two stocks of sentences.
pub fn prose(rng: &mut Rng, tokens: u64, thinking: bool) -> String {
    let stock = if thinking { THOUGHTS } else { STATEMENTS };
    let chars = (tokens * crate::tokens::CHARS_PER_TOKEN) as usize;
    let mut out = String::with_capacity(chars + 80);
    let mut at = rng.below(stock.len());
    while out.len() < chars {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(stock[at % stock.len()]);
        at += 1 + rng.below(stock.len() - 1);
    }
    // The stocks are ASCII, so that a byte is a character.
    out.truncate(chars);
    if out.ends_with(' ') {
        out.pop();
        out.push('.');
    }
    out
}

//! Identifiers: derived ones are a function of what they name.

use sha2::{Digest, Sha256};

/// Lower-case hex of the first `len` bytes (at most 32) of SHA-256 over the parts, each preceded by
/// its length, so that no two lists of parts collide by concatenation.
pub fn digest(parts: &[&[u8]], len: usize) -> String {
    let mut h = Sha256::new();
    for p in parts {
        h.update((p.len() as u64).to_le_bytes());
        h.update(p);
    }
    let out = h.finalize();
    let mut s = String::with_capacity(len.min(32) * 2);
    for b in out.iter().take(len.min(32)) {
        s.push(char::from_digit(u32::from(b >> 4), 16).unwrap_or('0'));
        s.push(char::from_digit(u32::from(b & 15), 16).unwrap_or('0'));
    }
    s
}

/// The id of a recovered call that had none: the same call at the same place of the same turn has
/// the same id. `turn` is any stable mark of the turn (its response id).
pub fn call_id(turn: &str, index: usize, name: &str, arguments: &str) -> String {
    let d = digest(
        &[
            turn.as_bytes(),
            &(index as u64).to_le_bytes(),
            name.as_bytes(),
            arguments.as_bytes(),
        ],
        12,
    );
    format!("call_{d}")
}

/// A time-ordered id: milliseconds in hex, then a counter, then a process-wide salt.
pub fn ordered(prefix: &str, now: crate::Timestamp, counter: u64, salt: u32) -> String {
    format!("{prefix}_{:011x}{counter:06x}{salt:08x}", now.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(digest(&[b"ab", b"c"], 8), digest(&[b"a", b"bc"], 8));
        assert_eq!(digest(&[b"x"], 4).len(), 8);
    }
}

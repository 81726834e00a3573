//! What to do about a turn (to be replaced).

//! What was learnt of a slot (to be replaced).

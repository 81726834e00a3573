//! Fixed values: root key bytes `00` to `1f`, a session, a bucket, a length, and the sentinel that comes of them.

use serde::Serialize;

use super::secret::Secret;

/// One fixed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Vector {
    /// The session.
    pub session: &'static str,
    /// The bucket.
    pub bucket: i64,
    /// Bytes of the sentinel.
    pub bytes: usize,
    /// The sentinel.
    pub sentinel: &'static str,
}

/// The root key of all vectors.
pub const ROOT: [u8; 32] = {
    let mut root = [0; 32];
    let mut i = 0;
    while i < 32 {
        root[i] = i as u8;
        i += 1;
    }
    root
};

const fn vector(
    session: &'static str,
    bucket: i64,
    bytes: usize,
    sentinel: &'static str,
) -> Vector {
    Vector {
        session,
        bucket,
        bytes,
        sentinel,
    }
}

/// All of them.
pub const ALL: [Vector; 6] = [
    vector(
        "vector-session",
        0,
        32,
        "mENHHl1pbVogGlYUtGkyvSXzZosi-jQiJ6kpN5jmQhw",
    ),
    vector(
        "vector-session",
        1,
        32,
        "SsRmlFHeM5mZGPJA1fCiBHvd7p2aMN21ofVstQL8v8U",
    ),
    vector(
        "vector-session",
        -1,
        32,
        "sNlf-meFmnSUFKgsEiQacMFf8GE_1_EN3QeKhgfOZv4",
    ),
    vector("vector-session", 6_000_000, 16, "e-jPUfHCPr-WmQWy1B82PQ"),
    vector(
        "session.with_dots-and-dashes",
        123_456,
        32,
        "7Z11tKy2enm5zVuXj-b2dhaSqJZw97YjI68YKQfDpfM",
    ),
    vector("a", 0, 32, "PWtR1dbF8dK1vJTcq4_j-fI9pLrhRomuL_vtTRtG-JI"),
];

/// What this build makes of a vector.
pub fn made(vector: &Vector) -> String {
    Secret::new(&ROOT).sentinel(vector.session, vector.bucket, vector.bytes)
}

//! Sessions: who a request belongs to, and what was learnt of the slot that it talks to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use kilter_behavior::{BehaviorProfile, ProfileConfig};
use kilter_core::{Timestamp, id};
use kilter_wire::chat::ChatRequest;

use crate::backend::Backend;
use crate::compensation::{IdMap, Thoughts};
use crate::error::TurnError;
use crate::store::{ProfileKey, Store};

/// Longest session key that a client may choose, in bytes.
const KEY_BYTES: usize = 256;

/// What is kept for one (session, backend, slot).
#[derive(Debug)]
pub struct Session {
    /// What was learnt.
    pub profile: BehaviorProfile,
    /// Reasoning that a client may drop.
    pub thoughts: Thoughts,
    /// Tool-call ids.
    pub ids: IdMap,
    used: Timestamp,
}

/// A session shared by the turns of it that run at the same time.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Its key.
    pub key: Arc<ProfileKey>,
    inner: Arc<Mutex<Session>>,
}

impl Shared {
    /// Locks it; never across an await.
    pub fn lock(&self) -> MutexGuard<'_, Session> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the session of a request: the `x-kilter-session` header, then the marks in the body, then
/// the client's key and its instructions, so that clients without any mark still learn.
///
/// # Errors
/// When the header is empty, too long, or no text.
pub fn name_of(headers: &HeaderMap, request: &ChatRequest) -> Result<String, TurnError> {
    if let Some(v) = headers.get("x-kilter-session") {
        let text = v
            .to_str()
            .ok()
            .map(str::trim)
            .filter(|t| !t.is_empty() && t.len() <= KEY_BYTES);
        return text.map(str::to_owned).ok_or_else(|| TurnError::BadHeader {
            name: "x-kilter-session",
            value: String::from_utf8_lossy(&v.as_bytes()[..v.len().min(40)]).into_owned(),
            hint: "send 1 to 256 printable characters",
        });
    }
    let marks = request.session_marks();
    if let Some((_, mark)) = marks.explicit() {
        if mark.len() <= KEY_BYTES {
            return Ok(mark.to_owned());
        }
        return Ok(format!("h-{}", id::digest(&[mark.as_bytes()], 12)));
    }
    let key = headers
        .get(http::header::AUTHORIZATION)
        .map_or(&b""[..], |v| v.as_bytes());
    let instructions = marks.instructions.unwrap_or_default();
    Ok(format!(
        "s-{}",
        id::digest(&[key, instructions.as_bytes()], 12)
    ))
}

/// All sessions in memory.
#[derive(Debug)]
pub struct Sessions {
    map: Mutex<HashMap<Arc<ProfileKey>, Arc<Mutex<Session>>>>,
    cap: usize,
}

impl Sessions {
    /// Holds at most `cap` sessions.
    pub fn new(cap: usize) -> Self {
        Self {
            map: Mutex::new(HashMap::new()),
            cap: cap.max(1),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<ProfileKey>, Arc<Mutex<Session>>>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that is in memory.
    pub fn get(&self, key: &ProfileKey) -> Option<Shared> {
        let map = self.lock();
        map.get_key_value(key).map(|(k, s)| Shared {
            key: Arc::clone(k),
            inner: Arc::clone(s),
        })
    }

    /// Everything in memory.
    pub fn all(&self) -> Vec<Shared> {
        self.lock()
            .iter()
            .map(|(k, s)| Shared {
                key: Arc::clone(k),
                inner: Arc::clone(s),
            })
            .collect()
    }

    /// The session of a key: from memory, from the store, or fresh with the backend's prior.
    pub async fn open(
        &self,
        key: ProfileKey,
        backend: &Backend,
        config: &ProfileConfig,
        store: Option<&Store>,
        now: Timestamp,
    ) -> Shared {
        if let Some(s) = self.get(&key) {
            s.lock().used = now;
            return s;
        }
        let stored = match store {
            Some(store) => store.profile(key.clone()).await,
            None => None,
        };
        let profile = match stored.and_then(|j| serde_json::from_str::<BehaviorProfile>(&j).ok()) {
            Some(mut p) => {
                // It was stored under the numbers of an earlier configuration.
                p.set_config(config.clone());
                p.tick(now);
                p
            }
            None => {
                let mut p = BehaviorProfile::new(config.clone());
                if let (Some(store), Some(digest)) = (store, &backend.config.capability.digest)
                    && let Some(prior) = store.prior(&backend.config.endpoint, digest).await
                {
                    p.preset(&prior);
                }
                p
            }
        };
        let session = Session {
            profile,
            thoughts: Thoughts::default(),
            ids: IdMap::default(),
            used: now,
        };
        let mut map = self.lock();
        if map.len() >= self.cap && !map.contains_key(&key) {
            evict(&mut map, self.cap);
        }
        let key = Arc::new(key);
        // Another turn of the same session may have been first.
        let inner = map
            .entry(Arc::clone(&key))
            .or_insert_with(|| Arc::new(Mutex::new(session)));
        Shared {
            key,
            inner: Arc::clone(inner),
        }
    }
}

/// Drops the least recently used eighth. Every change is in the store already.
fn evict(map: &mut HashMap<Arc<ProfileKey>, Arc<Mutex<Session>>>, cap: usize) {
    let mut ages: Vec<(Timestamp, Arc<ProfileKey>)> = map
        .iter()
        .filter(|(_, s)| Arc::strong_count(s) == 1)
        .map(|(k, s)| {
            let used = s.lock().unwrap_or_else(PoisonError::into_inner).used;
            (used, Arc::clone(k))
        })
        .collect();
    ages.sort_by_key(|(t, _)| *t);
    for (_, key) in ages.into_iter().take((cap / 8).max(1)) {
        map.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(header: Option<&str>, body: &str) -> String {
        let mut h = HeaderMap::new();
        if let Some(v) = header {
            h.insert("x-kilter-session", v.parse().unwrap());
        }
        name_of(&h, &ChatRequest::parse(body.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn marks_in_their_order() {
        let all =
            r#"{"prompt_cache_key":"p","metadata":{"session_id":"m"},"user":"u","messages":[]}"#;
        assert_eq!(name(Some("h"), all), "h");
        assert_eq!(name(None, all), "p");
        assert_eq!(
            name(None, r#"{"metadata":{"session_id":"m"},"user":"u"}"#),
            "m"
        );
        assert_eq!(name(None, r#"{"user":"u"}"#), "u");
        let one = name(
            None,
            r#"{"messages":[{"role":"system","content":"a"},{"role":"user","content":"1"}]}"#,
        );
        let two = name(
            None,
            r#"{"messages":[{"role":"system","content":"a"},{"role":"user","content":"2"}]}"#,
        );
        let other = name(None, r#"{"messages":[{"role":"system","content":"b"}]}"#);
        assert_eq!(one, two);
        assert_ne!(one, other);
    }
}

//! The profiles of a process: one per (session, backend, slot), bounded, the least used let go.

use std::collections::{BTreeMap, HashMap};

use kilter_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::{BehaviorProfile, ProfileConfig};
use crate::prior::{Prior, PriorKey};

/// Whose behaviour a profile describes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProfileKey {
    /// Session key.
    pub session: String,
    /// Backend name.
    pub backend: String,
    /// The request's model field: a partition key, never an identity.
    pub slot: String,
}

#[derive(Debug)]
struct Page {
    profile: BehaviorProfile,
    origin: Option<PriorKey>,
    used: u64,
}

/// Profiles by key, at most `capacity` of them; priors by (endpoint, digest).
///
/// A request that names another slot gets another profile at once: the key decides, nothing is
/// carried over. A profile that is let go leaves its axes to the prior of its origin, read-side
/// only; without an origin (no digest) it leaves nothing.
#[derive(Debug)]
pub struct ProfileBook {
    cfg: ProfileConfig,
    capacity: usize,
    pages: HashMap<ProfileKey, Page>,
    order: BTreeMap<u64, ProfileKey>,
    clock: u64,
    priors: BTreeMap<PriorKey, Prior>,
}

impl ProfileBook {
    /// An empty book for at most `capacity` profiles (0 is read as 1) and as many priors.
    pub fn new(cfg: ProfileConfig, capacity: usize) -> Self {
        Self {
            cfg,
            capacity: capacity.max(1),
            pages: HashMap::new(),
            order: BTreeMap::new(),
            clock: 0,
            priors: BTreeMap::new(),
        }
    }

    /// How many profiles are held.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether no profile is held.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The profile of a key, made where there is none, with the time decay until `now` applied.
    /// `origin` is the backend's endpoint and the digest that the operator gave; `None` without a
    /// digest, and then there is no warm start.
    pub fn open(
        &mut self,
        key: &ProfileKey,
        origin: Option<&PriorKey>,
        now: Timestamp,
    ) -> &mut BehaviorProfile {
        self.clock += 1;
        let used = self.clock;
        if !self.pages.contains_key(key) {
            while self.pages.len() >= self.capacity {
                self.let_go_oldest();
            }
        }
        let page = self.pages.entry(key.clone()).or_insert_with(|| {
            let mut profile = BehaviorProfile::new(self.cfg.clone());
            if let Some(prior) = origin.and_then(|o| self.priors.get(o)) {
                profile.preset(prior);
            }
            Page {
                profile,
                origin: origin.cloned(),
                used: 0,
            }
        });
        self.order.remove(&page.used);
        page.used = used;
        self.order.insert(used, key.clone());
        page.profile.tick(now);
        &mut page.profile
    }

    /// The profile of a key, where there is one; does not count as use.
    pub fn get(&self, key: &ProfileKey) -> Option<&BehaviorProfile> {
        self.pages.get(key).map(|p| &p.profile)
    }

    /// Puts a stored profile back.
    pub fn insert(
        &mut self,
        key: &ProfileKey,
        origin: Option<&PriorKey>,
        profile: BehaviorProfile,
    ) {
        *self.open(key, origin, Timestamp(0)) = profile;
    }

    /// All profiles in the order of their last use, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&ProfileKey, &BehaviorProfile)> {
        self.order
            .values()
            .filter_map(|k| self.pages.get(k).map(|p| (k, &p.profile)))
    }

    /// A session ended: each of its profiles leaves its axes to its prior.
    pub fn end_session(&mut self, session: &str) {
        let gone: Vec<ProfileKey> = self
            .pages
            .keys()
            .filter(|k| k.session == session)
            .cloned()
            .collect();
        for key in gone {
            self.let_go(&key);
        }
    }

    /// The prior of an origin.
    pub fn prior(&self, origin: &PriorKey) -> Option<&Prior> {
        self.priors.get(origin)
    }

    /// All priors.
    pub fn priors(&self) -> impl Iterator<Item = (&PriorKey, &Prior)> {
        self.priors.iter()
    }

    /// Takes in a stored prior or that of a behaviour card.
    pub fn add_prior(&mut self, origin: PriorKey, prior: &Prior) {
        if prior.is_empty() {
            return;
        }
        if !self.priors.contains_key(&origin) && self.priors.len() >= self.capacity {
            let oldest = self
                .priors
                .iter()
                .min_by_key(|(_, p)| p.at)
                .map(|(k, _)| k.clone());
            if let Some(k) = oldest {
                self.priors.remove(&k);
            }
        }
        self.priors.entry(origin).or_default().merge(prior);
    }

    fn let_go_oldest(&mut self) {
        if let Some(key) = self.order.first_key_value().map(|(_, k)| k.clone()) {
            self.let_go(&key);
        }
    }

    fn let_go(&mut self, key: &ProfileKey) {
        let Some(page) = self.pages.remove(key) else {
            return;
        };
        self.order.remove(&page.used);
        if let Some(origin) = page.origin {
            self.add_prior(origin, &page.profile.to_prior());
        }
    }
}

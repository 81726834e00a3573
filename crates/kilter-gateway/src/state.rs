//! Everything that turns share: configuration as it holds now, sessions, files, counters.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use kilter_behavior::{ProfileConfig, Registry, ToolSet, WeakMarkers};
use kilter_core::{Clock, Expect, SystemClock, Timestamp, id};
use kilter_wire::chat::ChatRequest;
use tokio::sync::Semaphore;

use crate::backend::Backends;
use crate::capture::Captures;
use crate::compensation::Rules;
use crate::config::{self, Config, Severity};
use crate::error::{StartError, TurnError};
use crate::metrics::{Metrics, RequestLabels};
use crate::redact::Redactor;
use crate::server::refuse;
use crate::session::Sessions;
use crate::store::{Store, StoreError};
use crate::trace::Tracer;

/// How variables of the environment are read.
pub type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What a gateway takes from outside.
#[derive(Clone)]
pub struct Deps {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Variables, for `env:` keys.
    pub env: Env,
    /// More routes on the gateway's port, behind its checks of hosts, origins and keys.
    pub routes: Option<axum::Router>,
}

impl Default for Deps {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            env: Arc::new(|name| std::env::var(name).ok()),
            routes: None,
        }
    }
}

impl std::fmt::Debug for Deps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deps")
    }
}

/// What can be replaced while running.
#[derive(Debug)]
pub struct Live {
    /// The configuration.
    pub config: Config,
    /// Backends with their pools.
    pub backends: Backends,
    /// Compensation rules.
    pub rules: Rules,
    /// Dialects.
    pub registry: Arc<Registry>,
    /// Numbers of the profile.
    pub profile: ProfileConfig,
    /// What markerless forms may do.
    pub weak: WeakMarkers,
    /// What is masked before it is kept.
    pub redactor: Redactor,
    offers: Mutex<VecDeque<Arc<Offer>>>,
}

/// The tools of a request, ready for the reader.
#[derive(Debug)]
pub struct Offer {
    key: String,
    /// For the reader.
    pub set: Arc<ToolSet>,
    /// Declared names.
    pub names: Vec<String>,
}

/// Tool catalogues kept compiled: an agent sends the same one with every turn.
const OFFERS: usize = 64;

impl Live {
    /// Checks and builds everything that the configuration names.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub fn new(config: Config, deps: &Deps) -> Result<Self, StartError> {
        if let Some(f) = config
            .check()
            .into_iter()
            .find(|f| f.severity == Severity::Error)
        {
            return Err(StartError::Config {
                key: f.key,
                message: f.message,
                hint: f.hint,
            });
        }
        let mut secrets = Vec::new();
        let backends = Backends::new(&config, &*deps.env, &mut secrets)?;
        for s in &config.capture.redact {
            secrets.extend(s.reveal(&*deps.env).ok());
        }
        let b = &config.behavior;
        let mut extra = Vec::new();
        for path in &b.dialect_files {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|e| StartError::Data {
                file: name.clone(),
                why: e.to_string(),
            })?;
            extra.push((name, text));
        }
        let bad = |e: kilter_behavior::DialectError| StartError::Data {
            file: "behavior.dialects".into(),
            why: e.to_string(),
        };
        let mut registry = if extra.is_empty() {
            Registry::builtin()
        } else {
            Registry::with_files(&extra).map_err(bad)?
        };
        if let Some(keep) = &b.dialects {
            registry = registry.narrow(keep).map_err(bad)?;
        }
        Ok(Self {
            backends,
            rules: Rules::load(&config.compensations.files, &config.compensations.off)?,
            registry,
            profile: ProfileConfig {
                needed: b.contradictions,
                recheck_uses: u32::try_from(b.recheck_uses).unwrap_or(u32::MAX),
                recheck_ms: u64::try_from(b.recheck_after.0.as_millis()).unwrap_or(u64::MAX),
                ..ProfileConfig::default()
            },
            weak: match b.weak_markers {
                config::WeakMarkers::Allow => WeakMarkers::Allow,
                config::WeakMarkers::ReadOnly => WeakMarkers::ReadOnly,
                config::WeakMarkers::Off => WeakMarkers::Off,
            },
            redactor: Redactor::new(secrets),
            offers: Mutex::new(VecDeque::new()),
            config,
        })
    }

    /// The request's tools, compiled or from the cache.
    pub fn offer(&self, request: &ChatRequest, expect: Expect) -> Arc<Offer> {
        let raw = request
            .tools_raw()
            .filter(|_| expect != Expect::None)
            .unwrap_or("");
        let choice = request.body().get("tool_choice").unwrap_or("");
        let mut list = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        let hit = list.iter().position(|o| {
            o.key.len() == raw.len() + choice.len() + 1
                && o.key.starts_with(choice)
                && o.key.ends_with(raw)
        });
        if let Some(at) = hit
            && let Some(found) = list.remove(at)
        {
            list.push_front(Arc::clone(&found));
            return found;
        }
        drop(list);
        let mut tools = if raw.is_empty() {
            Vec::new()
        } else {
            request.callable_tools()
        };
        for t in &mut tools {
            if self.config.tools.is_read_only(&t.name) {
                t.read_only = Some(true);
            }
        }
        let offer = Arc::new(Offer {
            key: format!("{choice}\n{raw}"),
            names: tools.iter().map(|t| t.name.clone()).collect(),
            set: Arc::new(ToolSet::new(tools)),
        });
        let mut list = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        list.push_front(Arc::clone(&offer));
        list.truncate(OFFERS);
        offer
    }
}

/// A running gateway's insides.
pub struct State {
    /// Replaced on reload.
    pub live: ArcSwap<Live>,
    /// Profiles in memory.
    pub sessions: Sessions,
    /// Counters.
    pub metrics: Metrics,
    /// Events.
    pub tracer: Tracer,
    /// Raw capture.
    pub captures: Captures,
    /// Profiles on disk.
    pub store: Option<Store>,
    /// Time and environment.
    pub deps: Deps,
    /// Requests in flight.
    pub places: Arc<Semaphore>,
    /// The port is loopback and anybody on this machine may use it.
    pub local_only: bool,
    salt: u32,
    counter: AtomicU64,
}

impl State {
    /// Opens files and builds everything.
    ///
    /// # Errors
    /// When the configuration does not hold or the state folder cannot be had.
    pub fn new(config: Config, deps: Deps) -> Result<Self, StartError> {
        let live = Live::new(config, &deps)?;
        let dir: Option<PathBuf> = live.config.state.dir.clone();
        let at = |sub: &str| dir.as_ref().map(|d| d.join(sub));
        let state = |path: &Option<PathBuf>, why: String| StartError::State {
            path: path
                .as_ref()
                .map_or_else(String::new, |p| p.display().to_string()),
            why,
        };
        let tracer = Tracer::open(at("traces").as_deref(), &live.config.trace)
            .map_err(|e| state(&at("traces"), e.to_string()))?;
        let captures = Captures::open(at("captures").as_deref(), &live.config.capture)
            .map_err(|e| state(&at("captures"), e.to_string()))?;
        let store = match &dir {
            Some(d) => Some(
                Store::open(d, deps.clock.now())
                    .map_err(|e: StoreError| state(&dir, e.to_string()))?,
            ),
            None => None,
        };
        let now = deps.clock.now();
        let pid = std::process::id();
        let local_only = config::check::bind_addr(&live.config.gateway.bind)
            .is_some_and(|a| a.ip().is_loopback())
            && live.config.gateway.client_keys.is_empty();
        Ok(Self {
            sessions: Sessions::new(live.config.gateway.limits.sessions),
            places: Arc::new(Semaphore::new(
                live.config
                    .gateway
                    .limits
                    .concurrent
                    .clamp(1, Semaphore::MAX_PERMITS),
            )),
            live: ArcSwap::from_pointee(live),
            metrics: Metrics::default(),
            tracer,
            captures,
            store,
            local_only,
            // Two processes that start in the same millisecond still differ.
            salt: pid.rotate_left(16) ^ (now.0 as u32),
            counter: AtomicU64::new(0),
            deps,
        })
    }

    /// A fresh id: `req_…`, `cap_…`.
    pub fn id(&self, prefix: &str) -> String {
        let n = self.counter.fetch_add(1, Ordering::Relaxed);
        id::ordered(prefix, self.now(), n, self.salt)
    }

    /// An evenly spread number, for jitter only.
    pub fn random(&self) -> u64 {
        // SplitMix64 over the counter.
        let n = self.counter.fetch_add(1, Ordering::Relaxed);
        let mut z = (n ^ (u64::from(self.salt) << 32)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Wall time.
    pub fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }

    /// Answers a request that no backend is asked for, and counts it.
    pub fn refuse(&self, e: &TurnError) -> axum::response::Response {
        let m = &self.metrics;
        m.requests
            .get_or_create(&RequestLabels {
                backend: String::new(),
                adapt: self.live.load().config.gateway.adapt.as_str(),
                status: e.status().as_u16(),
                streaming: "false",
            })
            .inc();
        m.count(&m.refused, "", e.code());
        refuse(e)
    }

    /// Validates and swaps the configuration; keeps the old one on an error. The port, the state
    /// folder and the counts of places stay as they were at start.
    ///
    /// # Errors
    /// What does not hold.
    pub fn reload(&self, config: Config) -> Result<(), StartError> {
        let live = Live::new(config, &self.deps)?;
        let profile = live.profile.clone();
        self.live.store(Arc::new(live));
        for s in self.sessions.all() {
            s.lock().profile.set_config(profile.clone());
        }
        Ok(())
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("State")
    }
}

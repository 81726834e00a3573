//! Asks a site's `robots.txt` before its pages, once a site and day.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{MOST_BYTES, Robots};
use crate::acquire::{Client, GetOptions, USER_AGENT};
use crate::failure::{Failure, FailureCode};

/// How long an answer counts (RFC 9309, 2.4: at most 24 hours). A site that could not be reached is asked again sooner.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);
const KEEP_CLOSED: Duration = Duration::from_secs(5 * 60);
/// Sites that are remembered.
const MOST: usize = 512;

type Held = HashMap<String, (Instant, Arc<Robots>)>;

/// The rules of sites, as asked. Clones share what they know.
#[derive(Debug, Clone, Default)]
pub struct RobotsGate {
    held: Arc<Mutex<Held>>,
}

impl RobotsGate {
    /// The rules of the site of `url`.
    ///
    /// # Errors
    /// What the address policy refuses. That the file cannot be had is no error: it closes the site.
    pub async fn rules(&self, client: &Client, url: &str) -> Result<Arc<Robots>, Failure> {
        let (url, _) = client.policy().parse(url)?;
        let origin = url.origin().ascii_serialization();
        {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, robots)) = held
                .get(&origin)
                .filter(|(until, _)| *until > Instant::now())
            {
                return Ok(robots.clone());
            }
        }
        let answer = client
            .get(&format!("{origin}/robots.txt"), &GetOptions::default())
            .await;
        let (robots, keep) = match &answer {
            Ok(got) => {
                let body = &got.body[..got.body.len().min(MOST_BYTES)];
                (
                    Robots::of_answer(Some(got.status), body, USER_AGENT),
                    if got.status < 500 { KEEP } else { KEEP_CLOSED },
                )
            }
            // A redirect that leads nowhere and a file that is no text are a missing file; what may not be asked says so.
            Err(e) if e.code == FailureCode::PrivateUrlBlocked => return Err(e.clone()),
            Err(e)
                if matches!(
                    e.code,
                    FailureCode::RedirectLoop | FailureCode::UnsupportedContentType
                ) =>
            {
                (Robots::open(), KEEP)
            }
            Err(_) => (Robots::closed(), KEEP_CLOSED),
        };
        let robots = Arc::new(robots);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= MOST {
            let now = Instant::now();
            held.retain(|_, (until, _)| *until > now);
            if held.len() >= MOST {
                held.clear();
            }
        }
        held.insert(origin, (Instant::now() + keep, robots.clone()));
        Ok(robots)
    }

    /// Whether `url` may be read.
    ///
    /// # Errors
    /// `robots_disallowed`, and what the address policy refuses.
    pub async fn check(&self, client: &Client, url: &str) -> Result<(), Failure> {
        let robots = self.rules(client, url).await?;
        let (url, _) = client.policy().parse(url)?;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        if robots.allows(path) {
            return Ok(());
        }
        Err(Failure::new(
            FailureCode::RobotsDisallowed,
            format!("`robots.txt` of {} forbids `{path}`\nhint: a person may read the page in a browser", url.origin().ascii_serialization()),
        )
        .then("stop", "the site asks robots to stay away from this path"))
    }
}

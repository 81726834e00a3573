//! Batches: many pages read in the background, asked for once, bounded in every direction.

use std::collections::BTreeMap;
use std::time::Duration;

use kilter_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::{Failure, FailureCode};
use crate::hash::{hex, sha256};

/// Pages of one batch.
pub const URLS_MAX: usize = 64;
/// Pages of one batch that are read at a time.
pub const PARALLEL: usize = 4;
/// How long a batch and its key are remembered.
pub const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Batches that are remembered.
pub const BATCHES_MAX: usize = 128;
/// Results of one page of results.
pub const PAGE_MAX: usize = 200;

/// How one page of a batch stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Job {
    /// Not begun.
    Waiting,
    /// Being read.
    Running,
    /// Read, or failed: the reply.
    Done {
        /// The reply as the tool gives it.
        reply: Value,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Batch {
    key: Option<String>,
    asked: String,
    at: Timestamp,
    jobs: Vec<(String, Job)>,
}

/// How a batch stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The batch.
    pub batch_id: String,
    /// `queued`, `running`, `done`.
    pub status: &'static str,
    /// Pages in all.
    pub total: usize,
    /// Pages that are done, read or not.
    pub done: usize,
    /// Pages that were read.
    pub succeeded: usize,
    /// Whether the same key asked for it before.
    pub repeated: bool,
}

/// Pages with where they stand, and where the next of them begin.
pub type Results = (Vec<(String, Job)>, Option<usize>);

/// The batches of one server.
#[derive(Debug, Clone, Default)]
pub struct Batches {
    batches: BTreeMap<String, Batch>,
    count: u64,
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(FailureCode::InvalidArguments, message)
}

impl Batches {
    /// Takes a batch. The same key with the same URLs within a day is the same batch; with others it is an error.
    ///
    /// # Errors
    /// `invalid_arguments`.
    pub fn submit(
        &mut self,
        urls: &[String],
        key: Option<&str>,
        now: Timestamp,
    ) -> Result<Standing, Failure> {
        self.forget(now);
        if urls.is_empty() || urls.len() > URLS_MAX {
            return Err(wrong(format!("a batch has 1 to {URLS_MAX} URLs")));
        }
        let asked = hex(&sha256(&[urls.join("\n").as_bytes()]));
        if let Some(key) = key
            && let Some((id, batch)) = self
                .batches
                .iter()
                .find(|(_, b)| b.key.as_deref() == Some(key))
        {
            if batch.asked != asked {
                return Err(wrong("this idempotency key was used for other URLs"));
            }
            let id = id.clone();
            return self.standing(&id).map(|s| Standing {
                repeated: true,
                ..s
            });
        }
        if self.batches.len() >= BATCHES_MAX {
            // What is done gives way first; what is not done never does.
            let oldest = self
                .batches
                .iter()
                .filter(|(_, b)| b.jobs.iter().all(|(_, j)| matches!(j, Job::Done { .. })))
                .min_by_key(|(_, b)| b.at)
                .map(|(id, _)| id.clone());
            match oldest {
                Some(id) => self.batches.remove(&id),
                None => {
                    return Err(wrong(format!(
                        "{BATCHES_MAX} batches are being read; wait for one to end"
                    )));
                }
            };
        }
        self.count += 1;
        let seed = format!("{asked}{}{}", self.count, now.0);
        let id = format!("b1:{}", &hex(&sha256(&[seed.as_bytes()]))[..16]);
        let jobs = urls.iter().map(|u| (u.clone(), Job::Waiting)).collect();
        self.batches.insert(
            id.clone(),
            Batch {
                key: key.map(str::to_owned),
                asked,
                at: now,
                jobs,
            },
        );
        self.standing(&id)
    }

    /// The next page to read of any batch, oldest first, if its batch has room for one more.
    pub fn next_page(&mut self) -> Option<(String, usize, String)> {
        let mut order: Vec<(Timestamp, String)> = self
            .batches
            .iter()
            .map(|(id, b)| (b.at, id.clone()))
            .collect();
        order.sort();
        for (_, id) in order {
            let Some(batch) = self.batches.get_mut(&id) else {
                continue;
            };
            let running = batch
                .jobs
                .iter()
                .filter(|(_, j)| *j == Job::Running)
                .count();
            if running >= PARALLEL {
                continue;
            }
            if let Some((i, (url, job))) = batch
                .jobs
                .iter_mut()
                .enumerate()
                .find(|(_, (_, j))| *j == Job::Waiting)
            {
                *job = Job::Running;
                return Some((id, i, url.clone()));
            }
        }
        None
    }

    /// Takes down the reply of a page. One that was not being read is not taken down.
    pub fn done(&mut self, id: &str, index: usize, reply: Value) -> bool {
        let job = self.batches.get_mut(id).and_then(|b| b.jobs.get_mut(index));
        match job {
            Some((_, job)) if *job == Job::Running => {
                *job = Job::Done { reply };
                true
            }
            _ => false,
        }
    }

    /// How a batch stands.
    ///
    /// # Errors
    /// `invalid_arguments` when it is not known.
    pub fn standing(&self, id: &str) -> Result<Standing, Failure> {
        let batch = self.batch(id)?;
        let done = batch
            .jobs
            .iter()
            .filter(|(_, j)| matches!(j, Job::Done { .. }))
            .count();
        let begun = batch.jobs.iter().any(|(_, j)| *j != Job::Waiting);
        let succeeded = batch
            .jobs
            .iter()
            .filter(|(_, j)| matches!(j, Job::Done { reply } if reply["ok"] == true))
            .count();
        Ok(Standing {
            batch_id: id.to_owned(),
            status: match (begun, done == batch.jobs.len()) {
                (_, true) => "done",
                (true, false) => "running",
                (false, false) => "queued",
            },
            total: batch.jobs.len(),
            done,
            succeeded,
            repeated: false,
        })
    }

    /// Results from `offset` on, at most `limit`, with the offset of the next ones.
    ///
    /// # Errors
    /// `invalid_arguments` when the batch is not known, or `limit` is not 1 to 200.
    pub fn results(&self, id: &str, offset: usize, limit: usize) -> Result<Results, Failure> {
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(wrong(format!("`limit` is 1 to {PAGE_MAX}")));
        }
        let jobs = &self.batch(id)?.jobs;
        let end = (offset.saturating_add(limit)).min(jobs.len());
        let page = jobs.get(offset..end).unwrap_or_default().to_vec();
        Ok((page, (end < jobs.len()).then_some(end)))
    }

    /// A batch as it is written down; none when it is not known.
    pub fn export(&self, id: &str) -> Option<Value> {
        let batch = serde_json::to_value(self.batches.get(id)?).ok()?;
        Some(json!({"batchId": id, "batch": batch}))
    }

    /// Takes a batch that was written down. Pages that were being read then are read again; what is malformed or known
    /// already is not taken.
    pub fn import(&mut self, value: Value) -> bool {
        let id = value["batchId"].as_str().map(str::to_owned);
        let batch: Option<Batch> = serde_json::from_value(value["batch"].clone()).ok();
        let (Some(id), Some(mut batch)) = (id, batch) else {
            return false;
        };
        if self.batches.contains_key(&id) || self.batches.len() >= BATCHES_MAX {
            return false;
        }
        for (_, job) in &mut batch.jobs {
            if *job == Job::Running {
                *job = Job::Waiting;
            }
        }
        // Ids are made from this count: it must not come to one again.
        self.count += 1;
        self.batches.insert(id, batch);
        true
    }

    fn batch(&self, id: &str) -> Result<&Batch, Failure> {
        self.batches.get(id).ok_or_else(|| {
            wrong(format!(
                "no batch `{id}` is known; it is forgotten after a day"
            ))
        })
    }

    fn forget(&mut self, now: Timestamp) {
        self.batches.retain(|_, b| now.since(b.at) < KEPT);
    }
}

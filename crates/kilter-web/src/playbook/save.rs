//! Keeping a playbook: only here, only what passes its dry run, and never half a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use kilter_core::{Clock, Timestamp};
use serde::{Deserialize, Serialize};

use super::document::{LESSONS_MAX, Lesson, Playbook};
use super::gate::{Gate, admit, gate, refusal};
use super::heal::is_failure_word;
use super::lint::{LONGEST, parse};
use super::signature::{self, Signature, signature};
use crate::acquire::GetOptions;
use crate::dom::Document;
use crate::failure::{Failure, FailureCode};
use crate::open::{Backend, Body, Opened, Opener};
use crate::page::{Page, ReadOptions};
use crate::read;
use crate::receipt::Signer;

/// Longest name that a caller gives itself.
const NAME: usize = 64;

/// What is asked: the arguments of `playbook_save`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveRequest {
    /// The page that the playbook is for.
    pub url: String,
    /// The document.
    pub playbook_json: String,
    /// Whether it is tried on the page first. One that was not tried is not signed.
    #[serde(default = "yes")]
    pub verify: bool,
    /// The page that it is tried on; else `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_url: Option<String>,
    /// What was learnt, kept with it: at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesson_note: Option<String>,
    /// Word of the failure that it mends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// How the caller calls itself: letters, digits, `-`, `_` and `.`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<String>,
}

fn yes() -> bool {
    true
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    /// Always true; otherwise it is a failure.
    pub ok: bool,
    /// The playbook.
    pub playbook_id: String,
    /// Its file.
    pub written_path: PathBuf,
    /// How its dry run went, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Gate>,
    /// Whether a lesson was added.
    pub lesson_appended: bool,
    /// Its signature.
    pub signature: Signature,
}

/// A document that may be tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    /// The document.
    pub book: Playbook,
    /// The page to try it on.
    pub verify_url: String,
    lesson: Option<Lesson>,
}

/// Checks a request before anything is fetched for it.
///
/// # Errors
/// Those of [`admit`], and `invalid_failure_reason`, `invalid_arguments`.
pub fn check(request: &SaveRequest) -> Result<Admitted, Failure> {
    let verify_url = request.verify_url.as_deref().unwrap_or(&request.url);
    let note = request.lesson_note.as_deref().map(str::trim);
    // Both pages must be of the playbook's hosts.
    admit(&request.playbook_json, &request.url, note)?;
    let (book, _) = admit(&request.playbook_json, verify_url, note)?;
    let reason = request.failure_reason.clone().unwrap_or_default();
    if !reason.is_empty() && !is_failure_word(&reason) {
        return Err(Failure::new(
            FailureCode::InvalidFailureReason,
            "`failure_reason` is the code of a failed read",
        ));
    }
    let by = request.host_id.clone().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if by.len() > NAME || !by.chars().all(fits) {
        return Err(Failure::new(
            FailureCode::InvalidArguments,
            format!(
                "`host_id` has at most {NAME} characters, letters, digits, `-`, `_` and `.` alone"
            ),
        ));
    }
    Ok(Admitted {
        book,
        verify_url: verify_url.to_owned(),
        lesson: note.filter(|n| !n.is_empty()).map(|note| Lesson {
            at: String::new(),
            note: note.to_owned(),
            reason,
            by,
        }),
    })
}

/// Tries a playbook on an opened page: what its selectors give, against what the page gives without them.
///
/// # Errors
/// `playbook_verify_failed` where the page is none, or the selectors give next to nothing;
/// `playbook_verify_low_score`, `playbook_verify_high_noise`.
pub fn dry_run(book: &Playbook, opened: &Opened) -> Result<Gate, Failure> {
    let failed = |why: &Failure| {
        Failure::new(
            FailureCode::PlaybookVerifyFailed,
            format!("the page gave nothing to try it on: {why}"),
        )
        .then("revise_playbook", "try another page, or other selectors")
    };
    let Body::Html(html) = &opened.body else {
        let why = Failure::new(FailureCode::UnsupportedContentType, "it is no page of HTML");
        return Err(failed(&why));
    };
    opened
        .judged(&ReadOptions::default())
        .map_err(|e| failed(&e))?;
    let doc = Document::parse(html);
    let page = |options: &ReadOptions| read::document(&doc, Some(opened.url.as_str()), options);
    let kept: Page = page(&book.options()).map_err(|e| failed(&e))?;
    let whole = page(&ReadOptions::default()).map_err(|e| failed(&e))?;
    let gate = gate(&kept.blocks, &whole.blocks)?;
    match refusal(&gate) {
        Some(failure) => Err(failure),
        None => Ok(gate),
    }
}

/// Writes a playbook that passed into the folder of the local tier. The file is there whole or not at all, its owner's
/// alone. Lessons that the file has already are kept.
///
/// # Errors
/// `playbook_save_rejected` when another site's playbook has the same id, or the folder cannot be written.
pub fn write(
    admitted: Admitted,
    gate: Option<Gate>,
    dir: &Path,
    key: Option<&Signer>,
    now: Timestamp,
) -> Result<Saved, Failure> {
    let Admitted {
        mut book, lesson, ..
    } = admitted;
    let rejected = |why: String| Failure::new(FailureCode::PlaybookSaveRejected, why);
    let path = dir.join(format!("{}.json", book.id));
    if let Some(old) = existing(&path) {
        if !old.hosts.iter().any(|h| book.hosts.contains(h)) {
            return Err(rejected(format!(
                "the id `{}` is taken by the playbook of `{}`\nhint: give it another id",
                book.id,
                old.hosts.join("`, `")
            ))
            .then("revise_playbook", "give it another id"));
        }
        // What was learnt stays learnt, whoever writes next.
        let news: Vec<Lesson> = book
            .lessons
            .drain(..)
            .filter(|l| !old.lessons.contains(l))
            .collect();
        book.lessons = old.lessons;
        book.lessons.extend(news);
        let over = book.lessons.len().saturating_sub(LESSONS_MAX);
        book.lessons.drain(..over);
    }
    let lesson_appended = lesson.is_some();
    if let Some(lesson) = lesson {
        book.learn(Lesson {
            at: now.rfc3339(),
            ..lesson
        });
    }
    // Whoever brings a document brings no signature: it is made here, after the dry run, or there is none.
    book.provenance = None;
    if let (Some(gate), Some(key)) = (&gate, key) {
        signature::sign(&mut book, now, gate.score, gate.passes_gate, key)
            .map_err(|e| rejected(e.to_string()))?;
    }
    let text = serde_json::to_string_pretty(&book).map_err(|e| rejected(e.to_string()))?;
    if text.len() > LONGEST {
        return Err(rejected(format!(
            "with its lessons it is longer than {LONGEST} bytes"
        )));
    }
    put(dir, &path, text.as_bytes()).map_err(|e| {
        rejected(format!(
            "`{}` cannot be written: {e}\nhint: the folder is the operator's to choose",
            path.display()
        ))
    })?;
    let keys: Vec<_> = key.map(Signer::public).into_iter().collect();
    Ok(Saved {
        ok: true,
        playbook_id: book.id.clone(),
        written_path: path,
        verify: gate,
        lesson_appended,
        signature: signature(&book, &keys),
    })
}

fn existing(path: &Path) -> Option<Playbook> {
    let text = std::fs::read_to_string(path).ok()?;
    parse(&text).0
}

/// A new file beside the old one, then in its place: mode 0600 from its first moment on, in a folder of mode 0700.
fn put(dir: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if !dir.is_dir() {
        std::fs::create_dir_all(dir)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
        }
    }
    let mut file = tempfile::Builder::new()
        .prefix(".saving-")
        .tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Checks, tries and keeps a playbook. `dir` is the folder of the local tier.
///
/// # Errors
/// Those of [`check`], [`dry_run`] and [`write`].
pub async fn save(
    request: &SaveRequest,
    opener: &Opener,
    options: &GetOptions,
    dir: &Path,
    key: Option<&Signer>,
    clock: &dyn Clock,
) -> Result<Saved, Failure> {
    let admitted = check(request)?;
    let gate = if request.verify {
        let preferred = admitted.book.routing.preferred_backend.as_deref();
        let backend: Backend = preferred.map_or(Ok(Backend::default()), str::parse)?;
        let book = &admitted.book;
        let reached = opener
            .read(&admitted.verify_url, backend, options, clock, |opened| {
                dry_run(book, &opened)
            })
            .await;
        Some(reached.outcome.map_err(verify_failed)?)
    } else {
        None
    };
    write(admitted, gate, dir, key, clock.now())
}

/// A page that cannot be reached is a dry run that failed; what is refused for its address stays refused.
fn verify_failed(failure: Failure) -> Failure {
    use FailureCode as C;
    match failure.code {
        C::PlaybookVerifyFailed
        | C::PlaybookVerifyLowScore
        | C::PlaybookVerifyHighNoise
        | C::PrivateUrlBlocked
        | C::InvalidUrl
        | C::InvalidArguments => failure,
        _ => Failure::new(
            C::PlaybookVerifyFailed,
            format!("the page to try it on could not be read: {failure}"),
        )
        .then("revise_playbook", "try another page of the site"),
    }
}

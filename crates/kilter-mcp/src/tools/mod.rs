//! What each tool does, over `kilter-web`.
//!
//! | module | tools |
//! |---|---|
//! | `capabilities` | the caller's window and surface |
//! | `reading` | the cascade, the full reader, a receipt against the page of now |
//! | `many` | digest, data sets |
//! | `finding` | map and search |
//! | `probe` | a look before reading |
//! | `knowledge` | typed fields |
//! | `playbooks` | resolve, lint, heal, save |
//! | `receipts` | verify |
//! | `claims` | claims against pages |
//! | `canaries` | issuing and judging canaries |
//! | [`later`] | the opt-in ones |

mod canaries;
mod capabilities;
mod claims;
mod finding;
mod knowledge;
pub mod later;
mod many;
mod playbooks;
mod probe;
mod reading;
mod receipts;

use std::path::PathBuf;
use std::sync::Arc;

use kilter_core::Clock;
use kilter_web::FailureCode;
use kilter_web::acquire::{Client, Settings};
use kilter_web::address::{AddressPolicy, OwnOrigin};
use kilter_web::claim::ChatJudge;
use kilter_web::format::pdf::PdfChild;
use kilter_web::playbook::{Shelf, Source};
use kilter_web::reading::{Operator, Reader};
use kilter_web::receipt::KeyStore;
use kilter_web::robots::gate::RobotsGate;
use kilter_web::search::Provider;
use kilter_web::session::{Session, Sessions};
use serde_json::Value;

use crate::canary::Canary;
use crate::canary::serve::Origin;
use crate::failure::ToolFailure;
use crate::param::Arguments;
use crate::server::{Config, Progress, View};
use crate::table::ToolId;

/// One call, checked.
pub struct Call<'a> {
    /// Its arguments.
    pub arguments: Arguments,
    /// Who calls.
    pub view: &'a View,
    /// What the operator set.
    pub config: &'a Config,
    /// Where it says how far it is.
    pub progress: &'a Progress,
}

/// What engines are made of.
pub struct Setup {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where state is kept.
    pub state: PathBuf,
    /// Folders of playbooks.
    pub playbooks: Vec<Source>,
    /// Search providers.
    pub providers: Vec<Provider>,
    /// How the canary counts.
    pub canary: crate::canary::Settings,
    /// What may be read, and at what cost.
    pub operator: Operator,
    /// The process that reads PDFs; without it they are refused.
    pub pdf: Option<PdfChild>,
    /// Sets of headers that the operator keeps.
    pub sessions: Sessions,
}

/// What the tools work with. One for a process.
pub struct Engines {
    clock: Arc<dyn Clock>,
    reader: Reader,
    client: Client,
    robots: RobotsGate,
    keys: KeyStore,
    playbooks: Vec<Source>,
    providers: Vec<Provider>,
    provider_client: Client,
    judge: Option<ChatJudge>,
    canary: Arc<Canary>,
    origin: Option<Origin>,
    sessions: Sessions,
    kept: Arc<later::Kept>,
}

/// Why the engines do not start.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A setting of the canary is out of its range.
    #[error(transparent)]
    Canary(#[from] crate::canary::SettingsError),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}\nhint: the canary and keys need them")]
    Random(getrandom::Error),
    /// A client cannot be made.
    #[error(transparent)]
    Client(#[from] kilter_web::Failure),
}

impl Engines {
    /// Starts what the tools work with. Canary pages get a port of 127.0.0.1; where none can be had, canaries are
    /// refused and everything else works.
    ///
    /// # Errors
    /// [`SetupError`].
    pub async fn start(setup: Setup) -> Result<Arc<Self>, SetupError> {
        setup.canary.check()?;
        let canary =
            Arc::new(Canary::new(setup.canary, setup.clock.clone()).map_err(SetupError::Random)?);
        let origin = Origin::open(canary.clone())
            .await
            .inspect_err(|error| tracing::warn!(%error, "no port for canary pages"))
            .ok();
        let own = origin
            .iter()
            .map(|o| OwnOrigin::new(o.address(), crate::canary::serve::PREFIX));
        let opener = setup.operator.opener(setup.pdf, own)?;
        let signs = setup.operator.receipts != Some(false);
        let keys = KeyStore::open(&setup.state, signs).locked_by(|name| std::env::var(name).ok());
        // Providers have the operator's addresses; no caller can name one.
        let provider_client = Client::new(Settings {
            policy: AddressPolicy::public().allow_private(),
            ..Settings::default()
        })?;
        let engines = Arc::new(Self {
            client: opener.client.clone(),
            judge: setup.operator.claim_judge(&provider_client)?,
            reader: setup
                .operator
                .reader(opener, signs.then(|| keys.clone()), setup.clock.clone()),
            clock: setup.clock,
            robots: RobotsGate::default(),
            keys,
            playbooks: setup.playbooks,
            providers: setup.providers,
            provider_client,
            canary,
            origin,
            sessions: setup.sessions,
            kept: later::Kept::open(&setup.state),
        });
        later::work_on_batches(&engines);
        Ok(engines)
    }

    /// Takes down how a read ended, for the atlas of failures.
    fn note_host(&self, url: &str, failure: Option<FailureCode>) {
        let host = url::Url::parse(url)
            .ok()
            .and_then(|u| u.host_str().map(str::to_owned));
        if let Some(host) = host {
            self.kept.note(&host, failure);
        }
    }

    /// The canary.
    pub fn canary(&self) -> &Arc<Canary> {
        &self.canary
    }
}

impl Engines {
    /// Does what a call asks.
    ///
    /// # Errors
    /// Whatever the tool's page of the contract says, as one typed shape.
    pub async fn run(&self, id: ToolId, call: &Call<'_>) -> Result<Value, ToolFailure> {
        match id {
            ToolId::ClientCapabilities => capabilities::run(call),
            ToolId::Occam => reading::occam(self, call).await,
            ToolId::Transcode => reading::transcode(self, call).await,
            ToolId::Digest => many::digest(self, call).await,
            ToolId::PlaybookResolve => playbooks::resolve(self, call),
            ToolId::PlaybookLint => playbooks::lint(call),
            ToolId::Map => finding::map(self, call).await,
            ToolId::Search => finding::search(self, call).await,
            ToolId::Verify => receipts::verify(self, call).await,
            ToolId::CanaryIssue => canaries::issue(self, call),
            ToolId::CanaryVerify => canaries::verify(self, call),
            ToolId::ClaimCheck => claims::check(self, call).await,
            ToolId::Attest => claims::attest(self, call).await,
            ToolId::DatasetExport => many::dataset(self, call).await,
            ToolId::BatchSubmit => later::submit(self, call),
            ToolId::BatchStatus => later::status(self, call),
            ToolId::BatchResults => later::results(self, call),
            ToolId::Watch => later::watch(self, call).await,
            ToolId::Crosscheck => later::crosscheck(self, call).await,
            ToolId::FailureAtlas => later::atlas(self, call),
            ToolId::Probe => probe::probe(self, call).await,
            ToolId::PlaybookHeal => playbooks::heal(self, call).await,
            ToolId::PlaybookSave => playbooks::save(self, call).await,
            ToolId::ExtractKnowledge => knowledge::extract(self, call).await,
        }
    }

    /// The set of headers that a call names; the operator's own where it names none.
    fn session(&self, call: &Call<'_>) -> Result<Session, ToolFailure> {
        Ok(self
            .sessions
            .session(call.arguments.text("session_profile"))?)
    }

    /// All playbooks as they lie on the disk now.
    fn shelf(&self) -> Shelf {
        Shelf::read(&self.playbooks)
    }
}

/// A serialisable answer as an object with `ok` first.
fn answer(value: &impl serde::Serialize) -> Result<Value, ToolFailure> {
    let value = serde_json::to_value(value).map_err(|e| {
        ToolFailure::new(
            "internal_error",
            format!("the answer cannot be written: {e}"),
            "this is a bug of the server",
        )
    })?;
    let Value::Object(mut map) = value else {
        return Ok(value);
    };
    if !map.contains_key("ok") {
        map.shift_insert(0, "ok".to_owned(), Value::Bool(true));
    }
    Ok(Value::Object(map))
}

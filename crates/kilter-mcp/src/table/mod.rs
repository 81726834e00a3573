//! The table of tools: one entry says everything that is said about a tool anywhere.
//!
//! | module | tools |
//! |---|---|
//! | [`reading`] | the cascade, the full reader, probe, digest |
//! | [`finding`] | map, search, typed fields |
//! | [`playbooks`] | resolve, heal, save, lint |
//! | [`proof`] | verify, claims, data sets, the canary |
//! | [`later`] | the opt-in ones: batches, watching, crosscheck, failure atlas |

pub mod finding;
pub mod later;
pub mod playbooks;
pub mod proof;
pub mod reading;

use crate::output::Field;
use crate::param::{Kind, Param};
use crate::surface::Surface;

/// A tool. The order is that of every list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolId {
    /// How large the caller's window is.
    ClientCapabilities,
    /// Reads a page, whatever it takes.
    Occam,
    /// The full reader.
    Transcode,
    /// A cheap look before reading.
    Probe,
    /// Several pages in one reply.
    Digest,
    /// Which playbook holds for a URL.
    PlaybookResolve,
    /// Links of a site.
    Map,
    /// A skeleton of a page that a playbook failed on.
    PlaybookHeal,
    /// Keeps a playbook.
    PlaybookSave,
    /// Typed fields by a playbook's schema.
    ExtractKnowledge,
    /// URLs for a query.
    Search,
    /// Checks receipts.
    Verify,
    /// Which blocks of a page address a claim.
    ClaimCheck,
    /// Claims against their sources.
    Attest,
    /// Checks a playbook without a network.
    PlaybookLint,
    /// A signed set of pages.
    DatasetExport,
    /// Issues a canary.
    CanaryIssue,
    /// Judges a reported canary.
    CanaryVerify,
    /// Starts a batch.
    BatchSubmit,
    /// How a batch stands.
    BatchStatus,
    /// What a batch read.
    BatchResults,
    /// What changed on a page.
    Watch,
    /// One page from several vantages.
    Crosscheck,
    /// Which hosts failed how.
    FailureAtlas,
}

impl ToolId {
    /// All tools.
    pub const ALL: [Self; 24] = [
        Self::ClientCapabilities,
        Self::Occam,
        Self::Transcode,
        Self::Probe,
        Self::Digest,
        Self::PlaybookResolve,
        Self::Map,
        Self::PlaybookHeal,
        Self::PlaybookSave,
        Self::ExtractKnowledge,
        Self::Search,
        Self::Verify,
        Self::ClaimCheck,
        Self::Attest,
        Self::PlaybookLint,
        Self::DatasetExport,
        Self::CanaryIssue,
        Self::CanaryVerify,
        Self::BatchSubmit,
        Self::BatchStatus,
        Self::BatchResults,
        Self::Watch,
        Self::Crosscheck,
        Self::FailureAtlas,
    ];

    /// The tool of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| tool(*t).name == name)
    }

    /// Whether it is shown only where the operator switched it on.
    pub fn is_opt_in(self) -> bool {
        tool(self).from.is_none()
    }
}

/// What the protocol calls annotations: hints for the client's own rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// Changes nothing.
    pub read_only: bool,
    /// The same call again changes nothing more.
    pub idempotent: bool,
    /// Asks the web.
    pub open_world: bool,
}

/// Reads the web and changes nothing.
pub(crate) const ASKS: Hints = Hints {
    read_only: true,
    idempotent: true,
    open_world: true,
};

/// Works on what it is given.
pub(crate) const COMPUTES: Hints = Hints {
    read_only: true,
    idempotent: true,
    open_world: false,
};

/// Adds to what the server keeps; never destroys.
pub(crate) const KEEPS: Hints = Hints {
    read_only: false,
    idempotent: false,
    open_world: true,
};

/// One tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Which one.
    pub id: ToolId,
    /// Its name on the wire.
    pub name: &'static str,
    /// Its title for people.
    pub title: &'static str,
    /// Its line in the instructions: when to call it.
    pub when: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// What it takes.
    pub params: &'static [Param],
    /// What it answers, beside `ok`, `failure` and `decisions`.
    pub answers: &'static [Field],
    /// Hints for the client.
    pub hints: Hints,
    /// The narrowest surface that shows it; `None`: opt-in.
    pub from: Option<Surface>,
}

static TABLE: [Tool; 24] = [
    reading::CLIENT_CAPABILITIES,
    reading::OCCAM,
    reading::TRANSCODE,
    reading::PROBE,
    reading::DIGEST,
    playbooks::RESOLVE,
    finding::MAP,
    playbooks::HEAL,
    playbooks::SAVE,
    finding::EXTRACT_KNOWLEDGE,
    finding::SEARCH,
    proof::VERIFY,
    proof::CLAIM_CHECK,
    proof::ATTEST,
    playbooks::LINT,
    proof::DATASET_EXPORT,
    proof::CANARY_ISSUE,
    proof::CANARY_VERIFY,
    later::BATCH_SUBMIT,
    later::BATCH_STATUS,
    later::BATCH_RESULTS,
    later::WATCH,
    later::CROSSCHECK,
    later::FAILURE_ATLAS,
];

/// The entry of a tool.
pub fn tool(id: ToolId) -> &'static Tool {
    &TABLE[id as usize]
}

// Parameters that several tools share, in the same words.

pub(crate) const URL: Param = Param::needed("url", Kind::Url, "address of the page");

/// Who fetches; the spelling with hyphens is accepted.
pub(crate) const BACKEND_POLICY: Param = Param::optional(
    "backend_policy",
    Kind::Word {
        words: &["http", "browser", "http_then_browser", "http-then-browser"],
        default: Some("http_then_browser"),
    },
    "who fetches",
);

pub(crate) const SESSION_PROFILE: Param = Param::optional(
    "session_profile",
    Kind::Text { min: 1, max: 64 },
    "id of a set of headers that the operator keeps",
);

pub(crate) const FOCUS_QUERY: Param = Param::optional(
    "focus_query",
    Kind::Text { min: 0, max: 2_000 },
    "what is wanted, in words; chooses the parts that answer it",
);

/// Bound of a reply. The upper bound is far above any window, and below what a counter could not hold.
pub(crate) const MAX_TOKENS: Param = Param::optional(
    "max_tokens",
    Kind::Int {
        min: 128,
        max: 200_000,
        default: None,
    },
    "bound of the whole reply, in tokens",
);

pub(crate) const IF_NONE_MATCH: Param = Param::optional(
    "if_none_match",
    Kind::Text { min: 0, max: 200 },
    "contentHash of an earlier read; if equal, the reply says `unchanged` and holds no text",
);

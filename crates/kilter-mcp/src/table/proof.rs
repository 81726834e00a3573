//! Entries of the tools that prove: receipts, claims, data sets, the canary.

use super::{ASKS, BACKEND_POLICY, COMPUTES, Hints, SESSION_PROFILE, Tool, ToolId, URL};
use crate::output::Sort;
use crate::param::{Kind, Param};
use crate::surface::Surface;

/// Checks receipts.
pub const VERIFY: Tool = Tool {
    id: ToolId::Verify,
    name: "occam_verify",
    title: "Check a receipt",
    when: "to check a receipt, a citation or a capsule",
    description: "Check a receipt: offline (signature, and content if given), live (read the page again), prove (make \
                  the proof of a block), citation (a block against the receipt, without the page), history, manifest.",
    params: &[
        Param::needed(
            "receipt",
            Kind::Document,
            "receipt, capsule, history entries or data set",
        ),
        Param::optional(
            "mode",
            Kind::Word {
                words: &[
                    "offline", "live", "prove", "citation", "history", "manifest",
                ],
                default: Some("offline"),
            },
            "what to check",
        ),
        Param::optional(
            "markdown",
            Kind::Text {
                min: 0,
                max: 4 << 20,
            },
            "the content, to compare its hash",
        ),
        Param::optional(
            "public_key",
            Kind::Text { min: 1, max: 8_192 },
            "key as PEM; default: this server's own",
        ),
        Param::optional(
            "block_index",
            Kind::Int {
                min: 0,
                max: 1_000_000,
                default: None,
            },
            "for prove: which block",
        ),
        Param::optional(
            "block_text",
            Kind::Text {
                min: 0,
                max: 100_000,
            },
            "for citation: text of the block",
        ),
        Param::optional(
            "block_selector",
            Kind::Text { min: 0, max: 8_192 },
            "for citation: selector of the block",
        ),
        Param::optional("proof", Kind::Document, "for citation: its proof"),
        Param::optional(
            "chunks",
            Kind::Texts { max: 200 },
            "for live: texts that should still be there",
        ),
    ],
    answers: &[
        ("verdict", Sort::Text),
        ("reason", Sort::Text),
        ("version", Sort::Whole),
        ("keyId", Sort::Text),
        ("url", Sort::Text),
        ("ts", Sort::Text),
        ("anchor", Sort::Object),
        ("live", Sort::Object),
        ("proof", Sort::Object),
    ],
    hints: ASKS,
    from: Some(Surface::Reader),
};

/// Blocks that address a claim.
pub const CLAIM_CHECK: Tool = Tool {
    id: ToolId::ClaimCheck,
    name: "occam_claim_check",
    title: "Which blocks address a claim",
    when: "to find the passages of a page that a claim could rest on",
    description: "Read a page and return the blocks that address a claim, each with a proof. It does not say whether \
                  the page supports the claim: that is yours to judge.",
    params: &[
        Param::needed("claim", Kind::Text { min: 1, max: 2_000 }, "the claim"),
        URL,
        BACKEND_POLICY,
        SESSION_PROFILE,
        Param::optional(
            "max_matches",
            Kind::Int {
                min: 1,
                max: 10,
                default: Some(3),
            },
            "most blocks",
        ),
    ],
    answers: &[
        ("claim", Sort::Text),
        ("found", Sort::Flag),
        ("retrieved", Sort::Flag),
        ("verdict", Sort::Text),
        ("blockMerkleRoot", Sort::Text),
        ("leafCount", Sort::Whole),
        ("matches", Sort::Rows),
        ("proven", Sort::Flag),
        ("url", Sort::Object),
        ("receipt", Sort::Object),
    ],
    hints: ASKS,
    from: Some(Surface::Researcher),
};

/// Claims against their sources.
pub const ATTEST: Tool = Tool {
    id: ToolId::Attest,
    name: "occam_attest",
    title: "Claims against their sources",
    when: "to check many claims, each against its own source",
    description: "For each claim read its source and say `supported`, `contradicted`, `related`, `unsupported` or \
                  `unknown`, with the block it stands on and who judged.",
    params: &[
        Param::needed(
            "claims",
            Kind::Rows { max: 50 },
            "list of {claim, sourceUrl}",
        ),
        BACKEND_POLICY,
        SESSION_PROFILE,
    ],
    answers: &[
        ("claimsTotal", Sort::Whole),
        ("grounded", Sort::Whole),
        ("unsupportedTotal", Sort::Whole),
        ("counts", Sort::Object),
        ("rows", Sort::Rows),
    ],
    hints: ASKS,
    from: Some(Surface::Auditor),
};

/// A signed set of pages.
pub const DATASET_EXPORT: Tool = Tool {
    id: ToolId::DatasetExport,
    name: "occam_dataset_export",
    title: "A signed set of pages",
    when: "to sign that a set of pages was read",
    description: "Read up to 20 pages and sign one manifest over what was found. `ok` is true when at least one page \
                  could be read; each row says so for itself.",
    params: &[
        Param::needed("urls", Kind::Texts { max: 20 }, "the pages"),
        BACKEND_POLICY,
        SESSION_PROFILE,
    ],
    answers: &[
        ("manifest", Sort::Object),
        ("rows", Sort::Rows),
        ("status", Sort::Text),
        ("successCount", Sort::Whole),
        ("failureCount", Sort::Whole),
    ],
    hints: ASKS,
    from: Some(Surface::Auditor),
};

const ISSUES: Hints = Hints {
    read_only: false,
    idempotent: false,
    open_world: false,
};

/// Issues a canary.
pub const CANARY_ISSUE: Tool = Tool {
    id: ToolId::CanaryIssue,
    name: "occam_canary_issue",
    title: "Issue a canary page",
    when: "to prove that pages reach you: issue a page, read it, report its sentinel",
    description: "Returns the URL of a page that holds a value which did not exist before. Read the page, then report \
                  the value word for word. The reply here never holds the value.",
    params: &[
        Param::optional(
            "session_id",
            Kind::Text { min: 1, max: 128 },
            "your own id, letters, digits, `.`, `_`, `-`; default: a random one",
        ),
        Param::optional(
            "ttl_seconds",
            Kind::Int {
                min: 30,
                max: 86_400,
                default: None,
            },
            "how long you mean to use it; advice",
        ),
    ],
    answers: &[
        ("url", Sort::Text),
        ("sessionId", Sort::Text),
        ("expiresAt", Sort::Text),
        ("bucket", Sort::Whole),
    ],
    hints: ISSUES,
    from: Some(Surface::Reader),
};

/// Judges a canary.
pub const CANARY_VERIFY: Tool = Tool {
    id: ToolId::CanaryVerify,
    name: "occam_canary_verify",
    title: "Judge a reported sentinel",
    when: "to have a reported sentinel judged",
    description: "Judges a sentinel that was reported for a session: READ_VERIFIED, READ_STALE, REPLAY_SUSPECT or \
                  HALLUCINATED, from the server's own records.",
    params: &[
        Param::needed(
            "session_id",
            Kind::Text { min: 0, max: 256 },
            "the id that the canary was issued for",
        ),
        Param::needed(
            "sentinel",
            Kind::Text { min: 0, max: 1_024 },
            "the value, word for word",
        ),
    ],
    answers: &[
        ("verdict", Sort::Text),
        ("bucket", Sort::Whole),
        ("reason", Sort::Text),
        ("sessionId", Sort::Text),
        ("currentBucket", Sort::Whole),
        ("matchedBucket", Sort::Whole),
        ("bucketDistance", Sort::Whole),
    ],
    hints: COMPUTES,
    from: Some(Surface::Reader),
};

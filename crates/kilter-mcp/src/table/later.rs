//! Entries of the opt-in tools: shown only where the operator switched them on.

use super::{ASKS, BACKEND_POLICY, COMPUTES, Hints, KEEPS, Tool, ToolId, URL};
use crate::output::Sort;
use crate::param::{Kind, Param};

const BATCH_ID: Param = Param::needed("batch_id", Kind::Text { min: 1, max: 100 }, "its id");

const STANDING: &[crate::output::Field] = &[
    ("batchId", Sort::Text),
    ("status", Sort::Text),
    ("total", Sort::Whole),
    ("done", Sort::Whole),
    ("succeeded", Sort::Whole),
    ("repeated", Sort::Flag),
];

/// Starts a batch.
pub const BATCH_SUBMIT: Tool = Tool {
    id: ToolId::BatchSubmit,
    name: "occam_batch_submit",
    title: "Read many pages in the background",
    when: "to read up to 64 pages in the background",
    description: "Queue up to 64 pages; they are read four at a time while you go on. The same key within a day gives \
                  the same batch.",
    params: &[
        Param::needed("urls", Kind::Texts { max: 64 }, "the pages"),
        Param::optional(
            "idempotency_key",
            Kind::Text { min: 1, max: 200 },
            "your own key of this batch",
        ),
    ],
    answers: STANDING,
    hints: KEEPS,
    from: None,
};

/// How a batch stands.
pub const BATCH_STATUS: Tool = Tool {
    id: ToolId::BatchStatus,
    name: "occam_batch_status",
    title: "How a batch stands",
    when: "to see how far a batch is",
    description: "How many pages of a batch are done.",
    params: &[BATCH_ID],
    answers: STANDING,
    hints: COMPUTES,
    from: None,
};

/// What a batch read.
pub const BATCH_RESULTS: Tool = Tool {
    id: ToolId::BatchResults,
    name: "occam_batch_results",
    title: "What a batch read",
    when: "to get the pages of a batch",
    description: "The results of a batch, page by page of the list.",
    params: &[
        BATCH_ID,
        Param::optional(
            "offset",
            Kind::Int {
                min: 0,
                max: 64,
                default: Some(0),
            },
            "where to begin",
        ),
        Param::optional(
            "limit",
            Kind::Int {
                min: 1,
                max: 200,
                default: Some(20),
            },
            "how many",
        ),
    ],
    answers: &[
        ("batchId", Sort::Text),
        ("results", Sort::Rows),
        ("nextOffset", Sort::Whole),
        ("status", Sort::Text),
    ],
    hints: COMPUTES,
    from: None,
};

/// What changed on a page.
pub const WATCH: Tool = Tool {
    id: ToolId::Watch,
    name: "occam_watch",
    title: "What changed on a page",
    when: "to see what changed on a page since the last look",
    description: "Read a page and compare it with the state that the server kept; each state is signed and chained to \
                  the one before.",
    params: &[URL, BACKEND_POLICY],
    answers: &[
        ("url", Sort::Text),
        ("status", Sort::Text),
        ("diff", Sort::Object),
        ("entry", Sort::Object),
        ("head", Sort::Text),
        ("states", Sort::Whole),
    ],
    hints: Hints {
        read_only: false,
        idempotent: false,
        open_world: true,
    },
    from: None,
};

/// One page from several vantages.
pub const CROSSCHECK: Tool = Tool {
    id: ToolId::Crosscheck,
    name: "occam_crosscheck",
    title: "One page from several vantages",
    when: "to see whether a page is the same for everybody",
    description: "Read one page over HTTP and with a browser and compare what each saw.",
    params: &[URL],
    answers: &[
        ("url", Sort::Text),
        ("verdict", Sort::Text),
        ("agreement", Sort::Number),
        ("vantages", Sort::Rows),
    ],
    hints: ASKS,
    from: None,
};

/// Which hosts failed how.
pub const FAILURE_ATLAS: Tool = Tool {
    id: ToolId::FailureAtlas,
    name: "occam_failure_atlas",
    title: "Which hosts failed how",
    when: "to see which hosts this server could not read",
    description: "Counts of reads and failures per host since the server started.",
    params: &[Param::optional(
        "host",
        Kind::Text { min: 1, max: 253 },
        "one host; default: all",
    )],
    answers: &[("hosts", Sort::Rows)],
    hints: COMPUTES,
    from: None,
};

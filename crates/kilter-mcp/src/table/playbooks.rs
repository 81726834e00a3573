//! Entries of the tools around playbooks.

use super::{COMPUTES, Hints, KEEPS, SESSION_PROFILE, Tool, ToolId, URL};
use crate::output::Sort;
use crate::param::{Kind, Param};
use crate::surface::Surface;

const PLAYBOOK: Param = Param::needed("playbook_json", Kind::Document, "the playbook");

/// Which playbook holds.
pub const RESOLVE: Tool = Tool {
    id: ToolId::PlaybookResolve,
    name: "occam_playbook_resolve",
    title: "Which playbook holds for a URL",
    when: "to see how a site is read",
    description: "Say which playbook holds for a URL, where it comes from and whether its signature is good. Reads \
                  nothing from the web.",
    params: &[
        URL,
        Param::optional(
            "include_lessons",
            Kind::Flag { default: false },
            "adds the lessons of a local playbook",
        ),
    ],
    answers: &[
        ("matchedHost", Sort::Text),
        ("playbookId", Sort::Text),
        ("version", Sort::Text),
        ("schemaVersion", Sort::Text),
        ("provenance", Sort::Text),
        ("sourcePath", Sort::Text),
        ("contentSelectors", Sort::Texts),
        ("preferredBackend", Sort::Text),
        ("agentNotes", Sort::Text),
        ("pageClass", Sort::Text),
        ("knowledgeFields", Sort::Texts),
        ("knowledgeSchema", Sort::Object),
        ("genome", Sort::Object),
        ("genomeFetch", Sort::Object),
        ("schemaVersionWarning", Sort::Text),
        ("lessons", Sort::Rows),
        ("signature", Sort::Object),
    ],
    hints: COMPUTES,
    from: Some(Surface::Full),
};

/// The skeleton of a page.
pub const HEAL: Tool = Tool {
    id: ToolId::PlaybookHeal,
    name: "occam_playbook_heal",
    title: "Skeleton of a page that reads badly",
    when: "after a thin or failed read, to write a playbook yourself",
    description: "Return a reduced tree of a page with likely places of its content, for you to write a playbook. \
                  Only for failures that a playbook mends; never for logins or challenges.",
    params: &[
        URL,
        Param::needed(
            "failure_reason",
            Kind::Text { min: 1, max: 64 },
            "code of the failure, such as `thin_extract`",
        ),
        SESSION_PROFILE,
        Param::optional(
            "max_skeleton_nodes",
            Kind::Int {
                min: 1,
                max: 600,
                default: Some(600),
            },
            "most nodes",
        ),
    ],
    answers: &[
        ("url", Sort::Text),
        ("backend", Sort::Text),
        ("playbookId", Sort::Text),
        ("currentSelectors", Sort::Rows),
        ("lostFields", Sort::Texts),
        ("domSkeleton", Sort::Object),
        ("anchors", Sort::Object),
        ("agentHints", Sort::Object),
    ],
    hints: Hints {
        read_only: true,
        idempotent: true,
        open_world: true,
    },
    from: Some(Surface::Full),
};

/// Keeps a playbook.
pub const SAVE: Tool = Tool {
    id: ToolId::PlaybookSave,
    name: "occam_playbook_save",
    title: "Keep a playbook",
    when: "to keep a playbook that you wrote, after a dry run",
    description: "Keep a playbook for a site, locally. With `verify`, the page is read with it first, and it is \
                  refused when it keeps too little or too much.",
    params: &[
        URL,
        PLAYBOOK,
        Param::optional(
            "verify",
            Kind::Flag { default: true },
            "read the page with it first",
        ),
        Param::optional("verify_url", Kind::Url, "another page of the site to read"),
        Param::optional(
            "lesson_note",
            Kind::Text { min: 0, max: 500 },
            "what was learnt",
        ),
        Param::optional(
            "failure_reason",
            Kind::Text { min: 0, max: 64 },
            "code of the failure that led here",
        ),
        Param::optional(
            "host_id",
            Kind::Text { min: 0, max: 64 },
            "what you call yourself",
        ),
    ],
    answers: &[
        ("playbookId", Sort::Text),
        ("writtenPath", Sort::Text),
        ("verify", Sort::Object),
        ("lessonAppended", Sort::Flag),
        ("signature", Sort::Object),
    ],
    hints: KEEPS,
    from: Some(Surface::Full),
};

/// Checks a playbook.
pub const LINT: Tool = Tool {
    id: ToolId::PlaybookLint,
    name: "occam_playbook_lint",
    title: "Check a playbook",
    when: "to check a playbook without reading anything",
    description: "Check a playbook's form, without a network: `ready`, `usable` or `broken`, with every finding.",
    params: &[PLAYBOOK],
    answers: &[
        ("grade", Sort::Text),
        ("agentReady", Sort::Flag),
        ("errors", Sort::Whole),
        ("warnings", Sort::Whole),
        ("infos", Sort::Whole),
        ("issues", Sort::Rows),
    ],
    hints: COMPUTES,
    from: Some(Surface::Auditor),
};

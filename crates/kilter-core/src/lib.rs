//! The words of kilter.
//!
//! Every other crate speaks in these types and none of them does I/O:
//!
//! | module | words |
//! |---|---|
//! | [`tool`] | [`ToolSpec`], [`ToolCall`], [`Provenance`]: what may be called, what was called, how we know |
//! | [`observation`] | [`Observation`]: one assistant turn as emitted |
//! | [`region`] | [`Region`], [`Trust`]: which parts of a transcript nobody may call from |
//! | [`event`] | [`TraceEvent`]: the observability contract |
//! | [`attribution`] | [`Attribution`]: whose fault a failure is |
//! | [`terminal`] | [`Exit`]: how a command ends, and its exit code |
//! | [`hysteresis`] | [`Hysteresis`]: N consecutive contradictions before a change |
//! | [`budget`] | [`Budget`]: bounded counts |
//! | [`tokens`] | [`TokenEstimate`]: characters calibrated by usage |
//! | [`id`] | deterministic and time-ordered identifiers |
//! | [`clock`] | [`Clock`]: the only source of time |

pub mod attribution;
pub mod budget;
pub mod clock;
pub mod event;
pub mod hysteresis;
pub mod id;
pub mod observation;
pub mod region;
pub mod terminal;
pub mod tokens;
pub mod tool;

pub use attribution::Attribution;
pub use budget::Budget;
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use event::{EventKind, TraceEvent};
pub use hysteresis::Hysteresis;
pub use observation::{
    FinishReason, NativeCall, Observation, ReasoningPlace, ReasoningRequest, RequestFacts,
    TransportError, Usage,
};
pub use region::{Region, Trust};
pub use terminal::Exit;
pub use tokens::TokenEstimate;
pub use tool::{Coercion, Expect, Origin, Provenance, RejectReason, Strength, ToolCall, ToolSpec};

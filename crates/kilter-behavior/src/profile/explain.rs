//! What a profile can say about itself: axes, the evidence behind each, and every move.

use std::fmt;

use kilter_core::{EventKind, Timestamp};
use serde::{Deserialize, Serialize};

/// The axes of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisName {
    /// Where reasoning appears.
    Reasoning,
    /// Where tool calls appear.
    Tools,
    /// How the output budget is spent.
    Budget,
    /// How many tokens are really served.
    Window,
    /// Whether the declared tools reach the prompt.
    ToolsInPrompt,
    /// What the backend does with reasoning in the history.
    ReasoningHistory,
    /// Compensations that were learnt.
    Constraint,
    /// Habits of the stream.
    StreamShape,
}

impl AxisName {
    /// The word of events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Tools => "tools",
            Self::Budget => "budget",
            Self::Window => "window",
            Self::ToolsInPrompt => "tools_in_prompt",
            Self::ReasoningHistory => "reasoning_history",
            Self::Constraint => "constraint",
            Self::StreamShape => "stream_shape",
        }
    }
}

impl fmt::Display for AxisName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One observation that spoke for a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Number of the turn within the profile, from 1.
    pub turn: u64,
    /// When it was seen.
    pub at: Timestamp,
    /// The value that it spoke for.
    pub value: String,
    /// What was seen, in words.
    pub words: String,
}

/// A move of an axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The axis.
    pub axis: AxisName,
    /// Its former value.
    pub from: String,
    /// Its new value.
    pub to: String,
    /// What held it up, in words.
    pub evidence: String,
}

impl From<Change> for EventKind {
    fn from(c: Change) -> Self {
        Self::Behavior {
            axis: c.axis.as_str().to_owned(),
            from: c.from,
            to: c.to,
            evidence: c.evidence,
        }
    }
}

/// One axis with what holds it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AxisExplanation {
    /// The axis.
    pub axis: AxisName,
    /// A part of it, where it has several (`index` of the stream shape).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The value that holds, as in events.
    pub value: String,
    /// The value in words.
    pub words: String,
    /// Supporting observations, halved by decay.
    pub weight: u32,
    /// How often the axis moved.
    pub moves: u32,
    /// The turn since which the value holds; `None` when nothing was learnt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_turn: Option<u64>,
    /// What was seen otherwise, and how often in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// The latest observations that hold the value up, oldest first.
    pub evidence: Vec<Evidence>,
    /// The latest observations that speak for another value, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<Evidence>,
    /// How often each value was seen over the life of the profile.
    pub seen: Vec<(String, u32)>,
    /// What a prior expects here; it is watched for and decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
}

/// A whole profile, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// Answered turns that were observed.
    pub turns: u64,
    /// The axes in the order of [`AxisName`].
    pub axes: Vec<AxisExplanation>,
}

impl Explanation {
    /// One axis by name; the first part of it where it has several.
    pub fn axis(&self, name: AxisName) -> Option<&AxisExplanation> {
        self.axes.iter().find(|a| a.axis == name)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} observed", count(self.turns, "turn"))?;
        for a in &self.axes {
            let name = match &a.part {
                Some(part) => format!("{}.{part}", a.axis),
                None => a.axis.to_string(),
            };
            write!(f, "{name:<18} {}", a.words)?;
            if let Some(turn) = a.since_turn {
                write!(f, " (since turn {turn}, weight {})", a.weight)?;
            }
            writeln!(f)?;
            for (e, mark) in a
                .evidence
                .iter()
                .map(|e| (e, ""))
                .chain(a.against.iter().map(|e| (e, "against, ")))
            {
                let turn = if e.turn > 0 {
                    format!("turn {}, ", e.turn)
                } else {
                    String::new()
                };
                writeln!(f, "    {mark}{turn}{}: {}", e.at.rfc3339(), e.words)?;
            }
            if let Some(p) = &a.pending {
                writeln!(f, "    pending: {p}")?;
            }
            if let Some(x) = &a.expected {
                writeln!(f, "    a prior expects {x} (watched, decides nothing)")?;
            }
        }
        Ok(())
    }
}

fn count(n: u64, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

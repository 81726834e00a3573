//! The profile speaks: explanation, counters to merge, and what it leaves to a prior.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, AxisValue};
use super::explain::{AxisExplanation, AxisName, Explanation};
use super::{BehaviorProfile, ToolChannel};
use crate::prior::Prior;

/// One evidence counter: how often a value was seen on an axis.
///
/// Counters only go up within a profile, and those of two profiles of one slot add up whatever the
/// order: a shared store merges by adding `count` under (axis, part, value).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Counter {
    /// The axis.
    pub axis: AxisName,
    /// A part of it; empty where it has none.
    pub part: String,
    /// The value, without figures.
    pub value: String,
    /// Observations.
    pub count: u32,
}

impl BehaviorProfile {
    /// Each axis with the observations that hold it up.
    pub fn explain(&self) -> Explanation {
        let p = &self.expected;
        let mut axes = vec![
            explained(&self.reasoning, AxisName::Reasoning, words(&p.reasoning)),
            explained(&self.tools, AxisName::Tools, words(&p.tools)),
            explained(&self.budget, AxisName::Budget, words(&p.budget)),
            explained(&self.window.window, AxisName::Window, words(&p.window)),
            explained(
                &self.window.tools,
                AxisName::ToolsInPrompt,
                words(&p.tools_in_prompt),
            ),
            explained(
                &self.history,
                AxisName::ReasoningHistory,
                words(&p.reasoning_history),
            ),
            self.explained_constraints(),
        ];
        for (kind, axis) in self.shape.axes() {
            let expected = p.habits.get(kind).cloned();
            let mut e = explained(axis, AxisName::StreamShape, expected);
            e.words.clone_from(&e.value);
            e.part = Some(kind.clone());
            axes.push(e);
        }
        Explanation {
            turns: self.turns(),
            axes,
        }
    }

    fn explained_constraints(&self) -> AxisExplanation {
        let rules: Vec<&str> = self.constraints().iter().map(|(k, _)| k).collect();
        let value = if rules.is_empty() {
            "none".to_owned()
        } else {
            rules.join(", ")
        };
        AxisExplanation {
            axis: AxisName::Constraint,
            part: None,
            words: if rules.is_empty() {
                "none seen".to_owned()
            } else {
                value.clone()
            },
            value,
            weight: rules.len() as u32,
            moves: 0,
            since_turn: None,
            pending: None,
            evidence: self
                .constraints()
                .iter()
                .map(|(rule, c)| super::Evidence {
                    turn: 0,
                    at: c.learnt_at,
                    value: rule.to_owned(),
                    words: format!("{} ({} uses)", c.evidence, c.uses),
                })
                .collect(),
            against: Vec::new(),
            seen: Vec::new(),
            expected: (!self.expected.constraints.is_empty())
                .then(|| self.expected.constraints.join(", ")),
        }
    }

    /// The evidence counters of all axes, in a stable order; those at zero are left out.
    pub fn counters(&self) -> Vec<Counter> {
        self.explain()
            .axes
            .into_iter()
            .flat_map(|a| {
                let part = a.part.unwrap_or_default();
                a.seen.into_iter().map(move |(value, count)| Counter {
                    axis: a.axis,
                    part: part.clone(),
                    value,
                    count,
                })
            })
            .collect()
    }

    /// Says what to watch for. Decides nothing, now or later: see [`crate::prior`].
    pub fn preset(&mut self, prior: &Prior) {
        self.expected.merge(prior);
    }

    /// What is watched for.
    pub fn expected(&self) -> &Prior {
        &self.expected
    }

    /// What this profile leaves behind: the axes that were learnt here. What it was itself primed
    /// with is not passed on.
    pub fn to_prior(&self) -> Prior {
        Prior {
            reasoning: learnt(&self.reasoning),
            tools: learnt(&self.tools),
            budget: learnt(&self.budget),
            window: learnt(&self.window.window),
            tools_in_prompt: learnt(&self.window.tools),
            reasoning_history: learnt(&self.history),
            habits: self
                .habits()
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .collect(),
            constraints: self
                .constraints()
                .iter()
                .map(|(k, _)| k.to_owned())
                .collect(),
            turns: self.turns(),
            at: self.seen_at(),
        }
    }

    /// The dialect in which calls are known to come.
    pub fn dialect(&self) -> Option<&str> {
        match self.tools() {
            ToolChannel::TaggedInContent { dialect } => Some(dialect),
            _ => None,
        }
    }
}

fn learnt<T: AxisValue>(axis: &Axis<T>) -> Option<T> {
    (!axis.at_rest()).then(|| axis.value().clone())
}

fn words<T: AxisValue>(expected: &Option<T>) -> Option<String> {
    expected.as_ref().map(ToString::to_string)
}

fn explained<T: AxisValue>(
    axis: &Axis<T>,
    name: AxisName,
    expected: Option<String>,
) -> AxisExplanation {
    let kind = axis.value().kind();
    let (evidence, against) = axis.ring().cloned().partition(|e| e.value == kind);
    AxisExplanation {
        axis: name,
        part: None,
        value: axis.value().label(),
        words: axis.value().to_string(),
        weight: axis.weight(),
        moves: axis.moves(),
        since_turn: (!axis.at_rest()).then(|| axis.since().turn),
        pending: axis
            .pending()
            .map(|(v, n)| format!("`{}` seen {n} in a row", v.label())),
        evidence,
        against,
        seen: axis.tally().iter().map(|(k, v)| (k.clone(), *v)).collect(),
        expected,
    }
}

//! The card as a table: read in a minute, 80 columns, no colour of its own.

use crate::card::{BehaviorCard, BudgetWord, HistoryWord, ReasoningWord, ToolWord, WindowWord};
use crate::window::grouped;

/// Columns of the whole.
const WIDTH: usize = 80;
/// Column of the value, and of the evidence.
const VALUE: usize = 16;
const EVIDENCE: usize = 39;

/// One row: what, its value, what holds it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The axis.
    pub axis: &'static str,
    /// Its value.
    pub value: String,
    /// What holds it up.
    pub evidence: String,
}

impl Row {
    fn new(axis: &'static str, value: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self {
            axis,
            value: value.into(),
            evidence: evidence.into(),
        }
    }

    /// Its lines, at most 80 columns each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut head = format!("  {:<width$}{}", self.axis, self.value, width = VALUE - 2);
        let mut words = self.evidence.split_whitespace().peekable();
        if words.peek().is_none() {
            return fold(&head);
        }
        let at = if head.chars().count() + 2 > EVIDENCE {
            lines.push(head.trim_end().to_owned());
            head = String::new();
            EVIDENCE
        } else {
            EVIDENCE
        };
        let mut line = format!("{head:<at$}");
        let mut empty = true;
        for word in words {
            let needed = word.chars().count() + usize::from(!empty);
            if !empty && line.chars().count() + needed > WIDTH {
                lines.push(line);
                line = " ".repeat(at);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        lines.push(line);
        lines
    }
}

/// A long value on its own, folded under itself.
fn fold(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive(' ') {
        let last = lines.len() - 1;
        let long = lines[last].chars().count() + part.trim_end().chars().count() > WIDTH;
        if long && !lines[last].trim().is_empty() {
            lines.push(" ".repeat(VALUE));
        }
        let last = lines.len() - 1;
        lines[last].push_str(part);
    }
    lines.iter().map(|l| l.trim_end().to_owned()).collect()
}

/// The title line of a card.
pub fn title(card: &BehaviorCard) -> String {
    let date = card.time.get(..10).unwrap_or(&card.time);
    format!(
        "behaviour card · {}/{} · {date}",
        card.target.backend, card.target.slot
    )
}

/// All rows of a card.
pub fn rows(card: &BehaviorCard) -> Vec<Row> {
    let mut rows = short_rows(card);
    let at = rows
        .iter()
        .position(|r| r.axis == "constraints")
        .unwrap_or(rows.len());
    rows.insert(
        at,
        Row::new("window", window(card), card.window.evidence.clone()),
    );
    if card.history.reasoning != HistoryWord::Unknown {
        let word = match card.history.reasoning {
            HistoryWord::Requires => "reasoning required",
            HistoryWord::Rejects => "reasoning refused",
            HistoryWord::Accepts | HistoryWord::Unknown => "reasoning accepted",
        };
        rows.insert(
            at + 1,
            Row::new("history", word, card.history.evidence.clone()),
        );
    }
    rows.push(Row::new("fits", fits(card), ""));
    for note in &card.fits.notes {
        rows.push(Row::new("", note.clone(), ""));
    }
    if let Some(why) = &card.effort.partial {
        rows.push(Row::new("PARTIAL", why.clone(), ""));
    }
    rows
}

/// The rows of a compact card.
pub fn short_rows(card: &BehaviorCard) -> Vec<Row> {
    let mut rows = vec![
        Row::new(
            "reasoning",
            reasoning(card),
            card.reasoning.evidence.clone(),
        ),
        Row::new("tool calls", tools(card), card.tool_calls.evidence.clone()),
        Row::new("budget", budget(card), card.budget.evidence.clone()),
    ];
    if card.constraints.is_empty() {
        rows.push(Row::new("constraints", "none seen", ""));
    }
    for (i, c) in card.constraints.iter().enumerate() {
        let axis = if i == 0 { "constraints" } else { "" };
        let value = c.rule.clone().unwrap_or_else(|| "refusal".to_owned());
        let help = match (&c.rule, c.learnt) {
            (Some(_), true) => "answered after the change",
            (Some(_), false) => "tried, did not help",
            (None, _) => "no rule fits",
        };
        rows.push(Row::new(axis, value, format!("{help}: “{}”", c.refusal)));
    }
    if !card.wire.habits.is_empty() || !card.wire.failures.is_empty() {
        rows.push(Row::new("wire", "deviates", card.wire.evidence.clone()));
    }
    rows
}

/// The rows of a compact card with what is remarkable about the window.
pub fn compact_rows(card: &BehaviorCard) -> Vec<Row> {
    let mut rows = short_rows(card);
    if matches!(card.window.kind, WindowWord::Cuts | WindowWord::Refuses) {
        rows.push(Row::new(
            "window",
            window(card),
            card.window.evidence.clone(),
        ));
    }
    if matches!(
        card.history.reasoning,
        HistoryWord::Requires | HistoryWord::Rejects
    ) {
        let word = match card.history.reasoning {
            HistoryWord::Requires => "reasoning required",
            _ => "reasoning refused",
        };
        rows.push(Row::new("history", word, card.history.evidence.clone()));
    }
    if let Some(why) = &card.effort.partial {
        rows.push(Row::new("PARTIAL", why.clone(), ""));
    }
    rows
}

fn reasoning(card: &BehaviorCard) -> &'static str {
    match card.reasoning.channel {
        ReasoningWord::Unknown => "undecided",
        ReasoningWord::ServerSplit => "own field",
        ReasoningWord::InlineThink => "inline think",
        ReasoningWord::LeadingCloser => "lone closer",
        ReasoningWord::Hidden => "hidden",
        ReasoningWord::None => "none",
    }
}

fn tools(card: &BehaviorCard) -> String {
    match card.tool_calls.channel {
        ToolWord::Unknown => "undecided".to_owned(),
        ToolWord::Structured => "native".to_owned(),
        ToolWord::InContent => match &card.tool_calls.dialect {
            Some(d) => format!("in content · {d}"),
            None => "in content".to_owned(),
        },
        ToolWord::TemplateDropsTools => "template drops tools".to_owned(),
        ToolWord::NoneEmitted => "none emitted".to_owned(),
        ToolWord::Refused => "refused".to_owned(),
    }
}

fn budget(card: &BehaviorCard) -> &'static str {
    match card.budget.signature {
        BudgetWord::Unknown => "undecided",
        BudgetWord::Healthy => "healthy",
        BudgetWord::Overflows => "overflows",
    }
}

fn window(card: &BehaviorCard) -> String {
    let n = card.window.tokens.map(grouped);
    match (card.window.kind, n) {
        (WindowWord::AtLeast, Some(n)) => format!("at least {n}"),
        (WindowWord::Refuses | WindowWord::Cuts, Some(n)) => format!("about {n} served"),
        (WindowWord::Refuses, None) => "refuses long prompts".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn fits(card: &BehaviorCard) -> String {
    let mut parts = vec![if card.fits.adapt == "on" {
        "adapt on".to_owned()
    } else {
        "adapt on changes nothing here".to_owned()
    }];
    if let Some(n) = card.fits.max_output_tokens {
        parts.push(format!("max_output_tokens {}", grouped(n)));
    }
    if let Some(replay) = &card.fits.reasoning_replay {
        parts.push(format!("reasoning_replay {replay}"));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_within_eighty_columns() {
        let row = Row::new(
            "constraints",
            "effort_none_with_tools_and_a_long_name",
            "answered after the change: “Function tools with reasoning_effort are not supported, \
             use another endpoint instead”",
        );
        for line in row.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert_eq!(
            Row::new(
                "reasoning",
                "inline think",
                "7 of 7 turns open with `<think>`"
            )
            .lines(),
            ["  reasoning     inline think           7 of 7 turns open with `<think>`"]
        );
    }
}

//! From what was seen to the card: every word of it follows from turns and counts.

use kilter_behavior::profile::{BudgetSignature, ReasoningChannel, ReasoningHistory};
use kilter_core::{FinishReason, ReasoningPlace, Timestamp};

use crate::card::{
    BehaviorCard, BudgetLine, BudgetWord, CARD_SCHEMA, ConstraintLine, Count, Effort, Fits,
    HistoryLine, HistoryWord, ProbeRecord, ReasoningLine, ReasoningWord, Target, ToolWord,
    WindowWord, WireLine,
};
use crate::derive_tools::{self, dialect};
use crate::plan::Wants;
use crate::run::Goal;
use crate::session::{Session, Turn};
use crate::window::{self, grouped, prompt_speed};

/// Writes the card.
pub(crate) fn card(
    goal: &Goal,
    session: &Session<'_>,
    listed: &[String],
    declared: Option<u64>,
    partial: Option<String>,
    now: Timestamp,
) -> BehaviorCard {
    let reasoning = reasoning(session);
    let tool_calls = derive_tools::line(session);
    let budget = budget(session);
    let window = window::line(session, declared);
    let history = history(session);
    let wire = wire(session);
    let constraints = constraints(session);
    let mut card = BehaviorCard {
        schema: CARD_SCHEMA.to_owned(),
        kilter: env!("CARGO_PKG_VERSION").to_owned(),
        time: now.rfc3339(),
        target: Target {
            endpoint: session.url.clone(),
            backend: goal.backend.clone(),
            slot: session.slot.clone(),
            listed: listed.to_vec(),
            script: goal.script,
        },
        effort: Effort {
            requests: session.budget.used(),
            turns: session.turns.iter().filter(|t| t.answered()).count() as u32,
            elapsed_ms: session.spent().as_millis() as u64,
            prompt_tokens_per_second: prompt_speed(&session.turns).map(round),
            output_tokens_per_second: output_speed(&session.turns).map(round),
            partial,
        },
        reasoning,
        tool_calls,
        budget,
        window,
        history,
        constraints,
        wire,
        exam: None,
        fits: Fits::default(),
        profile: serde_json::to_value(session.profile.explain()).unwrap_or_default(),
        probes: session.turns.iter().map(record).collect(),
    };
    card.fits = fits(&card, session);
    card
}

/// Turns that say something about channels: answered, and not merely counted.
fn said<'a>(s: &'a Session<'_>) -> impl Iterator<Item = &'a Turn> {
    s.turns.iter().filter(|t| {
        t.answered()
            && t.wants != Wants::Counts
            && (!t.obs.content.trim().is_empty()
                || t.obs.reasoning.is_some()
                || t.obs.usage.reasoning_tokens.is_some_and(|n| n > 0)
                || t.called())
    })
}

fn place(turn: &Turn) -> ReasoningWord {
    let text = turn
        .obs
        .reasoning
        .as_deref()
        .is_some_and(|r| !r.trim().is_empty());
    match &turn.obs.reasoning_place {
        Some(ReasoningPlace::Field(_)) if text => ReasoningWord::ServerSplit,
        Some(ReasoningPlace::InlineStart { .. } | ReasoningPlace::ChannelHeader) => {
            ReasoningWord::InlineThink
        }
        Some(ReasoningPlace::LoneCloser { .. }) => ReasoningWord::LeadingCloser,
        _ if turn.obs.usage.reasoning_tokens.is_some_and(|n| n > 0) => ReasoningWord::Hidden,
        _ => ReasoningWord::None,
    }
}

/// The field in which reasoning comes.
pub(crate) fn reasoning_field(s: &Session<'_>) -> Option<String> {
    s.turns.iter().find_map(|t| match &t.obs.reasoning_place {
        Some(ReasoningPlace::Field(name)) if place(t) == ReasoningWord::ServerSplit => {
            Some(name.clone())
        }
        _ => None,
    })
}

fn marker(s: &Session<'_>) -> Option<String> {
    s.turns.iter().find_map(|t| match &t.obs.reasoning_place {
        Some(ReasoningPlace::InlineStart { opener, .. }) => Some(opener.clone()),
        Some(ReasoningPlace::LoneCloser { closer, .. }) => Some(closer.clone()),
        _ => None,
    })
}

fn reasoning(s: &Session<'_>) -> ReasoningLine {
    let channel = match s.profile.reasoning() {
        ReasoningChannel::Unknown => ReasoningWord::Unknown,
        ReasoningChannel::ServerSplit { .. } => ReasoningWord::ServerSplit,
        ReasoningChannel::InlineThink => ReasoningWord::InlineThink,
        ReasoningChannel::LeadingCloser => ReasoningWord::LeadingCloser,
        ReasoningChannel::Hidden => ReasoningWord::Hidden,
        ReasoningChannel::None => ReasoningWord::None,
    };
    let of = said(s).count() as u32;
    let kinds = kinds(said(s).map(place));
    let seen = kinds
        .iter()
        .find(|(k, _)| *k == channel)
        .map_or(0, |(_, n)| *n);
    let (marker, evidence) = match channel {
        ReasoningWord::ServerSplit => {
            let field = reasoning_field(s);
            let shown = field.as_deref().unwrap_or("a field");
            let words = format!("{} carry `{shown}`", turns_of(seen, of));
            (field, words)
        }
        ReasoningWord::InlineThink => {
            let marker = marker(s);
            let words = match &marker {
                Some(m) => format!("{} open with `{m}`", turns_of(seen, of)),
                None => format!("{} open with a reasoning channel", turns_of(seen, of)),
            };
            (marker, words)
        }
        ReasoningWord::LeadingCloser => {
            let marker = marker(s);
            let shown = marker.as_deref().unwrap_or("a block");
            let words = format!("{} hold `{shown}` with no opener", turns_of(seen, of));
            (marker, words)
        }
        ReasoningWord::Hidden => (
            None,
            format!("counted in {}, shown in none", turns_of(seen, of)),
        ),
        ReasoningWord::None if seen == of => (None, format!("none in {}", plural(of, "turn"))),
        ReasoningWord::None => (None, format!("none in {}", turns_of(seen, of))),
        ReasoningWord::Unknown => (
            None,
            mixed(&kinds, |k| match k {
                ReasoningWord::ServerSplit => "own field",
                ReasoningWord::InlineThink => "inline",
                ReasoningWord::LeadingCloser => "lone closer",
                ReasoningWord::Hidden => "hidden",
                ReasoningWord::None | ReasoningWord::Unknown => "none",
            }),
        ),
    };
    ReasoningLine {
        channel,
        marker,
        seen,
        of,
        evidence,
    }
}

/// Kinds by count, most first.
pub(crate) fn kinds<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<(T, u32)> {
    let mut out: Vec<(T, u32)> = Vec::new();
    for kind in all {
        match out.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, n)) => *n += 1,
            None => out.push((kind, 1)),
        }
    }
    out.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    out
}

fn mixed<T>(kinds: &[(T, u32)], word: impl Fn(&T) -> &str) -> String {
    match kinds {
        [] => "no turn to tell from".to_owned(),
        [(one, n)] => format!("{} in {}: too few to tell", word(one), plural(*n, "turn")),
        many => {
            let parts: Vec<String> = many
                .iter()
                .map(|(k, n)| format!("{} {n}", word(k)))
                .collect();
            format!("it changes: {}", parts.join(", "))
        }
    }
}

pub(crate) fn counts<T: ToString>(kinds: &[(T, u32)]) -> Vec<Count> {
    kinds
        .iter()
        .map(|(k, n)| Count {
            name: k.to_string(),
            count: *n,
        })
        .collect()
}

fn budget(s: &Session<'_>) -> BudgetLine {
    let over: Vec<&Turn> = s
        .turns
        .iter()
        .filter(|t| t.wants != Wants::Counts && t.overflowed())
        .collect();
    let Some(first) = over.iter().max_by_key(|t| t.cap) else {
        let ended = said(s)
            .filter(|t| t.obs.finish != Some(FinishReason::Length))
            .count() as u32;
        let all = said(s).count() as u32;
        return BudgetLine {
            signature: if ended > 0 || s.profile.budget() == BudgetSignature::Healthy {
                BudgetWord::Healthy
            } else {
                BudgetWord::Unknown
            },
            evidence: match (all, ended) {
                (0, _) => "no turn to tell from".to_owned(),
                (all, ended) if all == ended => {
                    format!("{} ended before the cap", plural(all, "turn"))
                }
                (all, ended) => format!("{} ended before the cap", turns_of(ended, all)),
            },
            ..BudgetLine::default()
        };
    };
    // The figure of the card is the smallest cap that is known to be too small.
    let shown = over
        .iter()
        .filter(|t| t.cap >= 300)
        .min_by_key(|t| t.cap)
        .unwrap_or(first);
    let answers_at = s
        .turns
        .iter()
        .filter(|t| t.answered() && !t.overflowed() && t.cap > first.cap)
        .filter(|t| t.obs.finish != Some(FinishReason::Length) && t.wants != Wants::Counts)
        .map(|t| t.cap)
        .min();
    let spent = match (
        shown.obs.usage.reasoning_tokens,
        shown.obs.usage.completion_tokens,
    ) {
        (Some(r), _) => format!(", reasoning {r} of {}", shown.cap),
        (None, Some(c)) => format!(", all {c} of {} in reasoning", shown.cap),
        (None, None) => ", all of it reasoning".to_owned(),
    };
    let after = match answers_at {
        Some(cap) => format!("; answers at {}", grouped(cap)),
        None => String::new(),
    };
    BudgetLine {
        signature: BudgetWord::Overflows,
        empty_at: Some(shown.cap),
        answers_at,
        seen: over.len() as u32,
        evidence: format!("empty answer at {} tokens{spent}{after}", shown.cap),
    }
}

fn history(s: &Session<'_>) -> HistoryLine {
    let reasoning = match s.profile.reasoning_history() {
        ReasoningHistory::Requires => HistoryWord::Requires,
        ReasoningHistory::Accepts => HistoryWord::Accepts,
        ReasoningHistory::Rejects => HistoryWord::Rejects,
        // One answer to a history that held it is what one probe can show.
        ReasoningHistory::Unknown
            if s.turns
                .iter()
                .any(|t| t.answered() && t.obs.request.replayed_reasoning) =>
        {
            HistoryWord::Accepts
        }
        ReasoningHistory::Unknown => HistoryWord::Unknown,
    };
    let evidence = match reasoning {
        HistoryWord::Requires => "a history without it is refused",
        HistoryWord::Rejects => "a history with it is refused",
        HistoryWord::Accepts => "a history with it is answered",
        HistoryWord::Unknown => "not tried: no reasoning to send back",
    };
    HistoryLine {
        reasoning,
        evidence: evidence.to_owned(),
    }
}

fn constraints(s: &Session<'_>) -> Vec<ConstraintLine> {
    s.constraints
        .iter()
        .cloned()
        .map(|mut c| {
            c.evidence = match (&c.rule, c.learnt) {
                (Some(rule), true) => format!("{rule}: answered after the change"),
                (Some(rule), false) => format!("{rule} was tried and did not help"),
                (None, _) => format!("refused {}, no rule fits", times(c.seen)),
            };
            c
        })
        .collect()
}

fn wire(s: &Session<'_>) -> WireLine {
    // How usage is sent is no deviation: clients cope with each of the ways.
    let habits = kinds(
        s.turns
            .iter()
            .filter(|t| t.answered() && t.wants != Wants::Counts)
            .flat_map(|t| t.obs.stream_habits.iter().cloned())
            .filter(|h| !h.starts_with("usage:")),
    );
    let streamed = s
        .turns
        .iter()
        .filter(|t| t.answered() && t.streaming)
        .count() as u32;
    let mut parts: Vec<String> = habits
        .iter()
        .map(|(h, n)| format!("{h} {}", times(*n)))
        .collect();
    parts.extend(
        s.failures
            .iter()
            .map(|f| format!("{} {}", f.name, times(f.count))),
    );
    WireLine {
        habits: counts(&habits),
        streamed,
        failures: s.failures.clone(),
        evidence: if parts.is_empty() {
            format!("in normal form in {} streamed", plural(streamed, "turn"))
        } else {
            parts.join(", ")
        },
    }
}

fn fits(card: &BehaviorCard, s: &Session<'_>) -> Fits {
    let deviates = matches!(
        card.reasoning.channel,
        ReasoningWord::InlineThink | ReasoningWord::LeadingCloser
    ) || card.tool_calls.channel == ToolWord::InContent
        || card.tool_calls.recovered.iter().any(|c| c.count > 0)
        || card.budget.signature == BudgetWord::Overflows
        || card.constraints.iter().any(|c| c.learnt)
        || !card.wire.habits.is_empty();
    let room = card.budget.answers_at.map(|cap| {
        // What the answer took, with half as much again, up to a whole 1,024.
        let used = s
            .turns
            .iter()
            .filter(|t| t.answered() && t.cap == cap)
            .filter_map(|t| t.obs.usage.completion_tokens)
            .max()
            .unwrap_or(cap);
        (used + used / 2).max(cap).div_ceil(1_024) * 1_024
    });
    let mut notes = Vec::new();
    match card.tool_calls.channel {
        ToolWord::TemplateDropsTools => notes.push(
            "the model never sees the tools: serve it with a chat template that shows them"
                .to_owned(),
        ),
        ToolWord::NoneEmitted => notes.push("do not give it work that needs tools".to_owned()),
        _ => {}
    }
    if card.budget.signature == BudgetWord::Overflows && card.budget.answers_at.is_none() {
        notes.push("no cap that was tried left room for an answer".to_owned());
    }
    if card.window.kind == WindowWord::Cuts {
        notes.push("longer prompts lose their beginning without an error".to_owned());
    }
    Fits {
        adapt: if deviates { "on" } else { "observe" }.to_owned(),
        max_output_tokens: room,
        reasoning_replay: match card.history.reasoning {
            HistoryWord::Requires => Some("current_user_turn".to_owned()),
            HistoryWord::Rejects => Some("never".to_owned()),
            HistoryWord::Accepts | HistoryWord::Unknown => None,
        },
        notes,
    }
}

fn record(turn: &Turn) -> ProbeRecord {
    let outcome = match &turn.obs.error {
        Some(e) if turn.status == 0 => e.kind.clone(),
        Some(e) => format!("{}: {}", e.kind, crate::turn::cut(&e.message)),
        None if !turn.obs.native_calls.is_empty() => {
            plural(turn.obs.native_calls.len() as u32, "native call")
        }
        None if !turn.obs.recovered.is_empty() => {
            let n = plural(turn.obs.recovered.len() as u32, "call");
            format!("{n} in content, {}", dialect(turn).unwrap_or_default())
        }
        None if turn.overflowed() => "overflow".to_owned(),
        None if turn.wants == Wants::Counts => "counted".to_owned(),
        None if turn.obs.content.trim().is_empty() => "no content".to_owned(),
        None => "text".to_owned(),
    };
    ProbeRecord {
        name: turn.name.to_owned(),
        streaming: turn.streaming,
        status: turn.status,
        ms: turn.ms,
        prompt_tokens: turn.obs.usage.prompt_tokens,
        completion_tokens: turn.obs.usage.completion_tokens,
        finish: turn.obs.finish.as_ref().map(|f| f.as_str().to_owned()),
        outcome,
    }
}

/// Output tokens a second: the median over turns that were long enough to time.
fn output_speed(turns: &[Turn]) -> Option<f64> {
    let mut speeds: Vec<f64> = turns
        .iter()
        .filter(|t| t.answered() && t.ms >= 100)
        .filter_map(|t| {
            let tokens = t.obs.usage.completion_tokens? as f64;
            (tokens >= 8.0).then(|| tokens / (t.ms as f64 / 1000.0))
        })
        .collect();
    speeds.sort_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).copied()
}

fn round(speed: f64) -> f64 {
    (speed * 10.0).round() / 10.0
}

pub(crate) fn turns_of(seen: u32, of: u32) -> String {
    format!("{seen} of {}", plural(of, "turn"))
}

pub(crate) fn plural(n: u32, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

fn times(n: u32) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

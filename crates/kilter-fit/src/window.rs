//! How much prompt is served: a few prompts, each four times the one before.

use std::time::Duration;

use kilter_behavior::profile::ServedWindow;
use kilter_core::TransportError;

use crate::card::{WindowLine, WindowWord};
use crate::plan::{Mode, Offer, Probe, Wants, long_prompt, probe, user};
use crate::session::{Session, Turn};

/// Names and characters of the prompts: about 1,600, 6,400 and 25,600 tokens at the usual four
/// characters a token. Windows that are cut by default (2,048, 4,096 and 8,192 tokens are the
/// common ones) lie between two of them.
pub(crate) const STEPS: [(&str, usize); 3] = [
    ("prompt of 6 kB", 6_400),
    ("prompt of 26 kB", 25_600),
    ("prompt of 100 kB", 102_400),
];

/// One of the prompts. Few tokens of output: the counts are what it is sent for.
pub(crate) fn step(name: &'static str, chars: usize) -> Probe {
    counting(name, long_prompt(chars, 0))
}

/// A prompt as long as an earlier one and unlike it from the start, so that a server's cache does
/// not answer for its speed.
pub(crate) fn again(step: usize) -> Probe {
    let (_, chars) = STEPS[step.min(STEPS.len() - 1)];
    counting("prompt as long again", long_prompt(chars, 1_000_000))
}

fn counting(name: &'static str, text: String) -> Probe {
    probe(
        name,
        Wants::Counts,
        Offer::Nothing,
        Mode::Whole,
        4,
        vec![user(&text)],
    )
}

/// Whether a refusal is about the length of the prompt.
pub(crate) fn is_overflow(error: &TransportError) -> bool {
    if !matches!(error.status, 400 | 413 | 422 | 500) {
        return false;
    }
    let said = format!("{} {}", error.kind, error.message).to_lowercase();
    [
        "context",
        "too long",
        "prompt is too",
        "maximum length",
        "n_ctx",
        "window",
    ]
    .iter()
    .any(|w| said.contains(w))
}

/// Prompt tokens a second, by the best turn that was long enough to time: output takes its share of
/// the time, so every figure is too low.
pub(crate) fn prompt_speed(turns: &[Turn]) -> Option<f64> {
    turns
        .iter()
        .filter(|t| t.answered() && t.ms >= 1_000)
        .filter_map(|t| Some((t.obs.usage.prompt_tokens? as f64, t)))
        .filter(|(tokens, _)| *tokens >= 200.0)
        .map(|(tokens, t)| tokens / (t.ms as f64 / 1000.0))
        .fold(None, |best: Option<f64>, speed| {
            Some(best.map_or(speed, |b| b.max(speed)))
        })
}

/// What a prompt would cost that is not sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TooLong {
    /// Seconds that it would take.
    pub(crate) seconds: f64,
    /// Prompt tokens a second, by the best turn.
    pub(crate) speed: f64,
    /// The time that is left, and not the length as such, forbids it.
    pub(crate) by_time_left: bool,
}

/// Whether a prompt would take too long. The best turn counts: a busy machine makes any of them slow
/// and none fast. Turns of this very probe count alone where there are any, since their prompts are
/// in no cache and their answers are short.
pub(crate) fn too_long(session: &Session<'_>, chars: usize) -> Option<TooLong> {
    let turns = &session.turns;
    let best = |wants: Option<Wants>| {
        turns
            .iter()
            .filter(|t| t.answered() && wants.is_none_or(|w| w == t.wants))
            .filter_map(|t| Some((t.obs.usage.prompt_tokens? as f64, t.ms.max(1) as f64)))
            .filter(|(tokens, _)| *tokens >= 200.0)
            .map(|(tokens, ms)| tokens / (ms / 1_000.0))
            .reduce(f64::max)
    };
    let speed = best(Some(Wants::Counts)).or_else(|| best(None))?;
    let limits = &session.limits;
    priced(chars, speed, limits.long, session.left())
}

fn priced(chars: usize, speed: f64, long: Duration, left: Duration) -> Option<TooLong> {
    if long == Duration::MAX {
        return None;
    }
    let seconds = chars as f64 / 4.0 / speed;
    let by_time_left = seconds <= long.as_secs_f64();
    (!by_time_left || seconds > left.as_secs_f64() / 2.0).then_some(TooLong {
        seconds,
        speed,
        by_time_left,
    })
}

/// Why the longer prompts were not sent, as the card says it.
fn not_sent(session: &Session<'_>) -> String {
    let Some((name, why)) = &session.skipped else {
        return String::new();
    };
    let whose = if why.by_time_left {
        format!("{} s are left", session.left().as_secs())
    } else {
        format!("at {:.0} tokens/s", why.speed)
    };
    format!(
        "; the {name} was not sent: about {:.0} s, {whose}",
        why.seconds
    )
}

/// The line of the card.
pub(crate) fn line(session: &Session<'_>, declared: Option<u64>) -> WindowLine {
    let turns: Vec<&Turn> = session
        .turns
        .iter()
        .filter(|t| t.wants == Wants::Counts)
        .collect();
    let refused = turns
        .iter()
        .find_map(|t| t.obs.error.as_ref().filter(|e| is_overflow(e)));
    let counted = |t: &&&Turn| t.obs.usage.prompt_tokens;
    let most = session
        .turns
        .iter()
        .filter(|t| t.answered())
        .filter_map(|t| t.obs.usage.prompt_tokens)
        .max();
    let told = match session.profile.window() {
        ServedWindow::About(n) => Some(n),
        _ => None,
    };
    let by_declaration = match declared {
        Some(d) => format!(" (declared {})", grouped(d)),
        None => String::new(),
    };
    let mut line = WindowLine {
        declared,
        ..WindowLine::default()
    };
    if let Some(error) = refused {
        line.kind = WindowWord::Refuses;
        line.tokens = told.or(most);
        line.evidence = match (told, most) {
            (Some(n), _) => format!(
                "a longer prompt is refused, {} stated{by_declaration}",
                grouped(n)
            ),
            (None, Some(n)) => format!("served {}, then refused{by_declaration}", grouped(n)),
            (None, None) => format!("refused: {}", crate::turn::cut(&error.message)),
        };
        return line;
    }
    if let Some((before, after)) = stopped_growing(&turns) {
        line.kind = WindowWord::Cuts;
        line.tokens = Some(before.max(after));
        line.evidence = format!(
            "prompt_tokens stopped growing at {}{by_declaration}",
            grouped(before.max(after))
        );
        return line;
    }
    if let Some(broken) = turns
        .iter()
        .find(|t| !t.answered() && t.obs.error.is_some())
    {
        let why = broken.obs.error.as_ref().map_or("", |e| e.kind.as_str());
        line.evidence = match most {
            Some(n) => format!("served {}; {}: {why}", grouped(n), broken.name),
            None => format!("{}: {why}", broken.name),
        };
        line.kind = if most.is_some() {
            WindowWord::AtLeast
        } else {
            WindowWord::Unknown
        };
        line.tokens = most;
        return line;
    }
    match (most, turns.iter().filter_map(|t| counted(&t)).max()) {
        (Some(n), _) => {
            line.kind = WindowWord::AtLeast;
            line.tokens = Some(n);
            line.evidence = format!(
                "longest prompt sent: {} tokens{by_declaration}{}",
                grouped(n),
                not_sent(session)
            );
        }
        (None, _) => {
            line.evidence = format!("the server counts no prompt tokens{by_declaration}");
        }
    }
    line
}

/// Two prompts in a row of which the second is four times as long and counts as few tokens.
fn stopped_growing(turns: &[&Turn]) -> Option<(u64, u64)> {
    let counted: Vec<(u64, u64)> = turns
        .iter()
        .filter(|t| t.answered())
        .filter_map(|t| Some((t.obs.request.prompt_chars, t.obs.usage.prompt_tokens?)))
        .collect();
    counted.windows(2).find_map(|pair| {
        let [(chars_a, a), (chars_b, b)] = [pair[0], pair[1]];
        // What the second would cost at the rate of the first; the first may itself be cut.
        let expected = a as f64 * chars_b as f64 / chars_a.max(1) as f64;
        ((b as f64) < 0.75 * expected && a > 100).then_some((a, b))
    })
}

/// `12,345`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn a_long_prompt_is_priced_by_the_best_speed() {
        let (long, left) = (Duration::from_secs(45), Duration::from_secs(500));
        assert_eq!(priced(25_600, 1_000.0, long, left), None);
        let slow = priced(25_600, 100.0, long, left).unwrap();
        assert!(!slow.by_time_left && (63.0..65.0).contains(&slow.seconds));
        let late = priced(25_600, 200.0, long, Duration::from_secs(40)).unwrap();
        assert!(late.by_time_left);
        assert_eq!(priced(25_600, 1.0, Duration::MAX, Duration::ZERO), None);
    }

    #[test]
    fn a_refusal_of_a_field_is_no_overflow() {
        let error = TransportError {
            status: 400,
            kind: "invalid_request_error".into(),
            param: None,
            message: "unknown field `stream_options`".into(),
        };
        assert!(!is_overflow(&error));
        let error = TransportError {
            kind: "exceed_context_size_error".into(),
            ..error
        };
        assert!(is_overflow(&error));
    }
}

//! How much prompt is served: a few prompts, each four times the one before.

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

/// Longest time that one of these prompts may take, by the speed seen so far, in seconds.
const MAX_SECONDS: f64 = 45.0;

/// One of the prompts. Two tokens of output: the counts are what it is sent for.
pub(crate) fn step(name: &'static str, chars: usize) -> Probe {
    probe(
        name,
        Wants::Counts,
        Offer::Nothing,
        Mode::Whole,
        4,
        vec![user(&long_prompt(chars))],
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

/// Whether the next prompt is worth its time.
pub(crate) fn affordable(session: &Session<'_>, chars: usize) -> bool {
    let Some(speed) = prompt_speed(&session.turns) else {
        return true;
    };
    let seconds = chars as f64 / 4.0 / speed;
    seconds <= MAX_SECONDS && seconds <= session.left().as_secs_f64() / 2.0
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
            line.evidence = format!("longest prompt sent: {} tokens{by_declaration}", grouped(n));
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

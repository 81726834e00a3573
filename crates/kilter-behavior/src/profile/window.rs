//! How many tokens are really served, and whether the declared tools are among them.
//!
//! Servers cut silently: a prompt that no longer fits is shortened, a template that knows no tools
//! leaves them out, and both answer 200. What gives them away is `prompt_tokens`. Three signs count,
//! and each only when nothing else explains it:
//!
//! - a typed overflow that states its window (taken at once where nothing contradicts it);
//! - `prompt_tokens` far below the calibrated estimate *and* below what any text could need, or no
//!   longer growing while the text grows by a quarter: the window is about that;
//! - tools declared and `prompt_tokens` as a request without them would have it: the template
//!   drops them. Compared with the turn without tools whose messages were nearest in length, and
//!   then only where even the cheapest text leaves no room for tools; without such a turn, with an
//!   earlier one, when `prompt_tokens` is explained by the messages alone and grows with them.

use std::collections::VecDeque;
use std::fmt;

use kilter_core::{Observation, TokenEstimate};
use serde::{Deserialize, Serialize};

use super::axis::{Ambiguity, Axis, AxisValue, Stamp};
use super::channel::tools_seen;
use super::config::ProfileConfig;
use super::explain::{AxisName, Change};
use super::{ToolChannel, figures};

/// How many tokens are really served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServedWindow {
    /// Nothing was learnt.
    #[default]
    Unknown,
    /// So many were served in one turn, prompt and answer.
    AtLeast(u64),
    /// About so many, and no more.
    About(u64),
}

impl AxisValue for ServedWindow {
    fn label(&self) -> String {
        match self {
            Self::Unknown => "unknown".into(),
            Self::AtLeast(n) => format!("at_least:{n}"),
            Self::About(n) => format!("about:{n}"),
        }
    }

    fn kind(&self) -> String {
        match self {
            Self::Unknown => "unknown",
            Self::AtLeast(_) => "at_least",
            Self::About(_) => "about",
        }
        .into()
    }
}

impl fmt::Display for ServedWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::AtLeast(n) => write!(f, "at least {n} tokens served"),
            Self::About(n) => write!(f, "about {n} tokens served"),
        }
    }
}

/// Whether the declared tools reach the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolsInPrompt {
    /// Nothing was learnt.
    #[default]
    Unknown,
    /// They do.
    Kept,
    /// The server's template leaves them out.
    Dropped,
}

impl AxisValue for ToolsInPrompt {
    fn label(&self) -> String {
        match self {
            Self::Unknown => "unknown",
            Self::Kept => "kept",
            Self::Dropped => "dropped",
        }
        .into()
    }
}

impl fmt::Display for ToolsInPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Kept => "tools reach the prompt",
            Self::Dropped => "the template drops the tools",
        })
    }
}

/// Two figures within an eighth of each other are the same window.
const SAME: u64 = 8;
/// A prompt this much below its estimate is far below it.
const FAR: f64 = 0.6;
/// No text that servers see runs at more characters per token than this.
const MOST_CHARS_PER_TOKEN: f64 = 7.0;
/// Below this many characters a prompt says nothing about a window: headers weigh too much.
const LONG_CHARS: u64 = 2048;
/// Tools of fewer characters than this cannot be told from noise.
const TOOLS_CHARS: u64 = 200;
/// Characters of declared tools per token that the leanest template makes of them: it leaves out the
/// JSON around names, types and descriptions.
const LEANEST_TOOLS: f64 = 12.0;
/// Dearest text that servers see, in tokens per character (scripts of one token a character).
const MOST_TOKENS_PER_CHAR: f64 = 1.0;
/// Shorter prompts are mostly template and do not calibrate.
const CALIBRATING_CHARS: u64 = 256;
/// Turns without tools that are kept to compare with.
const BARE: usize = 4;
/// Counts beyond this are no counts of characters or tokens of one request.
const MOST: u64 = 1 << 40;

/// What a turn's usage says about the size of its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Sample {
    /// Characters of the prompt without its tools.
    text: u64,
    /// Characters of the tools.
    tools: u64,
    /// `prompt_tokens`.
    tokens: u64,
}

/// The window and the tools in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WindowSense {
    pub(crate) window: Axis<ServedWindow>,
    pub(crate) tools: Axis<ToolsInPrompt>,
    estimate: TokenEstimate,
    /// The latest turns without tools.
    bare: VecDeque<Sample>,
    last: Option<Sample>,
}

impl WindowSense {
    pub(crate) fn new(cfg: &ProfileConfig) -> Self {
        Self {
            window: Axis::new(ServedWindow::Unknown, Ambiguity::Ratchet, cfg.needed),
            tools: Axis::new(ToolsInPrompt::Unknown, Ambiguity::Ratchet, cfg.needed),
            estimate: TokenEstimate::default(),
            bare: VecDeque::new(),
            last: None,
        }
    }

    pub(crate) fn set_needed(&mut self, needed: u32) {
        self.window.set_needed(needed);
        self.tools.set_needed(needed);
    }

    pub(crate) fn estimate(&self) -> &TokenEstimate {
        &self.estimate
    }

    pub(crate) fn tick(&mut self, now: Stamp, cfg: &ProfileConfig, changes: &mut Vec<Change>) {
        changes.extend(
            self.window
                .tick(now, cfg)
                .map(|m| m.named(AxisName::Window)),
        );
        changes.extend(
            self.tools
                .tick(now, cfg)
                .map(|m| m.named(AxisName::ToolsInPrompt)),
        );
    }

    /// A failed turn: only a typed overflow that states its window says anything.
    pub(crate) fn refused(
        &mut self,
        obs: &Observation,
        now: Stamp,
        cfg: &ProfileConfig,
        changes: &mut Vec<Change>,
    ) {
        let Some(n) = obs.error.as_ref().and_then(figures::window_told) else {
            return;
        };
        let words = format!("the server refused and stated a window of {n} tokens");
        let told = ServedWindow::About(n);
        let moved = match *self.window.value() {
            // A lower bound is not contradicted by a figure.
            ServedWindow::AtLeast(_) => self.window.force(told, &words, now, cfg),
            ServedWindow::About(held) if near(held, n) => {
                self.window.refine(told);
                self.window.see(told, &words, now, cfg)
            }
            _ => self.window.told(self.snapped(told), &words, now, cfg),
        };
        changes.extend(moved.map(|m| m.named(AxisName::Window)));
    }

    /// An answered turn.
    pub(crate) fn answered(
        &mut self,
        obs: &Observation,
        now: Stamp,
        cfg: &ProfileConfig,
        changes: &mut Vec<Change>,
    ) {
        let native = matches!(tools_seen(obs), Some((ToolChannel::Structured, _)));
        let Some(tokens) = obs.usage.prompt_tokens.filter(|t| *t > 0) else {
            if native {
                self.see_tools(ToolsInPrompt::Kept, CALLED, now, cfg, changes);
            }
            return;
        };
        let all = obs.request.prompt_chars.min(MOST);
        let tools = if obs.request.tools > 0 {
            obs.request.tools_chars.min(all)
        } else {
            0
        };
        let sample = Sample {
            text: all - tools,
            tools,
            tokens: tokens.min(MOST),
        };
        if native {
            self.see_tools(ToolsInPrompt::Kept, CALLED, now, cfg, changes);
        } else if let Some((value, words)) = self.judge_tools(sample) {
            self.see_tools(value, &words, now, cfg, changes);
        }
        self.judge_window(obs, sample, now, cfg, changes);
        if sample.tools == 0 && sample.text > 0 {
            self.bare.retain(|b| b.text != sample.text);
            if self.bare.len() >= BARE {
                self.bare.pop_front();
            }
            self.bare.push_back(sample);
        }
        self.last = Some(sample);
    }

    fn see_tools(
        &mut self,
        value: ToolsInPrompt,
        words: &str,
        now: Stamp,
        cfg: &ProfileConfig,
        changes: &mut Vec<Change>,
    ) {
        let moved = self.tools.see(value, words, now, cfg);
        changes.extend(moved.map(|m| m.named(AxisName::ToolsInPrompt)));
    }

    fn judge_tools(&self, s: Sample) -> Option<(ToolsInPrompt, String)> {
        if s.tools < TOOLS_CHARS || s.text == 0 {
            return None;
        }
        if let Some(bare) = self.bare.iter().min_by_key(|b| b.text.abs_diff(s.text)) {
            // What the messages alone can have cost: the turn that had nothing else, and the
            // difference in text at its cheapest and at its dearest.
            let more = s.text as f64 - bare.text as f64;
            let (cheap, dear) = (1.0 / MOST_CHARS_PER_TOKEN, MOST_TOKENS_PER_CHAR);
            let (low, high) = if more >= 0.0 {
                (more * cheap, more * dear)
            } else {
                (more * dear, more * cheap)
            };
            let tokens = s.tokens as f64;
            let least = s.tools as f64 / LEANEST_TOOLS;
            let base = bare.tokens as f64;
            let figures = format!(
                "{} prompt tokens with {} characters of tools, {} for {} characters of messages without",
                s.tokens, s.tools, bare.tokens, bare.text
            );
            return if tokens >= base + high + least {
                Some((ToolsInPrompt::Kept, figures))
            } else if tokens < (base + low).max(0.0) + least / 2.0 {
                Some((ToolsInPrompt::Dropped, figures))
            } else {
                None
            };
        }
        // Never a turn without tools: the messages must explain the count, the whole must not, and
        // the count must have grown with the messages (else it is a window that cuts).
        let last = self.last.filter(|l| l.tools == s.tools && l.text > 0)?;
        let ratio = |x: Sample| x.text as f64 / x.tokens as f64;
        let whole = (s.text + s.tools) as f64 / s.tokens as f64;
        let grown = s.text >= last.text + last.text / 8;
        let steady = (ratio(s) / ratio(last) - 1.0).abs() < 0.15;
        let dropped = whole > MOST_CHARS_PER_TOKEN + 1.0
            && (1.0..MOST_CHARS_PER_TOKEN).contains(&ratio(s))
            && grown
            && steady;
        dropped.then(|| {
            let words = format!(
                "{} prompt tokens for {} characters of messages and {} of tools: the messages alone",
                s.tokens, s.text, s.tools
            );
            (ToolsInPrompt::Dropped, words)
        })
    }

    fn judge_window(
        &mut self,
        obs: &Observation,
        s: Sample,
        now: Stamp,
        cfg: &ProfileConfig,
        changes: &mut Vec<Change>,
    ) {
        let tools = match *self.tools.value() {
            ToolsInPrompt::Dropped => 0,
            _ => s.tools,
        };
        let chars = s.text + tools;
        if chars == 0 {
            return;
        }
        let ratio = chars as f64 / s.tokens as f64;
        let expected = self.estimate.tokens(chars);
        // With tools whose fate is unknown, a low count has two explanations and so is none.
        let clear = tools == 0 || *self.tools.value() == ToolsInPrompt::Kept;
        let far = self.estimate.is_calibrated() && (s.tokens as f64) < FAR * expected as f64;
        let cut = far && clear && ratio > MOST_CHARS_PER_TOKEN && chars >= LONG_CHARS;
        let flat = self.last.is_some_and(|l| {
            l.tools == s.tools
                && l.text >= LONG_CHARS
                && s.text >= l.text + l.text / 4
                && s.tokens.abs_diff(l.tokens) <= l.tokens / 50 + 8
        });
        let (seen, words) = if flat {
            let words = format!(
                "prompt tokens stopped growing at {} while the messages grew to {} characters",
                s.tokens, s.text
            );
            let most = self.last.map_or(s.tokens, |l| l.tokens.max(s.tokens));
            (ServedWindow::About(most), words)
        } else if cut {
            let words = format!("{} prompt tokens where {expected} were expected", s.tokens);
            (ServedWindow::About(s.tokens), words)
        } else {
            // The tools may not be in the count: then only a ratio that text alone has counts.
            let whole = clear || ratio <= 6.0;
            if whole && ratio <= MOST_CHARS_PER_TOKEN && chars >= CALIBRATING_CHARS {
                self.estimate.calibrate(chars, s.tokens);
            }
            let served = s.tokens + obs.usage.completion_tokens.unwrap_or(0).min(MOST);
            match *self.window.value() {
                // Whatever fits into a window says nothing more about it.
                ServedWindow::About(n) if served <= n + n / SAME => return,
                _ => {}
            }
            let words = format!("{served} tokens served in one turn");
            (ServedWindow::AtLeast(served), words)
        };
        let snapped = self.snapped(seen);
        let moved = self.window.see(snapped, &words, now, cfg);
        changes.extend(moved.map(|m| m.named(AxisName::Window)));
        // The same window, seen larger.
        match (*self.window.value(), seen) {
            (ServedWindow::About(a), ServedWindow::About(b)) if near(a, b) && b > a => {
                self.window.refine(seen);
            }
            (ServedWindow::AtLeast(a), ServedWindow::AtLeast(b)) if b > a => {
                self.window.refine(seen);
            }
            _ => {}
        }
    }

    /// The held or pending value where `seen` is the same window, measured a little otherwise.
    fn snapped(&self, seen: ServedWindow) -> ServedWindow {
        let same = |a: &ServedWindow| match (*a, seen) {
            (ServedWindow::About(a), ServedWindow::About(b)) => near(a, b),
            (ServedWindow::AtLeast(_), ServedWindow::AtLeast(_)) => true,
            _ => false,
        };
        if same(self.window.value()) {
            return *self.window.value();
        }
        match self.window.pending() {
            Some((p, _)) if same(p) => *p,
            _ => seen,
        }
    }
}

/// What a call in the structured channel says about the tools.
const CALLED: &str = "a declared tool was called in the structured channel";

fn near(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= a.max(b) / SAME
}

//! Habits of the stream: how a turn is cut into chunks, events and bytes.

use serde::Deserialize;

use crate::overlay::section;

/// `index` of a tool-call delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexHabit {
    /// 0, 1, 2 …
    #[default]
    Right,
    /// No key.
    Missing,
    /// Always 0.
    Zero,
    /// All calls open in one chunk, each with index 0.
    Duplicated,
    /// Counts from 1.
    FromOne,
}

/// `id` of a tool-call delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdHabit {
    /// In the first delta of a call.
    #[default]
    Once,
    /// In every delta.
    Repeated,
    /// In the first delta; `null` in later ones.
    ThenNull,
    /// In the first delta; `""` in later ones.
    ThenEmpty,
}

/// `name` of a tool-call delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameHabit {
    /// In the first delta of a call.
    #[default]
    Once,
    /// In every delta.
    Repeated,
    /// In two pieces.
    Pieces,
}

/// The first delta of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstDelta {
    /// `{"role":"assistant","content":""}`.
    #[default]
    Empty,
    /// `{"role":"assistant","content":null}`.
    Null,
    /// `{"role":"assistant"}`.
    Role,
    /// No such chunk: the role comes with the first text.
    Merged,
}

/// The end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnd {
    /// LF.
    #[default]
    Lf,
    /// CR LF.
    Crlf,
    /// CR.
    Cr,
    /// Each in turn.
    Mixed,
}

impl LineEnd {
    /// The bytes of the `n`-th line end.
    pub fn bytes(self, n: usize) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Crlf => b"\r\n",
            Self::Cr => b"\r",
            Self::Mixed => [&b"\n"[..], b"\r\n", b"\r"][n % 3],
        }
    }
}

/// The end mark of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// `[DONE]`.
    #[default]
    Once,
    /// None.
    Missing,
    /// Two.
    Twice,
}

section! {
    /// `[stream]`: habits of the stream.
    Habits {
        /// Characters of text in one delta. Default 12.
        piece: u64,
        /// Bytes of `arguments` in one delta (cut between characters). Default 12; 0: all in one.
        argument_piece: u64,
        /// A whole call in one delta.
        whole_calls: bool,
        /// Deltas of parallel calls take turns instead of following one another.
        interleaved: bool,
        /// `index` of call deltas.
        index: IndexHabit,
        /// `id` of call deltas.
        id: IdHabit,
        /// `name` of call deltas.
        name: NameHabit,
        /// The first delta.
        first: FirstDelta,
        /// The terminal reason comes on the last delta, not in a chunk of its own.
        finish_on_last: bool,
        /// No chunk carries a terminal reason.
        no_finish: bool,
        /// `finish_reason` is left out of the chunks before the last, instead of being null.
        bare_choices: bool,
        /// Line ends.
        line_end: LineEnd,
        /// A byte-order mark starts the stream.
        bom: bool,
        /// `data:` without a space.
        no_space: bool,
        /// Each event carries an `id:` line.
        id_lines: bool,
        /// The first event carries a `retry:` line.
        retry_line: bool,
        /// Each event carries an `event:` line with this word.
        event_name: String,
        /// A comment stands before every n-th event.
        comment_every: u64,
        /// Each chunk is spread over several `data:` lines.
        multi_line: bool,
        /// The end mark.
        done: Done,
        /// The last event ends without a blank line.
        no_last_blank: bool,
        /// Bytes per write to the socket, cutting through events and characters; unset: one event per write.
        write_bytes: u64,
        /// Everything in as few writes as possible.
        coalesce: bool,
        /// Time between writes of `write_bytes`, ms. Default 0 (the task yields between them).
        write_gap_ms: u64,
        /// Time between events, ms. Default 0.
        delay_ms: u64,
        /// Time before the first event, ms. Default 0.
        first_token_ms: u64,
        /// Time before the answer's headers, ms. Default 0.
        headers_ms: u64,
        /// The answer is a whole body although a stream was asked for.
        ignores_stream: bool,
        /// Unknown keys in each chunk, to see that they survive.
        extra_keys: bool,
    }
}

/// When a stream reports usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageReport {
    /// When `stream_options.include_usage` asks for it; whole bodies always.
    #[default]
    Asked,
    /// Always.
    Always,
    /// Never, whole bodies included.
    Never,
}

/// Where a stream reports usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsagePlace {
    /// In a last chunk with `choices: []`.
    #[default]
    Last,
    /// On the chunk with the terminal reason.
    Finish,
    /// Counting up on every chunk.
    Every,
}

section! {
    /// `[usage]`: how usage is reported.
    UsageHabits {
        /// When.
        report: UsageReport,
        /// Where, in a stream.
        place: UsagePlace,
        /// Earlier chunks carry `usage: null`.
        null_before: bool,
        /// `prompt_tokens` is left out.
        no_prompt_tokens: bool,
        /// Private keys are added (`x_timings`).
        extra: bool,
    }
}

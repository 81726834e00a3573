//! Chunks as server-sent events, with every freedom that the format gives a server.

use serde_json::Value;

use crate::habits::{Done, Habits};

/// Writes events in one server's manner.
#[derive(Debug)]
pub struct Writer<'a> {
    habits: &'a Habits,
    line: usize,
    event: u64,
}

impl<'a> Writer<'a> {
    /// A writer with these habits.
    pub fn new(habits: &'a Habits) -> Self {
        Self {
            habits,
            line: 0,
            event: 0,
        }
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.habits.line_end.unwrap_or_default().bytes(self.line));
        self.line += 1;
    }

    fn field(&mut self, out: &mut Vec<u8>, name: &str, value: &str) {
        out.extend_from_slice(name.as_bytes());
        out.push(b':');
        if !self.habits.no_space.unwrap_or(false) {
            out.push(b' ');
        }
        out.extend_from_slice(value.as_bytes());
        self.end_line(out);
    }

    /// One event of a chunk.
    pub fn chunk(&mut self, v: &Value) -> Vec<u8> {
        if self.habits.multi_line.unwrap_or(false) {
            let pretty = serde_json::to_string_pretty(v).unwrap_or_default();
            self.data(&pretty)
        } else {
            self.data(&v.to_string())
        }
    }

    /// One event of any data; a line break in it starts another `data:` line.
    pub fn data(&mut self, data: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len() + 16);
        let h = self.habits;
        if self.event == 0 {
            if h.bom.unwrap_or(false) {
                out.extend_from_slice("\u{feff}".as_bytes());
            }
            if h.retry_line.unwrap_or(false) {
                self.field(&mut out, "retry", "3000");
            }
        }
        if h.comment_every
            .is_some_and(|n| n > 0 && self.event.is_multiple_of(n))
        {
            out.extend_from_slice(b": keepalive");
            self.end_line(&mut out);
            self.end_line(&mut out);
        }
        if let Some(name) = h.event_name.as_deref() {
            self.field(&mut out, "event", name);
        }
        if h.id_lines.unwrap_or(false) {
            let id = self.event.to_string();
            self.field(&mut out, "id", &id);
        }
        for line in data.split('\n') {
            self.field(&mut out, "data", line);
        }
        self.end_line(&mut out);
        self.event += 1;
        out
    }

    /// The end of a clean stream.
    pub fn done(&mut self) -> Vec<Vec<u8>> {
        let n = match self.habits.done.unwrap_or_default() {
            Done::Once => 1,
            Done::Missing => 0,
            Done::Twice => 2,
        };
        (0..n).map(|_| self.data("[DONE]")).collect()
    }

    /// Takes the blank line off the last event.
    pub fn without_last_blank(&self, events: &mut [Vec<u8>]) {
        if let Some(last) = events.last_mut() {
            let end = match last.as_slice() {
                [.., b'\r', b'\n'] => 2,
                [.., b'\n' | b'\r'] => 1,
                _ => 0,
            };
            last.truncate(last.len() - end);
        }
    }
}

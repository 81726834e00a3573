//! An append-only file of lines with rotation, whole again after kill -9 at any byte.
//!
//! A line is one `write`. What a crash tore is the last line at most: on the next start it is
//! completed when it is whole JSON without its line feed, and cut off when it is not.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Lines in `dir/stem.jsonl`, older ones in `dir/stem-NNNNNN.jsonl`.
#[derive(Debug)]
pub struct AppendLog {
    dir: PathBuf,
    stem: &'static str,
    file: File,
    size: u64,
    next: u64,
    file_bytes: u64,
    keep: Keep,
}

/// How much is kept besides the current file.
#[derive(Debug, Clone, Copy)]
pub enum Keep {
    /// So many older files.
    Files(usize),
    /// So many bytes over all files.
    Bytes(u64),
}

impl AppendLog {
    /// Opens or makes the log, repairing a torn end.
    ///
    /// # Errors
    /// The system's, when the folder or file cannot be had.
    pub fn open(dir: &Path, stem: &'static str, file_bytes: u64, keep: Keep) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let path = current(dir, stem);
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)?;
        let size = repair(&mut file)?;
        let next = older(dir, stem).last().map_or(1, |(n, _)| n + 1);
        Ok(Self {
            dir: dir.to_owned(),
            stem,
            file,
            size,
            next,
            file_bytes: file_bytes.max(1024),
            keep,
        })
    }

    /// Appends whole lines (each ending in a line feed) with one write.
    ///
    /// # Errors
    /// The system's. A line that was written in part is cut off again.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        debug_assert!(lines.ends_with(b"\n"));
        if self.size > 0 && self.size + lines.len() as u64 > self.file_bytes {
            self.rotate()?;
        }
        if let Err(e) = self.file.write_all(lines) {
            // A full disk: leave no half line for the next writer to append to.
            self.file.set_len(self.size).ok();
            return Err(e);
        }
        self.size += lines.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let old = self
            .dir
            .join(format!("{}-{:06}.jsonl", self.stem, self.next));
        let path = current(&self.dir, self.stem);
        std::fs::rename(&path, &old)?;
        self.next += 1;
        self.file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)?;
        self.size = 0;
        self.prune();
        Ok(())
    }

    fn prune(&self) {
        let files = older(&self.dir, self.stem);
        let drop_to = match self.keep {
            Keep::Files(n) => files.len().saturating_sub(n),
            Keep::Bytes(budget) => {
                let mut left = budget.saturating_sub(self.file_bytes);
                let mut kept = 0;
                for (_, path) in files.iter().rev() {
                    let size = std::fs::metadata(path).map_or(0, |m| m.len());
                    if size > left {
                        break;
                    }
                    left -= size;
                    kept += 1;
                }
                files.len() - kept
            }
        };
        for (_, path) in &files[..drop_to] {
            std::fs::remove_file(path).ok();
        }
    }
}

fn current(dir: &Path, stem: &str) -> PathBuf {
    dir.join(format!("{stem}.jsonl"))
}

/// Older files with their numbers, oldest first.
fn older(dir: &Path, stem: &str) -> Vec<(u64, PathBuf)> {
    let mut out: Vec<(u64, PathBuf)> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|e| {
            let name = e.file_name().into_string().ok()?;
            let n = name
                .strip_prefix(stem)?
                .strip_prefix('-')?
                .strip_suffix(".jsonl")?
                .parse()
                .ok()?;
            Some((n, e.path()))
        })
        .collect();
    out.sort();
    out
}

/// All files of a log, oldest first, the current one last.
pub fn files(dir: &Path, stem: &str) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = older(dir, stem).into_iter().map(|(_, p)| p).collect();
    let now = current(dir, stem);
    if now.is_file() {
        out.push(now);
    }
    out
}

/// Completes or cuts off a torn last line; returns the length.
fn repair(file: &mut File) -> io::Result<u64> {
    let len = file.metadata()?.len();
    let mut start = len;
    let mut tail: Vec<u8> = Vec::new();
    // Reads back in blocks until a line feed or the start: a capture line can be long.
    while start > 0 {
        let step = start.min(64 << 10);
        start -= step;
        let mut block = vec![0; step as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut block)?;
        let newline = block.iter().rposition(|&b| b == b'\n');
        if let Some(at) = newline {
            let mut rest = block.split_off(at + 1);
            rest.append(&mut tail);
            tail = rest;
            break;
        }
        block.append(&mut tail);
        tail = block;
    }
    if tail.is_empty() {
        return Ok(len);
    }
    if serde_json::from_slice::<serde::de::IgnoredAny>(&tail).is_ok() && tail.ends_with(b"}") {
        file.write_all(b"\n")?;
        return Ok(len + 1);
    }
    let whole = len - tail.len() as u64;
    file.set_len(whole)?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "{\"a\":1}\n{\"b\":\"\\u00e9\"}\n{\"c\":[1,2]}\n";

    #[test]
    fn a_log_cut_at_any_byte_is_whole_again() {
        for cut in 0..=LINES.len() {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("t.jsonl"), &LINES[..cut]).unwrap();
            let mut log = AppendLog::open(dir.path(), "t", 1 << 20, Keep::Files(2)).unwrap();
            log.append(b"{\"new\":true}\n").unwrap();
            let text = std::fs::read_to_string(dir.path().join("t.jsonl")).unwrap();
            let mut n = 0;
            for line in text.lines() {
                serde_json::from_str::<serde_json::Value>(line)
                    .unwrap_or_else(|e| panic!("cut at {cut}: {line:?}: {e}"));
                n += 1;
            }
            let complete = LINES[..cut].matches('\n').count();
            assert!(n > complete, "cut at {cut} lost a complete line");
            assert!(text.ends_with("{\"new\":true}\n"));
        }
    }

    #[test]
    fn it_rotates_and_keeps_to_its_budget() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = AppendLog::open(dir.path(), "t", 1024, Keep::Bytes(4096)).unwrap();
        let line = format!("{{\"x\":\"{}\"}}\n", "y".repeat(300));
        for _ in 0..60 {
            log.append(line.as_bytes()).unwrap();
        }
        let all = files(dir.path(), "t");
        let total: u64 = all.iter().map(|p| p.metadata().unwrap().len()).sum();
        assert!(total <= 4096 && all.len() > 2, "{total} in {}", all.len());
        drop(log);
        let mut log = AppendLog::open(dir.path(), "t", 1024, Keep::Files(1)).unwrap();
        for _ in 0..9 {
            log.append(line.as_bytes()).unwrap();
        }
        assert_eq!(files(dir.path(), "t").len(), 2);
    }
}

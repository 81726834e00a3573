//! Runs the binary in a folder of its own and takes down what a person would see.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use kilter_core::{Clock, SystemClock};
use tempfile::TempDir;

/// A folder with nothing of the machine in it: no configuration, no state, no colour.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kilter"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// Exit code, standard output and standard error as one text, with what varies replaced.
    pub(crate) fn transcript(&self, args: &[&str]) -> String {
        self.show(&self.run(args))
    }

    pub(crate) fn show(&self, output: &Output) -> String {
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec())
                .unwrap()
                .replace(&self.path().display().to_string(), "[DIR]")
        };
        format!(
            "exit: {}\n----- stdout\n{}----- stderr\n{}",
            output
                .status
                .code()
                .map_or("signal".to_owned(), |c| c.to_string()),
            text(&output.stdout),
            text(&output.stderr)
        )
    }

    /// A command that runs until it is killed; its first line of output, as JSON.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        let mut child = self.command(args).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        match serde_json::from_str(&line) {
            Ok(first) => Running { child, first },
            Err(e) => {
                let _ = child.kill();
                let output = child.wait_with_output().unwrap();
                panic!(
                    "{args:?} began with {line:?}: {e}\n{}",
                    String::from_utf8_lossy(&output.stderr)
                )
            }
        }
    }
}

/// A running command; killed when dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) first: serde_json::Value,
}

impl Running {
    pub(crate) fn url(&self) -> String {
        self.first["url"].as_str().unwrap().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long something takes.
pub(crate) struct Watch {
    clock: SystemClock,
    from: Duration,
}

impl Watch {
    pub(crate) fn start() -> Self {
        let clock = SystemClock::default();
        let from = clock.elapsed();
        Self { clock, from }
    }

    pub(crate) fn gone(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.from)
    }
}

//! The process that reads PDFs: this program again, with bounds on time and memory.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::{PdfError, PdfText};
use crate::failure::{Failure, FailureCode};

/// How to start the process, and its bounds.
#[derive(Debug, Clone)]
pub struct PdfChild {
    /// The program.
    pub program: PathBuf,
    /// Its arguments; with them it must call [`serve`] and nothing else.
    pub arguments: Vec<OsString>,
    /// How long it may run.
    pub time: Duration,
    /// Address space in KiB. Where the system has no `ulimit` the bound does not hold, and the other ones do.
    pub memory_kib: u64,
}

/// What it may answer.
const LONGEST_ANSWER: u64 = 32 << 20;

impl PdfChild {
    /// A child with the usual bounds: 20 seconds, 512 MiB.
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> Self {
        Self {
            program,
            arguments,
            time: Duration::from_secs(20),
            memory_kib: 512 << 10,
        }
    }

    fn command(&self) -> Command {
        if cfg!(unix) {
            let mut command = Command::new("/bin/sh");
            command
                .arg("-c")
                .arg(format!(
                    "ulimit -v {} 2>/dev/null; exec \"$0\" \"$@\"",
                    self.memory_kib
                ))
                .arg(&self.program)
                .args(&self.arguments);
            command
        } else {
            let mut command = Command::new(&self.program);
            command.args(&self.arguments);
            command
        }
    }

    /// Reads a document in the process.
    ///
    /// # Errors
    /// `timeout`, `extraction_failed`, `thin_extract` for a document of pictures.
    pub async fn read(&self, bytes: &[u8]) -> Result<PdfText, Failure> {
        let failed = |why: String| {
            Failure::new(
                FailureCode::ExtractionFailed,
                format!(
                    "the PDF could not be read: {why}\nhint: the file may be broken or need a password"
                ),
            )
        };
        let mut child = self
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| failed(format!("its process does not start: {e}")))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("its process has no pipes".into()));
        };
        let exchange = async {
            let mut answer = Vec::new();
            let mut stdout = stdout.take(LONGEST_ANSWER);
            let listen = async {
                stdout.read_to_end(&mut answer).await?;
                // A child that still writes is told that nobody listens.
                drop(stdout);
                child.wait().await
            };
            let send = async {
                // A child that ends early, or never reads, says why by its status.
                let _ = stdin.write_all(bytes).await;
                drop(stdin);
                std::future::pending::<()>().await;
            };
            let status = tokio::select! {
                status = listen => status?,
                () = send => return Err(std::io::ErrorKind::BrokenPipe.into()),
            };
            Ok::<_, std::io::Error>((status, answer))
        };
        let (status, answer) = match timeout(self.time, exchange).await {
            Ok(done) => done.map_err(|e| failed(e.to_string()))?,
            Err(_) => {
                return Err(Failure::new(
                    FailureCode::Timeout,
                    format!(
                        "the PDF was not read within {:?}\nhint: the file may be made to keep readers busy",
                        self.time
                    ),
                ));
            }
        };
        if !status.success() {
            let said = String::from_utf8_lossy(&answer);
            let why = said.trim().lines().next().filter(|l| !l.is_empty());
            return Err(failed(why.map_or_else(
                || format!("its process ended with {status}"),
                str::to_owned,
            )));
        }
        let text: PdfText = serde_json::from_slice(&answer)
            .map_err(|e| failed(format!("its process answered badly: {e}")))?;
        if text.paragraphs.is_empty() {
            return Err(Failure::new(
                FailureCode::ThinExtract,
                format!("the PDF holds {} pages and no text\nhint: they are pictures; text recognition is not done here", text.pages),
            )
            .then("stop", "the pages are pictures"));
        }
        Ok(text)
    }
}

/// The child's side: a document on standard input, its text as JSON on standard output. Returns the exit code.
pub fn serve(input: &mut dyn Read, output: &mut dyn Write) -> u8 {
    let mut bytes = Vec::new();
    let read = match input.read_to_end(&mut bytes) {
        Ok(_) => super::read(&bytes),
        Err(e) => Err(PdfError::Broken(e.to_string())),
    };
    let (line, code) = match read {
        Ok(text) => match serde_json::to_string(&text) {
            Ok(json) => (json, 0),
            Err(e) => (e.to_string(), 1),
        },
        Err(e) => (e.to_string(), 1),
    };
    match output
        .write_all(line.as_bytes())
        .and_then(|()| output.flush())
    {
        Ok(()) => code,
        Err(_) => 1,
    }
}

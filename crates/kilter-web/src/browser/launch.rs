//! Starts a browser that can reach nothing by itself.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::cdp::Cdp;
use crate::failure::{Failure, FailureCode};

/// How a browser is started. What is turned off here speaks to hosts that no page asked for, or speaks past a proxy.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-startup-window",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-translate",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-dev-shm-usage",
    "--disable-prompt-on-repost",
    "--disable-hang-monitor",
    "--disable-quic",
    "--metrics-recording-only",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
    "--no-service-autorun",
    "--disable-features=PreconnectToSearch,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,InterestFeedContentSuggestions,CertificateTransparencyComponentUpdater,Translate,AsyncDns,DnsOverHttps",
    // The default search engine is warmed up for every page; no page asked for that.
    "--google-base-url=http://127.0.0.1:9",
    // UDP goes past a proxy: none of it.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    // Every read has a proxy of its own. What is outside a read meets a port where nobody listens, and no name resolves.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
];

/// A running browser. Dropping it ends it and deletes its profile.
pub(crate) struct Running {
    pub(crate) cdp: Cdp,
    child: Child,
    profile: Option<TempDir>,
}

/// How often, and how long apart, the profile of a browser that was ended is looked at. Its processes write to the
/// folder for some milliseconds after the first of them is gone.
const LOOKS: u32 = 40;
const APART: Duration = Duration::from_millis(20);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.start_kill();
        let Some(profile) = self.profile.take() else {
            return;
        };
        let folder = profile.keep();
        // Gone twice in a row is gone.
        let mut gone = 0;
        for _ in 0..LOOKS {
            let ended = !matches!(self.child.try_wait(), Ok(None));
            let _ = std::fs::remove_dir_all(&folder);
            gone = if ended && !folder.exists() {
                gone + 1
            } else {
                0
            };
            if gone > 1 {
                return;
            }
            std::thread::sleep(APART);
        }
    }
}

/// Longest path of a profile below which Chromium's own folders still have room for the name of a socket (108 bytes on
/// Linux, 104 on macOS, of which it takes some 45).
const LONGEST_FOLDER: usize = 58;

/// How long a browser may take to start.
const START: Duration = Duration::from_secs(20);

/// Starts a browser.
pub(crate) async fn launch(program: &Path, flags: &[String]) -> Result<Running, Failure> {
    let failed = |why: String| {
        Failure::new(
            FailureCode::BrowserRequired,
            format!(
                "the browser `{}` does not start: {why}\nhint: run it by hand with `--headless --version`, or name another in `{}`",
                program.display(),
                super::find::VARIABLE
            ),
        )
    };
    let profile = tempfile::Builder::new()
        .prefix("kilter-browser-")
        .tempdir()
        .map_err(|e| failed(format!("no folder for its profile: {e}")))?;
    let mut command = command(program);
    command
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(FLAGS)
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    if profile.path().as_os_str().len() < LONGEST_FOLDER {
        // What it puts beside its profile goes with it.
        command.env("TMPDIR", profile.path());
    }
    if is_root() {
        // Chromium refuses its sandbox for root.
        command.arg("--no-sandbox");
    }
    let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed("it has no pipes".into()));
    };
    let cdp = Cdp::new(stdout, stdin);
    cdp.call(None, "Browser.getVersion", json!({}), START)
        .await
        .map_err(|e| failed(e.to_string()))?;
    Ok(Running {
        cdp,
        child,
        profile: Some(profile),
    })
}

/// The browser reads commands from descriptor 3 and answers on 4; a shell moves our pipes there.
fn command(program: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg("exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1")
        .arg(program);
    command
}

fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|s| {
        s.lines()
            .find_map(|l| l.strip_prefix("Uid:"))
            .and_then(|l| l.split_whitespace().nth(1))
            .is_some_and(|uid| uid == "0")
    })
}

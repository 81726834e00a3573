//! Ctrl-C and SIGTERM as one future, SIGHUP as another.
//!
//! Both listen from the call on, not from the first poll: a signal that comes in between would take
//! its default, which is the end of the process.

use std::future::Future;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ends when the process is asked to stop.
pub(crate) fn stop() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let both = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    async move {
        #[cfg(unix)]
        if let (Ok(mut interrupt), Ok(mut terminate)) = both {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// Requests to read the configuration again (SIGHUP); there are none elsewhere.
pub(crate) struct Reloads {
    #[cfg(unix)]
    hangup: Option<Signal>,
}

impl Reloads {
    /// Listens from now on.
    pub(crate) fn listen() -> Self {
        Self {
            #[cfg(unix)]
            hangup: signal(SignalKind::hangup()).ok(),
        }
    }

    /// Ends with the next one.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(hangup) = &mut self.hangup
            && hangup.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

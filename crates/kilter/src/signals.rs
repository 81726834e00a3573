//! Ctrl-C and SIGTERM as one future, SIGHUP as another.

/// Ends when the process is asked to stop.
pub(crate) async fn stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = term.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Ends when the process is asked to read its configuration again (SIGHUP); never elsewhere.
pub(crate) async fn reload() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut hangup) = signal(SignalKind::hangup())
            && hangup.recv().await.is_some()
        {
            return;
        }
    }
    std::future::pending::<()>().await;
}

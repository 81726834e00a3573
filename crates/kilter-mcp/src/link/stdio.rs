//! One client on standard input and output.

use std::sync::Arc;

use rmcp::transport::io::stdio_pipes;
use rmcp::{ServerHandler, serve_server};
use tokio::io::{AsyncRead, AsyncWrite};

use super::handler::Handler;
use crate::server::Server;

/// Why a client on standard input was not served.
#[derive(Debug, thiserror::Error)]
#[error(
    "the client ended before it began to speak the protocol: {0}\nhint: a client that speaks MCP starts this command"
)]
pub struct StdioError(String);

/// Serves the client until it closes its side.
///
/// # Errors
/// When the connection ends before the protocol began.
pub async fn serve(server: &Arc<Server>) -> Result<(), StdioError> {
    let (input, output) = stdio_pipes();
    serve_over(
        Handler::new(server.clone(), server.config().surface),
        input,
        output,
    )
    .await
}

/// Serves one client over any pair of streams.
///
/// # Errors
/// When the connection ends before the protocol began.
pub async fn serve_over<H, R, W>(handler: H, input: R, output: W) -> Result<(), StdioError>
where
    H: ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let running = serve_server(handler, (input, output))
        .await
        .map_err(|e| StdioError(e.to_string()))?;
    let _ = running.waiting().await;
    Ok(())
}

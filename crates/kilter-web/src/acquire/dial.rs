//! From a judged target to a byte stream: look up, judge all answers, connect to those and nothing else, TLS.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::address::{AddressPolicy, Pinned, Target};
use crate::failure::{Failure, FailureCode};

/// A stream to a server, plain or encrypted.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Addresses of a name, to be judged by the caller.
pub type Answers = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Where the addresses of names come from.
pub trait Resolve: Send + Sync {
    /// All addresses of `host`.
    fn resolve(&self, host: &str) -> Answers;
}

/// The machine's own resolver.
#[derive(Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> Answers {
        let host = host.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let mut answers: Vec<IpAddr> = Vec::new();
            for address in found {
                if !answers.contains(&address.ip()) {
                    answers.push(address.ip());
                }
            }
            Ok(answers)
        })
    }
}

/// Looks a target up and judges all answers: the one way from a URL to addresses, for pages and for the browser's proxy.
///
/// # Errors
/// `dns_error` when the name has no address, `private_url_blocked` when one of them is private.
pub async fn pin(
    policy: &AddressPolicy,
    resolver: &dyn Resolve,
    target: &Target,
) -> Result<Pinned, Failure> {
    let answers = match target.literal() {
        Some(_) => Vec::new(),
        None => resolver.resolve(target.host()).await.map_err(|e| {
            Failure::new(
                FailureCode::DnsError,
                format!(
                    "`{}` could not be looked up: {e}\nhint: check the spelling and the network",
                    target.host()
                ),
            )
        })?,
    };
    Ok(policy.judge_answers(target, &answers)?)
}

/// Connects to the first judged address that answers.
///
/// # Errors
/// `timeout` or `network_error`, of the last address tried.
pub async fn connect(pinned: &Pinned, limit: Duration) -> Result<TcpStream, Failure> {
    let addresses = pinned.addresses();
    let mut last = None;
    for (i, address) in addresses.iter().enumerate() {
        // An address that swallows packets must leave time for the next one.
        let share = if i + 1 < addresses.len() {
            limit / 3
        } else {
            limit
        };
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(e)) => {
                last = Some(Failure::new(
                    FailureCode::NetworkError,
                    format!(
                        "{address} does not take connections: {e}\nhint: the server may be down; try again later"
                    ),
                ));
            }
            Err(_) => {
                last = Some(Failure::new(
                    FailureCode::Timeout,
                    format!(
                        "{address} did not answer within {share:?}\nhint: the server may be down; try again later"
                    ),
                ));
            }
        }
    }
    Err(last.unwrap_or_else(|| Failure::new(FailureCode::DnsError, "no address to connect to")))
}

/// A proxy of the operator's through which all reads go. It is asked for judged addresses, never for names: what it would
/// look up itself nobody here could judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The proxy's address.
    pub address: SocketAddr,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

/// Connects to a judged address through the operator's proxy.
///
/// # Errors
/// `network_error` or `timeout`, with what the proxy said.
pub async fn connect_through(
    upstream: &Upstream,
    pinned: &Pinned,
    limit: Duration,
) -> Result<TcpStream, Failure> {
    let failed = |what: String| {
        Failure::new(
            FailureCode::NetworkError,
            format!(
                "the proxy {} {what}\nhint: check the configured proxy",
                upstream.address
            ),
        )
    };
    let Some(address) = pinned.addresses().first() else {
        return Err(Failure::new(
            FailureCode::DnsError,
            "no address to connect to",
        ));
    };
    let opened = timeout(limit, async {
        let mut stream = TcpStream::connect(upstream.address).await?;
        let mut ask = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n");
        if let Some(value) = &upstream.authorization {
            ask.push_str(&format!("Proxy-Authorization: {value}\r\n"));
        }
        ask.push_str("\r\n");
        stream.write_all(ask.as_bytes()).await?;
        let mut head = Vec::new();
        // One byte at a time: what follows the header belongs to the tunnel.
        while !head.ends_with(b"\r\n\r\n") && head.len() < 8192 {
            head.push(stream.read_u8().await?);
        }
        Ok::<_, io::Error>((stream, head))
    })
    .await;
    match opened {
        Err(_) => Err(Failure::new(
            FailureCode::Timeout,
            format!(
                "the proxy {} did not answer within {limit:?}",
                upstream.address
            ),
        )),
        Ok(Err(e)) => Err(failed(format!("broke off: {e}"))),
        Ok(Ok((stream, head))) => {
            let status = head.split(|&b| b == b' ').nth(1).unwrap_or_default();
            if status.starts_with(b"2") {
                Ok(stream)
            } else {
                let line = head.split(|&b| b == b'\r').next().unwrap_or_default();
                Err(failed(format!(
                    "refused: {}",
                    String::from_utf8_lossy(line)
                )))
            }
        }
    }
}

/// TLS settings: the machine's certificate authorities and Mozilla's, HTTP/1.1 only.
///
/// # Errors
/// A message when the crypto library refuses the protocol versions.
pub fn tls_config(
    extra_roots: &[CertificateDer<'static>],
) -> Result<Arc<rustls::ClientConfig>, rustls::Error> {
    let mut roots = rustls::RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    // A machine's store may hold certificates that the library does not read: each is optional.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(extra_roots.iter().cloned());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Encrypts a stream for the host that was asked, whatever address it is connected to.
///
/// # Errors
/// `tls_error` with the reason, `timeout`.
pub async fn encrypt(
    stream: TcpStream,
    host: &str,
    config: Arc<rustls::ClientConfig>,
    limit: Duration,
) -> Result<Box<dyn Stream>, Failure> {
    let failed = |why: String| {
        Failure::new(
            FailureCode::TlsError,
            format!(
                "the certificate or handshake of `{host}` was refused: {why}\nhint: the site must mend it; it is not read without"
            ),
        )
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|e| failed(e.to_string()))?;
    match timeout(limit, TlsConnector::from(config).connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(e)) => Err(failed(e.to_string())),
        Err(_) => Err(Failure::new(
            FailureCode::Timeout,
            format!("the handshake of `{host}` took longer than {limit:?}"),
        )),
    }
}

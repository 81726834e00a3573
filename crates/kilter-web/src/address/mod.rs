//! The address policy: which URL may be asked, and at which addresses, as a pure value.
//!
//! The order is always the same, for the first URL, every redirect, every refresh and every request of the browser:
//! parse → judge the literal host or the name → resolve → judge **all** answers → connect to the judged addresses and to
//! nothing else. A [`Pinned`] can only be made here, and connecting takes a [`Pinned`]: nothing can be looked up again
//! between the check and the connection.
//!
//! Everything is denied that the public internet cannot reach by the IANA special registries ([`range`]), and the names in
//! [`name`]. The operator's switch [`AddressPolicy::allow_private`] opens all of it; there is no parameter of a tool for
//! it. One narrow exception exists, [`OwnOrigin`]: the pages that this program itself serves.

pub mod name;
pub mod range;

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use crate::failure::{Failure, FailureCode};
pub use name::NameRule;
pub use range::Special;

/// Pages that this program serves itself: one exact origin and the paths under one prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnOrigin {
    address: SocketAddr,
    prefix: String,
}

impl OwnOrigin {
    /// Pages at `http://{address}{prefix}…`. `prefix` begins and ends with `/`; another one covers nothing.
    pub fn new(address: SocketAddr, prefix: impl Into<String>) -> Self {
        Self {
            address,
            prefix: prefix.into(),
        }
    }

    /// Whether exactly this URL is meant. The host must be the literal address: a name could point elsewhere tomorrow.
    fn covers(&self, url: &Url) -> bool {
        let host = match url.host() {
            Some(Host::Ipv4(a)) => IpAddr::V4(a),
            Some(Host::Ipv6(a)) => IpAddr::V6(a),
            _ => return false,
        };
        let path = url.path();
        // Escaped dots and slashes are one path to the parser and may be another to the server behind it.
        let lower = path.to_ascii_lowercase();
        let plain = !["%2e", "%2f", "%5c", "%00"]
            .iter()
            .any(|e| lower.contains(e));
        url.scheme() == "http"
            && url.username().is_empty()
            && url.password().is_none()
            && host == self.address.ip()
            && url.port_or_known_default() == Some(self.address.port())
            && self.prefix.len() > 1
            && self.prefix.starts_with('/')
            && self.prefix.ends_with('/')
            && path.starts_with(&self.prefix)
            && plain
    }
}

/// Why an address, a name or a URL was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not a URL, or not absolute.
    #[error("`{url}` is no absolute URL: {reason}\nhint: give the whole address, with `https://`")]
    NotAUrl {
        /// What was given, cut.
        url: String,
        /// What the parser said.
        reason: String,
    },
    /// Neither `http` nor `https`.
    #[error(
        "only `http` and `https` are read, not `{scheme}`\nhint: a local file is read with `kilter read FILE`"
    )]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// A host that no resolver should see.
    #[error("`{host}` is no host name\nhint: check the address for doubled or leading dots")]
    BadHost {
        /// The host.
        host: String,
    },
    /// A port that other protocols listen on.
    #[error(
        "port {port} belongs to another protocol than HTTP\nhint: pages are not served there; check the address"
    )]
    Port {
        /// The port.
        port: u16,
    },
    /// A name for use inside a host or a site.
    #[error("`{host}` is a private name (`{}`, {})\nhint: an operator can allow private addresses with `KILTER_ALLOW_PRIVATE_URLS=1`", rule.suffix, rule.source)]
    PrivateName {
        /// The host.
        host: String,
        /// The rule.
        rule: &'static NameRule,
    },
    /// An address that the public internet cannot reach.
    #[error("`{host}` is at {address}: {} ({}, {})\nhint: an operator can allow private addresses with `KILTER_ALLOW_PRIVATE_URLS=1`", special.name, special.range, special.source)]
    PrivateAddress {
        /// The host as asked.
        host: String,
        /// The address.
        address: IpAddr,
        /// The registry's entry.
        special: &'static Special,
    },
    /// The name has no address.
    #[error(
        "`{host}` has no address\nhint: check the spelling, or try again when the name server answers"
    )]
    NoAddress {
        /// The host.
        host: String,
    },
}

impl Refusal {
    /// The word on the wire for this refusal.
    pub fn code(&self) -> FailureCode {
        match self {
            Self::NotAUrl { .. }
            | Self::Scheme { .. }
            | Self::BadHost { .. }
            | Self::Port { .. } => FailureCode::InvalidUrl,
            Self::PrivateName { .. } | Self::PrivateAddress { .. } => {
                FailureCode::PrivateUrlBlocked
            }
            Self::NoAddress { .. } => FailureCode::DnsError,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let failure = Self::new(refusal.code(), refusal.to_string());
        match refusal.code() {
            FailureCode::PrivateUrlBlocked => {
                failure.then("stop", "the address is not on the public internet")
            }
            _ => failure,
        }
    }
}

/// A URL whose host was judged as far as its text goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    host: String,
    port: u16,
    literal: Option<IpAddr>,
    exempt: bool,
}

impl Target {
    /// The host as it goes to the resolver and into the handshake: without brackets and trailing dot.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, where the host is one in whatever notation: nothing is left to resolve.
    pub fn literal(&self) -> Option<IpAddr> {
        self.literal
    }
}

/// Reads a URL as the web does (WHATWG URL), against the page it stands in where there is one. The one way in for URLs.
///
/// # Errors
/// [`Refusal::NotAUrl`].
pub fn read_url(input: &str, base: Option<&Url>) -> Result<Url, Refusal> {
    Url::options()
        .base_url(base)
        .parse(input)
        .map_err(|e| Refusal::NotAUrl {
            url: input.chars().take(200).collect(),
            reason: e.to_string(),
        })
}

/// Addresses that were judged: the only ones a connection may be made to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    addresses: Vec<SocketAddr>,
}

impl Pinned {
    /// The addresses in the resolver's order; at least one.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

/// Which addresses may be asked. The default denies everything that is not public.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    allow_private: bool,
    own: Vec<OwnOrigin>,
}

/// Ports that browsers refuse because other protocols listen there (WHATWG Fetch, "port blocking").
const BAD_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

impl AddressPolicy {
    /// Only the public internet.
    pub fn public() -> Self {
        Self::default()
    }

    /// Private addresses too: the operator's one switch.
    #[must_use]
    pub fn allow_private(mut self) -> Self {
        self.allow_private = true;
        self
    }

    /// Adds pages that this program serves itself.
    #[must_use]
    pub fn with_own_origin(mut self, own: OwnOrigin) -> Self {
        self.own.push(own);
        self
    }

    /// Parses a URL as the web does and judges its host.
    ///
    /// # Errors
    /// Every refusal but [`Refusal::NoAddress`].
    pub fn parse(&self, url: &str) -> Result<(Url, Target), Refusal> {
        let parsed = read_url(url, None)?;
        let target = self.judge_url(&parsed)?;
        Ok((parsed, target))
    }

    /// Judges the host of a URL: the literal address in whatever notation, or the name. Before any look-up.
    ///
    /// # Errors
    /// Every refusal but [`Refusal::NoAddress`].
    pub fn judge_url(&self, url: &Url) -> Result<Target, Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme {
                scheme: url.scheme().to_owned(),
            });
        }
        let exempt = self.own.iter().any(|own| own.covers(url));
        let port = url.port_or_known_default().unwrap_or(443);
        let target = match url.host() {
            Some(Host::Ipv4(a)) => self.literal(IpAddr::V4(a), port, exempt)?,
            Some(Host::Ipv6(a)) => self.literal(IpAddr::V6(a), port, exempt)?,
            Some(Host::Domain(name)) => self.name(name, port)?,
            None => {
                return Err(Refusal::BadHost {
                    host: String::new(),
                });
            }
        };
        Ok(target)
    }

    /// Judges `host:port` or `[v6]:port`, as a proxy's client names it: the same rules, and never an own origin, because
    /// no path is known.
    ///
    /// # Errors
    /// Every refusal but [`Refusal::NoAddress`].
    pub fn judge_authority(&self, authority: &str) -> Result<Target, Refusal> {
        let not_a_url = |reason: &str| Refusal::NotAUrl {
            url: authority.chars().take(200).collect(),
            reason: reason.to_owned(),
        };
        if authority.contains(['/', '?', '#', '@', '\\']) {
            return Err(not_a_url("more than a host and a port"));
        }
        // The scheme only lends its rules for hosts; its default port is lost, so that a port must be given.
        let url =
            Url::parse(&format!("https://{authority}/")).map_err(|e| not_a_url(&e.to_string()))?;
        let has_port = authority
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
        if !has_port {
            return Err(not_a_url("no port"));
        }
        let strict = Self {
            allow_private: self.allow_private,
            own: Vec::new(),
        };
        strict.judge_url(&url)
    }

    fn literal(&self, address: IpAddr, port: u16, exempt: bool) -> Result<Target, Refusal> {
        let host = address.to_string();
        if !exempt
            && !self.allow_private
            && let Some(special) = range::special(address)
        {
            return Err(Refusal::PrivateAddress {
                host,
                address,
                special,
            });
        }
        self.port(port, exempt)?;
        Ok(Target {
            host,
            port,
            literal: Some(address),
            exempt,
        })
    }

    fn name(&self, name: &str, port: u16) -> Result<Target, Refusal> {
        let host = name.strip_suffix('.').unwrap_or(name);
        let fits = !host.is_empty()
            && host.len() <= 253
            && host
                .split('.')
                .all(|label| !label.is_empty() && label.len() <= 63);
        if !fits {
            return Err(Refusal::BadHost {
                host: name.to_owned(),
            });
        }
        if !self.allow_private
            && let Some(rule) = name::denied(host)
        {
            return Err(Refusal::PrivateName {
                host: host.to_owned(),
                rule,
            });
        }
        self.port(port, false)?;
        Ok(Target {
            host: host.to_owned(),
            port,
            literal: None,
            exempt: false,
        })
    }

    fn port(&self, port: u16, exempt: bool) -> Result<(), Refusal> {
        if !exempt && BAD_PORTS.contains(&port) {
            return Err(Refusal::Port { port });
        }
        Ok(())
    }

    /// Judges what the resolver answered. One private answer refuses the name: a mixed answer is how rebinding looks.
    ///
    /// # Errors
    /// [`Refusal::NoAddress`] for no answer, [`Refusal::PrivateAddress`] for the first private one.
    pub fn judge_answers(&self, target: &Target, answers: &[IpAddr]) -> Result<Pinned, Refusal> {
        let answers = match &target.literal {
            Some(address) => std::slice::from_ref(address),
            None => answers,
        };
        if answers.is_empty() {
            return Err(Refusal::NoAddress {
                host: target.host.clone(),
            });
        }
        if !target.exempt && !self.allow_private {
            for &address in answers {
                if let Some(special) = range::special(address) {
                    return Err(Refusal::PrivateAddress {
                        host: target.host.clone(),
                        address,
                        special,
                    });
                }
            }
        }
        Ok(Pinned {
            addresses: answers
                .iter()
                .map(|&ip| SocketAddr::new(ip, target.port))
                .collect(),
        })
    }
}

//! Connections: TLS against the name that was asked, dead addresses, dead ports.

use std::sync::Arc;
use std::time::Duration;

use kilter_web::FailureCode;
use kilter_web::acquire::{Client, GetOptions, Limits, Settings};
use kilter_web::address::AddressPolicy;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::{open_client, settings};
use crate::site::{Names, Site, page};

/// Made for these tests: `site.example`, `other.example`, 127.0.0.1, valid for a hundred years.
const CERTIFICATE: &[u8] = include_bytes!("../data/site.example.cert.der");
const KEY: &[u8] = include_bytes!("../data/site.example.key.der");

pub(crate) fn server_tls() -> Arc<rustls::ServerConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
        .expect("a certificate");
    Arc::new(config)
}

#[tokio::test]
async fn a_certificate_counts_for_the_name_that_was_asked() {
    let site = Site::at("127.0.0.1:0", Some(server_tls()), |_| page("encrypted")).await;
    let port = site.addr.port();
    let names = || {
        Names::of(&[
            ("site.example", &[&["127.0.0.1"]]),
            ("wrong.example", &[&["127.0.0.1"]]),
        ])
    };
    let make = |roots: Vec<CertificateDer<'static>>| {
        Client::new(Settings {
            resolver: names(),
            extra_roots: roots,
            ..settings(AddressPolicy::public().allow_private())
        })
        .expect("a client")
    };
    let trusting = make(vec![CertificateDer::from(CERTIFICATE)]);
    for host in ["site.example", "127.0.0.1"] {
        let got = trusting
            .get(&format!("https://{host}:{port}/"), &GetOptions::default())
            .await
            .expect(host);
        assert_eq!(&got.body[..], b"encrypted");
    }
    let url = format!("https://wrong.example:{port}/");
    let failure = trusting
        .get(&url, &GetOptions::default())
        .await
        .expect_err("another name");
    assert_eq!(failure.code, FailureCode::TlsError, "{failure}");
    let url = format!("https://site.example:{port}/");
    let failure = make(Vec::new())
        .get(&url, &GetOptions::default())
        .await
        .expect_err("an unknown issuer");
    assert_eq!(failure.code, FailureCode::TlsError, "{failure}");
    assert!(!failure.retryable);
}

#[tokio::test]
async fn what_does_not_speak_tls_is_a_tls_error() {
    let site = Site::start(|_| page("plain")).await;
    let failure = open_client()
        .get(&format!("https://{}/", site.addr), &GetOptions::default())
        .await
        .expect_err("plain HTTP");
    assert_eq!(failure.code, FailureCode::TlsError, "{failure}");
}

#[tokio::test]
async fn a_dead_address_is_passed_over_and_a_dead_port_is_a_network_error() {
    let site = Site::start(|_| page("alive")).await;
    let port = site.addr.port();
    let client = Client::new(Settings {
        resolver: Names::of(&[("half.example", &[&["127.0.0.77", "127.0.0.1"]])]),
        limits: Limits {
            connect: Duration::from_secs(3),
            ..Limits::default()
        },
        ..settings(AddressPolicy::public().allow_private())
    })
    .expect("a client");
    let got = client
        .get(
            &format!("http://half.example:{port}/"),
            &GetOptions::default(),
        )
        .await
        .expect("the second address");
    assert_eq!(got.peer.to_string(), "127.0.0.1");
    let failure = client
        .get("http://127.0.0.1:9999/", &GetOptions::default())
        .await
        .expect_err("nobody listens");
    assert_eq!(failure.code, FailureCode::NetworkError);
    assert!(failure.retryable);
    let failure = client
        .get("http://unknown.example/", &GetOptions::default())
        .await
        .expect_err("no such name");
    assert_eq!(failure.code, FailureCode::DnsError);
}

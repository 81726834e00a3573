//! Acquisition over real sockets: redirects, refreshes, headers, limits, TLS, proxies, address judgement on every hop.

mod follow;
mod judged;
mod limits;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use kilter_web::acquire::{Client, Limits, Settings};
use kilter_web::address::{AddressPolicy, OwnOrigin};

use crate::site::{Names, Site};

/// A client that may read loopback.
pub(crate) fn open_client() -> Client {
    client(AddressPolicy::public().allow_private())
}

/// A client with this policy and a short deadline.
pub(crate) fn client(policy: AddressPolicy) -> Client {
    Client::new(settings(policy)).expect("a client")
}

pub(crate) fn settings(policy: AddressPolicy) -> Settings {
    Settings {
        policy,
        limits: Limits {
            total: Duration::from_secs(10),
            ..Limits::default()
        },
        ..Settings::default()
    }
}

/// A client for which only `/own/` of this site is reachable: the public policy on loopback.
pub(crate) fn own_client(site: &Site, names: Arc<Names>) -> Client {
    let policy = AddressPolicy::public().with_own_origin(OwnOrigin::new(site.addr, "/own/"));
    Client::new(Settings {
        resolver: names,
        ..settings(policy)
    })
    .expect("a client")
}

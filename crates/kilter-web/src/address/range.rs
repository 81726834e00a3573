//! The special address ranges: which addresses the public internet cannot reach, and why.
//!
//! The tables follow the IANA registries, read as of 2026:
//! - IPv4: <https://www.iana.org/assignments/iana-ipv4-special-registry>
//! - IPv6: <https://www.iana.org/assignments/iana-ipv6-special-registry>
//! - multicast: <https://www.iana.org/assignments/multicast-addresses> and
//!   <https://www.iana.org/assignments/ipv6-multicast-addresses>
//! - delegated IPv6: <https://www.iana.org/assignments/ipv6-address-space> (only `2000::/3` is global unicast)
//!
//! An entry is allowed only where the registry's column "Globally Reachable" says true. "N/A" counts as false: an address
//! with another one inside it (6to4, Teredo) says nothing about where a packet ends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One entry of a registry.
#[derive(Debug, PartialEq, Eq)]
pub struct Special {
    /// The range as written in the registry: `100.64.0.0/10`.
    pub range: &'static str,
    /// What it is for.
    pub name: &'static str,
    /// The document that set it aside.
    pub source: &'static str,
}

/// A row of a table; `net` is an address in the parts that it is written in.
struct Entry<N> {
    net: N,
    bits: u32,
    global: bool,
    special: Special,
}

const fn entry<N: Copy>(
    net: N,
    bits: u32,
    global: bool,
    range: &'static str,
    name: &'static str,
    source: &'static str,
) -> Entry<N> {
    Entry {
        net,
        bits,
        global,
        special: Special {
            range,
            name,
            source,
        },
    }
}

/// IPv4 entries. Where ranges overlap the longest prefix decides, as the registry asks.
const V4_TABLE: &[Entry<[u8; 4]>] = &[
    entry(
        [0, 0, 0, 0],
        8,
        false,
        "0.0.0.0/8",
        "this network",
        "RFC 791",
    ),
    entry(
        [10, 0, 0, 0],
        8,
        false,
        "10.0.0.0/8",
        "private use",
        "RFC 1918",
    ),
    entry(
        [100, 64, 0, 0],
        10,
        false,
        "100.64.0.0/10",
        "shared address space (carrier NAT)",
        "RFC 6598",
    ),
    entry(
        [127, 0, 0, 0],
        8,
        false,
        "127.0.0.0/8",
        "loopback",
        "RFC 1122",
    ),
    entry(
        [169, 254, 0, 0],
        16,
        false,
        "169.254.0.0/16",
        "link local",
        "RFC 3927",
    ),
    entry(
        [172, 16, 0, 0],
        12,
        false,
        "172.16.0.0/12",
        "private use",
        "RFC 1918",
    ),
    entry(
        [192, 0, 0, 0],
        24,
        false,
        "192.0.0.0/24",
        "IETF protocol assignments",
        "RFC 6890",
    ),
    entry(
        [192, 0, 0, 9],
        32,
        true,
        "192.0.0.9/32",
        "port control protocol anycast",
        "RFC 7723",
    ),
    entry(
        [192, 0, 0, 10],
        32,
        true,
        "192.0.0.10/32",
        "TURN anycast",
        "RFC 8155",
    ),
    entry(
        [192, 0, 2, 0],
        24,
        false,
        "192.0.2.0/24",
        "documentation",
        "RFC 5737",
    ),
    entry(
        [192, 31, 196, 0],
        24,
        true,
        "192.31.196.0/24",
        "AS112",
        "RFC 7535",
    ),
    entry(
        [192, 52, 193, 0],
        24,
        true,
        "192.52.193.0/24",
        "AMT",
        "RFC 7450",
    ),
    entry(
        [192, 88, 99, 0],
        24,
        false,
        "192.88.99.0/24",
        "6to4 relay anycast (deprecated)",
        "RFC 7526",
    ),
    entry(
        [192, 168, 0, 0],
        16,
        false,
        "192.168.0.0/16",
        "private use",
        "RFC 1918",
    ),
    entry(
        [192, 175, 48, 0],
        24,
        true,
        "192.175.48.0/24",
        "AS112 direct delegation",
        "RFC 7534",
    ),
    entry(
        [198, 18, 0, 0],
        15,
        false,
        "198.18.0.0/15",
        "benchmarking",
        "RFC 2544",
    ),
    entry(
        [198, 51, 100, 0],
        24,
        false,
        "198.51.100.0/24",
        "documentation",
        "RFC 5737",
    ),
    entry(
        [203, 0, 113, 0],
        24,
        false,
        "203.0.113.0/24",
        "documentation",
        "RFC 5737",
    ),
    entry(
        [224, 0, 0, 0],
        4,
        false,
        "224.0.0.0/4",
        "multicast",
        "RFC 5771",
    ),
    entry(
        [240, 0, 0, 0],
        4,
        false,
        "240.0.0.0/4",
        "reserved",
        "RFC 1112",
    ),
    entry(
        [255, 255, 255, 255],
        32,
        false,
        "255.255.255.255/32",
        "limited broadcast",
        "RFC 919",
    ),
];

/// IPv6 entries. `64:ff9b::/96` is not here: the registry calls it reachable, and the IPv4 address inside decides.
const V6_TABLE: &[Entry<[u16; 8]>] = &[
    entry([0; 8], 128, false, "::/128", "unspecified", "RFC 4291"),
    entry(
        [0, 0, 0, 0, 0, 0, 0, 1],
        128,
        false,
        "::1/128",
        "loopback",
        "RFC 4291",
    ),
    entry(
        [0; 8],
        96,
        false,
        "::/96",
        "IPv4-compatible (deprecated)",
        "RFC 4291",
    ),
    entry(
        [0, 0, 0, 0, 0, 0xffff, 0, 0],
        96,
        false,
        "::ffff:0:0/96",
        "IPv4-mapped",
        "RFC 4291",
    ),
    entry(
        [0, 0, 0, 0, 0xffff, 0, 0, 0],
        96,
        false,
        "::ffff:0:0:0/96",
        "IPv4-translated",
        "RFC 2765",
    ),
    entry(
        [0x64, 0xff9b, 1, 0, 0, 0, 0, 0],
        48,
        false,
        "64:ff9b:1::/48",
        "local IPv4/IPv6 translation",
        "RFC 8215",
    ),
    entry(
        [0x100, 0, 0, 0, 0, 0, 0, 0],
        64,
        false,
        "100::/64",
        "discard only",
        "RFC 6666",
    ),
    entry(
        [0x100, 0, 0, 1, 0, 0, 0, 0],
        64,
        false,
        "100:0:0:1::/64",
        "dummy prefix",
        "RFC 9780",
    ),
    entry(
        [0x2001, 0, 0, 0, 0, 0, 0, 0],
        23,
        false,
        "2001::/23",
        "IETF protocol assignments",
        "RFC 2928",
    ),
    entry(
        [0x2001, 0, 0, 0, 0, 0, 0, 0],
        32,
        false,
        "2001::/32",
        "Teredo",
        "RFC 4380",
    ),
    entry(
        [0x2001, 1, 0, 0, 0, 0, 0, 1],
        128,
        true,
        "2001:1::1/128",
        "port control protocol anycast",
        "RFC 7723",
    ),
    entry(
        [0x2001, 1, 0, 0, 0, 0, 0, 2],
        128,
        true,
        "2001:1::2/128",
        "TURN anycast",
        "RFC 8155",
    ),
    entry(
        [0x2001, 1, 0, 0, 0, 0, 0, 3],
        128,
        true,
        "2001:1::3/128",
        "service registration anycast",
        "RFC 9665",
    ),
    entry(
        [0x2001, 2, 0, 0, 0, 0, 0, 0],
        48,
        false,
        "2001:2::/48",
        "benchmarking",
        "RFC 5180",
    ),
    entry(
        [0x2001, 3, 0, 0, 0, 0, 0, 0],
        32,
        true,
        "2001:3::/32",
        "AMT",
        "RFC 7450",
    ),
    entry(
        [0x2001, 4, 0x112, 0, 0, 0, 0, 0],
        48,
        true,
        "2001:4:112::/48",
        "AS112",
        "RFC 7535",
    ),
    entry(
        [0x2001, 0x10, 0, 0, 0, 0, 0, 0],
        28,
        false,
        "2001:10::/28",
        "ORCHID (deprecated)",
        "RFC 4843",
    ),
    entry(
        [0x2001, 0x20, 0, 0, 0, 0, 0, 0],
        28,
        true,
        "2001:20::/28",
        "ORCHIDv2",
        "RFC 7343",
    ),
    entry(
        [0x2001, 0x30, 0, 0, 0, 0, 0, 0],
        28,
        true,
        "2001:30::/28",
        "drone remote identifiers",
        "RFC 9374",
    ),
    entry(
        [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0],
        32,
        false,
        "2001:db8::/32",
        "documentation",
        "RFC 3849",
    ),
    entry(
        [0x2002, 0, 0, 0, 0, 0, 0, 0],
        16,
        false,
        "2002::/16",
        "6to4",
        "RFC 3056",
    ),
    entry(
        [0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0],
        48,
        true,
        "2620:4f:8000::/48",
        "AS112 direct delegation",
        "RFC 7534",
    ),
    entry(
        [0x3fff, 0, 0, 0, 0, 0, 0, 0],
        20,
        false,
        "3fff::/20",
        "documentation",
        "RFC 9637",
    ),
    entry(
        [0x5f00, 0, 0, 0, 0, 0, 0, 0],
        16,
        false,
        "5f00::/16",
        "segment routing identifiers",
        "RFC 9602",
    ),
    entry(
        [0xfc00, 0, 0, 0, 0, 0, 0, 0],
        7,
        false,
        "fc00::/7",
        "unique local",
        "RFC 4193",
    ),
    entry(
        [0xfe80, 0, 0, 0, 0, 0, 0, 0],
        10,
        false,
        "fe80::/10",
        "link local",
        "RFC 4291",
    ),
    entry(
        [0xfec0, 0, 0, 0, 0, 0, 0, 0],
        10,
        false,
        "fec0::/10",
        "site local (deprecated)",
        "RFC 3879",
    ),
    entry(
        [0xff00, 0, 0, 0, 0, 0, 0, 0],
        8,
        false,
        "ff00::/8",
        "multicast",
        "RFC 4291",
    ),
];

/// What is neither in the table nor in `2000::/3`.
const NOT_DELEGATED: Special = Special {
    range: "outside 2000::/3",
    name: "not delegated as global unicast",
    source: "RFC 4291",
};

/// The well-known prefix of IPv4/IPv6 translation (RFC 6052): the last 32 bits are an IPv4 address.
const NAT64: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];

/// Why the public internet cannot reach `address`; `None` when it can.
pub fn special(address: IpAddr) -> Option<&'static Special> {
    match address {
        IpAddr::V4(a) => special_v4(a),
        IpAddr::V6(a) => special_v6(a),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static Special> {
    let bits = u128::from(address.to_bits());
    longest(V4_TABLE, 32, bits, |net| u32::from_be_bytes(net).into())
        .filter(|e| !e.global)
        .map(|e| &e.special)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static Special> {
    let segments = address.segments();
    if segments[..6] == NAT64 {
        let [.., a, b] = segments;
        return special_v4(Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b)));
    }
    let hit = longest(V6_TABLE, 128, address.to_bits(), |net| {
        Ipv6Addr::from(net).to_bits()
    });
    match hit {
        Some(e) if e.global => None,
        Some(e) => Some(&e.special),
        None if segments[0] & 0xe000 == 0x2000 => None,
        None => Some(&NOT_DELEGATED),
    }
}

/// The entry with the longest prefix of an address of `width` bits.
fn longest<N: Copy>(
    table: &'static [Entry<N>],
    width: u32,
    address: u128,
    bits_of: impl Fn(N) -> u128,
) -> Option<&'static Entry<N>> {
    let apart = |e: &Entry<N>| (address ^ bits_of(e.net)).checked_shr(width - e.bits);
    table
        .iter()
        .filter(|e| apart(e).unwrap_or(0) == 0)
        .max_by_key(|e| e.bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_holds_its_own_ends_and_says_its_range() {
        for e in V4_TABLE {
            let first = u32::from_be_bytes(e.net);
            let last = first | (u32::MAX.checked_shr(e.bits).unwrap_or(0));
            for bits in [first, last] {
                let found = special_v4(Ipv4Addr::from_bits(bits));
                assert_eq!(
                    found.is_some(),
                    !e.global,
                    "{} {}",
                    e.special.range,
                    Ipv4Addr::from_bits(bits)
                );
            }
            assert_eq!(
                e.special.range,
                format!("{}/{}", Ipv4Addr::from(e.net), e.bits)
            );
            assert_eq!(
                first & (u32::MAX.checked_shr(e.bits).unwrap_or(0)),
                0,
                "{}",
                e.special.range
            );
        }
        for e in V6_TABLE {
            let first = Ipv6Addr::from(e.net).to_bits();
            let last = first | (u128::MAX.checked_shr(e.bits).unwrap_or(0));
            for bits in [first, last] {
                let found = special_v6(Ipv6Addr::from_bits(bits));
                assert_eq!(
                    found.is_some(),
                    !e.global,
                    "{} {}",
                    e.special.range,
                    Ipv6Addr::from_bits(bits)
                );
            }
            let (net, bits) = e.special.range.split_once('/').expect("a prefix");
            assert_eq!(
                net.parse::<Ipv6Addr>().expect("an address"),
                Ipv6Addr::from(e.net)
            );
            assert_eq!(bits.parse::<u32>().expect("a length"), e.bits);
        }
    }
}

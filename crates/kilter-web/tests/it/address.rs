//! The address policy over every notation of a host, every special range, names, answers and the one exception.

use std::net::{IpAddr, SocketAddr};

use kilter_web::FailureCode;
use kilter_web::address::{AddressPolicy, OwnOrigin};

use Want::{Blocked, Invalid, Open};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Blocked,
    Invalid,
    Open,
}

/// What the policy says of a URL when its name resolves to something public.
fn verdict(policy: &AddressPolicy, url: &str) -> Want {
    let public: IpAddr = "93.184.216.34".parse().expect("an address");
    let judged = policy
        .parse(url)
        .and_then(|(_, target)| policy.judge_answers(&target, &[public]));
    match judged.map_err(|r| r.code()) {
        Ok(_) => Open,
        Err(FailureCode::PrivateUrlBlocked) => Blocked,
        Err(FailureCode::InvalidUrl) => Invalid,
        Err(other) => panic!("{url}: {other:?}"),
    }
}

/// Hosts as written in a URL.
const HOSTS: &[(&str, Want)] = &[
    // loopback, every notation that the web's parser reads as an IPv4 address
    ("127.0.0.1", Blocked),
    ("127.0.0.1.", Blocked),
    ("127.1", Blocked),
    ("127.0.1", Blocked),
    ("127.255.255.254", Blocked),
    ("2130706433", Blocked),
    ("2130706433.", Blocked),
    ("0x7f000001", Blocked),
    ("0X7F000001", Blocked),
    ("0x7f.0.0.1", Blocked),
    ("0x7f.1", Blocked),
    ("0x7f.0x0.0x0.0x1", Blocked),
    ("017700000001", Blocked),
    ("0177.0.0.1", Blocked),
    ("0177.0.0.01", Blocked),
    ("0177.1", Blocked),
    ("00000177.0.0.1", Blocked),
    ("0x0000007f.0.0.1", Blocked),
    ("0177.0x0.0.1", Blocked),
    ("127.0x1", Blocked),
    ("127.65535", Blocked),
    ("%31%32%37.0.0.1", Blocked),
    ("127%2e0%2e0%2e1", Blocked),
    ("%30x7f.1", Blocked),
    ("１２７.０.０.１", Blocked),
    ("①②⑦.⓪.⓪.①", Blocked),
    ("127。0。0。1", Blocked),
    ("127．0．0．1", Blocked),
    ("𝟏𝟐𝟕.0.0.1", Blocked),
    ("127.0.0.1:8080", Blocked),
    ("user:secret@127.0.0.1", Blocked),
    ("example.com@127.0.0.1", Blocked),
    ("example.com%40@127.0.0.1", Blocked),
    ("\t127.0.0.1", Blocked),
    ("127.\n0.0.1", Blocked),
    // this network
    ("0.0.0.0", Blocked),
    ("0", Blocked),
    ("0.", Blocked),
    ("0x", Blocked),
    ("0x0", Blocked),
    ("00", Blocked),
    ("0.1.2.3", Blocked),
    ("0.255.255.255", Blocked),
    // private use
    ("10.0.0.0", Blocked),
    ("10.0.0.1", Blocked),
    ("10.255.255.255", Blocked),
    ("10.1", Blocked),
    ("012.0.0.1", Blocked),
    ("0xa.0.0.1", Blocked),
    ("167772161", Blocked),
    ("172.16.0.1", Blocked),
    ("172.31.255.255", Blocked),
    ("0xac100001", Blocked),
    ("192.168.0.1", Blocked),
    ("192.168.255.255", Blocked),
    ("192.168.257", Blocked),
    ("0xc0.0xa8.1", Blocked),
    ("3232235777", Blocked),
    // carrier NAT
    ("100.64.0.0", Blocked),
    ("100.100.100.200", Blocked),
    ("100.127.255.255", Blocked),
    ("1681915904", Blocked),
    // link local, where clouds keep their metadata
    ("169.254.0.1", Blocked),
    ("169.254.169.254", Blocked),
    ("2852039166", Blocked),
    ("0xa9fea9fe", Blocked),
    ("0xa9.0xfe.0xa9.0xfe", Blocked),
    ("0251.0376.0251.0376", Blocked),
    ("169.16689662", Blocked),
    ("169.254.43518", Blocked),
    // protocol assignments, documentation, benchmarking
    ("192.0.0.1", Blocked),
    ("192.0.0.8", Blocked),
    ("192.0.0.170", Blocked),
    ("192.0.2.1", Blocked),
    ("198.51.100.7", Blocked),
    ("203.0.113.255", Blocked),
    ("198.18.0.1", Blocked),
    ("198.19.255.255", Blocked),
    ("192.88.99.1", Blocked),
    ("192.88.99.2", Blocked),
    // multicast, reserved, broadcast
    ("224.0.0.1", Blocked),
    ("239.255.255.250", Blocked),
    ("240.0.0.1", Blocked),
    ("254.1.2.3", Blocked),
    ("255.255.255.255", Blocked),
    ("4294967295", Blocked),
    ("0xffffffff", Blocked),
    ("037777777777", Blocked),
    // IPv6 loopback and unspecified
    ("[::1]", Blocked),
    ("[::1]:8080", Blocked),
    ("[0:0:0:0:0:0:0:1]", Blocked),
    ("[0000:0000:0000:0000:0000:0000:0000:0001]", Blocked),
    ("[0::0:1]", Blocked),
    ("[::]", Blocked),
    ("[0:0:0:0:0:0:0:0]", Blocked),
    // IPv4 inside IPv6
    ("[::ffff:127.0.0.1]", Blocked),
    ("[::ffff:7f00:1]", Blocked),
    ("[::FFFF:7F00:0001]", Blocked),
    ("[0:0:0:0:0:ffff:10.0.0.1]", Blocked),
    ("[::ffff:169.254.169.254]", Blocked),
    ("[::ffff:a9fe:a9fe]", Blocked),
    ("[::ffff:8.8.8.8]", Blocked),
    ("[::ffff:0:127.0.0.1]", Blocked),
    ("[::127.0.0.1]", Blocked),
    ("[::7f00:1]", Blocked),
    ("[::10.0.0.1]", Blocked),
    ("[::8.8.8.8]", Blocked),
    ("[64:ff9b::127.0.0.1]", Blocked),
    ("[64:ff9b::7f00:1]", Blocked),
    ("[64:ff9b::10.0.0.1]", Blocked),
    ("[64:ff9b::169.254.169.254]", Blocked),
    ("[64:ff9b::100.64.0.1]", Blocked),
    ("[64:ff9b::]", Blocked),
    ("[64:ff9b:1::1]", Blocked),
    ("[64:ff9b:1::8.8.8.8]", Blocked),
    ("[64:ff9b:1:ffff:ffff:ffff:ffff:ffff]", Blocked),
    ("[64:ff9b:2::1]", Blocked),
    ("[2002:7f00:1::]", Blocked),
    ("[2002:a00:1::1]", Blocked),
    ("[2002:808:808::1]", Blocked),
    ("[2001::1]", Blocked),
    ("[2001:0:53aa:64c:0:fbff:fefe:fefe]", Blocked),
    // IPv6 special ranges
    ("[100::1]", Blocked),
    ("[100:0:0:1::1]", Blocked),
    ("[2001:1::4]", Blocked),
    ("[2001:2::1]", Blocked),
    ("[2001:10::1]", Blocked),
    ("[2001:1ff::1]", Blocked),
    ("[2001:db8::1]", Blocked),
    ("[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]", Blocked),
    ("[3fff::1]", Blocked),
    ("[3fff:fff::1]", Blocked),
    ("[5f00::1]", Blocked),
    ("[fc00::1]", Blocked),
    ("[fd00::1]", Blocked),
    ("[fdff:ffff::1]", Blocked),
    ("[fd00:ec2::254]", Blocked),
    ("[fe80::1]", Blocked),
    ("[febf::1]", Blocked),
    ("[fe81:1::1]", Blocked),
    ("[fec0::1]", Blocked),
    ("[feff::1]", Blocked),
    ("[ff00::1]", Blocked),
    ("[ff02::1]", Blocked),
    ("[ff0e::1]", Blocked),
    ("[4000::1]", Blocked),
    ("[e000::1]", Blocked),
    ("[1::1]", Blocked),
    // zones and broken literals are no URL
    ("[fe80::1%25eth0]", Invalid),
    ("[fe80::1%eth0]", Invalid),
    ("[::1", Invalid),
    ("::1", Invalid),
    ("[::1]x", Invalid),
    ("[127.0.0.1]", Invalid),
    ("[::ffff:0x7f.0.0.1]", Invalid),
    ("[::ffff:127.1]", Invalid),
    ("1.2.3.4.5", Invalid),
    ("256.0.0.1", Invalid),
    ("127.0.0.0x100", Invalid),
    ("0x100000000", Invalid),
    ("4294967296", Invalid),
    ("08.0.0.1", Invalid),
    ("127.0.0.1..", Invalid),
    ("a..example.com", Invalid),
    (".example.com", Invalid),
    ("example.com..", Invalid),
    ("exa mple.com", Invalid),
    ("example.com%00.local", Invalid),
    ("127.0.0.1%00", Invalid),
    ("example.com:99999", Invalid),
    ("example.com:25", Invalid),
    ("example.com:6667", Invalid),
    ("93.184.216.34:22", Invalid),
    // names
    ("localhost", Blocked),
    ("LOCALHOST", Blocked),
    ("LocalHost:3000", Blocked),
    ("localhost.", Blocked),
    ("localhost..", Invalid),
    ("api.localhost", Blocked),
    ("a.b.localhost.", Blocked),
    ("%6cocalhost", Blocked),
    ("l%6Fcalhost%2e", Blocked),
    ("ｌｏｃａｌｈｏｓｔ", Blocked),
    ("ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", Blocked),
    ("local\u{ad}host", Blocked),
    ("localhost。", Blocked),
    ("printer.local", Blocked),
    ("printer.local.", Blocked),
    ("local", Blocked),
    ("PRINTER.LOCAL", Blocked),
    ("db.internal", Blocked),
    ("metadata.google.internal", Blocked),
    ("metadata.google.internal.", Blocked),
    ("internal", Blocked),
    ("router.home.arpa", Blocked),
    ("home.arpa", Blocked),
    ("localhost.localdomain", Blocked),
    ("box.localdomain", Blocked),
    // and these are public: none may be refused
    ("example.com", Open),
    ("example.com.", Open),
    ("EXAMPLE.com:8443", Open),
    ("example.com:80", Open),
    ("xn--bcher-kva.example", Open),
    ("bücher.example", Open),
    ("日本語.jp", Open),
    ("faß.de", Open),
    ("localhost.example.com", Open),
    ("mylocalhost.com", Open),
    ("notlocal", Open),
    ("thelocal.se", Open),
    ("local.example.org", Open),
    ("internal.example.org", Open),
    ("myinternal", Open),
    ("notinternal.com", Open),
    ("home-arpa.com", Open),
    ("arpa", Open),
    ("10.example.com", Open),
    ("127.0.0.1.example.com", Open),
    ("127-0-0-1.example.com", Open),
    ("0x7f000001.com", Open),
    ("1.1.1.1", Open),
    ("8.8.8.8", Open),
    ("8.8.8.8.", Open),
    ("134744072", Open),
    ("0x08080808", Open),
    ("010.8.8.8", Open),
    ("9.255.255.255", Open),
    ("11.0.0.0", Open),
    ("100.63.255.255", Open),
    ("100.128.0.0", Open),
    ("126.255.255.255", Open),
    ("128.0.0.1", Open),
    ("169.253.255.255", Open),
    ("169.255.0.1", Open),
    ("172.15.255.255", Open),
    ("172.32.0.1", Open),
    ("192.0.0.9", Open),
    ("192.0.0.10", Open),
    ("192.0.1.1", Open),
    ("192.0.3.1", Open),
    ("192.31.196.1", Open),
    ("192.52.193.1", Open),
    ("192.88.98.1", Open),
    ("192.88.100.1", Open),
    ("192.167.255.255", Open),
    ("192.169.0.1", Open),
    ("192.175.48.1", Open),
    ("198.17.255.255", Open),
    ("198.20.0.1", Open),
    ("198.51.99.1", Open),
    ("203.0.112.1", Open),
    ("203.0.114.1", Open),
    ("223.255.255.255", Open),
    ("[2606:4700:4700::1111]", Open),
    ("[2606:4700:4700::1111]:8443", Open),
    ("[2001:4860:4860::8888]", Open),
    ("[2a00:1450:4001:81b::200e]", Open),
    ("[2001:200::1]", Open),
    ("[2001:1::1]", Open),
    ("[2001:1::2]", Open),
    ("[2001:1::3]", Open),
    ("[2001:3::1]", Open),
    ("[2001:4:112::1]", Open),
    ("[2001:20::1]", Open),
    ("[2001:30::1]", Open),
    ("[2001:db7:ffff::1]", Open),
    ("[2001:db9::1]", Open),
    ("[2003::1]", Open),
    ("[2620:4f:8000::1]", Open),
    ("[3ffe:ffff::1]", Open),
    ("[64:ff9b::8.8.8.8]", Open),
    ("[64:ff9b::808:808]", Open),
];

#[test]
fn each_notation_of_a_host_is_judged_by_what_it_means() {
    let policy = AddressPolicy::public();
    let mut wrong = Vec::new();
    for &(host, want) in HOSTS {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}/path?q=1");
            let got = verdict(&policy, &url);
            if got != want {
                wrong.push(format!("{url}: {got:?}, not {want:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(HOSTS.len() >= 150, "{} cases", HOSTS.len());
}

#[test]
fn only_http_and_https_are_read() {
    let policy = AddressPolicy::public();
    for url in [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "ws://example.com/",
        "data:text/html,x",
        "javascript:alert(1)",
        "about:blank",
        "blob:https://example.com/1",
        "view-source:https://example.com/",
        "jar:https://example.com/x.jar!/",
        "example.com",
        "//example.com/",
        "/etc/passwd",
        "",
        "https://",
        "http:///",
    ] {
        assert_eq!(verdict(&policy, url), Invalid, "{url}");
    }
    for url in [
        "HTTP://EXAMPLE.COM",
        " https://example.com ",
        "https:example.com",
        "https:\\\\example.com\\x",
        "https:///example.com/x",
    ] {
        assert_eq!(verdict(&policy, url), Open, "{url}");
    }
}

#[test]
fn one_private_answer_refuses_the_name() {
    let policy = AddressPolicy::public();
    let (_, target) = policy.parse("https://example.com/").expect("public name");
    let cases: &[(&[&str], Option<FailureCode>)] = &[
        (&["93.184.216.34"], None),
        (&["93.184.216.34", "2606:2800:220:1::1"], None),
        (&["64:ff9b::5db8:d822"], None),
        (&[], Some(FailureCode::DnsError)),
        (&["10.0.0.1"], Some(FailureCode::PrivateUrlBlocked)),
        (
            &["93.184.216.34", "10.0.0.1"],
            Some(FailureCode::PrivateUrlBlocked),
        ),
        (
            &["10.0.0.1", "93.184.216.34"],
            Some(FailureCode::PrivateUrlBlocked),
        ),
        (
            &["93.184.216.34", "::1"],
            Some(FailureCode::PrivateUrlBlocked),
        ),
        (
            &["93.184.216.34", "::ffff:93.184.216.34"],
            Some(FailureCode::PrivateUrlBlocked),
        ),
        (&["0.0.0.0"], Some(FailureCode::PrivateUrlBlocked)),
        (&["169.254.169.254"], Some(FailureCode::PrivateUrlBlocked)),
        (&["100.64.3.2"], Some(FailureCode::PrivateUrlBlocked)),
        (&["fd00::1"], Some(FailureCode::PrivateUrlBlocked)),
        (
            &["2606:2800:220:1::1", "fe80::1"],
            Some(FailureCode::PrivateUrlBlocked),
        ),
        (&["64:ff9b::a00:1"], Some(FailureCode::PrivateUrlBlocked)),
    ];
    for (answers, want) in cases {
        let answers: Vec<IpAddr> = answers
            .iter()
            .map(|a| a.parse().expect("an address"))
            .collect();
        let got = policy.judge_answers(&target, &answers);
        assert_eq!(got.as_ref().err().map(|r| r.code()), *want, "{answers:?}");
        if let Ok(pinned) = got {
            let ips: Vec<IpAddr> = pinned.addresses().iter().map(SocketAddr::ip).collect();
            assert_eq!(ips, answers);
            assert!(pinned.addresses().iter().all(|a| a.port() == 443));
        }
    }
}

#[test]
fn a_literal_is_never_replaced_by_an_answer() {
    let policy = AddressPolicy::public();
    let (_, target) = policy.parse("http://8.8.8.8:8080/").expect("public");
    let elsewhere: IpAddr = "1.1.1.1".parse().expect("an address");
    let pinned = policy.judge_answers(&target, &[elsewhere]).expect("public");
    assert_eq!(
        pinned.addresses(),
        ["8.8.8.8:8080".parse().expect("an address")]
    );
}

#[test]
fn the_operators_switch_opens_private_addresses_and_nothing_else() {
    let policy = AddressPolicy::public().allow_private();
    for (host, want) in HOSTS {
        let url = format!("http://{host}/");
        let want = if *want == Blocked { Open } else { *want };
        assert_eq!(verdict(&policy, &url), want, "{url}");
    }
    assert_eq!(verdict(&policy, "file:///etc/passwd"), Invalid);
}

#[test]
fn the_own_origin_is_one_origin_and_one_prefix() {
    let own = OwnOrigin::new("127.0.0.1:7411".parse().expect("an address"), "/exam/");
    let policy = AddressPolicy::public().with_own_origin(own);
    for (url, want) in [
        ("http://127.0.0.1:7411/exam/", Open),
        ("http://127.0.0.1:7411/exam/page/3?x=1#y", Open),
        ("http://127.1:7411/exam/page", Open),
        ("http://127.0.0.1:7411/exam", Blocked),
        ("http://127.0.0.1:7411/", Blocked),
        ("http://127.0.0.1:7411/examiner/", Blocked),
        ("http://127.0.0.1:7411/EXAM/", Blocked),
        ("http://127.0.0.1:7411/exam/../admin", Blocked),
        ("http://127.0.0.1:7411/exam/%2e%2e/admin", Blocked),
        ("http://127.0.0.1:7411/exam/..%2fadmin", Blocked),
        ("http://127.0.0.1:7411/exam/%2E%2E%2Fadmin", Blocked),
        ("http://127.0.0.1:7411/exam/..%5cadmin", Blocked),
        ("http://127.0.0.1:7411/exam\\..\\admin", Blocked),
        ("http://127.0.0.1:7411//exam/", Blocked),
        ("http://127.0.0.1:7412/exam/", Blocked),
        ("http://127.0.0.1/exam/", Blocked),
        ("https://127.0.0.1:7411/exam/", Blocked),
        ("http://localhost:7411/exam/", Blocked),
        ("http://127.0.0.2:7411/exam/", Blocked),
        ("http://[::1]:7411/exam/", Blocked),
        ("http://[::ffff:127.0.0.1]:7411/exam/", Blocked),
        ("http://0.0.0.0:7411/exam/", Blocked),
        ("http://user@127.0.0.1:7411/exam/", Blocked),
        ("https://example.com/", Open),
    ] {
        assert_eq!(verdict(&policy, url), want, "{url}");
    }
    let everything = OwnOrigin::new("127.0.0.1:7411".parse().expect("an address"), "/");
    let policy = AddressPolicy::public().with_own_origin(everything);
    assert_eq!(
        verdict(&policy, "http://127.0.0.1:7411/x"),
        Blocked,
        "a prefix that is everything covers nothing"
    );
}

#[test]
fn a_proxys_client_names_a_host_and_a_port_and_nothing_more() {
    let own = OwnOrigin::new("127.0.0.1:7411".parse().expect("an address"), "/exam/");
    let policy = AddressPolicy::public().with_own_origin(own);
    for (authority, want) in [
        ("example.com:443", None),
        ("example.com:8080", None),
        ("8.8.8.8:443", None),
        ("[2606:4700::1]:443", None),
        ("127.0.0.1:7411", Some(FailureCode::PrivateUrlBlocked)),
        ("127.1:443", Some(FailureCode::PrivateUrlBlocked)),
        ("0x7f.1:443", Some(FailureCode::PrivateUrlBlocked)),
        ("[::1]:443", Some(FailureCode::PrivateUrlBlocked)),
        ("localhost.:443", Some(FailureCode::PrivateUrlBlocked)),
        ("x.localhost:80", Some(FailureCode::PrivateUrlBlocked)),
        ("169.254.169.254:80", Some(FailureCode::PrivateUrlBlocked)),
        ("example.com", Some(FailureCode::InvalidUrl)),
        ("example.com:", Some(FailureCode::InvalidUrl)),
        ("[::1]", Some(FailureCode::InvalidUrl)),
        ("a@example.com:443", Some(FailureCode::InvalidUrl)),
        ("example.com:443/x", Some(FailureCode::InvalidUrl)),
        ("example.com:70000", Some(FailureCode::InvalidUrl)),
        ("example.com:25", Some(FailureCode::InvalidUrl)),
        ("", Some(FailureCode::InvalidUrl)),
    ] {
        let got = policy.judge_authority(authority).err().map(|r| r.code());
        assert_eq!(got, want, "{authority}");
    }
}

#[test]
fn a_refusal_names_the_range_and_its_source() {
    let refusal = AddressPolicy::public()
        .parse("http://0x64.0x40.1/")
        .expect_err("carrier NAT");
    assert_eq!(
        refusal.to_string(),
        "`100.64.0.1` is at 100.64.0.1: shared address space (carrier NAT) (100.64.0.0/10, RFC 6598)\n\
         hint: an operator can allow private addresses with `KILTER_ALLOW_PRIVATE_URLS=1`"
    );
}

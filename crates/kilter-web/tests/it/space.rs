//! A network of one's own for a test: addresses that look public, on this machine and nowhere else.

use std::process::Command;

/// Addresses of the space besides loopback: public-looking ones for servers that may be read, private ones for servers that
/// may not.
const SETUP: &str = "ip link set lo up && for a in 93.184.216.34 93.184.216.35 10.0.0.5 169.254.169.254 100.64.0.9 192.168.7.7; \
     do ip addr add $a/32 dev lo; done && ip -6 addr add 2606:2800:220:1::34/128 dev lo nodad \
     && ip -6 addr add fd00::5/128 dev lo nodad \
     && printf '127.0.0.1 localhost\\n93.184.216.34 site.example\\n93.184.216.34 mixed.example\\n10.0.0.5 mixed.example\\n\
10.0.0.5 inside.example\\n' > \"$0.hosts\" && mount --bind \"$0.hosts\" /etc/hosts";

const INSIDE: &str = "KILTER_TEST_SPACE";

/// Runs `body` in a network namespace: the test starts itself again inside one. Where that cannot be had the test says by
/// name that it was left out.
pub(crate) fn within(test: &str, body: impl Future<Output = ()>) {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(body);
        return;
    }
    let probe = Command::new("unshare")
        .args(["-n", "-m", "ip", "link", "set", "lo", "up"])
        .output();
    if !probe.as_ref().is_ok_and(|o| o.status.success()) {
        eprintln!("left out: {test} needs root, `unshare` and `ip` (network namespaces)");
        return;
    }
    let me = std::env::current_exe().expect("the test binary");
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("{SETUP} && exec \"$1\" --exact {test} --nocapture");
    let out = Command::new("unshare")
        .args(["-n", "-m", "sh", "-c", &script])
        .arg(folder.path().join("space"))
        .arg(&me)
        .env(INSIDE, "1")
        .output()
        .expect("unshare runs");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(out.status.success(), "inside the namespace:\n{said}");
    assert!(
        said.contains("1 passed"),
        "the test did not run inside the namespace:\n{said}"
    );
}

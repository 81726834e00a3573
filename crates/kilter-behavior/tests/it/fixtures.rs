//! Every dialect's written texts through the reader: calls, shown calls, and calls that must fail closed.

use std::collections::BTreeSet;
use std::sync::Arc;

use kilter_behavior::{EchoIndex, ReaderConfig, Registry, read};
use kilter_core::{Expect, RejectReason};

use crate::catalogue::{
    Adversarial, Catalogue, DialectFile, Firing, Kind, Mode, Report, aliases, fail, files,
    first_difference, judge_firing, judge_quiet, literal,
};

fn dialects() -> Vec<DialectFile> {
    files::<DialectFile>("dialects")
        .into_iter()
        .map(|(stem, f)| {
            assert_eq!(stem, f.dialect, "a file is named after its dialect");
            f
        })
        .collect()
}

fn firing_config(c: &Catalogue, f: &Firing) -> ReaderConfig {
    ReaderConfig {
        expect: f.expect,
        reasoning_open: f.reasoning_open,
        ..c.config(&f.tools, Mode::Armed)
    }
}

fn adversarial_config(c: &Catalogue, a: &Adversarial) -> ReaderConfig {
    let cfg = c.config(&a.tools, Mode::Armed);
    let echo = EchoIndex::new(a.untrusted.iter().map(String::as_str), &cfg.tools);
    ReaderConfig {
        untrusted: Arc::new(echo),
        ..cfg
    }
}

#[test]
fn the_fixtures_are_complete() {
    let kinds = [
        Kind::Echo,
        Kind::Undeclared,
        Kind::Schema,
        Kind::Namespaced,
        Kind::Truncated,
    ];
    let (mut firing, mut quiet, mut adversarial) = (0, 0, 0);
    for f in dialects() {
        let d = &f.dialect;
        assert!(f.firing.len() >= 8, "{d}: {} firing", f.firing.len());
        assert!(f.must_not_fire.len() >= 4, "{d}: {}", f.must_not_fire.len());
        let have: BTreeSet<Kind> = f.adversarial.iter().map(|a| a.kind).collect();
        for k in kinds {
            assert!(have.contains(&k), "{d} has no adversarial {k:?}");
        }
        let mut ids = BTreeSet::new();
        for id in f
            .firing
            .iter()
            .map(|x| ("firing", &x.id))
            .chain(f.must_not_fire.iter().map(|x| ("must_not_fire", &x.id)))
            .chain(f.adversarial.iter().map(|x| ("adversarial", &x.id)))
        {
            assert!(ids.insert(id), "{d}: {id:?} twice");
        }
        for x in &f.firing {
            assert!(
                x.source == "written" || x.source.starts_with("capture:"),
                "{d}: {}",
                x.source
            );
            for w in &x.calls {
                assert!(literal(&w.arguments).is_object(), "{d}: {}", x.id);
            }
        }
        for a in &f.adversarial {
            assert_eq!(
                a.kind == Kind::Echo,
                !a.untrusted.is_empty(),
                "{d}: {}",
                a.id
            );
        }
        firing += f.firing.len();
        quiet += f.must_not_fire.len();
        adversarial += f.adversarial.len();
    }
    println!("{firing} firing, {quiet} must not fire, {adversarial} adversarial");
}

#[test]
fn every_dialect_has_fixtures() {
    let aliases = aliases();
    let have: BTreeSet<String> = dialects().into_iter().map(|f| f.dialect).collect();
    let registry = Registry::builtin();
    let without: Vec<&str> = registry
        .names()
        .into_iter()
        .filter(|n| !have.contains(*n))
        .collect();
    let unknown: Vec<&String> = have.iter().filter(|n| !aliases.contains_key(*n)).collect();
    assert!(
        without.is_empty() && unknown.is_empty(),
        "dialects without fixtures: {without:?}; fixtures without a dialect: {unknown:?}"
    );
}

#[test]
fn calls_are_read() {
    let c = Catalogue::load();
    let aliases = aliases();
    let (mut n, mut complaints) = (0, Vec::new());
    for file in dialects() {
        for f in &file.firing {
            n += 1;
            let got = read(firing_config(&c, f), &f.raw);
            for w in judge_firing(&file, f, &got, &aliases) {
                complaints.push(format!(
                    "{}/{}: {w}\n    raw {:?}",
                    file.dialect, f.id, f.raw
                ));
            }
        }
    }
    fail("calls are read", n, &complaints);
}

#[test]
fn shown_calls_stay_text() {
    let c = Catalogue::load();
    let (mut n, mut complaints) = (0, Vec::new());
    for file in dialects() {
        for q in &file.must_not_fire {
            n += 1;
            let modes = if q.split.is_empty() {
                &Mode::ALL[..]
            } else {
                &q.split
            };
            for &mode in modes {
                let got = read(c.config(&q.tools, mode), &q.raw);
                for w in judge_quiet(&q.raw, &got) {
                    complaints.push(format!(
                        "{}/{} ({mode:?}): {w}\n    raw {:?}",
                        file.dialect, q.id, q.raw
                    ));
                }
            }
        }
    }
    fail("shown calls stay text", n, &complaints);
}

#[test]
fn adversarial_calls_fail_closed() {
    let c = Catalogue::load();
    let (mut n, mut complaints) = (0, Vec::new());
    for file in dialects() {
        for a in &file.adversarial {
            n += 1;
            let got = read(adversarial_config(&c, a), &a.raw);
            let mut wrong = judge_quiet(&a.raw, &got);
            let reasons: Vec<RejectReason> = got.rejected.iter().map(|r| r.reason).collect();
            let fine = match a.report {
                Report::Must => !reasons.is_empty(),
                Report::May => true,
            };
            if !fine || reasons.iter().any(|r| *r != a.reason) {
                wrong.push(format!(
                    "rejected {:?} instead of {:?}",
                    got.rejected, a.reason
                ));
            }
            if let Some(near) = &a.nearest
                && !got
                    .rejected
                    .iter()
                    .any(|r| r.nearest.as_ref() == Some(near))
            {
                wrong.push(format!("`{near}` is not hinted at: {:?}", got.rejected));
            }
            if a.truncated && !got.truncated {
                wrong.push("not reported as truncated".to_owned());
            }
            for w in wrong {
                complaints.push(format!(
                    "{}/{} ({:?}): {w}\n    raw {:?}",
                    file.dialect, a.id, a.kind, a.raw
                ));
            }
        }
    }
    fail("adversarial calls fail closed", n, &complaints);
}

/// A request that demands a call lets prose stand around it, and nothing else.
#[test]
fn adversarial_calls_fail_closed_where_a_call_is_required() {
    let c = Catalogue::load();
    let (mut n, mut complaints) = (0, Vec::new());
    for file in dialects() {
        for a in &file.adversarial {
            n += 1;
            let cfg = ReaderConfig {
                expect: Expect::Required,
                ..adversarial_config(&c, a)
            };
            let got = read(cfg, &a.raw);
            for w in judge_quiet(&a.raw, &got) {
                complaints.push(format!(
                    "{}/{} ({:?}): {w}\n    raw {:?}",
                    file.dialect, a.id, a.kind, a.raw
                ));
            }
        }
    }
    fail("adversarial calls under required", n, &complaints);
}

#[test]
fn calls_read_the_same_at_every_split() {
    let c = Catalogue::load();
    let (mut n, mut complaints) = (0, Vec::new());
    for file in dialects() {
        for f in &file.firing {
            n += 1;
            if let Some(w) = first_difference(&firing_config(&c, f), &f.raw) {
                complaints.push(format!(
                    "{}/{}: {w}\n    raw {:?}",
                    file.dialect, f.id, f.raw
                ));
            }
        }
    }
    fail("calls read the same at every split", n, &complaints);
}

#[test]
fn quiet_and_adversarial_texts_read_the_same_at_every_split() {
    let c = Catalogue::load();
    let (mut n, mut complaints) = (0, Vec::new());
    for file in dialects() {
        for q in &file.must_not_fire {
            n += 1;
            for mode in [Mode::Unlearnt, Mode::Armed] {
                if let Some(w) = first_difference(&c.config(&q.tools, mode), &q.raw) {
                    complaints.push(format!(
                        "{}/{}: {w}\n    raw {:?}",
                        file.dialect, q.id, q.raw
                    ));
                }
            }
        }
        for a in &file.adversarial {
            n += 1;
            if let Some(w) = first_difference(&adversarial_config(&c, a), &a.raw) {
                complaints.push(format!(
                    "{}/{}: {w}\n    raw {:?}",
                    file.dialect, a.id, a.raw
                ));
            }
        }
    }
    fail("quiet and adversarial texts read the same", n, &complaints);
}

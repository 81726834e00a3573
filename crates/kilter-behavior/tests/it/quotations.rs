//! Texts that merely show or discuss calls, in many places and languages: nothing fires, no byte changes.

use std::collections::BTreeSet;

use kilter_behavior::read;
use serde::Deserialize;

use crate::catalogue::{Catalogue, Mode, Quiet, fail, files, first_difference, judge_quiet};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    text: Vec<Quiet>,
}

fn texts() -> Vec<(String, Quiet)> {
    files::<File>("must-not-fire")
        .into_iter()
        .flat_map(|(stem, f)| {
            f.text
                .into_iter()
                .map(move |q| (format!("{stem}/{}", q.id), q))
        })
        .collect()
}

fn modes(q: &Quiet) -> &[Mode] {
    if q.split.is_empty() {
        &Mode::ALL
    } else {
        &q.split
    }
}

#[test]
fn there_are_enough_and_they_differ() {
    let texts = texts();
    assert!(texts.len() >= 200, "{} texts", texts.len());
    let mut ids = BTreeSet::new();
    let mut raws = BTreeSet::new();
    let mut languages = BTreeSet::new();
    for (id, q) in &texts {
        assert!(ids.insert(id.clone()), "{id} twice");
        assert!(raws.insert(q.raw.clone()), "{id} repeats another text");
        assert!(!q.tools.is_empty(), "{id} declares no tools");
        languages.extend(q._lang.clone());
    }
    assert!(languages.len() >= 8, "{languages:?}");
    println!("{} texts in {} languages", texts.len(), languages.len());
}

#[test]
fn nothing_fires_and_no_byte_changes() {
    let c = Catalogue::load();
    let (mut n, mut complaints) = (0, Vec::new());
    for (id, q) in texts() {
        n += 1;
        for &mode in modes(&q) {
            let got = read(c.config(&q.tools, mode), &q.raw);
            for w in judge_quiet(&q.raw, &got) {
                complaints.push(format!("{id} ({mode:?}): {w}\n    raw {:?}", q.raw));
            }
        }
    }
    fail("nothing fires and no byte changes", n, &complaints);
}

#[test]
fn every_split_is_as_quiet() {
    let c = Catalogue::load();
    let (mut n, mut complaints) = (0, Vec::new());
    for (id, q) in texts() {
        n += 1;
        for &mode in modes(&q).iter().rev().take(2) {
            if let Some(w) = first_difference(&c.config(&q.tools, mode), &q.raw) {
                complaints.push(format!("{id} ({mode:?}): {w}\n    raw {:?}", q.raw));
            }
        }
    }
    fail("every split is as quiet", n, &complaints);
}

#[test]
fn they_stay_quiet_with_every_tool_of_the_catalogue() {
    let c = Catalogue::load();
    let (mut n, mut complaints) = (0, Vec::new());
    for (id, q) in texts() {
        n += 1;
        for &mode in modes(&q) {
            let got = read(c.config(&[], mode), &q.raw);
            for w in judge_quiet(&q.raw, &got) {
                complaints.push(format!("{id} ({mode:?}): {w}\n    raw {:?}", q.raw));
            }
        }
    }
    fail("they stay quiet with every tool", n, &complaints);
}

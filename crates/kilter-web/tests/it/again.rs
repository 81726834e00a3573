//! Reading again: keys, conditions, differences that rebuild the page.

use kilter_web::again::{
    Materials, RebuildError, block_hashes, diff, matches, materialization_key, rebuild,
};
use kilter_web::hash::content_hash;
use kilter_web::{Block, BlockKind};
use proptest::prelude::*;

use crate::receipt::block;

fn blocks(texts: &[String]) -> Vec<Block> {
    texts
        .iter()
        .map(|t| block(BlockKind::Paragraph, t, "p"))
        .collect()
}

#[test]
fn everything_that_has_a_say_is_in_the_key() {
    let plain = Materials {
        url: "https://a.test/x".to_owned(),
        ..Materials::default()
    };
    let key = materialization_key(&plain);
    assert_eq!(key, materialization_key(&plain.clone()));
    let some = |s: &str| Some(s.to_owned());
    let mut others = vec![
        Materials {
            url: "https://a.test/y".to_owned(),
            ..plain.clone()
        },
        Materials {
            backend_policy: "browser".to_owned(),
            ..plain.clone()
        },
        Materials {
            playbook: Some(("a".to_owned(), "1".to_owned())),
            ..plain.clone()
        },
        Materials {
            playbook: Some(("a".to_owned(), "2".to_owned())),
            ..plain.clone()
        },
        Materials {
            session_profile: some("work"),
            ..plain.clone()
        },
        Materials {
            max_tokens: Some(500),
            ..plain.clone()
        },
        Materials {
            focus: some("tides"),
            ..plain.clone()
        },
        Materials {
            sections: vec!["A".to_owned()],
            ..plain.clone()
        },
        Materials {
            translate_to: some("de"),
            ..plain.clone()
        },
    ];
    for switch in [
        "fit_markdown",
        "json_blocks",
        "json_tables",
        "json_feed",
        "semantic_chunking",
        "rank_blocks",
        "tag_trust",
        "emit_capsule",
        "delta_only",
        "capture_screenshot",
    ] {
        others.push(Materials {
            switches: vec![switch.to_owned()],
            ..plain.clone()
        });
    }
    let mut keys: Vec<String> = others.iter().map(materialization_key).collect();
    keys.push(key.clone());
    let all = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), all, "no two are the same");
    assert_eq!(
        key,
        materialization_key(&Materials {
            url: "https://a.test/x#part".to_owned(),
            ..plain.clone()
        }),
        "the fragment is focus, not address"
    );
    let two = |a: &str, b: &str| {
        materialization_key(&Materials {
            switches: vec![a.to_owned(), b.to_owned()],
            ..plain.clone()
        })
    };
    assert_eq!(
        two("tag_trust", "rank_blocks"),
        two("rank_blocks", "tag_trust")
    );
}

#[test]
fn a_condition_is_a_hash_in_either_spelling() {
    let hash = content_hash("text");
    for given in [
        hash.clone(),
        hash.trim_start_matches("sha256:").to_owned(),
        format!(" {} ", hash.to_uppercase().replace("SHA256", "sha256")),
    ] {
        assert!(matches(&given, "text"), "{given}");
        assert!(!matches(&given, "text "));
    }
    assert!(!matches("", "text") && !matches("sha256:", "text"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_difference_rebuilds_the_page(old in prop::collection::vec("[a-d]{1,2}", 0..12), new in prop::collection::vec("[a-d]{1,2}", 0..12)) {
        let (before, now) = (blocks(&old), blocks(&new));
        let d = diff(&block_hashes(&before), &now);
        let page = new.join("\n\n");
        prop_assert_eq!(rebuild(&old, &d).unwrap(), page.clone());
        prop_assert_eq!(&d.content_hash, &content_hash(&page));
        prop_assert!(d.added_blocks.iter().all(|a| !old.contains(&a.markdown)), "nothing that is there is sent");
        let same = diff(&block_hashes(&now), &now);
        prop_assert!(same.added_blocks.is_empty() && same.removed_hashes.is_empty());
        prop_assert_eq!(d.removed_hashes.len() + kept(&old, &new), old.len());
    }
}

fn kept(old: &[String], new: &[String]) -> usize {
    let mut left = new.to_vec();
    old.iter()
        .filter(|o| {
            left.iter()
                .position(|n| n == *o)
                .map(|i| left.swap_remove(i))
                .is_some()
        })
        .count()
}

#[test]
fn a_rebuild_that_is_not_the_page_says_so() {
    let (old, new) = (
        ["a".to_owned(), "b".to_owned()],
        ["b".to_owned(), "c".to_owned()],
    );
    let d = diff(&block_hashes(&blocks(&old)), &blocks(&new));
    assert!(matches!(
        rebuild(&old[..1], &d),
        Err(RebuildError::Missing(_))
    ));
    let mut altered = d.clone();
    altered.block_hashes.swap(0, 1);
    assert_eq!(rebuild(&old, &altered), Err(RebuildError::Mismatch));
    let mut altered = d;
    altered.added_blocks[0].markdown = "x".to_owned();
    assert!(rebuild(&old, &altered).is_err());
}

//! Claims: where a page speaks of them, and whether it bears them out.

use kilter_web::claim::attest::numbers;
use kilter_web::claim::{Status, attest, check};
use kilter_web::hash::digest_from;
use kilter_web::receipt::{block_leaf, merkle};
use kilter_web::{Block, BlockKind, FailureCode};

use crate::receipt::block;

fn page() -> Vec<Block> {
    let p = |t: &str| block(BlockKind::Paragraph, t, "p");
    vec![
        block(BlockKind::Heading, "Harbour of Lindau", "h1"),
        p(
            "The harbour crane was built in 1911 by the engineer Maria Huber. The harbour crane lifts 2,500 kilograms. It weighs 40 tonnes.",
        ),
        p(
            "The lighthouse is not open to visitors in winter. Is the lighthouse open to visitors in spring?",
        ),
        block(BlockKind::Heading, "Ferries", "h2"),
        p("Seelinie acquired Bodan Ferries in 2003. The ferry to Bregenz leaves daily at 09:30."),
        p("Der Hafen wurde 1856 eröffnet. Der Kran ist nicht mehr in Betrieb."),
        p("港のクレーンは1911年に建設された。"),
        p("Tickets cost 12.50 euros; children pay half."),
    ]
}

fn status(claim: &str) -> Status {
    attest(claim, &page(), true).status
}

#[test]
fn a_claim_is_found_with_its_proof() {
    let blocks = page();
    let got = check("the crane was built in 1911", &blocks, true, 3).unwrap();
    assert!(got.found && got.retrieved && got.verdict == "not_evaluated" && got.proven.is_none());
    let best = &got.matches[0];
    assert_eq!(best.block_index, 1);
    let root = digest_from(&got.block_merkle_root).unwrap();
    let leaf = block_leaf(&best.text, &best.source_selector);
    assert!(merkle::holds(&best.proof, &leaf, &root, got.leaf_count));
    for (claim, block) in [
        ("Kran in Betrieb", 5),
        ("クレーン 建設", 6),
        ("ferry to Bregenz", 4),
        ("2,500 kilograms", 1),
    ] {
        assert_eq!(
            check(claim, &blocks, true, 1).unwrap().matches[0].block_index,
            block,
            "{claim}"
        );
    }
}

#[test]
fn absence_is_proved_only_by_the_whole_page() {
    let got = check("the museum has a planetarium", &page(), true, 3).unwrap();
    assert_eq!((got.found, got.proven), (false, Some(true)));
    let got = check("the museum has a planetarium", &page(), false, 3).unwrap();
    assert_eq!(
        (got.found, got.proven),
        (false, Some(false)),
        "a cut page proves nothing"
    );
    for (claim, most) in [("", 3), (" ", 3), ("x", 0), ("x", 11)] {
        assert_eq!(
            check(claim, &page(), true, most).unwrap_err().code,
            FailureCode::InvalidArguments
        );
    }
    assert!(check(&"x".repeat(2_001), &page(), true, 3).is_err());
}

#[test]
fn numbers_denial_and_order_decide() {
    let mut wrong = Vec::new();
    for (claim, want) in [
        ("The harbour crane was built in 1911.", Status::Supported),
        ("The harbour crane was built in 1912.", Status::Contradicted),
        ("The harbour crane lifts 2500 kilograms", Status::Supported),
        // Who "it" is, the rules do not know, and say so.
        ("The harbour crane weighs 40 tonnes", Status::Related),
        (
            "The lighthouse is open to visitors in winter",
            Status::Contradicted,
        ),
        (
            "The lighthouse is not open to visitors in winter",
            Status::Supported,
        ),
        (
            "The lighthouse is open to visitors in spring",
            Status::Related,
        ),
        ("Seelinie acquired Bodan Ferries in 2003", Status::Supported),
        ("Bodan Ferries acquired Seelinie in 2003", Status::Related),
        (
            "The ferry to Bregenz leaves daily at 09:30",
            Status::Supported,
        ),
        (
            "The ferry to Bregenz leaves daily at 10:30",
            Status::Contradicted,
        ),
        ("Der Kran ist in Betrieb", Status::Contradicted),
        ("Der Kran ist nicht mehr in Betrieb", Status::Supported),
        ("Der Hafen wurde 1856 eröffnet", Status::Supported),
        ("Der Hafen wurde 1865 eröffnet", Status::Contradicted),
        ("Tickets cost 12,5 euros", Status::Supported),
        ("The museum shows a planetarium", Status::Unsupported),
        ("Yes", Status::Unknown),
        ("", Status::Unknown),
    ] {
        let got = attest(claim, &page(), true);
        if got.status != want {
            let said = (got.status, &got.reason, &got.text);
            wrong.push(format!("{claim}: {want:?}, not {said:?}"));
        }
        assert_eq!(got.grounded, got.status == Status::Supported);
        assert_eq!(got.judge, "rules");
        let stands = matches!(
            got.status,
            Status::Supported | Status::Contradicted | Status::Related
        );
        assert_eq!(
            got.block_index.is_some(),
            stands,
            "{claim} stands on a block"
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        attest("The museum shows a planetarium", &page(), false).status,
        Status::Unknown,
        "the page was not read to its end"
    );
    assert_ne!(
        status("Clerk Maria Huber was fired in 1911"),
        Status::Supported
    );
}

#[test]
fn a_page_that_says_both_bears_out_neither() {
    let mut blocks = page();
    blocks.push(block(
        BlockKind::Paragraph,
        "The harbour crane was not built in 1911.",
        "p",
    ));
    let got = attest("The harbour crane was built in 1911", &blocks, true);
    assert_eq!(got.status, Status::Unknown, "{}", got.reason);
}

#[test]
fn numbers_are_read_in_every_spelling() {
    let n = |t: &str| {
        let mut v: Vec<String> = numbers(t).into_iter().collect();
        v.sort();
        v
    };
    assert_eq!(n("1,911 and 1.911 and 1911 and 1'911"), ["1911"]);
    assert_eq!(n("2,5 is 2.5 is 2.50"), ["2.5"]);
    assert_eq!(n("1.234.567,89 = 1,234,567.89"), ["1234567.89"]);
    assert_eq!(n("١٩١١ 1911年"), ["1911"]);
    assert_eq!(n("at 09:30, in 2003."), ["09:30", "2003"]);
    assert_eq!(n("abc1 x86-64 v2"), ["64"]);
    assert!(n("none, at all").is_empty());
}

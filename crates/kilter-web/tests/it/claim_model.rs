//! A model as a judge of claims: a scripted peer that speaks chat completions; what it says counts only with a citation.

use kilter_web::claim::model::{Passage, Ruling};
use kilter_web::claim::{
    AttestRequest, ChatJudge, ClaimSource, Judge, SourceRead, Status, attest_row, attest_with,
    report,
};
use kilter_web::hash::digest_from;
use kilter_web::receipt::{block_leaf, merkle};
use kilter_web::{Block, BlockKind, Failure, FailureCode};
use serde_json::{Value, json};

use crate::acquire::open_client;
use crate::receipt::block;
use crate::site::{Say, Site, answer};

fn blocks() -> Vec<Block> {
    [
        "The harbour crane was built in 1911 by the engineer Maria Huber.",
        "The lighthouse keeper's house has been lent to the sailing club since the war.",
        "Ferries to the island leave every hour from the north quay.",
    ]
    .map(|t| block(BlockKind::Paragraph, t, "p"))
    .to_vec()
}

/// A claim that the rules cannot decide: the page says it in other words.
const OTHER_WORDS: &str = "The sailing club uses the lighthouse keeper's house";

fn completion(content: &str) -> Say {
    let body = json!({"choices": [{"message": {"role": "assistant", "content": content}}]});
    answer(
        "200 OK",
        "Content-Type: application/json\r\n",
        body.to_string(),
    )
}

/// A peer that always says this.
async fn peer(content: &'static str) -> (Site, ChatJudge) {
    let site = Site::start(move |_| completion(content)).await;
    let judge =
        ChatJudge::new(open_client(), &site.url("/v1/"), "local/judge", Some("k3y")).unwrap();
    (site, judge)
}

async fn ask(claim: &str, content: &'static str) -> kilter_web::claim::Attested {
    let (_site, judge) = peer(content).await;
    attest_with(claim, &blocks(), true, Some(&judge)).await
}

#[tokio::test]
async fn a_judge_decides_what_the_rules_cannot_and_says_that_it_did() {
    let ruled = attest_with(OTHER_WORDS, &blocks(), true, None).await;
    assert_eq!(
        (ruled.status, ruled.judge.as_str()),
        (Status::Related, "rules")
    );
    let (site, judge) = peer(
        "<think>The club has it. {\"status\": \"unknown\"}</think>\n```json\n{\"status\": \"supported\", \"passage\": 0, \
         \"quote\": \"has been lent to the  sailing club\", \"reason\": \"Lent means that they use it.\"}\n```",
    )
    .await;
    let got = attest_with(OTHER_WORDS, &blocks(), true, Some(&judge)).await;
    assert_eq!(
        (got.status, got.grounded),
        (Status::Supported, true),
        "{got:?}"
    );
    assert_eq!(got.judge, format!("local/judge@{}", site.addr));
    assert_eq!(got.block_index, Some(1));
    assert_eq!(
        got.text.as_deref(),
        Some("has been lent to the sailing club")
    );
    assert_eq!(got.reason, "Lent means that they use it.");
    // What was sent: the claim and passages as data, under the path of the interface.
    let asked = site.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.header("authorization"), Some("Bearer k3y"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert!(!format!("{judge:?} {}", judge.name()).contains("k3y"));
}

#[tokio::test]
async fn a_judge_without_a_citation_does_not_count() {
    for content in [
        r#"{"status": "supported"}"#,
        r#"{"status": "supported", "passage": 7, "quote": "has been lent to the sailing club"}"#,
        r#"{"status": "contradicted", "passage": 0, "quote": "the club was never let in"}"#,
        r#"{"status": "supported", "passage": 0, "quote": ""}"#,
        r#"{"status": "supported", "passage": 0, "quote": "the"}"#,
    ] {
        let got = ask(OTHER_WORDS, content).await;
        assert_eq!(
            (got.status, got.judge.as_str()),
            (Status::Related, "rules"),
            "{content}"
        );
        assert_eq!(got.judge_failure.as_deref(), Some("no_citation"));
    }
    // What decides nothing needs none.
    let got = ask(
        OTHER_WORDS,
        r#"{"status": "unknown", "reason": "It is not clear."}"#,
    )
    .await;
    assert_eq!(got.status, Status::Unknown);
    assert!(got.judge.starts_with("local/judge@"));
}

#[tokio::test]
async fn a_judge_cannot_unsay_what_a_sentence_says() {
    let said = "The harbour crane was built in 1911";
    let quote = r#""passage": 0, "quote": "The harbour crane was built in 1911""#;
    let agree: &'static str = format!(r#"{{"status": "supported", {quote}}}"#).leak();
    let got = ask(said, agree).await;
    assert_eq!(got.status, Status::Supported);
    assert!(
        got.judge.starts_with("rules, local/judge@"),
        "{}",
        got.judge
    );
    let oppose: &'static str = format!(r#"{{"status": "contradicted", {quote}}}"#).leak();
    let got = ask(said, oppose).await;
    assert_eq!((got.status, got.grounded), (Status::Unknown, false));
    assert!(got.judge.starts_with("rules, "));
    // A wrong number stays wrong, whatever the judge overlooks.
    let got = ask(
        "The harbour crane was built in 1912",
        r#"{"status": "related"}"#,
    )
    .await;
    assert_eq!(got.status, Status::Contradicted);
}

#[tokio::test]
async fn a_judge_that_fails_leaves_the_rules() {
    for (say, code) in [
        ("500 Broken", "http_500"),
        ("401 No", "http_401"),
        ("200 OK", "extraction_failed"),
    ] {
        let site =
            Site::start(move |_| answer(say, "Content-Type: application/json\r\n", "{}")).await;
        let judge = ChatJudge::new(open_client(), &site.url("/v1"), "m", None).unwrap();
        let got = attest_with(OTHER_WORDS, &blocks(), true, Some(&judge)).await;
        assert_eq!((got.status, got.judge.as_str()), (Status::Related, "rules"));
        assert_eq!(got.judge_failure.as_deref(), Some(code));
    }
    for content in ["", "I cannot say.", "{\"status\": \"yes\"}", "{{{{"] {
        let got = ask(OTHER_WORDS, content.to_owned().leak()).await;
        assert_eq!(
            got.judge_failure.as_deref(),
            Some("extraction_failed"),
            "{content}"
        );
    }
    // Where nothing speaks of the claim, nobody is asked.
    let (site, judge) = peer("{\"status\": \"supported\"}").await;
    let got = attest_with(
        "Penguins breed in Antarctica",
        &blocks(),
        true,
        Some(&judge),
    )
    .await;
    assert_eq!(got.status, Status::Unsupported);
    assert!(site.paths().is_empty());
    for base in ["", "localhost", "file:///x", "ftp://h/v1"] {
        let got = ChatJudge::new(open_client(), base, "m", None).unwrap_err();
        assert_eq!(got.code, FailureCode::InvalidArguments, "{base}");
    }
}

/// A judge of the test's own: the interface is enough.
struct Stubborn;

impl Judge for Stubborn {
    fn name(&self) -> String {
        "stubborn".to_owned()
    }

    fn rule<'a>(
        &'a self,
        _: &'a str,
        passages: &'a [Passage],
    ) -> kilter_web::claim::model::Answer<'a> {
        let quote = passages[0].text.clone();
        Box::pin(async move {
            Ok(Ruling {
                status: Status::Supported,
                passage: Some(0),
                quote: Some(quote),
                reason: String::new(),
            })
        })
    }
}

#[tokio::test]
async fn rows_add_up_and_prove_their_block() {
    let source = |claim: &str| ClaimSource {
        claim: claim.to_owned(),
        source_url: "https://docs.example.test/harbour".to_owned(),
    };
    let page = || SourceRead {
        blocks: blocks(),
        complete: true,
        receipt: None,
    };
    let mut rows = Vec::new();
    for (claim, judge) in [
        ("The harbour crane was built in 1911", None),
        ("The harbour crane was built in 1912", None),
        (OTHER_WORDS, None),
        (OTHER_WORDS, Some(&Stubborn as &dyn Judge)),
        ("Penguins breed in Antarctica", None),
    ] {
        rows.push(attest_row(&source(claim), Ok(page()), judge).await);
    }
    let unread = Failure::new(FailureCode::Http(404), "gone");
    rows.push(attest_row(&source("x y z"), Err(unread), Some(&Stubborn)).await);
    let root = rows[0].block_merkle_root.clone().unwrap();
    let proof = rows[0].proof.clone().unwrap();
    let leaf = block_leaf(&blocks()[0].text, "p");
    assert_eq!(
        rows[0].leaf.as_deref(),
        Some(kilter_web::hash::hex(&leaf).as_str())
    );
    assert!(merkle::holds(
        &proof,
        &leaf,
        &digest_from(&root).unwrap(),
        3
    ));
    let all = report(rows);
    assert_eq!(
        (
            all.supported,
            all.contradicted,
            all.related,
            all.unsupported,
            all.unknown
        ),
        (2, 1, 1, 1, 1)
    );
    assert_eq!(all.grounded + all.unsupported_total, all.claims_total);
    assert!(all.ok);
    let value = serde_json::to_value(&all).unwrap();
    assert_eq!(value["rows"][3]["judge"], "stubborn");
    assert_eq!(value["rows"][5]["failure"]["code"], "http_404");
    assert_eq!(value["rows"][5]["status"], "unknown");
    assert!(!report(vec![all.rows[5].clone()]).ok, "no page, no answer");
}

#[test]
fn arguments_are_checked_before_anything_is_read() {
    let request = |claims: Value| -> Result<(), Failure> {
        serde_json::from_value::<AttestRequest>(json!({ "claims": claims }))
            .unwrap()
            .check()
    };
    let row = |claim: &str, url: &str| json!({"claim": claim, "sourceUrl": url});
    assert_eq!(request(json!([row("a b", "https://x.test/")])), Ok(()));
    for claims in [
        json!([]),
        json!(vec![row("a", "https://x.test/"); 51]),
        json!([row(" ", "https://x.test/")]),
        json!([row(&"x".repeat(2_001), "https://x.test/")]),
        json!([row("a", "")]),
    ] {
        assert_eq!(
            request(claims).unwrap_err().code,
            FailureCode::InvalidArguments
        );
    }
}

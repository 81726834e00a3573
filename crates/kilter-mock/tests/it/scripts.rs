//! Scripts that cannot be used say where and what to do.

use kilter_mock::Script;

fn error(toml: &str) -> String {
    Script::from_toml(toml)
        .err()
        .unwrap_or_else(|| panic!("no error: {toml}"))
        .to_string()
}

#[test]
fn an_unknown_key_is_shown_in_its_line() {
    let e = error("name = \"m\"\n\n[stream]\npeice = 4\n");
    assert!(e.contains("line 4"), "{e}");
    assert!(e.contains("peice"), "{e}");
    assert!(e.contains("    4 | peice = 4"), "{e}");
    assert!(e.contains("hint:"), "{e}");
    let e = error("[[rules]]\nwhen = { toools = true }\n");
    assert!(e.contains("line 2") && e.contains("toools"), "{e}");
}

#[test]
fn a_wrong_value_is_shown_with_what_may_stand() {
    let e = error("[calls]\nchannel = \"sideways\"\n");
    assert!(e.contains("line 2") && e.contains("native"), "{e}");
    let e = error("[stream\npiece = 1");
    assert!(e.contains("line 1"), "{e}");
    let e = error("seed = \"seven\"");
    assert!(e.contains("line 1"), "{e}");
}

#[test]
fn names_that_do_not_exist() {
    let e = error("[calls]\nchannel = \"content\"\ndialect = \"klingon\"");
    assert!(e.contains("`klingon`") && e.contains("hermes-json"), "{e}");
    assert!(error("[calls]\nchannel = \"content\"").contains("without `calls.dialect`"));
    assert!(error("[reasoning]\nchannel = \"inline\"\nmarkers = \"x\"").contains("names no pair"));
    assert!(
        error("phases = [{ use = \"base\" }]\nrouter = { among = [\"base\"] }")
            .contains("both given")
    );
    let named = Script::from_toml("x = 1")
        .expect_err("an error")
        .in_file("a.toml")
        .to_string();
    assert!(named.starts_with("script `a.toml`, line 1"), "{named}");
}

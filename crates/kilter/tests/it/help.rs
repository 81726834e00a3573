//! Every command explains itself within 80 columns and shows examples.

use crate::run::Place;

const COMMANDS: [&[&str]; 25] = [
    &[],
    &["fit"],
    &["serve"],
    &["parse"],
    &["read"],
    &["mock"],
    &["trace"],
    &["trace", "follow"],
    &["trace", "summary"],
    &["trace", "to-fixture"],
    &["doctor"],
    &["config"],
    &["config", "check"],
    &["completions"],
    &["man"],
    &["cascade"],
    &["cascade", "run"],
    &["cascade", "selftest"],
    &["playbook"],
    &["playbook", "lint"],
    &["playbook", "resolve"],
    &["receipts"],
    &["receipts", "export"],
    &["receipts", "rotate"],
    &["receipts", "verify"],
];

#[test]
fn help_is_narrow_and_has_examples() {
    let place = Place::new();
    for command in COMMANDS {
        let mut args = command.to_vec();
        args.push("--help");
        let output = place.run(&args);
        assert!(output.status.success(), "{args:?}");
        assert_eq!(output.stderr, b"", "{args:?}");
        let help = String::from_utf8(output.stdout).unwrap();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line}");
        }
        assert!(
            help.contains("Examples:") || help.contains("Start here:"),
            "{args:?} shows no example:\n{help}"
        );
    }
}

#[test]
fn bare_kilter_says_where_to_start() {
    insta::assert_snapshot!(Place::new().transcript(&[]));
}

#[test]
fn a_wrong_word_is_explained() {
    insta::assert_snapshot!(Place::new().transcript(&["fti"]));
    insta::assert_snapshot!(Place::new().transcript(&["fit", "--model"]));
}

#[test]
fn completions_and_manual_pages_are_written() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = place.run(&["completions", shell]);
        assert!(output.status.success());
        assert!(
            String::from_utf8(output.stdout)
                .unwrap()
                .contains("to-fixture"),
            "{shell}"
        );
    }
    let page = String::from_utf8(place.run(&["man", "fit"]).stdout).unwrap();
    assert!(page.contains(".TH kilter-fit 1"), "{page}");
    insta::assert_snapshot!(place.transcript(&["man", "nothing"]));
}

#[test]
fn colour_is_only_where_it_is_asked_for() {
    let place = Place::new();
    assert!(!place.run(&["--help"]).stdout.contains(&0x1b));
    assert!(place.run(&["--color", "always"]).stdout.contains(&0x1b));
    let output = place
        .command(&["--color", "never"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn the_reference_in_the_repository_is_what_would_be_generated() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let output = Place::new().run(&["__generate", docs, "--check"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Whatever is typed wrongly: exit code 2, and the last word is what to do next.
#[test]
fn every_wrong_argument_has_a_hint() {
    let place = Place::new();
    for (args, hint) in [
        (&["fti"][..], "kilter --help"),
        (&["fit", "--model"], "kilter fit --help"),
        (&["fit", "--max-requests", "0"], "kilter fit --help"),
        (&["fit", "--name", "x"], "kilter fit --help"),
        (&["serve", "--port", "70000"], "kilter serve --help"),
        (&["serve", "--adapt", "maybe"], "kilter serve --help"),
        (&["parse", "--expect", "maybe"], "kilter parse --help"),
        (&["parse", "--chunk", "0"], "kilter parse --help"),
        (&["mock", "--port", "x"], "kilter mock --help"),
        (
            &["trace", "follow", "-n", "x"],
            "kilter trace follow --help",
        ),
        (&["trace", "to-fixture"], "kilter trace to-fixture --help"),
        (&["config", "check", "a", "b"], "kilter config check --help"),
        (&["completions", "tcsh"], "kilter completions --help"),
        (&["doctor", "--nothing"], "kilter doctor --help"),
    ] {
        let output = place.run(args);
        let text = place.show(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let last = text.trim_end().lines().last().unwrap();
        assert_eq!(
            last,
            format!("hint: `{hint}` shows what it takes"),
            "{text}"
        );
    }
}

//! Names that are private whatever they resolve to.

/// One rule about names.
#[derive(Debug, PartialEq, Eq)]
pub struct NameRule {
    /// The suffix, without a leading dot. The name itself and everything under it are denied.
    pub suffix: &'static str,
    /// The document that set it aside.
    pub source: &'static str,
}

/// Names for use inside a host or a site, from the registry of special-use domain names
/// (<https://www.iana.org/assignments/special-use-domain-names>) and the reservation of `internal`
/// (ICANN board resolution 2024.07.29.06). `localdomain` is not registered but is what hosts files give to loopback.
const RULES: &[NameRule] = &[
    NameRule {
        suffix: "localhost",
        source: "RFC 6761",
    },
    NameRule {
        suffix: "local",
        source: "RFC 6762",
    },
    NameRule {
        suffix: "internal",
        source: "ICANN 2024.07.29.06",
    },
    NameRule {
        suffix: "home.arpa",
        source: "RFC 8375",
    },
    NameRule {
        suffix: "localdomain",
        source: "hosts(5) custom",
    },
];

/// The rule that denies `name`, which is lower case as the URL parser leaves it; trailing dots do not matter.
pub fn denied(name: &str) -> Option<&'static NameRule> {
    let name = name.trim_end_matches('.');
    RULES.iter().find(|rule| {
        name.strip_suffix(rule.suffix)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

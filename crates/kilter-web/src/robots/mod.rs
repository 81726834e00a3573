//! `robots.txt` by RFC 9309: groups, the longest match, wildcards, and what an unreachable file means.

pub mod gate;

use std::time::Duration;

/// What is read of a file (RFC 9309, 2.5: at least 500 KiB).
pub const MOST_BYTES: usize = 512 << 10;

/// The longest pause between requests that is honoured.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// The rules for one robot.
#[derive(Debug, Clone, PartialEq)]
pub struct Robots {
    rules: Vec<Rule>,
    delay: Option<Duration>,
    sitemaps: Vec<String>,
    closed: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Rule {
    allow: bool,
    pattern: Vec<u8>,
}

impl Robots {
    /// No rules: everything may be read. What a missing file (status 4xx) means (2.3.1.3).
    pub fn open() -> Self {
        Self {
            rules: Vec::new(),
            delay: None,
            sitemaps: Vec::new(),
            closed: false,
        }
    }

    /// Nothing may be read: what an unreachable file (status 5xx, no answer) means (2.3.1.4).
    pub fn closed() -> Self {
        Self {
            closed: true,
            ..Self::open()
        }
    }

    /// What an answer to `/robots.txt` means for `agent`; `None` for no answer at all.
    pub fn of_answer(status: Option<u16>, body: &[u8], agent: &str) -> Self {
        match status {
            Some(200..=299) => Self::parse(body, agent),
            // A redirect that was not followed to its end counts as a missing file (2.3.1.2).
            Some(300..=499) => Self::open(),
            _ => Self::closed(),
        }
    }

    /// The rules of the groups for `agent` (its product token, `kilter`), or of `*` where no group names it.
    pub fn parse(body: &[u8], agent: &str) -> Self {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let text = String::from_utf8_lossy(&body[..body.len().min(MOST_BYTES)]);
        let agent = token(agent);
        let (mut own, mut any) = (Group::default(), Group::default());
        let (mut in_own, mut in_any, mut naming) = (false, false, false);
        let mut sitemaps = Vec::new();
        for line in text.split(['\n', '\r']) {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "user-agent" => {
                    if !naming {
                        (in_own, in_any) = (false, false);
                    }
                    naming = true;
                    if value.starts_with('*') {
                        in_any = true;
                    } else if token(value) == agent && !agent.is_empty() {
                        in_own = true;
                        own.named = true;
                    }
                }
                key @ ("allow" | "disallow" | "crawl-delay") => {
                    naming = false;
                    for (group, on) in [(&mut own, in_own), (&mut any, in_any)] {
                        if on {
                            group.add(key, value);
                        }
                    }
                }
                "sitemap" => sitemaps.push(value.to_owned()),
                // Other records are no part of a group and do not end one (2.2.4).
                _ => {}
            }
        }
        let group = if own.named { own } else { any };
        Self {
            rules: group.rules,
            delay: group.delay,
            sitemaps,
            closed: false,
        }
    }

    /// Whether a path with its query may be read. The longest pattern that matches decides; of two as long, the allowing
    /// one (2.2.2). `/robots.txt` itself always may.
    pub fn allows(&self, path_and_query: &str) -> bool {
        if path_and_query == "/robots.txt" {
            return true;
        }
        if self.closed {
            return false;
        }
        let path = normal(path_and_query.as_bytes());
        let best = self
            .rules
            .iter()
            .filter(|rule| matches(&rule.pattern, &path))
            .max_by_key(|rule| (rule.pattern.len(), rule.allow));
        best.is_none_or(|rule| rule.allow)
    }

    /// The pause that the site asks for between requests.
    pub fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// Sitemaps that the file names, whatever the group.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

#[derive(Default)]
struct Group {
    named: bool,
    rules: Vec<Rule>,
    delay: Option<Duration>,
}

impl Group {
    fn add(&mut self, key: &str, value: &str) {
        if key == "crawl-delay" {
            if let Some(seconds) = value
                .parse::<f64>()
                .ok()
                .filter(|s| s.is_finite() && *s >= 0.0)
            {
                let delay = Duration::from_secs_f64(seconds.min(LONGEST_DELAY.as_secs_f64()));
                self.delay = Some(self.delay.map_or(delay, |d| d.max(delay)));
            }
        } else if !value.is_empty() {
            // An empty rule allows nothing and forbids nothing.
            self.rules.push(Rule {
                allow: key == "allow",
                pattern: normal(value.as_bytes()),
            });
        }
    }
}

/// The product token: letters, `_` and `-` up to the first other character, in lower case (2.2.1).
fn token(agent: &str) -> String {
    agent
        .chars()
        .take_while(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-'))
        .collect::<String>()
        .to_ascii_lowercase()
}

/// One spelling for a path: unreserved characters plain, all others above ASCII escaped, hex digits in upper case (2.2.2).
fn normal(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut i = 0;
    while i < path.len() {
        let escaped = (path[i] == b'%')
            .then(|| path.get(i + 1..i + 3))
            .flatten()
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escaped {
            Some(b) => {
                if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~') {
                    out.push(b);
                } else {
                    out.extend_from_slice(format!("%{b:02X}").as_bytes());
                }
                i += 3;
            }
            None => {
                if path[i].is_ascii() {
                    out.push(path[i]);
                } else {
                    out.extend_from_slice(format!("%{:02X}", path[i]).as_bytes());
                }
                i += 1;
            }
        }
    }
    out
}

/// Whether a pattern with `*` and a final `$` matches from the start of the path: linear in its pieces, without going back.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix(b"$") {
        Some(p) => (p, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split(|b| *b == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let pieces: Vec<&[u8]> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else {
        return !anchored || rest.is_empty();
    };
    for piece in middle {
        match find(rest, piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    if anchored {
        rest.ends_with(last)
    } else {
        find(rest, last).is_some()
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    haystack.windows(needle.len()).position(|w| w == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn robots(text: &str) -> Robots {
        Robots::parse(text.as_bytes(), "kilter/0.1")
    }

    #[test]
    fn the_longest_match_decides_and_allow_wins_a_tie() {
        for (rules, path, want) in [
            ("Disallow: /", "/", false),
            ("Disallow:", "/x", true),
            ("Disallow: /a\nAllow: /a/b", "/a/b/c", true),
            ("Allow: /a/b\nDisallow: /a", "/a/b/c", true),
            ("Disallow: /a\nAllow: /a/b", "/a/c", false),
            ("Disallow: /page\nAllow: /page", "/page", true),
            ("Disallow: /p\nAllow: /", "/page", false),
            ("Allow: /p\nDisallow: /", "/page", true),
            ("Allow: /page\nDisallow: /*.htm", "/page.htm", false),
            ("Allow: /$\nDisallow: /", "/", true),
            ("Allow: /$\nDisallow: /", "/page.htm", false),
            ("Disallow: /*.gif$", "/a/b.gif", false),
            ("Disallow: /*.gif$", "/a/b.gif?x", true),
            ("Disallow: /*/private/*.html", "/x/private/y.html", false),
            ("Disallow: /*/private/*.html", "/private/y.html", true),
            ("Disallow: /fish*", "/fishheads/yummy.html", false),
            ("Disallow: /fish/", "/fish", true),
            ("Disallow: /Fish", "/fish", true),
            ("Disallow: /a%3cd.html", "/a%3Cd.html", false),
            ("Disallow: /%7ejoe/", "/~joe/x", false),
            ("Disallow: /ツ", "/%E3%83%84", false),
            ("Disallow: /a%2Fb", "/a/b", true),
            ("Disallow: /*?sid=", "/x?a=1&sid=2", true),
            ("Disallow: /*sid=", "/x?a=1&sid=2", false),
            ("Disallow: /\nAllow: /robots", "/robots.txt", true),
            ("Disallow: /", "/robots.txt", true),
        ] {
            let r = robots(&format!("User-agent: *\n{rules}\n"));
            assert_eq!(r.allows(path), want, "{rules:?} {path}");
        }
    }

    #[test]
    fn groups_of_one_name_are_one_and_a_name_beats_the_star() {
        let text = "User-agent: *\nDisallow: /\n\nuser-agent: Other\nUSER-AGENT: Kilter/9 (x)\nAllow: /a\nDisallow: /a/no\n\
                    Sitemap: https://s.example/1.xml\nCrawl-delay: 2.5\nUser-agent: kilter # again\nDisallow: /b\n";
        let r = robots(text);
        assert!(r.allows("/anything"));
        assert!(!r.allows("/a/no"));
        assert!(!r.allows("/b"));
        assert_eq!(r.delay(), Some(Duration::from_millis(2500)));
        assert_eq!(r.sitemaps(), ["https://s.example/1.xml"]);
        assert!(!Robots::parse(text.as_bytes(), "someone").allows("/a"));
        assert!(
            robots("User-agent: kilterish\nDisallow: /").allows("/"),
            "a longer name is another robot"
        );
        assert!(
            robots("Disallow: /").allows("/"),
            "a rule outside a group is none"
        );
        assert!(robots("User-agent: *\nFoo: bar\nDisallow: /x").allows("/"));
        assert!(!robots("User-agent: *\nSitemap: y\nDisallow: /x").allows("/x"));
        assert!(!robots("\u{feff}User-agent: *\rDisallow: /x\r").allows("/x"));
    }

    #[test]
    fn an_unreachable_file_closes_the_site_and_a_missing_one_opens_it() {
        for (status, want) in [
            (Some(404), true),
            (Some(401), true),
            (Some(302), true),
            (Some(500), false),
            (Some(503), false),
            (None, false),
        ] {
            assert_eq!(
                Robots::of_answer(status, b"User-agent: *\nDisallow: /", "kilter").allows("/x"),
                want,
                "{status:?}"
            );
        }
        assert!(
            !Robots::of_answer(Some(200), b"User-agent: *\nDisallow: /", "kilter").allows("/x")
        );
    }

    #[test]
    fn patterns_cannot_be_made_slow() {
        let pattern = format!("User-agent: *\nDisallow: /{}x$\n", "a*".repeat(2000));
        let r = robots(&pattern);
        assert!(r.allows(&format!("/{}", "a".repeat(20_000))));
    }
}

//! CSS selectors, as far as pages and playbooks use them: types, classes, ids, attributes, positions, `:not`, and the
//! four combinators.

use super::{Document, Element, NodeId};

/// A list of selectors, ready to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// Alternatives; each is read from its last compound to its first.
    alternatives: Vec<Complex>,
}

/// Why a selector cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot read the selector `{selector}`: {what}\nhint: types, #ids, .classes, [attributes], :nth-of-type(n), :nth-child(n), :first-child, :last-child, :not(…) and the combinators are understood"
)]
pub struct SelectorError {
    /// The whole text.
    pub selector: String,
    /// What is wrong, and where.
    pub what: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Complex {
    /// The compound that the element itself must match.
    last: Vec<Simple>,
    /// Combinator and compound, going outwards.
    before: Vec<(Combinator, Vec<Simple>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combinator {
    Descendant,
    Child,
    Next,
    Later,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Simple {
    Any,
    Type(String),
    Id(String),
    Class(String),
    Attr(String, Test, String),
    NthOfType(usize),
    NthChild(usize),
    LastChild,
    Not(Vec<Simple>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    Present,
    Equal,
    Word,
    Prefix,
    Suffix,
    Inside,
    Dash,
}

impl Selector {
    /// Reads a selector list.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut reader = Reader {
            text,
            chars: text.char_indices().peekable(),
        };
        let alternatives = reader.list()?;
        Ok(Self { alternatives })
    }

    /// Whether the element matches.
    pub fn matches(&self, doc: &Document, id: NodeId) -> bool {
        doc.element(id).is_some() && self.alternatives.iter().any(|c| complex(doc, id, c))
    }

    /// All matches below `root`, in document order.
    pub fn all<'a>(&'a self, doc: &'a Document, root: NodeId) -> impl Iterator<Item = NodeId> + 'a {
        doc.descendants(root).filter(|i| self.matches(doc, *i))
    }
}

/// One way outwards that is still open: the element, and how many compounds are matched.
type Open = (NodeId, usize);

fn complex(doc: &Document, id: NodeId, complex: &Complex) -> bool {
    if !compound(doc, id, &complex.last) {
        return false;
    }
    let mut open: Vec<Open> = vec![(id, 0)];
    // Each (element, place) is looked at once: the descendant combinator would otherwise try all combinations.
    let mut seen = std::collections::HashSet::new();
    while let Some((at, done)) = open.pop() {
        let Some((combinator, wanted)) = complex.before.get(done) else {
            return true;
        };
        let mut try_one = |candidate: NodeId| {
            if compound(doc, candidate, wanted) && seen.insert((candidate, done)) {
                open.push((candidate, done + 1));
            }
        };
        match combinator {
            Combinator::Child => doc.parent(at).into_iter().for_each(&mut try_one),
            Combinator::Descendant => doc.ancestors(at).for_each(&mut try_one),
            Combinator::Next => elders(doc, at).last().into_iter().for_each(&mut try_one),
            Combinator::Later => elders(doc, at).for_each(&mut try_one),
        }
    }
    false
}

/// Element siblings before this one, in order.
fn elders(doc: &Document, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    doc.parent(id)
        .into_iter()
        .flat_map(|p| doc.children(p))
        .take_while(move |c| *c != id)
        .filter(|c| doc.element(*c).is_some())
}

fn compound(doc: &Document, id: NodeId, parts: &[Simple]) -> bool {
    let Some(element) = doc.element(id) else {
        return false;
    };
    parts.iter().all(|p| simple(doc, id, element, p))
}

fn simple(doc: &Document, id: NodeId, element: &Element, part: &Simple) -> bool {
    match part {
        Simple::Any => true,
        Simple::Type(t) => element.tag().eq_ignore_ascii_case(t),
        Simple::Id(v) => element.attr("id") == Some(v),
        Simple::Class(c) => element.classes().any(|w| w == c),
        Simple::Attr(name, test, value) => element.attr(name).is_some_and(|v| match test {
            Test::Present => true,
            Test::Equal => v == value,
            Test::Word => v.split_ascii_whitespace().any(|w| w == value),
            Test::Prefix => !value.is_empty() && v.starts_with(value.as_str()),
            Test::Suffix => !value.is_empty() && v.ends_with(value.as_str()),
            Test::Inside => !value.is_empty() && v.contains(value.as_str()),
            Test::Dash => v
                .strip_prefix(value.as_str())
                .is_some_and(|r| r.is_empty() || r.starts_with('-')),
        }),
        Simple::NthOfType(n) => {
            elders(doc, id)
                .filter(|e| doc.tag(*e) == element.tag())
                .count()
                + 1
                == *n
        }
        Simple::NthChild(n) => elders(doc, id).count() + 1 == *n,
        Simple::LastChild => doc.parent(id).is_some_and(|p| {
            doc.children(p).filter(|c| doc.element(*c).is_some()).last() == Some(id)
        }),
        Simple::Not(parts) => !compound(doc, id, parts),
    }
}

struct Reader<'a> {
    text: &'a str,
    chars: std::iter::Peekable<std::str::CharIndices<'a>>,
}

impl Reader<'_> {
    fn fail<T>(&mut self, what: &str) -> Result<T, SelectorError> {
        let at = self.chars.peek().map_or(self.text.len(), |(i, _)| *i);
        Err(SelectorError {
            selector: self.text.chars().take(200).collect(),
            what: format!("{what} at byte {at}"),
        })
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, c)| *c)
    }

    fn take(&mut self, c: char) -> bool {
        self.chars.next_if(|(_, x)| *x == c).is_some()
    }

    fn space(&mut self) -> bool {
        let mut any = false;
        while self
            .chars
            .next_if(|(_, c)| c.is_ascii_whitespace())
            .is_some()
        {
            any = true;
        }
        any
    }

    fn list(&mut self) -> Result<Vec<Complex>, SelectorError> {
        let mut all = Vec::new();
        loop {
            all.push(self.complex()?);
            self.space();
            match self.peek() {
                None => return Ok(all),
                Some(',') => self.take(','),
                Some(_) => return self.fail("unexpected character"),
            };
        }
    }

    fn complex(&mut self) -> Result<Complex, SelectorError> {
        self.space();
        let mut last = self.compound()?;
        let mut before = Vec::new();
        loop {
            let spaced = self.space();
            let combinator = match self.peek() {
                Some('>') => Combinator::Child,
                Some('+') => Combinator::Next,
                Some('~') => Combinator::Later,
                None | Some(',' | ')') => break,
                Some(_) if spaced => Combinator::Descendant,
                Some(_) => return self.fail("unexpected character"),
            };
            if combinator != Combinator::Descendant {
                self.chars.next();
                self.space();
            }
            before.push((combinator, std::mem::replace(&mut last, self.compound()?)));
        }
        before.reverse();
        Ok(Complex { last, before })
    }

    fn compound(&mut self) -> Result<Vec<Simple>, SelectorError> {
        let mut parts = Vec::new();
        loop {
            match self.peek() {
                Some('*') => {
                    self.take('*');
                    parts.push(Simple::Any);
                }
                Some('#') => {
                    self.take('#');
                    parts.push(Simple::Id(self.name()?));
                }
                Some('.') => {
                    self.take('.');
                    parts.push(Simple::Class(self.name()?));
                }
                Some('[') => parts.push(self.attribute()?),
                Some(':') => parts.push(self.pseudo()?),
                Some(c) if is_name(c) && parts.is_empty() => parts.push(Simple::Type(self.name()?)),
                _ if parts.is_empty() => return self.fail("a selector is missing"),
                _ => return Ok(parts),
            }
        }
    }

    fn name(&mut self) -> Result<String, SelectorError> {
        let mut name = String::new();
        while let Some(c) = self.peek() {
            if c == '\\' {
                self.take('\\');
                name.push(self.escaped());
            } else if is_name(c) {
                self.take(c);
                name.push(c);
            } else {
                break;
            }
        }
        if name.is_empty() {
            return self.fail("a name is missing");
        }
        Ok(name)
    }

    /// After a backslash: up to six hex digits and one space, or the character itself.
    fn escaped(&mut self) -> char {
        let mut value = 0_u32;
        let mut digits = 0;
        while digits < 6
            && let Some((_, c)) = self.chars.next_if(|(_, c)| c.is_ascii_hexdigit())
        {
            value = value * 16 + c.to_digit(16).unwrap_or(0);
            digits += 1;
        }
        if digits == 0 {
            return self.chars.next().map_or('\u{FFFD}', |(_, c)| c);
        }
        self.take(' ');
        char::from_u32(value).unwrap_or('\u{FFFD}')
    }

    fn attribute(&mut self) -> Result<Simple, SelectorError> {
        self.take('[');
        self.space();
        let name = self.name()?;
        self.space();
        let test = match self.peek() {
            Some(']') => {
                self.take(']');
                return Ok(Simple::Attr(name, Test::Present, String::new()));
            }
            Some('=') => Test::Equal,
            Some('~') => Test::Word,
            Some('^') => Test::Prefix,
            Some('$') => Test::Suffix,
            Some('*') => Test::Inside,
            Some('|') => Test::Dash,
            _ => return self.fail("an attribute test is missing"),
        };
        if test != Test::Equal {
            self.chars.next();
        }
        if !self.take('=') {
            return self.fail("`=` is missing");
        }
        self.space();
        let value = match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                self.take(quote);
                let mut value = String::new();
                loop {
                    match self.chars.next() {
                        Some((_, c)) if c == quote => break value,
                        Some((_, '\\')) => value.push(self.escaped()),
                        Some((_, c)) => value.push(c),
                        None => return self.fail("the quotation is not closed"),
                    }
                }
            }
            _ => self.name()?,
        };
        self.space();
        if !self.take(']') {
            return self.fail("`]` is missing");
        }
        Ok(Simple::Attr(name, test, value))
    }

    fn pseudo(&mut self) -> Result<Simple, SelectorError> {
        self.take(':');
        let name = self.name()?;
        match name.as_str() {
            "first-child" => Ok(Simple::NthChild(1)),
            "first-of-type" => Ok(Simple::NthOfType(1)),
            "last-child" => Ok(Simple::LastChild),
            "nth-child" | "nth-of-type" => {
                let number = self.argument(Self::name)?;
                match number.parse() {
                    Ok(n) if name == "nth-child" => Ok(Simple::NthChild(n)),
                    Ok(n) => Ok(Simple::NthOfType(n)),
                    Err(_) => self.fail("a plain number is wanted"),
                }
            }
            "not" => Ok(Simple::Not(self.argument(Self::compound)?)),
            _ => self.fail("this pseudo-class is not understood"),
        }
    }

    fn argument<T>(
        &mut self,
        read: fn(&mut Self) -> Result<T, SelectorError>,
    ) -> Result<T, SelectorError> {
        if !self.take('(') {
            return self.fail("`(` is missing");
        }
        self.space();
        let value = read(self)?;
        self.space();
        if !self.take(')') {
            return self.fail("`)` is missing");
        }
        Ok(value)
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_' || !c.is_ascii()
}

/// A name written so that a selector reads it back.
pub fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (i, c) in name.chars().enumerate() {
        if c.is_ascii_digit() && i == 0 {
            out.push_str(&format!("\\{:x} ", c as u32));
        } else if is_name(c) && !(c == '-' && name.len() == 1) {
            out.push(c);
        } else if c.is_ascii_control() {
            out.push_str(&format!("\\{:x} ", c as u32));
        } else {
            out.push('\\');
            out.push(c);
        }
    }
    out
}

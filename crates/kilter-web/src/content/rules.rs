//! The rules of the choice, each with a name, so that each can be left out to see what it is worth.

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Hidden text is left out.
    Hidden,
    /// Elements and roles that are the page's frame are left out.
    Structure,
    /// Elements named as what readers wrote are left out.
    Comments,
    /// Elements named as navigation, tools or advertisements are left out.
    Frame,
    /// Elements named as short forms of other pages are left out.
    Teasers,
    /// Elements named as facts about the text are left out.
    Byline,
    /// Elements named as the body of an article are preferred.
    Bodies,
    /// `<article>` and `<main>` are preferred.
    Landmarks,
    /// The heading that repeats the page's title says where the text is.
    Anchor,
    /// What stands between the title's heading and the body, and reads as text, belongs to it.
    Lead,
    /// Parts of the page of one kind belong together.
    Parts,
    /// Captions and credits of pictures are left out.
    Captions,
    /// The heading that is the title is not said again.
    Title,
    /// Series of short forms of other pages are left out.
    Cards,
    /// Lists of links within the content are left out.
    LinkLists,
    /// Boxes that are mostly links are left out.
    LinkBoxes,
    /// Headings that head nothing are left out.
    Orphans,
    /// Short lines before the first prose are left out.
    Head,
    /// Short lines after the last prose are left out.
    Tail,
    /// The text that structured data calls the body replaces a choice that missed it.
    Stated,
    /// Where too little was found, more is taken.
    Recall,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Hidden,
        Self::Structure,
        Self::Comments,
        Self::Frame,
        Self::Teasers,
        Self::Byline,
        Self::Bodies,
        Self::Landmarks,
        Self::Anchor,
        Self::Lead,
        Self::Parts,
        Self::Captions,
        Self::Title,
        Self::Cards,
        Self::LinkLists,
        Self::LinkBoxes,
        Self::Orphans,
        Self::Head,
        Self::Tail,
        Self::Stated,
        Self::Recall,
    ];
}

/// Which rules are on.
#[derive(Debug, Clone, Copy)]
pub struct Rules(u32);

impl Default for Rules {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Rules {
    /// Whether the rule is on.
    pub fn has(&self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }

    /// The same without one rule.
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u32))
    }
}

//! Where reasoning is looked for in a turn.

/// How the reasoning splitter is armed for one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Split {
    /// Reasoning has a field of its own: tags in content are text.
    Suppressed,
    /// Nothing is known yet: only a lone closer inside the first-turn window is split.
    #[default]
    Unlearnt,
    /// Start-of-content evidence was seen often enough.
    Armed {
        /// A block that opens the content is reasoning.
        inline: bool,
        /// Text before a bare closer is reasoning.
        leading_closer: bool,
    },
}

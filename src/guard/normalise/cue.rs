//! Cues: words that express modality, negation or restriction.

/// The effect of a cue phrase on its clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cue {
    /// Requires: "must", "always".
    Must,
    /// Prefers: "should", "prefer".
    Should,
    /// Allows: "may", "is allowed".
    May,
    /// Does not require: "need not", "is optional".
    MayNot,
    /// Negates: "not", "never", "no longer".
    Not,
    /// Negates what it governs: "avoid", "is forbidden".
    Prohibit,
    /// Excludes everything else: "only".
    Only,
    /// Rejects what follows: "instead of", "rather than".
    Instead,
    /// "instead", at the end.
    InsteadTail,
    /// Excepts what follows: "except", "unless".
    Except,
    /// Adds: "also".
    Also,
    /// A condition: "if", "when".
    If,
    /// A reason or a purpose clause: "because", "so that".
    Because,
    /// A contrast: "but".
    But,
    /// A negation that negates nothing: "not only".
    NotOnly,
    /// An upper bound.
    AtMost,
    /// A lower bound.
    AtLeast,
    /// Absence: "without".
    Without,
}

impl Cue {
    /// Returns the cue of this name in `assets/lexicon/cues.txt`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "must" => Self::Must,
            "should" => Self::Should,
            "may" => Self::May,
            "maynot" => Self::MayNot,
            "not" => Self::Not,
            "prohibit" => Self::Prohibit,
            "only" => Self::Only,
            "instead" => Self::Instead,
            "instead_tail" => Self::InsteadTail,
            "except" => Self::Except,
            "also" => Self::Also,
            "if" => Self::If,
            "because" => Self::Because,
            "but" => Self::But,
            "notonly" => Self::NotOnly,
            "atmost" => Self::AtMost,
            "atleast" => Self::AtLeast,
            "without" => Self::Without,
            _ => return None,
        })
    }

    /// Returns whether the cue determines the stance of a clause.
    pub(crate) fn is_stance(self) -> bool {
        matches!(self, Self::Must | Self::Should | Self::May | Self::MayNot | Self::Not | Self::Prohibit | Self::Only)
    }
}

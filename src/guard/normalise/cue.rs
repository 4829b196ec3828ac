//! The words that carry modality, negation and restriction.

/// What a cue phrase does to the clause that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cue {
    /// Requires: "must", "always".
    Must,
    /// Prefers: "should", "prefer".
    Should,
    /// Allows: "may", "is allowed".
    May,
    /// Releases: "need not", "is optional".
    MayNot,
    /// Negates: "not", "never", "no longer".
    Not,
    /// Negates what it governs: "avoid", "is forbidden".
    Prohibit,
    /// Nothing besides: "only".
    Only,
    /// Sets aside what follows: "instead of", "rather than".
    Instead,
    /// "instead", at the end.
    InsteadTail,
    /// Takes out what follows: "except", "unless".
    Except,
    /// One more: "also".
    Also,
    /// A condition: "if", "when".
    If,
    /// A reason or a purpose clause: "because", "so that".
    Because,
    /// A turn: "but".
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
    /// The cue of this name in `assets/lexicon/cues.txt`.
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

    /// Whether the clause takes its stance from this cue.
    pub(crate) fn is_stance(self) -> bool {
        matches!(self, Self::Must | Self::Should | Self::May | Self::MayNot | Self::Not | Self::Prohibit | Self::Only)
    }
}

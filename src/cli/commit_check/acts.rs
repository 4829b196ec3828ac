//! Acts that a constraint can forbid, and what each says about a diff.

/// What an act that is forbidden says about a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ForbiddenAct {
    /// Whether its object must not be in an added line, if it is code.
    pub(super) code: bool,
    /// Whether its object can be a package.
    pub(super) package: bool,
    /// Whether its object can be a file.
    pub(super) path: bool,
    /// Whether deleting a file is such an act.
    pub(super) deletion: bool,
}

/// Acts of code: what is called, used or written.
pub(super) const WRITES: ForbiddenAct = ForbiddenAct { code: true, package: false, path: false, deletion: false };
/// Acts that make something a dependency.
pub(super) const USES: ForbiddenAct = ForbiddenAct { package: true, ..WRITES };
/// Acts that only change the dependencies in a manifest.
pub(super) const DEPENDS: ForbiddenAct = ForbiddenAct { code: false, ..USES };
/// Acts that bring something into the repository.
pub(super) const ADDS: ForbiddenAct = ForbiddenAct { path: true, ..WRITES };
/// Acts that bring in files or packages.
pub(super) const BRINGS: ForbiddenAct = ForbiddenAct { package: true, ..ADDS };
/// Acts that change files.
pub(super) const EDITS: ForbiddenAct = ForbiddenAct { code: false, package: false, path: true, deletion: true };
/// The act of “`x` is forbidden”.
pub(super) const UNNAMED: ForbiddenAct = USES;

const ACTS: [(ForbiddenAct, &[&str]); 5] = [
    (USES, &["adopt", "depend", "import", "include", "install", "introduce", "require", "rely", "ship", "use"]),
    (
        WRITES,
        &["accept", "allow", "call", "contain", "enable", "have", "invoke", "keep", "leave", "permit", "reference"],
    ),
    (ADDS, &["commit", "create", "push", "put", "write"]),
    (BRINGS, &["add", "bring", "pull"]),
    (EDITS, &["alter", "change", "delete", "edit", "modify", "move", "overwrite", "remove", "rename", "touch"]),
];

/// Returns the act that a verb or its form in “-ing” names.
pub(super) fn act_of(word: &str) -> Option<ForbiddenAct> {
    let named = |verb: &str| ACTS.iter().find(|(_, verbs)| verbs.contains(&verb)).map(|(act, _)| *act);
    named(word).or_else(|| {
        let stem = word.strip_suffix("ing")?;
        let undoubled = stem.get(..stem.len().checked_sub(1)?);
        named(stem).or_else(|| named(&format!("{stem}e"))).or_else(|| undoubled.and_then(named))
    })
}

/// Returns the act of a participle: “used”, “modified”, “written”.
pub(super) fn done_act(word: &str) -> Option<ForbiddenAct> {
    match word {
        "written" => return act_of("write"),
        "put" => return act_of("put"),
        _ => {}
    }
    let stem = word.strip_suffix("ed")?;
    let ending_in_y = stem.strip_suffix('i').map(|stem| format!("{stem}y"));
    let undoubled = stem.get(..stem.len().checked_sub(1)?);
    act_of(stem)
        .or_else(|| act_of(&format!("{stem}e")))
        .or_else(|| act_of(&ending_in_y?))
        .or_else(|| act_of(undoubled?))
}

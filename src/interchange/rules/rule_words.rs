//! Words by which sentences of rule files are recognised.

/// Binding words: a rule with one of them is a constraint.
pub(super) const BINDING: [&str; 26] = [
    "must",
    "never",
    "always",
    "required",
    "requires",
    "require",
    "mandatory",
    "forbidden",
    "prohibited",
    "shall",
    "cannot",
    "can't",
    "don't",
    "do not",
    "not allowed",
    "not permitted",
    "may not",
    "only",
    "at most",
    "at least",
    "no longer",
    "without exception",
    "not accepted",
    "not supported",
    "banned",
    "not be",
];

/// Words that ask for something anywhere in a sentence.
pub(super) const ASKING: [&str; 12] = [
    "should",
    "shouldn't",
    "prefer",
    "preferred",
    "avoid",
    "favor",
    "favour",
    "recommended",
    "discouraged",
    "ensure",
    "instead of",
    "rather than",
];

/// First verbs of an instruction.
pub(super) const VERBS: &str = "\
abort accept acknowledge act add adhere adopt aim align allocate allow annotate announce append apply approve archive \
ask assert assign assume attach avoid back backport base batch be begin block break bring build bump bundle call capture \
cast catch change check choose clean clear clone close combine comment commit compare compose compress concatenate \
configure confirm connect consider convert copy crash create cut debounce debug decide declare decode decrypt defer \
define delete depend deploy deprecate derive describe design destroy detect disable disallow discard discuss divide do \
document download drop dump edit emit enable encode encrypt end enforce ensure erase escalate escape evaluate exceed \
exclude execute expect explain export expose extend extract fail favor favour fetch file filter find fix flag flush \
follow forbid force format freeze fuzz generate get give go group guard guess hand handle hard-code have hide hold \
identify ignore implement import include increase indent infer inform inherit initialize inject insert inspect install \
instrument introduce invoke isolate join justify keep know label lazy-load leak learn leave let limit link lint list \
lock log look lower maintain make manage mark match measure mention merge migrate minify minimize mock modify monitor \
move name need nest normalize notify obtain offer omit open optimize order organize overwrite own paginate parse pass \
paste pause perform persist pin ping place poll prefer prepare preserve prevent print prioritize prohibit promote \
propagate protect provide publish pull push put quote raise react read rebase rebuild record recover recycle redact \
refactor refer reference refuse regenerate register reject reload rely remain remove rename render repeat replace report \
reproduce require reserve reset resolve respect restart restore restrict retain retry return reuse revert review rewrite \
roll rotate run save say scan seed select send separate serialize serve set ship show shut sign skip sort spawn \
specify spell split squash start stay stop strip structure stub submit substitute summarize surface suspend swallow \
switch sync take tell throttle throw touch track translate treat trigger trim trust try tune turn unwrap update upgrade \
upload use validate wait warn watch weigh widen work zero";

/// First verbs of an instruction that are often nouns, too: they count only at the start of a list item.
pub(super) const ITEM_VERBS: &str = "\
address cache cover document focus package page patch plan prefix process profile query rate reduce release request \
schedule scope screen search share snapshot state stick store stream support tag test trace type verify version wrap \
write";

/// Verbs of statements, in finite form.
pub(super) const STATING: &str = "\
is are was were has have had must should shall may can cannot can't will won't does doesn't do don't needs need uses use goes go lives live \
belongs belong stays stay comes come runs run takes take holds hold keeps keep returns return means mean reads read writes write calls call \
carries carry follows follow starts start begins begin ends end depends depend listens listen emits emit sends send receives receive \
contains contain consists consist expires expire requires require supports support defines define owns own links link finds find fails fail \
targets target handles handle wins win passes pass gets get sits sit speaks speak talks talk works work applies apply ships ship";

/// Words that are always verbs.
pub(super) const AUXILIARY: &str =
    "is are was were has have must should shall may can cannot can't will won't isn't aren't does doesn't don't";

/// Words that may continue a noun phrase after its noun.
pub(super) const PREPOSITIONS: &str = "in for on to as of with at outside inside without and or from";

/// Whether a lower-case word demands something, whatever the demand is about: “never”, “should”.
pub(in crate::interchange) fn demands(word: &str) -> bool {
    BINDING.iter().chain(&ASKING).any(|phrase| phrase.split(' ').any(|one| one == word))
}

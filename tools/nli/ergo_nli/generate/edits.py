"""Rows made by editing real rule-like sentences: polarity, opposite words, numbers, named alternatives, swapped nouns.

Edits are rough English on purpose: they teach which small change matters (the rule's polarity or value) and which does not
(the same words about another thing).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ..rows import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_CONTRADICTION
from .surface import PLACES, Surface, capital
from .vocabulary import CHOICES, TASKS

VERBS = set("""use prefer keep ensure add write run make put name document include follow return define wrap omit leave limit
declare treat create set test check implement handle store pass import export validate log commit push mark move remove delete
disable enable require provide support start end order format raise throw specify update bump rebase squash split reuse verify
configure deploy build publish release merge review open close send call read load show skip rename copy share cache encrypt
sign restart retry pin install upgrade edit modify change assign request link attach report""".split())
PAST_E = {"be": "being", "run": "running", "put": "putting", "set": "setting", "commit": "committing", "split": "splitting",
          "skip": "skipping", "wrap": "wrapping", "log": "logging", "pin": "pinning", "omit": "omitting"}
OPPOSITES = [("enable", "disable"), ("enabled", "disabled"), ("include", "exclude"), ("included", "excluded"), ("allow", "forbid"),
             ("allowed", "forbidden"), ("accepted", "rejected"), ("accepts", "rejects"), ("add", "remove"), ("public", "private"),
             ("optional", "mandatory"), ("required", "optional"), ("before", "after"), ("always", "never"), ("minimum", "maximum"),
             ("at least", "at most"), ("more", "less"), ("internal", "external"), ("mutable", "immutable"), ("local", "remote"),
             ("manually", "automatically"), ("short", "long"), ("first", "last"), ("explicit", "implicit"), ("lowercase", "uppercase"),
             ("singular", "plural"), ("single", "multiple"), ("every", "no"), ("must", "must not"), ("should", "should not"),
             ("can", "cannot"), ("may", "must not"), ("is", "is not"), ("are", "are not"), ("will", "will not"), ("without", "with"),
             ("true", "false"), ("open", "closed"), ("static", "dynamic"), ("shared", "separate"), ("stable", "unstable"),
             ("read-only", "writable"), ("small", "large"), ("supports", "does not support"), ("uses", "does not use"),
             ("requires", "does not need"), ("synchronous", "asynchronous"), ("default", "non-default"), ("latest", "oldest")]
SYNONYMS = [("must", "has to"), ("should", "ought to"), ("use", "make use of"), ("ensure", "make sure"), ("create", "set up"),
            ("remove", "delete"), ("run", "execute"), ("change", "modify"), ("start", "begin"), ("before", "prior to"), ("need", "require"),
            ("because", "since"), ("pull request", "PR"), ("pull requests", "PRs"), ("documentation", "docs"), ("configuration", "config"),
            ("repository", "repo"), ("database", "DB"), ("folder", "directory"), ("directory", "folder"), ("errors", "failures"),
            ("developers", "engineers"), ("only", "just"), ("large", "big"), ("show", "display"), ("multiple", "several"), ("when", "whenever"),
            ("default", "standard"), ("example", "sample"), ("avoid", "stay clear of"), ("currently", "at present"), ("via", "by way of")]
NEGATED = re.compile(r"\b(not|never|no|cannot|without|avoid|forbidden|prohibited|neither|nor)\b|n't\b", re.I)
PLAIN_NOUN = re.compile(r"\b(?:the|a|an|each|every|all|new|any)\s+([a-z]{4,14})\b")
NO_NOUN = set("same other first last only most such more less current given next previous whole single following existing".split())


def ing(verb: str) -> str:
    return PAST_E.get(verb, (verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb) + "ing")


def imperative(text: str) -> tuple[bool, str, str] | None:
    """(positive, verb, the rest) of a rule in the imperative, or None."""
    text = text.rstrip(". ")
    m = re.match(r"(?:please )?(?:do not|don't|never|you must not|you should not|we must not|must not)\s+(?:ever )?(\w+)\b(.*)$", text, re.I)
    if m and m[1].lower() in VERBS:
        return False, m[1].lower(), m[2]
    m = re.match(r"(?:please |always |you must |you should |we must |we should )?(\w+)\b(.*)$", text, re.I)
    if m and m[1].lower() in VERBS and (text[0].isupper() or " " in text[: m.start(1)]):
        return True, m[1].lower(), m[2]
    return None


def positive(s: Surface, v: str, o: str) -> str:
    return s.pick([f"{capital(v)}{o}.", f"Always {v}{o}.", f"You must {v}{o}.", f"{capital(ing(v))}{o} is required.", f"Make sure to {v}{o}.",
                   f"You should {v}{o}.", f"Everyone has to {v}{o}.", f"It is mandatory to {v}{o}.", f"Contributors must {v}{o}."])


def negative(s: Surface, v: str, o: str) -> str:
    return s.pick([f"Do not {v}{o}.", f"Never {v}{o}.", f"You must not {v}{o}.", f"{capital(ing(v))}{o} is forbidden.", f"Avoid {ing(v)}{o}.",
                   f"Don't {v}{o}.", f"{capital(ing(v))}{o} is not allowed.", f"It is not permitted to {v}{o}.", f"Nobody may {v}{o}.",
                   f"We no longer {v}{o}.", f"Stop {ing(v)}{o}.", f"Refrain from {ing(v)}{o}."])


def lifted(s: Surface, v: str, o: str) -> str:
    """Says that nobody has to."""
    return s.pick([f"There is no need to {v}{o}.", f"{capital(ing(v))}{o} is optional.", f"You do not have to {v}{o}.",
                   f"{capital(ing(v))}{o} is unnecessary.", f"It is fine not to {v}{o}.", f"Nobody is required to {v}{o}."])


def allowed(s: Surface, v: str, o: str) -> str:
    return s.pick([f"You may {v}{o}.", f"It is fine to {v}{o}.", f"{capital(ing(v))}{o} is allowed.", f"Feel free to {v}{o}.",
                   f"{capital(ing(v))}{o} is acceptable."])


class Edits:
    """Edits over a list of sentences."""

    def __init__(self, sentences: list[str], s: Surface) -> None:
        self.s = s
        self.sentences = sentences
        self.imperatives = [t for t in sentences if imperative(t)]
        counts = Counter(w for t in sentences for w in PLAIN_NOUN.findall(t))
        self.nouns = [w for w, n in counts.items() if n >= 5 and not w.endswith(("ed", "ly")) and w not in NO_NOUN]

    def other_noun(self, text: str) -> str | None:
        """The sentence about something else: one or two nouns replaced."""
        known = [w for w in sorted(set(re.findall(r"\b[a-z]{4,15}\b", text))) if w in self.nouns or w.removesuffix("s") in self.nouns]
        if not known:
            return None
        for word in self.s.rng.sample(known, min(len(known), self.s.pick([1, 2]))):
            new = self.s.pick(self.nouns)
            if new == word.removesuffix("s"):
                return None
            text = re.sub(rf"\b{word}\b", new + ("s" if word.endswith("s") and not new.endswith("s") else ""), text)
        return text

    def opposite(self, text: str) -> str | None:
        for a, b in self.s.rng.sample(OPPOSITES, len(OPPOSITES)):
            if self.s.chance(0.5):
                a, b = b, a
            if a in ("is", "are") and re.search(r"\b(must|should|never|always|can|may)\b", text):
                continue
            if re.search(rf"\b{a}\b(?! not\b)", text):
                return re.sub(rf"\b{a}\b", b, text, count=1)
        return None

    def reworded(self, text: str) -> str | None:
        changed, made = text, 0
        for a, b in self.s.rng.sample(SYNONYMS, len(SYNONYMS)):
            if made < 3 and re.search(rf"\b{a}\b", changed):
                changed, made = re.sub(rf"\b{a}\b", b, changed, count=1), made + 1
        return changed if made else None

    def other_number(self, text: str) -> str | None:
        hits = list(re.finditer(r"(?<![\w.`/#-])(\d{1,5})(?![\w`/]|\.\d)", text))
        if not hits:
            return None
        m = self.s.pick(hits)
        v = int(m[1])
        w = self.s.pick([v + 1, v * 2, v * 10, max(1, v // 2), v + 3, v + 10])
        return None if w == v else text[: m.start()] + str(w) + text[m.end() :]

    def other_name(self, text: str) -> str | None:
        groups = [g for k, g in [*CHOICES.items(), *TASKS.items()] if k not in ("owner", "accent colour", "release day")]
        for group in self.s.rng.sample(groups, len(groups)):
            for v in group:
                if len(v) > 2 and re.search(rf"(?<!\w){re.escape(v)}(?!\w)", text):
                    return text.replace(v, self.s.pick([x for x in group if x != v]))
        return None

    def _of_imperative(self, text: str) -> dict | None:
        s = self.s
        pos, v, o = imperative(text)
        same = positive if pos else negative
        a = text if s.chance(0.6) else same(s, v, o)
        r = s.rng.random()
        if r < 0.3:
            b = negative(s, v, o) if pos else s.pick([positive, allowed])(s, v, o)
            return s.row(a, b, CONTRADICTION, "edit.polarity")
        if r < 0.38 and pos:
            return s.row(a, lifted(s, v, o), CONTRADICTION, "edit.lifted")
        if r < 0.56:
            return s.row(a, same(s, v, o), ENTAILMENT, "edit.same")
        if r < 0.78:
            o2 = self.other_noun(o)
            b = o2 and s.pick([negative if pos else allowed, negative if pos else positive, same])(s, v, o2)
            return s.row(a, b, NEUTRAL, "edit.other-thing") if b else None
        if r < 0.9:
            _, v2, o2 = imperative(s.pick(self.imperatives))
            return s.row(a, s.pick([negative, positive])(s, v2, o2), NEUTRAL, "edit.other-rule") if o2 != o else None
        here, there = s.rng.sample(PLACES, 2)
        b = negative(s, v, o) if pos else positive(s, v, o)
        return s.row(s.scoped(a, here), s.scoped(b, there), NEUTRAL, "edit.other-place")

    def one(self) -> dict | None:
        """One row, or None where the drawn edit does not fit the drawn sentence."""
        s = self.s
        r = s.rng.random()
        if r < 0.45:
            return self._of_imperative(s.pick(self.imperatives))
        text = s.pick(self.sentences)
        if r < 0.6:
            b = self.opposite(text)
            other = b and s.chance(0.4) and self.other_noun(b)
            if other:
                return s.row(text, other, NEUTRAL, "edit.opposite-other-thing")
            return s.row(text, (s.chance(0.3) and self.reworded(b)) or b, CONTRADICTION, "edit.opposite") if b else None
        if r < 0.7:
            b = self.other_number(text)
            return s.row(text, b, CONTRADICTION, "edit.number") if b else None
        if r < 0.78:
            b = self.other_name(text)
            return s.row(text, b, CONTRADICTION, "edit.name") if b else None
        if r < 0.86:
            b = self.reworded(text)
            return s.row(text, b, ENTAILMENT, "edit.reworded") if b else None
        if r < 0.9:
            return s.row(text, text, ENTAILMENT, "edit.copy")
        b = self.other_noun(text)
        return s.row(text, b, NOT_CONTRADICTION if not NEGATED.search(text) else NEUTRAL, "edit.other-thing") if b else None

    def rows(self, count: int) -> Iterator[dict]:
        made = 0
        while made < count:
            row = self.one()
            if row:
                made += 1
                yield row


def strangers(by_unit: dict[str, list[str]], s: Surface, count: int) -> Iterator[dict]:
    """Two different sentences of one repository, or of two."""
    units = [u for u in by_unit.values() if len(u) > 8]
    for _ in range(count):
        a, b = s.rng.sample(s.pick(units), 2) if s.chance(0.6) else (s.pick(s.pick(units)), s.pick(s.pick(units)))
        if a != b:
            yield s.row(a, b, NEUTRAL, "stranger")

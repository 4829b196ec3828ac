"""Rows from the hand-written families: see the head of ../../families/code.txt for the format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from ..rows import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_CONTRADICTION, apart
from .surface import PEOPLE, PLACES, Surface

JUDGE_SHARE = 12
"""Per cent of the families that are never trained on or mined."""


@dataclass
class Family:
    """One rule in several wordings, what contradicts it, and what holds beside both."""

    same: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)
    within: list[str] = field(default_factory=list)
    """What speaks of the same decision and holds with the rule: a refinement, an example, a consequence."""
    beside: list[str] = field(default_factory=list)
    theme: str = ""
    """Name of the file that it stands in, without the ending."""

    @property
    def for_judge(self) -> bool:
        """Kept apart from all training, for what is fitted on the trained model's scores."""
        return apart(self.same[0], JUDGE_SHARE)

    @property
    def slotted(self) -> bool:
        return "{s}" in "".join(self.same)


def read_families(folder: str | Path) -> list[Family]:
    """All families of a folder: its .txt files, and one family a line of its .tsv files (rule || against || beside)."""
    found: list[Family] = []
    for path in sorted(Path(folder).glob("*.tsv")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                parts = [p.strip() for p in line.split(" || ")]
                if len(parts) != 3:
                    raise ValueError(f"{path}:{number}: three parts expected, rule || against || beside")
                rule, against, beside = ([p] for p in parts)
                found.append(Family(rule, against, beside=beside, theme=path.stem))
    for path in sorted(Path(folder).glob("*.txt")):
        current = Family(theme=path.stem)
        for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
            if line.startswith("#"):
                continue
            if not line.strip():
                if current.same:
                    found.append(current)
                current = Family(theme=path.stem)
                continue
            kind, text = line[0], line[1:].strip()
            lists = {"+": current.same, "-": current.against, ">": current.within, "~": current.beside}
            if kind not in lists or not text:
                raise ValueError(f"{path}:{number}: a line begins with +, -, > or ~")
            lists[kind].append(text)
    return found


def rows(families: list[Family], s: Surface, repeats: int) -> Iterator[dict]:
    """``repeats`` rounds over all families; each draws components, places and wordings anew."""
    for _ in range(repeats):
        for family in families:
            yield from _one(family, families, s)


def _one(family: Family, families: list[Family], s: Surface) -> Iterator[dict]:
    component = s.component()

    def put(text: str, other: str | None = None) -> str:
        return s.fill(text, other or component)

    def some(texts: list[str], most: int) -> list[str]:
        return s.rng.sample(texts, min(most, len(texts)))

    # Older families count details of the rule among what stands beside it: only those that tell the two apart say what is another decision.
    other = False if family.within else None

    def same() -> str:
        return s.pick(family.same)

    def against() -> str:
        return s.pick(family.against)

    for b in some(family.against, 3):
        yield s.row(s.said(put(same())), s.said(put(b)), CONTRADICTION, "family.contradiction")
    place = s.pick(PLACES)
    if s.chance(0.4):
        yield s.row(s.scoped(put(same()), place), s.scoped(put(against()), place), CONTRADICTION, "family.same-place")
    for one, two in some(list(combinations(family.same, 2)), 2):
        yield s.row(s.said(put(one)), s.said(put(two)), ENTAILMENT, "family.paraphrase")
    for b in some(family.within, 2):
        yield s.row(s.said(put(same())), s.said(put(b)), NOT_CONTRADICTION, "family.within", True)
    for b in some(family.beside, 2):
        yield s.row(s.said(put(same())), s.said(put(b)), NEUTRAL, "family.beside", other)
    yield s.row(s.said(put(against())), s.said(put(s.pick(family.beside))), NOT_CONTRADICTION, "family.beside", other)
    if s.chance(0.3) and len(family.beside) > 1:
        one, two = some(family.beside, 2)
        yield s.row(put(one), put(two), NEUTRAL, "family.beside")
    if s.chance(0.5):
        here, there = s.rng.sample(PLACES, 2)
        yield s.row(s.scoped(put(same()), here), s.scoped(put(against()), there), NEUTRAL, "family.other-place")
    if s.chance(0.25):
        yield s.row(put(same()), s.scoped(put(against()), s.pick(PLACES)), NOT_CONTRADICTION, "family.exception")
    if s.chance(0.25):
        here, there = s.rng.sample(PEOPLE, 2)
        yield s.row(s.for_people(put(same()), here), s.for_people(put(against()), there), NEUTRAL, "family.other-people")
    if s.chance(0.25):
        early, late = s.windows()
        yield s.row(s.timed(put(same()), early), s.timed(put(against()), late), NEUTRAL, "family.other-time")
    if family.slotted:
        for _ in range(2):
            here, there = s.two_components()
            b = against() if s.chance(0.75) else same()
            yield s.row(s.said(put(same(), here)), s.said(put(b, there)), NEUTRAL, "family.other-component")
    stranger = s.pick(families)
    if stranger is not family:
        b = s.pick(stranger.same + stranger.against + stranger.within + stranger.beside)
        yield s.row(s.said(put(s.pick(family.same + family.against))), s.said(put(b)), NEUTRAL, "family.other-family", False)

"""Dense scopes, in which every claim is near every other: python -m ergo_nli.dense OUT.jsonl --families DIR [--fewest N]

One scope a theme: its claims are the first wordings of all families of the theme. What is written beside them comes from families that no
cross-encoder was trained on: their contradictions (`clashes`, each with the number of its claim), and what holds beside the rule
(`harmless`). `ergo-bench guard --dense OUT.jsonl` measures on them, and `--fit-gate` fits the gate with them.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from pathlib import Path

from . import rows as R
from .generate.families import Family, read_families
from .generate.surface import Surface


def scopes(families: list[Family], s: Surface, fewest: int) -> list[dict]:
    """The scopes of at least ``fewest`` claims. Families that do not tell details from neighbours are left out."""
    by_theme: dict[str, list[Family]] = defaultdict(list)
    for family in families:
        if family.within:
            by_theme[family.theme].append(family)
    found = []
    for theme, members in sorted(by_theme.items()):
        if len(members) < fewest:
            continue
        claims, harmless, clashes = [], [], []
        for number, family in enumerate(members):
            component = s.component()
            claims.append(s.fill(family.same[0], component))
            if family.for_judge:
                harmless += [s.fill(text, component) for text in (*family.within, *family.beside)]
                clashes += [[s.fill(text, component), number] for text in family.against]
        if clashes:
            found.append({"name": theme, "claims": claims, "harmless": harmless, "clashes": clashes})
    return found


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out", type=Path)
    ap.add_argument("--families", required=True)
    ap.add_argument("--fewest", type=int, default=20)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    made = scopes(read_families(args.families), Surface(random.Random(args.seed)), args.fewest)
    count = R.write(args.out, made)
    print(f"{count} scopes, {sum(len(m['claims']) for m in made)} claims, {sum(len(m['harmless']) for m in made)} harmless writes, "
          f"{sum(len(m['clashes']) for m in made)} contradictions")


if __name__ == "__main__":
    main()

"""python -m unittest discover -s tests   (from this tool's folder; needs no model and no data)"""

import itertools
import random
import tempfile
import unittest
from pathlib import Path

from ergo_nli import crates, licences, rows as R
from ergo_nli.generate import deeds, edits, families, frames
from ergo_nli.generate.surface import Surface

HERE = Path(__file__).resolve().parent.parent


def surface(seed: int = 7) -> Surface:
    return Surface(random.Random(seed))


class Leaks(unittest.TestCase):
    def test_a_side_that_stands_in_the_evaluation_data_is_dropped_whatever_its_case_and_marks(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            R.write(Path(folder, "pairs.jsonl"), [{"a": "Never merge on a Friday. Ask the lead first.", "deep": [{"b": "Short one"}]}])
            held_out = R.eval_sentences(folder)
        rows = [{"a": "never merge on a `Friday`", "b": "x"}, {"a": "y", "b": "ASK the lead, first!"}, {"a": "short one", "b": "z"}]
        kept, dropped = R.drop_leaks(rows, held_out)
        self.assertEqual((kept, dropped), ([rows[2]], 2))


class Families(unittest.TestCase):
    def setUp(self) -> None:
        self.families = families.read_families(HERE / "families")

    def test_every_family_has_enough_of_each_kind(self) -> None:
        for f in self.families:
            with self.subTest(f.same[0]):
                self.assertGreaterEqual(min(len(f.same), len(f.against), len(f.beside)), 2 if len(f.same) > 1 else 1)

    def test_no_sentence_stands_on_two_sides(self) -> None:
        for f in self.families:
            for one, two in itertools.combinations((f.same, f.against, f.within, f.beside), 2):
                self.assertFalse({t.casefold() for t in one} & {t.casefold() for t in two}, f.same[0])

    def test_rows_have_no_open_slot(self) -> None:
        for r in families.rows(self.families, surface(), 1):
            self.assertNotIn("{s}", r["a"] + r["b"])

    def test_a_share_is_kept_apart_for_the_judge_the_same_one_every_time(self) -> None:
        apart = [f.same[0] for f in self.families if f.for_judge]
        self.assertEqual(apart, [f.same[0] for f in families.read_families(HERE / "families") if f.for_judge])
        self.assertTrue(0.08 < len(apart) / len(self.families) < 0.16, len(apart))

    def test_a_family_knows_its_file(self) -> None:
        self.assertEqual({f.theme for f in self.families}, {p.stem for p in (HERE / "families").iterdir()})

    def test_rows_say_whether_both_speak_of_the_same_decision(self) -> None:
        family = families.Family(["Use tabs.", "Indent with tabs."], ["Use spaces."], ["A tab is four wide."], ["Tabs of the browser are pinned.", "Name tabs."])
        stranger = families.Family(["Ship on Mondays.", "Monday ships."], ["Ship daily."], beside=["Tag releases.", "Sign tags."])
        told = {}
        for r in families.rows([family, stranger], surface(), 40):
            told.setdefault(r["src"], set()).add(r.get("same"))
        self.assertEqual(told["family.contradiction"], {True})
        self.assertEqual(told["family.paraphrase"], {True})
        self.assertEqual(told["family.within"], {True})
        self.assertEqual(told["family.other-family"], {False})
        self.assertEqual(told["family.beside"], {False, None}, "older families mix details and neighbours")

    def test_a_broken_line_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "x.txt").write_text("+ one\n* two\n")
            with self.assertRaisesRegex(ValueError, "x.txt:2"):
                families.read_families(folder)


class Frames(unittest.TestCase):
    def test_every_duration_is_written_as_what_it_is(self) -> None:
        s = surface()
        self.assertIn(frames.duration(s, 86400), {"a day", "one day", "1 day", "24 hours", "24 h"})
        for seconds in frames.DURATIONS:
            self.assertTrue(frames.duration(s, seconds))

    def test_another_value_differs(self) -> None:
        s = surface()
        for kind in ("time", "size", "percent", "port", "retries"):
            for v in frames.SCALES.get(kind, frames.COUNTS):
                self.assertNotEqual(frames.other_value(s, kind, v), v)

    def test_labels_are_known_and_all_classes_occur(self) -> None:
        made = list(frames.rows(surface(), 3000))
        self.assertEqual({r["y"] for r in made}, {R.ENTAILMENT, R.NEUTRAL, R.CONTRADICTION, R.NOT_CONTRADICTION})


class Deeds(unittest.TestCase):
    def test_no_deed_is_among_the_ways_to_say_its_opposite(self) -> None:
        for one, other, things in deeds.DEEDS:
            with self.subTest(one[0]):
                self.assertFalse(set(one) & set(other))
                self.assertEqual(len(things), len(set(things)))
                self.assertTrue(all("{o}" in d for d in one + other))

    def test_opposed_rows_speak_of_one_thing_and_the_others_of_two(self) -> None:
        made = [r for r in (deeds.deeds(surface(n)) for n in range(400)) if r]
        things = [t for *_, every in deeds.DEEDS for t in every]

        def named(row: dict, side: str) -> set[str]:
            return {t for t in things if t.casefold() in row[side].casefold()}

        for r in made:
            shared = named(r, "a") & named(r, "b")
            self.assertEqual(bool(shared), r["src"] in ("deed.opposed", "deed.same"), r)


class Edits(unittest.TestCase):
    def test_polarity_of_an_imperative(self) -> None:
        self.assertEqual(edits.imperative("Never push to main."), (False, "push", " to main"))
        self.assertEqual(edits.imperative("Use tabs."), (True, "use", " tabs"))
        self.assertIsNone(edits.imperative("The sky is grey."))


class Crates(unittest.TestCase):
    def test_only_wholly_permissive_choices_pass(self) -> None:
        for stated in ("MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0 OR Zlib"):
            self.assertTrue(crates.permissive(stated), stated)
        for stated in ("GPL-3.0", "MPL-2.0", "MIT AND LGPL-2.1", ""):
            self.assertFalse(crates.permissive(stated), stated)

    def test_sentences_are_taken_from_documentation_and_not_from_code(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "lib.rs")
            path.write_text('/// The caller must hold the lock while\n/// it reads the map.\nlet x = "You must never do this at home.";\n'
                            "/// ```\n/// // Code must not be read as text here.\n/// ```\n/// Short one must.\n")
            self.assertEqual(list(crates.sentences(path)), ["The caller must hold the lock while it reads the map."])


class Licences(unittest.TestCase):
    def test_marks_of_a_source_are_stripped(self) -> None:
        self.assertEqual(licences.public_source("rand_snli~"), "snli")
        self.assertNotIn("snli", licences.CLEARED_PUBLIC)


if __name__ == "__main__":
    unittest.main()

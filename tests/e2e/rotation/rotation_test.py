#!/usr/bin/env python3
"""Parts of tools/choose_tests.py: each test is in one of them, stays there when others come, and waits no longer than stated;
what was touched is taken; a table, a history or a list of tests that would let a test be forgotten is refused."""
import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
spec = importlib.util.spec_from_file_location("choose_tests", ROOT / "tools" / "choose_tests.py")
choose_tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(choose_tests)
Item = choose_tests.Item

TABLE = r"""
[answers]
about = "answers"
parts = 7
tests = '^answers\.'
always = '^answers\.core$'
[answers.touched]
'^answers/(\w+)\.cu$' = '^answers\.\1$'
'^lists/(\w+)$' = '^answers\.\1\d$'

[long]
about = "long forms"
parts = 19
long = true
tests = '.'

[layers]
about = "a list"
parts = 5
items = ["a", "b", "c"]
"""


def tests(count, more=()):
    short = [Item(f"answers.{name}", number=number) for number, name in enumerate([*map(str, range(900, 900 + count)), "core", *more], 1)]
    return [*short, *(Item(f"whole.{k}", number=1000 + k, labels={"long"}) for k in range(19)), Item("other", number=2000)]


class Parts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.swap("TABLE", Path(folder.name) / "rotation.toml")
        self.swap("COSTS", Path(folder.name) / "costs")
        self.swap("touched_paths", lambda: [])
        choose_tests.TABLE.write_text(TABLE)

    def swap(self, name, value):
        before = getattr(choose_tests, name)
        self.addCleanup(setattr, choose_tests, name, before)
        setattr(choose_tests, name, value)

    def taken(self, suite, count, items):
        return {item.name for item in choose_tests.choose(count, items)[suite][1]}

    def test_each_is_in_one_part(self):
        for suite, parts in (("answers", 7), ("long", 19), ("layers", 5)):
            items = tests(100)
            by_part = [self.taken(suite, 570 + k, items) - {"answers.core"} for k in range(parts)]
            every = {item.name for item in choose_tests.choose(0, items)[suite][0]} - {"answers.core"}
            self.assertEqual(set().union(*by_part), every)
            self.assertEqual(sum(map(len, by_part)), len(every))

    def test_core_is_always_taken(self):
        for count in range(7):
            self.assertIn("answers.core", self.taken("answers", count, tests(20)))

    def test_others_stay_where_they_are(self):
        for count in range(7):
            few, more = self.taken("answers", count, tests(50)), self.taken("answers", count, tests(50, ["aaa", "new"]))
            self.assertEqual(few, more - {"answers.aaa", "answers.new"})

    def test_costs_are_balanced(self):
        items = [Item(f"answers.{k}", cost=10.0 + k % 3, number=k + 1) for k in range(70)]
        loads = [sum(item.cost for item in choose_tests.choose(k, items)["answers"][1]) for k in range(7)]
        self.assertLess(max(loads) - min(loads), 12.5)

    def test_what_was_touched_is_taken(self):
        self.swap("touched_paths", lambda: ["answers/905.cu", "answers/README.md"])
        for count in range(7):
            self.assertIn("answers.905", self.taken("answers", count, tests(20)))
        self.swap("touched_paths", lambda: ["lists/90"])
        for count in range(7):
            self.assertLessEqual({f"answers.90{k}" for k in range(10)}, set(self.taken("answers", count, tests(20))))

    def test_numbered_parts_are_dealt_evenly(self):
        for count in range(19):
            self.assertEqual(self.taken("long", count, tests(1)), {f"whole.{count}"})

    def test_gaps(self):
        self.assertEqual(choose_tests.longest_gap(range(100, 300), 19), 19)
        self.assertEqual(choose_tests.longest_gap(range(100, 300, 3), 19), 19)
        self.assertEqual(choose_tests.longest_gap(range(100, 140, 2), 2), 21)  # only one of two parts comes

    def printed(self, *words):
        self.swap("tests_in", lambda build: tests(10))
        output = io.StringIO()
        sys.argv = ["choose_tests.py", *words]
        with contextlib.redirect_stdout(output):
            choose_tests.main()
        return output.getvalue()

    def test_the_numbers_for_ctest(self):
        numbers = [self.printed("tests", "build", "--count", str(k)).strip().split(",") for k in range(133)]
        self.assertTrue(all(line[:3] == ["0", "0", "0"] and "2000" in line for line in numbers))
        self.assertEqual({int(n) for line in numbers for n in line[3:]}, {item.number for item in tests(10)})

    def test_a_long_test_in_no_suite_is_refused(self):
        choose_tests.TABLE.write_text(TABLE.replace("tests = '.'", "tests = '^nothing'"))
        with self.assertRaisesRegex(SystemExit, "whole.0"):
            self.printed("tests", "build")

    def test_a_test_in_two_suites_is_refused(self):
        choose_tests.TABLE.write_text(TABLE + "[again]\nabout = ''\nparts = 3\ntests = '^answers'\n")
        with self.assertRaisesRegex(SystemExit, "is in answers and in again"):
            self.printed("tests", "build")

    def test_an_unknown_key_is_refused(self):
        choose_tests.TABLE.write_text(TABLE.replace("parts = 5", "part = 5"))
        with self.assertRaisesRegex(SystemExit, "part"):
            self.printed("tests", "build")

    def test_a_part_that_waits_too_long_is_refused(self):
        self.swap("history", lambda: [""] * 400)
        self.printed("gaps")
        choose_tests.TABLE.write_text(TABLE.replace("parts = 5", "parts = 23"))
        with self.assertRaisesRegex(SystemExit, "layers"):
            self.printed("gaps")

    def test_a_shallow_clone_takes_part_0(self):
        with tempfile.TemporaryDirectory() as folder:
            commit = ["-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-q", "--allow-empty", "-m", "1"]
            for words in (["init", "-q"], commit, commit):
                subprocess.run(["git", "-C", folder, *words], check=True)
            os.mkdir(folder + "/shallow")
            subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{folder}", folder + "/shallow"], check=True, capture_output=True)
            self.swap("ROOT", Path(folder + "/shallow"))
            choose_tests.history.cache_clear()
            self.addCleanup(choose_tests.history.cache_clear)
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                shallow = self.printed("tests", "build")
            self.assertIn("part 0", errors.getvalue())
            self.assertEqual(shallow, self.printed("tests", "build", "--count", "0"))


if __name__ == "__main__":
    unittest.main()

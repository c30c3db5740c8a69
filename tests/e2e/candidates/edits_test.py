#!/usr/bin/env python3
"""Answers that are kept as edits: what can't be applied is refused with the file, the edit and the reason, and every one of both
suites can be applied."""
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import edits  # noqa: E402
import judged  # noqa: E402

BASE = "tests/e2e/candidates/right_in_a_member.cu"
TEXT = "one\ntwo\nthree\ntwo and a half\n"


def edit(find, replace):
    return {"find": find, "replace": replace}


class Apply(unittest.TestCase):
    def refused(self, reason, *wrong):
        with self.assertRaises(edits.EditError) as caught:
            edits.apply(TEXT, wrong, "NAME")
        self.assertEqual(str(caught.exception), f"NAME: {reason}")

    def test_replaces(self):
        self.assertEqual(edits.apply(TEXT, [edit("one", "1")], "NAME"), "1\ntwo\nthree\ntwo and a half\n")

    def test_order_means_nothing(self):
        both = [edit("three\n", ""), edit("one", "one\nthree")]
        self.assertEqual(edits.apply(TEXT, both, "NAME"), "one\nthree\ntwo\ntwo and a half\n")
        self.assertEqual(edits.apply(TEXT, both[::-1], "NAME"), "one\nthree\ntwo\ntwo and a half\n")

    def test_what_does_not_occur(self):
        self.refused("edit 2 (four): `find` occurs 0 times", edit("one", "1"), edit("four\nfive", "4"))

    def test_what_occurs_twice(self):
        self.refused("edit 1 (two): `find` occurs 2 times", edit("two", "2"))

    def test_what_another_edit_has_put_there(self):
        self.refused("edit 2 (1): `find` occurs 0 times", edit("one", "1"), edit("1", "2"))

    def test_overlap(self):
        self.refused("edit 1 (two): overlaps another edit", edit("two\nthree", "2"), edit("one\ntwo\nt", "1"))

    def test_no_change(self):
        self.refused("edit 1 (one): `find` and `replace` are the same", edit("one", "one"))

    def test_no_texts(self):
        for wrong in ({"find": "one"}, edit("", "1"), edit("one", 1), {}):
            self.refused("edit 1: needs the texts `find`, not empty, and `replace`", wrong)


class Read(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "NAME.toml")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def refused(self, reason, text):
        self.write(text)
        with self.assertRaises(edits.EditError) as caught:
            edits.read(self.path)
        self.assertIn(reason, str(caught.exception))
        self.assertIn("NAME.toml", str(caught.exception))

    def test_header_stands_above(self):
        self.write(f'problem = "p"\nbase = "{BASE}"\nseconds = 20\n[[edit]]\nfind = "sum += in"\nreplace = "sum -= in"\n')
        header, text = edits.read(self.path)
        self.assertEqual(header, {"problem": "p", "seconds": "20"})
        self.assertTrue(text.startswith("// problem: p\n// seconds: 20\n#include "))
        self.assertEqual(text.count("sum -= in.of[peer][i];"), 1)
        self.assertNotIn("sum +=", text)

    def test_refusals(self):
        one = '[[edit]]\nfind = "sum += in"\nreplace = "sum -= in"\n'
        self.refused("no whole answer", one)
        self.refused("no whole answer", f'base = "no/such.cu"\n{one}')
        self.refused("no whole answer", f'base = "tests/e2e/second_solutions/conv2d_halo/mistakes.toml"\n{one}')
        self.refused("has no [[edit]]", f'base = "{BASE}"\n')
        self.refused("edit 1: has only", f'base = "{BASE}"\n{one}count = 2\n')
        self.refused("about: is neither", f'base = "{BASE}"\nabout = ["a"]\n{one}')
        self.refused(f"(of {BASE}): edit 1 (nowhere): `find` occurs 0 times",
                     f'base = "{BASE}"\n[[edit]]\nfind = "nowhere"\nreplace = ""\n')
        self.refused("(at line 1, column 5)", "base\n" + one)


class Suites(unittest.TestCase):
    def test_all_can_be_applied(self):
        for suite in ("candidates", "exploits"):
            edited = [c for c in judged.candidates_in(os.path.join(HERE, "..", suite)) if c.path.endswith(".toml")]
            self.assertTrue(edited)
            for candidate in edited:
                self.assertTrue(candidate.header.get("about"), candidate.path)


unittest.main()

#!/usr/bin/env python3
"""The tools that keep pages true refuse what would let a page go stale unseen: a marker that marks nothing, a block without
a command, a version that differs, an output that has changed."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def run(tool, *arguments):
    return subprocess.run([sys.executable, os.path.join(ROOT, "tools", tool), *arguments], capture_output=True, text=True)


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = os.path.join(folder.name, "page.md")

    def commands(self, text, *arguments):
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(text)
        return run("readme_commands.py", *(arguments or (self.page, "source")))

    def refuses(self, text, what):
        found = self.commands(text)
        self.assertNotEqual(found.returncode, 0, text)
        self.assertIn(what, found.stderr)
        self.assertEqual(found.stdout, "")

    def test_commands_of_a_marker_are_printed_as_they_are_written(self):
        found = self.commands("<!-- ci: source -->\n```sh\n# words\na --b \\\n  c\n\nd && e\n```\n"
                              "```sh\nnot marked\n```\n<!-- ci: package -->\n```sh\nother\n```\n"
                              "<!-- ci: source -->\n<!-- packages: build -->\n```console\n$ f\nan output\n$ g \\\n  h\n```\n")
        self.assertEqual(found.stdout, "a --b \\\n  c\nd && e\nf\ng \\\n  h\n")

    def test_a_marker_without_a_block_is_refused(self):
        self.refuses("<!-- ci: source -->\n\n```sh\na\n```\n", "no block")
        self.refuses("<!-- ci: source -->\n", "no block")
        self.refuses("<!-- ci: source -->\n<!-- ci: package -->\n```sh\na\n```\n", "no block")
        self.refuses("<!-- ci: source -->\n```cpp\na\n```\n", "no block")
        self.refuses("<!-- ci: source -->\n```sh\na\n", "does not end")

    def test_a_block_without_a_command_is_refused(self):
        self.refuses("<!-- ci: source -->\n```sh\n```\n", "no command")
        self.refuses("<!-- ci: source -->\n```sh\n# a comment\n\n```\n", "no command")
        self.refuses("<!-- ci: source -->\n```console\nan output\n```\n", "no command")

    def test_a_marker_that_is_misspelt_or_missing_is_refused(self):
        self.refuses("text <!-- ci: source -->\n```sh\na\n```\n", "a marker is a line")
        self.refuses("<!-- ci: package -->\n```sh\na\n```\n", "no block is marked")

    def test_packages_are_those_of_apt_lines(self):
        found = self.commands("<!-- ci: source -->\n```sh\napt-get update\napt-get install -y --no-install-recommends a libb++-dev \\\n"
                              "  c\napt install -y ./d_1_amd64.deb\n```\n", "--packages", self.page)
        self.assertEqual(found.stdout, "a\nlibb++-dev\nc\n")
        self.assertNotEqual(self.commands("<!-- ci: source -->\n```sh\na\n```\n", "--packages", self.page).returncode, 0)

    def test_an_output_that_changed_is_seen(self):
        page = "<!-- console 1 -->\n```console\n$ echo a >f; cat f; echo b\n{}\n…\n$ ls; false\nf\n```\n"
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(page.format("a"))
        self.assertEqual(run("render_runs.py", "fabricbench", self.page, "--check").returncode, 0)
        self.assertEqual(run("render_runs.py", "-", self.page, "--check", "--installed", "bash").returncode, 0)
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(page.format("c"))
        self.assertEqual(run("render_runs.py", "fabricbench", self.page, "--check").returncode, 1)

    def test_a_count_that_changed_is_seen(self):
        for name in ("problems", "mutation:counted", "calibration:b300x8:points"):
            with open(self.page, "w", encoding="utf-8") as file:
                file.write(f"| <!-- count: {name} -->-1<!-- /count --> |\n")
            stale = run("render_runs.py", "--counts", self.page, "--check")
            self.assertEqual(stale.returncode, 1, stale.stderr)
            self.assertIn("is stale", stale.stderr)
            self.assertEqual(run("render_runs.py", "--counts", self.page).returncode, 0)
            self.assertEqual(run("render_runs.py", "--counts", self.page, "--check").returncode, 0)
        with open(self.page, "w", encoding="utf-8") as file:
            file.write("<!-- count: unheard_of -->1<!-- /count -->\n")
        self.assertIn("there is no count", run("render_runs.py", "--counts", self.page, "--check").stderr)

    def test_too_many_words_are_refused_but_for_evidence(self):
        folder = os.path.dirname(self.page)
        os.makedirs(os.path.join(folder, "evidence"))
        with open(os.path.join(folder, "evidence", "table.md"), "w", encoding="utf-8") as file:
            file.write("word " * 50_000)
        with open(self.page, "w", encoding="utf-8") as file:
            file.write("word " * 39_999)
        self.assertEqual(run("check_doc_words.py", folder).returncode, 0)
        with open(self.page, "a", encoding="utf-8") as file:
            file.write("and two")
        self.assertEqual(run("check_doc_words.py", folder).returncode, 1)

    def test_where_code_is_must_be_true(self):
        spec = importlib.util.spec_from_file_location("check_markdown", os.path.join(ROOT, "tools", "check_markdown.py"))
        markdown = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(markdown)
        markdown.ROOT = os.path.dirname(self.page)
        page = os.path.join(markdown.ROOT, "CONTRIBUTING.md")
        os.makedirs(os.path.join(markdown.ROOT, "src", "judge"))

        def errors(rows):
            with open(page, "w", encoding="utf-8") as file:
                file.write("| where | |\n|---|---|\n" + rows + "\n| another | table |\n|---|---|\n| without | places |\n")
            return markdown.check(page, True)

        self.assertEqual(errors("| judges | `src/judge` |\n"), [])
        self.assertEqual(errors("| judges | `src/judge` |\n| races | `src/race` |\n"), ["CONTRIBUTING.md:4: src/race does not exist"])
        self.assertEqual(errors("| judges | the judge |\n"), ["CONTRIBUTING.md:3: names no file and no folder"])

    def test_pages_name_the_same_commands_for_the_same_way(self):
        pages = [os.path.join(ROOT, page) for page in ("README.md", "docs/install.md")]
        marked = [set(run("readme_commands.py", "--list", page).stdout.split()) - {page} for page in pages]
        self.assertLessEqual({"package", "source"}, marked[0] & marked[1])
        for marker in marked[0] & marked[1]:
            first, second = (run("readme_commands.py", page, marker).stdout for page in pages)
            self.assertEqual(first, second, marker)


class Version(unittest.TestCase):
    """On a copy of the files that state it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for path in ("CMakeLists.txt", "CITATION.cff", "CHANGELOG.md", "README.md", "docs/install.md", "tools/check_version.py"):
            os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, path), os.path.join(self.root, path))

    def check(self, *arguments):
        tool = os.path.join(self.root, "tools/check_version.py")
        return subprocess.run([sys.executable, tool, *arguments], capture_output=True, text=True)

    def program(self, prints):
        path = os.path.join(self.root, "program")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho '{prints}'\n")
        os.chmod(path, 0o755)
        return path

    def edit(self, path, pattern, text):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            before = file.read()
        after = re.sub(pattern, text, before, count=1, flags=re.MULTILINE)
        self.assertNotEqual(before, after, path)
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(after)

    def test_the_tree_agrees_and_so_it_does_with_a_new_version(self):
        self.assertEqual(self.check().returncode, 0)
        self.assertEqual(self.check("--set", "77.1.0").returncode, 0)
        agreed = self.check(self.program("fabricbench 77.1.0+g0123456789"))
        self.assertEqual(agreed.returncode, 0, agreed.stdout)
        self.assertNotEqual(self.check(self.program("fabricbench 77.0.9")).returncode, 0)

    def test_one_place_that_differs_is_an_error(self):
        for path, pattern, text in [("CMakeLists.txt", r"(fabricbench VERSION )\d+", r"\g<1>88"),
                                    ("CITATION.cff", r"^version: \d+", "version: 88"),
                                    ("CITATION.cff", r"^date-released: \d+", "date-released: 1999"),
                                    ("README.md", r"fabricbench_\d+", "fabricbench_88"),
                                    ("docs/install.md", r"fabricbench_\d+", "fabricbench_88"),
                                    ("CHANGELOG.md", r"^## (\d+\.)", r"## 88\1"),
                                    ("CHANGELOG.md", r"^- Times: ", "- Time: "),
                                    ("CHANGELOG.md", r"^## 0.3.0", "## 0.6.0")]:
            with self.subTest(path=path, pattern=pattern):
                self.setUp()
                self.edit(path, pattern, text)
                self.assertEqual(self.check().returncode, 1)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""tools/figures.py on a small tree: what it counts, and when a bound of ARCHITECTURE's table does not hold."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "tools" / "figures.py"
sys.path.insert(0, str(TOOL.parent))
import figures  # noqa: E402

PAGE = "# Page\n\n<!-- figures -->\n| figure | at most |\n|---|---|\n\nText.\n"
CLASS = """#pragma once
// void in_a_comment();
namespace fb::judge {
struct Line { int n; };
class Judge final : public Base<int> {
 public:
  explicit Judge(Options options = {}) : options_{options} {}
  Judge& operator=(const Judge&) = delete;
  bool operator()(int a) const { return run(a) && [&] { return g(); }(); }
  using Call = int (*)(int);
  std::map<int, int> rows() const;
  struct Part {
    void end();
  };

 private:
  std::function<void(int)> callback_;
  const char* text_ = "void none();";
  int seen_ = count(3), other_{2};
  static_assert(sizeof(int) == 4);
};
void free_function();
}
"""


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("ARCHITECTURE.md", PAGE)
        self.write("src/judge/judge.h", CLASS)
        self.write("src/judge/judge.cpp", "\n" * 199)
        for problem in "abcdef":
            self.write(f"problems/track/kind/{problem}/reference.cu", "int a;\nint b;\nint c;\nint d;\n" + f"int {problem}_;\n")
        self.write("docs/page.md", "three words here\n")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_tool(self, *options):
        subprocess.run(["git", "add", "-A"], cwd=self.root, check=True)
        return subprocess.run([sys.executable, TOOL, *options, self.root], capture_output=True, text=True)

    def set_bound(self, name, bound):
        lines = [f"| {name} | {bound} |" if line.startswith(f"| {name} ") else line
                 for line in (self.root / "ARCHITECTURE.md").read_text().splitlines()]
        self.write("ARCHITECTURE.md", "\n".join(lines) + "\n")

    def test_functions_are_counted_by_class(self):
        self.assertEqual(figures.member_functions(CLASS), [["Line", 0], ["Judge", 4], ["Part", 1]])

    def test_what_is_counted(self):
        found = self.run_tool("--write").stdout
        for line in ("files: 10, ", "lines of `src/judge`: 222, ", "lines of `problems`: 30, ", "functions of the largest class: 4, `Judge`, at most 4",
                     "lines of problems that stand in five or more: 80 %, ", "words of `docs` but `evidence`: 3, "):
            self.assertIn(line, found)

    def test_a_table_that_was_written_holds(self):
        self.assertIn("the table says nothing", self.run_tool().stderr)
        self.run_tool("--write")
        page = (self.root / "ARCHITECTURE.md").read_text()
        self.assertTrue(page.startswith(PAGE[:20]) and page.endswith("|\n\nText.\n"), page)
        self.assertEqual(self.run_tool().returncode, 0)
        # Nine lines more are below the bound.
        self.write("src/judge/judge.cpp", "\n" * 208)
        self.assertEqual(self.run_tool().returncode, 0)

    def refused(self, name):
        found = self.run_tool()
        self.assertEqual(found.returncode, 1)
        self.assertIn(f"ARCHITECTURE.md: {name}: ", found.stderr)
        self.assertEqual(found.stderr.count("ARCHITECTURE.md"), 1, found.stderr)
        self.run_tool("--write")
        self.assertEqual(self.run_tool().returncode, 0)

    def test_bounds_are_neither_exceeded_nor_far_away(self):
        self.run_tool("--write")
        self.set_bound("lines of `src/judge`", "221")
        self.refused("lines of `src/judge`")
        self.set_bound("lines of `src/judge`", "1,000")
        self.refused("lines of `src/judge`")
        self.set_bound("functions of the largest class", "4, `Part`")
        self.refused("functions of the largest class")
        self.set_bound("files", "10 |\n| lines of `gone` | 10")
        self.refused("lines of `gone`")


if __name__ == "__main__":
    unittest.main()

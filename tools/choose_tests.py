#!/usr/bin/env python3
"""What a run of CI takes of the suites that are too long for every run (.ci/rotation.toml).

A suite is dealt into n parts, and a run takes part (commits on main) mod n, and what the last commits touch. A draw by the
commit's hash would not bound how long a part waits. A test stays in its part when others come: it is dealt by its measured
cost where .ci/costs has one, so that parts cost alike, or else by its name.

Usage: choose_tests.py tests BUILD       numbers of the tests of this run, for `ctest -I`: all but those of other parts and
                                         of other stages. No other option that chooses: ctest would count what is left
       choose_tests.py items SUITE       what this run takes of a suite that is no test of ctest's, one a line
       choose_tests.py table [BUILD]     suite by suite: part, what is taken, its cost
       choose_tests.py gaps [N [STEP]]   each STEPth of the last N commits (200, 1) as a run: the longest gap of every
                                         suite's parts, in runs; exit code 1 where one is longer than allowed
       choose_tests.py costs BUILD       writes what tests took in BUILD into .ci/costs, in seconds of the processors that they ask for
--count COUNT: as if main had so many commits, to run a part by hand; --all: every part
"""
import argparse
import functools
import json
import re
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / ".ci" / "rotation.toml"
COSTS = ROOT / ".ci" / "costs"
TOUCHED_COMMITS = 10
MOST_GAP = 20
LEAST_COST = 5.0  # seconds; cheaper tests are dealt by their names
KEYS = {"about", "parts", "most_gap", "tests", "long", "items", "files", "listed_by", "always", "touched", "most_touched"}
LABEL = "long"  # tests that no run takes as a whole
OTHER_STAGES = {"perf", "mutation", "waits"}  # labels


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def warn(text):
    print(f"choose_tests: {text}", file=sys.stderr)


@functools.cache
def history():
    """Commits on main, newest first, by first parents: one that merges counts as one. None where they are not known."""
    if git("rev-parse", "--is-shallow-repository") != ["false"]:
        return None
    return git("rev-list", "--first-parent", "HEAD")


@functools.cache
def touched_paths():
    """Of the last commits and of the work tree."""
    commits = git("rev-list", "--first-parent", f"--max-count={TOUCHED_COMMITS + 1}", "HEAD") or []
    if len(commits) <= TOUCHED_COMMITS:
        warn(f"the history is shorter than {TOUCHED_COMMITS} commits: what they touch is known in part")
    return git("diff", "--name-only", commits[-1]) or [] if commits else []


class Item:
    """number: of a test, as ctest counts. first_cost, processors: its properties COST and PROCESSORS."""

    def __init__(self, name, cost=0.0, number=0, labels=frozenset(), files=(), first_cost=0.0, processors=1):
        self.name, self.cost, self.number, self.labels, self.files = name, cost, number, labels, files
        self.first_cost, self.processors = first_cost, processors
        self.part = None


def filled_in(names, match):
    """Patterns may have other escapes than the groups that a path's pattern caught."""
    return re.sub(r"\\([1-9])", lambda group: re.escape(match[int(group[1])]), names)


class Suite:
    def __init__(self, name, row):
        unknown = set(row) - KEYS
        if unknown or len({"tests", "items", "files", "listed_by"} & set(row)) != 1:
            sys.exit(f"{TABLE}: {name}: {unknown or 'one of tests, items, files and listed_by is needed'}")
        self.name, self.about, self.parts = name, row["about"], row["parts"]
        self.most_gap = row.get("most_gap", MOST_GAP)
        self.tests = re.compile(row["tests"]) if "tests" in row else None
        self.long = row.get("long", False)
        self.listed, self.files, self.listed_by = row.get("items"), row.get("files"), row.get("listed_by")
        self.always = re.compile(row["always"]) if "always" in row else None
        self.touched = [(re.compile(paths), names) for paths, names in row.get("touched", {}).items()]
        self.most_touched = row.get("most_touched", 10**6)

    def items(self, tests):
        if self.tests:
            return [test for test in tests if (LABEL in test.labels) == self.long and not test.labels & OTHER_STAGES and self.tests.search(test.name)]
        if self.files:
            return [Item(path, files=[path]) for path in git("ls-files", *self.files) or []]
        if self.listed_by:
            done = subprocess.run(self.listed_by, cwd=ROOT, capture_output=True, text=True, check=False)
            return [Item(line.split()[0], files=line.split()[1:]) for line in done.stdout.splitlines()]
        return [Item(name) for name in self.listed]

    def deal(self, items, loads):
        """Few items are spread over the parts, as the table has them or by name; others by cost, by the number at the end of
        their name, or by the name. LOADS: what the parts of all suites with as many parts cost so far."""
        if self.listed or len(items) < self.parts and not any(item.cost for item in items):
            for place, item in enumerate(items if self.listed else sorted(items, key=lambda one: one.name)):
                item.part = place * self.parts // len(items) if len(items) < self.parts else place % self.parts
                loads[item.part] += item.cost
            return
        for item in sorted(items, key=lambda one: (-one.cost, one.name)):
            numbered = re.search(r"\.(\d+)$", item.name)
            if item.cost:
                item.part = loads.index(min(loads))
            else:
                item.part = (int(numbered[1]) if numbered else zlib.crc32(item.name.encode())) % self.parts
            loads[item.part] += item.cost

    def is_touched(self, item, paths):
        for pattern, names in self.touched:
            for path in paths:
                match = pattern.search(path)
                if match and re.search(filled_in(names, match), item.name):
                    return True
        return any(file in paths for file in item.files)

    def taken(self, items, count, paths):
        """Of ITEMS, which are dealt: this run's part, those that every run takes, and those that were touched. Of too
        many that were touched the next ones, in the order of their names."""
        part = [item for item in items if item.part == count % self.parts or (self.always and self.always.search(item.name))]
        touched = sorted((item for item in items if self.is_touched(item, paths)), key=lambda one: one.name)
        if len(touched) > self.most_touched:
            begin = count * self.most_touched % len(touched)
            touched = (touched + touched)[begin:begin + self.most_touched]
        return set(part) | set(touched)


def suites():
    return [Suite(name, row) for name, row in tomllib.loads(TABLE.read_text()).items()]


def costs():
    if not COSTS.exists():
        return {}
    rows = (line.split() for line in COSTS.read_text().splitlines() if not line.startswith("#"))
    return {name: float(seconds) for name, seconds in rows}


def tests_in(build):
    """As ctest numbers them."""
    done = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True, check=True)
    known = costs()
    found = []
    for number, test in enumerate(json.loads(done.stdout)["tests"], 1):
        properties = {row["name"]: row["value"] for row in test.get("properties", [])}
        found.append(Item(test["name"], known.get(test["name"], 0.0), number, set(properties.get("LABELS", [])),
                          first_cost=properties.get("COST", 0.0), processors=int(properties.get("PROCESSORS", 1))))
    return found


def choose(count, tests):
    """Suite → (its items, those that this run takes). A test is in one suite."""
    loads, chosen, owner = {}, {}, {}
    paths = touched_paths()
    for suite in suites():
        items = suite.items(tests)
        for item in items:
            if item.number and owner.setdefault(item.name, suite.name) != suite.name:
                sys.exit(f"{TABLE}: {item.name} is in {owner[item.name]} and in {suite.name}")
        suite.deal(items, loads.setdefault(suite.parts, [0.0] * suite.parts))
        chosen[suite.name] = items, set(items) if count is None else suite.taken(items, count, paths)
    return chosen


def count_of(arguments):
    if arguments.all:
        return None
    if arguments.count is not None:
        return arguments.count
    commits = history()
    if commits is None:
        warn("the commits on main can't be counted (a shallow clone, or none): part 0 of every suite")
    return len(commits or [])


def print_tests(arguments):
    tests = tests_in(arguments.words[0])
    rotating, taken = set(), set()
    for items, some in choose(count_of(arguments), tests).values():
        rotating |= {item.number for item in items}
        taken |= {item.number for item in some}
    forgotten = [test.name for test in tests if LABEL in test.labels and test.number not in rotating]
    if forgotten:
        sys.exit(f"{TABLE}: no suite takes these tests with the label {LABEL}: {' '.join(forgotten[:10])}")
    numbers = [test.number for test in tests
               if (test.number not in rotating or test.number in taken) and not test.labels & OTHER_STAGES]
    # Start, end and step of no test, then single tests.
    print("0,0,0," + ",".join(map(str, numbers)))


def print_items(arguments):
    chosen = choose(count_of(arguments), [])
    name = arguments.words[0]
    if name not in chosen:
        sys.exit(f"{TABLE} has no suite {name}: {' '.join(chosen)}")
    for item in sorted(chosen[name][1], key=lambda one: one.name):
        print(item.name)


def print_table(arguments):
    count = count_of(arguments)
    chosen = choose(count, tests_in(arguments.words[0]) if arguments.words else [])
    print(f"{'suite':16} {'part':>8}  {'taken':>9}  {'seconds known':>13}  about")
    for suite in suites():
        items, some = chosen[suite.name]
        part = "all" if count is None else f"{count % suite.parts} of {suite.parts}"
        print(f"{suite.name:16} {part:>8}  {len(some):>3} of {len(items):>3}  {sum(i.cost for i in some):>13.0f}  {suite.about}")


def longest_gap(counts, parts):
    """In runs, from one that takes a part to the next that does, the worst of all parts; the beginning and the end count
    as runs that took it."""
    worst = 0
    for part in range(parts):
        runs = [-1] + [run for run, count in enumerate(counts) if count % parts == part] + [len(counts)]
        worst = max(worst, *(after - before for before, after in zip(runs, runs[1:])))
    return worst


def print_gaps(arguments):
    commits = history()
    if commits is None:
        sys.exit("choose_tests: this needs the whole history")
    most, step = ([int(word) for word in arguments.words] + [200, 1][len(arguments.words):])[:2]
    counts = list(range(max(1, len(commits) - most + 1), len(commits) + 1))[::step]
    print(f"{len(counts)} runs, one every {step} commits")
    late = []
    for suite in suites():
        gap = longest_gap(counts, suite.parts)
        print(f"{suite.name:16} {suite.parts:>3} parts, the longest gap {gap:>3} runs of {suite.most_gap} allowed")
        late += [suite.name] if gap > suite.most_gap else []
    if late:
        sys.exit(f"these wait too long: {' '.join(late)}")


def write_costs(arguments):
    """Those that ran in this folder replace what is known of them."""
    build = Path(arguments.words[0])
    known = costs()
    rotating = {item.name: item for items, _ in choose(None, tests_in(build)).values() for item in items}
    # Name, runs, seconds on average; a line of dashes, and the tests that failed.
    rows = re.findall(r"^(\S+) ([1-9]\d*) ([\d.e+-]+)$", (build / "Testing" / "Temporary" / "CTestCostData.txt").read_text(), re.MULTILINE)
    for name, runs, average in rows:
        if name not in rotating:
            continue
        # ctest averages the property COST with the last run, as if that were what all runs before it took.
        seconds = (int(runs) * float(average) - (int(runs) - 1) * (rotating[name].first_cost or float(average))) * rotating[name].processors
        known.pop(name, None)
        if seconds >= LEAST_COST:
            known[name] = seconds
    kept = [f"{name} {seconds:.0f}\n" for name, seconds in sorted(known.items()) if name in rotating]
    COSTS.write_text(f"# Seconds of rotating tests, from {LEAST_COST:.0f}, times their processors: written by `tools/choose_tests.py costs BUILD`\n" + "".join(kept))
    print(f"{len(kept)} tests with a cost")


COMMANDS = {"tests": print_tests, "items": print_items, "table": print_table, "gaps": print_gaps, "costs": write_costs}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--count", type=int)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    if arguments.command in ("tests", "items", "costs") and len(arguments.words) != 1:
        sys.exit(__doc__)
    COMMANDS[arguments.command](arguments)


if __name__ == "__main__":
    main()

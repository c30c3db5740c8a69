#!/usr/bin/env python3
"""Everything that states the version states the same one: the project in CMakeLists.txt is the last release, with which
CITATION.cff (and its date), the newest section of CHANGELOG.md and the package that README.md and docs/install.md name agree.
Each section of the changelog begins with what it changes for verdicts, times, and JSON and options.

Usage: check_version.py [FABRICBENCH | PACKAGE.deb]…   also what the program prints, or the package is called
       check_version.py --set X.Y.Z                    writes X.Y.Z and today's date wherever the version is stated
"""
import datetime
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUMBER = r"\d+\.\d+\.\d+"
# File, and what precedes its version; every place in a page counts.
PLACES = [("CMakeLists.txt", r"^project\(fabricbench VERSION "), ("CITATION.cff", r"^version: "),
          ("README.md", r"fabricbench_"), ("docs/install.md", r"fabricbench_")]
FIRST_LINES = ("- Verdicts: ", "- Times: ", "- JSON and options: ")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def change(path, pattern, text):
    changed, count = re.subn(pattern, text, read(path), flags=re.MULTILINE)
    if not count:
        sys.exit(f"{path}: nothing matches {pattern}")
    with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
        file.write(changed)


def set_version(version):
    today = datetime.date.today().isoformat()
    for path, before in PLACES:
        change(path, f"({before}){NUMBER}", rf"\g<1>{version}")
    change("CITATION.cff", r"^(date-released: ).*$", rf"\g<1>{today}")
    lines = "\n".join(f"{line}as in the release before." for line in FIRST_LINES)
    change("CHANGELOG.md", r"^## Unreleased$", f"## Unreleased\n\n{lines}\n\n## {version} - {today}")


def changelog_errors(text):
    """Errors of the changelog, and (version, date) of its releases."""
    errors, releases = [], []
    for section in re.split(r"(?m)^## ", text)[1:]:
        heading, _, body = section.partition("\n")
        match = re.fullmatch(rf"({NUMBER}) - (\d{{4}}-\d\d-\d\d)", heading)
        if match:
            releases.append(match.groups())
        elif heading != "Unreleased" or releases:
            errors.append(f"CHANGELOG.md: the heading '{heading}' is neither Unreleased nor VERSION - DATE")
        at = [body.find(line) for line in FIRST_LINES]
        if heading != "0.1.0 - 2026-11-16" and (-1 in at or at != sorted(at) or "\n#" in body[:at[-1]]):
            errors.append(f"CHANGELOG.md: {heading} does not begin with {', '.join(line.strip() for line in FIRST_LINES)}")
    keys = [([int(part) for part in version.split(".")], date) for version, date in releases]
    if any(newer[0] <= older[0] or newer[1] < older[1] for newer, older in zip(keys, keys[1:])):
        errors.append("CHANGELOG.md: releases are not in order, newest first")
    return errors, releases


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "--set" and re.fullmatch(NUMBER, arguments[1]):
        return set_version(arguments[1])
    if any(argument.startswith("-") for argument in arguments):
        sys.exit(__doc__)
    errors, releases = changelog_errors(read("CHANGELOG.md"))
    version, date = releases[0]
    stated = [(f"{path}", found) for path, before in PLACES for found in re.findall(before + f"({NUMBER})", read(path), re.MULTILINE) or ["none"]]
    for program in arguments:
        if program.endswith(".deb"):
            fields = subprocess.run(["dpkg-deb", "--show", program], check=True, capture_output=True, text=True).stdout.split()
            stated += [(program, re.search(NUMBER, os.path.basename(program))[0]), (program, fields[1])]
        else:
            out = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
            stated.append((program, re.fullmatch(rf"fabricbench ({NUMBER})(\+g[0-9a-f]+(\.modified)?)?\n", out)[1]))
    errors += [f"{place}: {found}, but the newest release in CHANGELOG.md is {version}" for place, found in stated if found != version]
    released = re.search(r"(?m)^date-released: (.*)$", read("CITATION.cff"))[1]
    if released != date:
        errors.append(f"CITATION.cff: date-released {released}, but CHANGELOG.md has {date}")
    print("\n".join([*errors, f"version: {version}, stated in {len(stated)} places, {len(errors)} errors"]))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()

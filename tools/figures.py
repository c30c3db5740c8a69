#!/usr/bin/env python3
"""The tree's sizes, as bounds in a table of ARCHITECTURE.md. A figure above its bound fails, and so does a bound that is
more than a quarter above its figure; what lies between changes no line of the page. What needs more runs --write in its
own commit, where the diff shows it.

Usage: figures.py [--write] [ROOT]     prints figures and bounds; --write sets the bounds that don't hold
"""

import collections
import math
import pathlib
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_doc_words  # noqa: E402
import check_layers  # noqa: E402
import repeated_lines  # noqa: E402

TABLE = re.compile(r"(<!-- figures -->\n\|.*\n\|[-|:]+\n)((?:\|.*\n)*)")
ROW = re.compile(r"\| (.*) \| (\d+(?:,\d{3})*(?:\.\d+)?)(.*?) \|")
# A comment, a literal, the rest of a directive.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
CLASS = re.compile(r"\b(?:class|struct)\s+(\w+)(?:\s+final)?\s*(?::(?!:)[^;{}]*)?\Z")
NO_FUNCTION = re.compile(r"(?:using|typedef|friend|static_assert|enum)\b")


def member_functions(text):
    """[class, number of member functions that it declares] of each class that a header defines."""
    scopes, counts, piece = [], [], ""  # a scope: a class's entry of counts, "namespace", or None for other braces
    for token in re.finditer(r"[{};]|[^{};]+", NO_CODE.sub(" ", text)):
        if token[0] not in "{};":
            piece += token[0]
            continue
        inside = scopes[-1] if scopes else "namespace"
        if token[0] == "}":
            if scopes:
                scopes.pop()
        elif token[0] == "{" and inside is not None and (found := CLASS.search(piece)):
            counts.append([found[1], 0])
            scopes.append(counts[-1])
        else:
            if isinstance(inside, list) and is_function(piece):
                inside[1] += 1
            if token[0] == "{":
                scopes.append("namespace" if re.search(r"\bnamespace\b[\w\s:]*\Z", piece) else None)
        piece = ""
    return counts


def is_function(piece):
    """Of a member's text up to its body or its end."""
    piece = re.sub(r"\A(?:\s*(?:public|protected|private)\s*:)*\s*", "", piece)
    piece = re.sub(r"\boperator\s*(?:\(\)|[^\s(]+)", "operator", piece)
    if NO_FUNCTION.match(piece) or re.match(r"[^(]*\)", piece):  # behind the braces of a default argument
        return False
    while (shorter := re.sub(r"<[^<>()]*(?:\([^()]*\)[^<>()]*)*>", "", piece)) != piece:
        piece = shorter  # std::function<void(int)> is a member's type
    return "(" in piece and "=" not in piece.split("(")[0]


def lines_of(path):
    return path.read_bytes().count(b"\n")


def files_of(root):
    found = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    return [name for name in found if name and (root / name).is_file()]


def figures_of(root):
    """What a figure counts → (its number, what follows the number, the bound that --write sets)."""
    files = files_of(root)
    by_place = collections.Counter()
    for name in files:
        parts = name.split("/")
        by_place["/".join(parts[:2 if parts[0] == "src" and len(parts) > 2 else 1])] += lines_of(root / name)
    lines = sorted(lines_of(root / name) for name in files if name.startswith("src/") and name.endswith((".h", ".cpp")))
    class_name, functions = max((entry for name in files if name.startswith("src/") and name.endswith(".h")
                                 for entry in member_functions((root / name).read_text())), key=lambda entry: entry[1])
    problems = [root / name for name in files if name.startswith("problems/") and name.endswith((".cu", ".cpp"))]
    repeated = round(100 * repeated_lines.repeated_lines(problems), 1)
    found = {"files": len(files)}
    found |= {f"lines of `{place}`": count for place, count in sorted(by_place.items())
              if place.startswith("src/") or place in {"problems", "sdk", "tests", "tools"}}
    found |= {"lines of a file of `src`, median": statistics.median_high(lines),
              "lines of a file of `src`, 90th percentile": lines[len(lines) * 9 // 10]}
    return {name: (number, "", bound_for(number)) for name, number in found.items()} | {
        "functions of the largest class": (functions, f", `{class_name}`", functions),
        "lines of problems that stand in five or more": (repeated, " %", bound_for(repeated)),
        f"folders of more than {check_layers.MOST_FILES} files": (len(list(check_layers.full_folders(root))), "", 0),
        "words of `docs` but `evidence`": (sum(check_doc_words.words_of(root / "docs").values()), "", check_doc_words.LIMIT)}


def bound_for(number):
    """Some 5 % above, in two or three digits."""
    step = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(1.05 * number / step) * step


def holds(number, bound, chosen):
    return number <= bound and (bound == chosen or bound <= 1.25 * number + 5)


def text_of(number):
    return f"{int(number):,}" if number == int(number) else str(number)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    root = pathlib.Path(arguments[0] if arguments else __file__).resolve()
    root = root if arguments else root.parent.parent
    page = root / "ARCHITECTURE.md"
    text = page.read_text(encoding="utf-8")
    table = TABLE.search(text)
    if not table:
        sys.exit("ARCHITECTURE.md: no table <!-- figures -->")
    bounds = {row[1]: (float(row[2].replace(",", "")), row[3]) for line in table[2].splitlines() if (row := ROW.match(line))}
    rows, bad = [], []
    for name, (number, rest, chosen) in figures_of(root).items():
        bound, stated = bounds.pop(name, (None, None))
        if bound is None or not holds(number, bound, chosen) or rest != stated:
            says = "nothing" if bound is None else f"{text_of(bound)}{stated}"
            bad.append(f"ARCHITECTURE.md: {name}: {text_of(number)}{rest}, the table says {says}")
            bound = chosen
        rows.append(f"| {name} | {text_of(bound)}{rest} |\n")
        print(f"{name}: {text_of(number)}{rest}, at most {text_of(bound)}")
    bad += [f"ARCHITECTURE.md: {name}: no such figure" for name in bounds]
    if "--write" in sys.argv:
        page.write_text(text[:table.start(2)] + "".join(rows) + text[table.end(2):], encoding="utf-8")
        bad = []
    if bad:
        bad.append("a figure must be at most its bound, and the bound at most a quarter above: tools/figures.py --write")
        print("\n".join(bad), file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

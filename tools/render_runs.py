#!/usr/bin/env python3
"""Fills a document's code, outputs and counts from the sources and from real runs, so that they can't go stale.

Usage: render_runs.py FABRICBENCH DOCUMENT.md [--check] [--installed SHELL]
       render_runs.py --counts DOCUMENT.md… [--check]      without a program: their counts, tables and names alone

A comment before a fenced block says what the block holds:
  <!-- code: FILE -->                      the file
  <!-- code: FILE NAME -->                 the lines between // [NAME] and // [/NAME] of FILE
  <!-- change: FILE NAME MACRO=NUMBER -->  what MACRO changes in these lines
  <!-- rows: FILE.def MACRO -->            MACRO(name, "label", "meaning") of FILE.def, a line for each row
  <!-- run: ARGUMENTS OF fabricbench -->   the command, and what it prints; without what ranks print after the machine
                                           has ended, which comes in any order
  <!-- run 9: ARGUMENTS OF fabricbench --> the command and the first 9 lines of its output
  <!-- console -->, <!-- console 9 -->     the block's own lines `$ COMMAND`, each with (the first 9 lines of) its output
  <!-- packages: build run -->             the apt-get line of these groups of .ci/packages
A comment before something else than a block:
  <!-- table: FILE.def MACRO 1 3 -->       a table, of which two lines are its head: a line for each row MACRO(…) of FILE.def, of
                                           its arguments 1 and 3. Names are shown as code, texts as they are
  <!-- names: FILE.def MACRO… -->          a paragraph: the first argument of each row of these macros, in their order
Commands of `console` blocks are a shell's, as a reader types them. Those of one document share a folder, empty at first. By
default FABRICBENCH is the `fabricbench` of that shell, and this source tree stands for /usr/share/fabricbench. With
--installed, the shell is `SHELL -c …`, which must have the package and an empty current folder: `--installed 'bwrap --bind
ROOT / … bash'`. Only `console` blocks are rendered then.
A count is written between two comments: <!-- count: examples -->20<!-- /count -->. COUNTS has their names. One with colons
is read off a page of docs/evidence, whose own figures tests compare with the program: `calibration:PLATFORM:KEY`, of the
held-out row of that platform's curves, and `mutation:KEY`, of the row of all problems.
<!-- faster -->2.4<!-- /faster --> is the ratio of the longest launches in the two profiles above it.
Lines under `#if MACRO == NUMBER` (or !=, #elif, #else) are taken or left out, as if the macro were 0 where it is not named.
Without --check the document is written anew; with --check it is compared, and a difference is an error.
"""
import argparse
import difflib
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"(<!-- (code|change|rows|run|packages)(?: (\d+))?: (.*?) -->\n```(?:\w+)\n).*?(^```$)", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"(<!-- console(?: (\d+))? -->\n```console\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(<!-- table: (\S+) (\w+)((?: \d+)+) -->\n\|.*\n\|[-|]+\n)((?:\|.*\n)*)")
NAMES = re.compile(r"(<!-- names: (\S+)((?: \w+)+) -->\n)((?:.+\n)*)")
ARGUMENT = re.compile(r'\s*(?:((?:"(?:[^"\\]|\\.)*"\s*)+)|([^",()]+))\s*(,|\))')
COUNT = re.compile(r"(<!-- count: ([\w:]+) -->).*?(<!-- /count -->)")
FASTER = re.compile(r"(<!-- faster -->).*?(<!-- /faster -->)")
LONGEST = re.compile(r": \d+ launch(?:es)?, the longest ([\d.]+) (ns|us|ms)$", re.MULTILINE)
INSTALLED = "/usr/share/fabricbench/"
SECONDS = 120  # until a run is given up
LAST_WORDS = re.compile(r"(\[rank \d+\] )?(FAILED .*cudaErrorUnknown|FAILED .*a rank has left|fabricbench: the machine has ended)")


def without_conditions(lines, macros):
    kept, taken, chosen = [], True, True  # chosen: a branch of the condition has been taken
    for line in lines:
        condition = re.match(r"#(?:if|elif) (\w+) (==|!=) (\d+)$", line)
        if line.startswith("#if") or line.startswith("#elif"):
            if not condition:
                sys.exit(f"this condition is not understood: {line}")
            holds = (macros.get(condition[1], 0) == int(condition[3])) == (condition[2] == "==")
            taken = holds and (line.startswith("#if") or not chosen)
            chosen = taken or (chosen and line.startswith("#elif"))
        elif line == "#else":
            taken = not chosen
        elif line == "#endif":
            taken = True
        elif taken:
            kept.append(line)
    return kept


def code(path, name=None, *definitions):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    if name is None:
        return text.splitlines()
    match = re.search(rf"^ *// \[{name}\]\n(.*?)^ *// \[/{name}\]$", text, re.DOTALL | re.MULTILINE)
    if not match:
        sys.exit(f"{path} has no lines [{name}]")
    macros = {macro: int(value) for macro, value in (definition.split("=") for definition in definitions)}
    return without_conditions(textwrap.dedent(match[1]).splitlines(), macros)


def change(path, name, definition):
    lines = difflib.unified_diff(code(path, name), code(path, name, definition), n=1, lineterm="")
    return [line for line in list(lines)[2:] if not line.startswith("@@")]


def rows(path, macro):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        found = re.findall(rf'^{macro}\(\w+, "([^"]*)", "([^"]*)"\)$', file.read(), re.MULTILINE)
    if not found:
        sys.exit(f"{path} has no rows {macro}(name, \"label\", \"meaning\")")
    width = max(len(label) for label, _ in found)
    return [f"{label:{width}}  {meaning}" for label, meaning in found]


def arguments_of(path, macros):
    """Of each row MACRO(…) of a file, in its order: whether each argument is a text, and what it says."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    found = []
    for begin in re.finditer(rf"^(?:{'|'.join(macros)})\(", text, re.MULTILINE):
        row, at, end = [], begin.end(), ","
        while end == ",":
            match = ARGUMENT.match(text, at)
            if not match:
                sys.exit(f"{path}: the row that begins {text[begin.start():begin.end() + 40]!r} is not understood")
            texts = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[1])).replace('\\"', '"') if match[1] else ""
            row.append((bool(match[1]), texts or (match[2] or "").strip()))
            at, end = match.end(), match[3]
        found.append(row)
    if not found:
        sys.exit(f"{path} has no rows {' or '.join(macros)}")
    return found


def table(path, macro, columns):
    lines = []
    for row in arguments_of(path, [macro]):
        cells = [row[int(column) - 1] for column in columns]
        lines.append("| " + " | ".join(cell if is_text or cell.isdigit() else f"`{cell}`" for is_text, cell in cells) + " |\n")
    return "".join(lines)


def names(path, macros):
    words = ", ".join(f"`{row[0][1]}`" for row in arguments_of(path, macros)) + "."
    return textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def files(pattern):
    return len(glob.glob(os.path.join(ROOT, pattern)))


def providers():
    with open(os.path.join(ROOT, "src/campaign/llm/providers.toml"), encoding="utf-8") as file:
        return file.read().count("\n[[provider]]")


def matches(pattern, path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return re.findall(pattern, file.read(), re.MULTILINE)


COUNTS = {"examples": lambda: files("examples/*.cu"), "tracks": lambda: files("problems/*/"),
          "problems": lambda: files("problems/*/*/*/problem.toml") + files("problems/*/*/*/variants/*/variant.toml"),
          "platforms": lambda: files("platforms/*.toml"), "bugs": lambda: files("tests/e2e/bugs/*.cu"),
          "hangs": lambda: files("tests/e2e/hangs/*.cu"), "providers": providers,
          "kernel_problems": lambda: files("problems/kernel/*/*/problem.toml"),
          "kernel_references": lambda: files("problems/kernel/*/*/reference.cu"),
          "operators": lambda: len(matches(r'^ +Operator\{"', "src/audit/mutate/operators.cpp")),
          "figures": lambda: len(matches(r"^\[\[figure\]\]", "platforms/calibration/inside/figures.toml")),
          "exploits": lambda: files("tests/e2e/exploits/*.cu") + files("tests/e2e/exploits/*.toml")}


def calibrated(platform, key):
    """A column of the row `all  held out` of a platform's table."""
    table = matches(rf"^{platform} +split(?:.*\n)*?all +held out +(\S+) +(\S+) +(\S+) +(\d+) points$", "docs/evidence/calibration.md")
    if len(table) != 1:
        sys.exit(f"docs/evidence/calibration.md has {len(table)} tables of {platform}")
    return dict(zip(("median", "p90", "largest", "points"), table[0]))[key].replace("%", " %")


def mutated(key):
    row = matches(r"^\| \*\*all\*\* \| (.*) \|$", "docs/evidence/mutation.md")[0].split(" | ")
    figures = dict(zip(("made", "invalid", "equivalent", "duplicates", "counted", "ordinary", "schedules", "checkers", "survived"),
                       map(int, row)))
    killed = figures["counted"] - figures["survived"]
    shares = {"rate": killed / figures["counted"], "ordinary_rate": figures["ordinary"] / figures["counted"]}
    return f"{100 * shares[key]:.1f} %" if key in shares else (figures | {"killed": killed})[key]


def count(name):
    kind, *words = name.split(":")
    try:
        return str({"calibration": calibrated, "mutation": mutated}[kind](*words) if words else COUNTS[name]())
    except (KeyError, TypeError):
        sys.exit(f"there is no count {name}")


def with_counts(text):
    text = TABLE.sub(lambda match: match[1] + table(match[2], match[3], match[4].split()), text)
    text = NAMES.sub(lambda match: match[1] + names(match[2], match[3].split()), text)
    return COUNT.sub(lambda match: match[1] + count(match[2]) + match[3], text)


def packages(*groups):
    with open(os.path.join(ROOT, ".ci/packages"), encoding="utf-8") as file:
        found = dict(re.findall(r"^(\w+): (.*)$", file.read(), re.MULTILINE))
    words = " ".join(found[group] for group in groups)
    first, *rest = textwrap.wrap("apt-get install -y --no-install-recommends " + words, 116, subsequent_indent="  ",
                                 break_long_words=False, break_on_hyphens=False)
    return [*(f"{line} \\" for line in [first, *rest][:-1]), [first, *rest][-1]]


def shown(text, limit):
    lines = [line for line in text.rstrip().splitlines() if not LAST_WORDS.match(line)]
    return [*lines[:limit], "…"] if limit and len(lines) > limit else lines


def output(tool, words, limit):
    run = subprocess.run([tool, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=SECONDS)
    return [f"$ fabricbench {shlex.join(words)}", *shown(run.stdout, limit)]


def commands_of(block):
    """The commands of a console block: lines after `$ `, with those that a backslash continues."""
    return re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE)


def answers(shell, folder, commands, environment):
    """What the shell prints for each of the commands, which it runs one after the other."""
    mark = f"== {os.urandom(8).hex()}"
    script = "".join(f"{command}\necho; echo '{mark}'\n" for command in commands)
    run = subprocess.run([*shell, "-c", script], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, env=environment, timeout=SECONDS * len(commands))
    found = re.split(rf"^{mark}\n", run.stdout, flags=re.MULTILINE)
    if len(found) != len(commands) + 1 or found[-1].strip():
        sys.exit(f"the shell ended before all commands were run:\n{run.stdout}")
    return found[:-1]


def render_consoles(text, tool, installed):
    commands = [command for block in CONSOLE.finditer(text) for command in commands_of(block[3])]
    if not commands:
        return text
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "empty")
        os.mkdir(folder)
        if installed:
            outputs = answers(shlex.split(installed), folder, commands, None)
        else:
            os.mkdir(os.path.join(scratch, "bin"))
            os.symlink(tool, os.path.join(scratch, "bin", "fabricbench"))
            here = [command.replace(INSTALLED, ROOT + "/") for command in commands]
            path = f"{scratch}/bin:{os.environ['PATH']}"
            outputs = [found.replace(ROOT + "/", INSTALLED)
                       for found in answers(["bash"], folder, here, {**os.environ, "PATH": path})]
    rest = iter(zip(commands, outputs))

    def fill(match):
        lines = []
        for _ in commands_of(match[3]):
            command, found = next(rest)
            lines += [f"$ {command}", *shown(found, int(match[2] or 0))]
        return match[1] + "".join(line.rstrip() + "\n" for line in lines) + match[4]

    return CONSOLE.sub(fill, text)


def faster(text, match):
    times = [float(value) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit] for value, unit in LONGEST.findall(text, 0, match.start())]
    if len(times) < 2:
        sys.exit("no two profiles above <!-- faster -->")
    return f"{match[1]}{times[-2] / times[-1]:.1f}{match[2]}"


def same_anywhere(text):
    """Without where a program's own variables lie: that is the linker's choice, and differs between installations."""
    return re.sub(r"byte \d+ (of registered host memory #\d+ .*), address m\d+\+0x[0-9a-f]+", r"\1", text)


def settle(path, before, after, check, again):
    """Writes the document, or says how it differs: whether it is as it should be."""
    if not check:
        with open(path, "w", encoding="utf-8") as file:
            file.write(after)
    elif same_anywhere(after) != same_anywhere(before):
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, "as it is now"))
        print(f"{path} is stale: tools/render_runs.py {again} {path}", file=sys.stderr)
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", metavar="FABRICBENCH DOCUMENT.md")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--installed", metavar="SHELL")
    arguments = parser.parse_args()
    if arguments.counts:
        right = True
        for path in arguments.words:
            with open(path, encoding="utf-8") as file:
                before = file.read()
            right = settle(path, before, with_counts(before), arguments.check, "--counts") and right
        sys.exit(0 if right else 1)
    if len(arguments.words) != 2:
        parser.error("a program and a document are needed")
    tool, path = os.path.abspath(arguments.words[0]), arguments.words[1]
    with open(path, encoding="utf-8") as file:
        before = file.read()

    def fill(match):
        words = shlex.split(match[4])
        makers = {"code": code, "change": change, "rows": rows, "packages": packages}
        lines = output(tool, words, int(match[3] or 0)) if match[2] == "run" else makers[match[2]](*words)
        return match[1] + "".join(line.rstrip() + "\n" for line in lines) + match[5]

    after = render_consoles(before, tool, arguments.installed)
    if not arguments.installed:
        filled = with_counts(BLOCK.sub(fill, after))
        after = FASTER.sub(lambda match: faster(filled, match), filled)
    sys.exit(0 if settle(path, before, after, arguments.check, "FABRICBENCH") else 1)


if __name__ == "__main__":
    main()

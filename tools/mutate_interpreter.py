#!/usr/bin/env python3
"""How much of the interpreter the unit tests weigh: draws edits of its sources, and counts those that a test notices.

  tools/mutate_interpreter.py prepare [--edits 440] [--seed 1]
  tools/mutate_interpreter.py run [--out FILE] [PROGRAM…]

`prepare` copies the sources to build/mutants/tree, puts every drawn edit beside the original behind a test of a global
number, and compiles all of them into one set of test programs; edits that do not compile are left out. `run` starts
each test program once for each edit, with the edit's number in FB_EDIT, and prints the share that some program fails
on; a hang is a failure. It builds the test programs first, so tests may be edited between two runs: the edits stay.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build/mutants"
TREE, BUILD, EDITS = WORK / "tree", WORK / "build", WORK / "edits.json"

FOLDERS = ["src/virtual_node/simt/exec", "src/virtual_node/num", "src/common/ptx"]
# Products of large matrices are cuBLAS's, and tiles are on few processors.
APART = re.compile(r"num/matrix/|amx_engine|exec_unsupported")
# The programs in the order in which they are started, and what they are linked with.
PROGRAMS = {"ptx_test": "src/common/ptx", "simt_test": "src", "simt_random_test": "src", "ptx_run_test": "src",
            "num_test": "src/virtual_node/num"}
SETTINGS = {"FABRICBENCH_RANDOM_PROGRAMS": "1000", "GTEST_FAIL_FAST": "1", "GTEST_BRIEF": "1",
            "GTEST_FILTER": "-*OtherSchedules*"}

# A constant expression keeps the original: an edit counts only where it can be chosen when the program runs.
HEADER = """#pragma once
#include <cstdlib>
inline int fb_edit_number = 0;
[[gnu::constructor(101)]] static void fb_read_edit_number() {
  if (const char* text = std::getenv("FB_EDIT")) fb_edit_number = std::atoi(text);
}
[[gnu::always_inline]] constexpr bool fb_edit(int number) {
  return !__builtin_is_constant_evaluated() && number == fb_edit_number;
}
"""

OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=",
             "!=": "==", "&": "|", "|": "&", "^": "|", "&&": "||", "||": "&&", "<<": ">>", ">>": "<<", "+=": "-=",
             "-=": "+=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<="}
# Wrong lane, width, half, side or sign.
WORDS = {"kLanes": "(kLanes / 2)", "[l]": "[l ^ 1]", "sizeof(T)": "(2 * sizeof(T))", "min": "max", "max": "min",
         "uint64_t": "uint32_t", "int64_t": "int32_t", "uint32_t": "uint16_t", "int32_t": "int16_t",
         "uint16_t": "uint8_t", "int16_t": "uint16_t", "int8_t": "uint8_t", "lo": "hi", "hi": "lo", "low": "high",
         "high": "low", "first": "second", "second": "first", "true": "false", "false": "true", "add": "sub",
         "sub": "add", "shl": "shr", "shr": "shl", "nan": "inf", "front": "back", "back": "front", "begin": "end"}


def blank_out(text):
    """The text with comments, strings and preprocessor lines turned into blanks of the same length."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    strings = r'"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\''
    text = re.sub(r"//[^\n]*|/\*.*?\*/|" + strings, lambda m: blank(m) if m.group()[0] == "/" else
                  '"' + re.sub(r"[^\n]", "_", m.group()[1:-1]) + '"', text, flags=re.S)
    return re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text)


def closing(text, at):
    """Where the bracket that opens at `at` closes, or -1."""
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] in "([{") - (text[k] in ")]}")
        if depth == 0:
            return k
    return -1


def opens_code(before):
    """Whether a `{` after this text begins statements: the body of a function, a lambda or a control statement."""
    before = before.rstrip()
    if re.match(r"(?:\[\[\w+\]\]\s*)?(?:enum|struct|class|union|namespace|template\b.*\b(?:struct|class))\b", before,
                re.S) and not before.endswith(")"):
        return False
    if re.search(r"\b(?:else|do|try|const|noexcept|mutable|HWY_ATTR)$|\]\]$|->\s*[\w:<>&*, ]+$", before):
        return True
    return before.endswith((")", "]"))


def find_statements(text):
    """Pairs (begin, end) of statements without their `;`, and of conditions of loops and branches."""
    statements, conditions = [], []
    levels = [{"open": "{", "code": False, "start": 0, "block": True}]
    for k, c in enumerate(text):
        top = levels[-1]
        if c in "([":
            keyword = re.search(r"\b(if|while|for)\s*$", text[max(0, k - 12):k]) if c == "(" else None
            levels.append({"open": c, "code": False, "start": k + 1, "for": bool(keyword) and keyword[1] == "for",
                           "parts": [], "condition": bool(keyword) and keyword[1] != "for"})
        elif c == "{":
            before = text[top["start"]:k]
            block = top["open"] == "{" and top["block"] and (
                opens_code(before) or not re.search(r"[=(,]|\breturn\b", before))
            levels.append({"open": c, "code": opens_code(before), "start": k + 1,
                           "block": opens_code(before) or block, "at_statement": block})
        elif c == ";":
            if top["open"] == "{":
                if top["code"]:
                    statements.append((top["start"], k))
                top["start"] = k + 1
            elif top.get("for"):
                top["parts"].append(k)
        elif c in ")]}" and len(levels) > 1:
            done = levels.pop()
            if done.get("condition"):
                conditions.append((done["start"], k))
            if done.get("for") and len(done["parts"]) == 2:
                conditions.append((done["parts"][0] + 1, done["parts"][1]))
            if c == "}" and done.get("at_statement"):
                levels[-1]["start"] = k + 1
    return statements, conditions


PREFIX = re.compile(r"\s*(?:case\s[^;?]*?[\w)]\s*:(?!:)|default\s*:|else\b|do\b|\[\[\w+\]\]|"
                    r"(?:if|for|while|switch)\s*(?=\())")
SKIPPED = re.compile(r"(?:using|typedef|static_assert|constexpr|static|thread_local|template|break|continue|goto|FB_|"
                     r"friend|case|default|if constexpr|namespace|extern|public|private|throw|asm)\b|FB_CHECK|$|#|[})]")
DECLARATION = re.compile(r"(?:const\s+)?(?:auto|bool|[A-Za-z_][\w:]*(?:<[^;=]*>)?)(?:\s*[&*]+\s*|\s+)(?:const\s+)?"
                         r"\w+\s*=(?!=)")


def strip_prefix(text, begin, end):
    """The begin of the statement proper, after labels and controls without braces."""
    while match := PREFIX.match(text, begin, end):
        begin = match.end()
        if begin < end and text[begin] == "(" and re.search(r"(if|for|while|switch)\s*$", match.group()):
            begin = closing(text, begin) + 1
            if begin == 0:
                return end
    return begin + len(text[begin:end]) - len(text[begin:end].lstrip())


def find_sites(text):
    """(kind, begin, end): what can be edited as a whole. Edits of different sites never overlap."""
    statements, conditions = find_statements(text)
    sites = []
    for begin, end in conditions:
        part = text[begin:end]
        if ";" not in part and not re.search(r"(?<![=!<>])=(?!=)|\{", part) and part.strip():
            sites.append(("condition", begin, end))
    for begin, end in statements:
        begin = strip_prefix(text, begin, end)
        part = text[begin:end]
        if SKIPPED.match(part) or ";" in part or "FB_CHECK" in part or re.match(r"return\s*$", part):
            continue
        if re.match(r"(?:return|co_)\b", part):
            sites.append(("return", begin, end))
        elif match := DECLARATION.match(part):
            if not re.match(r"\s*\{", part[match.end():]):
                sites.append(("value", begin + match.end(), end))
        elif (re.search(r"[=(]|\+\+|--", part) and part[0] != "(" and
              not re.match(r"(?:const\b|[\w:<>]+[&*]?\s+\w)", part)):
            sites.append(("statement", begin, end))
    return sites


def arguments(text, at):
    """Begin and end of each argument of the call whose bracket opens at `at`."""
    close, depth, found, begin = closing(text, at), 0, [], at + 1
    for k in range(at + 1, close):
        depth += (text[k] in "([{<") - (text[k] in ")]}>" and text[k - 1] != "-")
        if text[k] == "," and depth == 0:
            found.append((begin, k))
            begin = k + 1
    return found + [(begin, close)] if close > 0 else []


def edits_of(kind, shown, text):
    """All edits (name, new text) of one site. `shown`: the same text without strings."""
    found = []

    def replace(name, begin, end, by):
        found.append((name, text[:begin] + by + text[end:]))

    for m in re.finditer(r"(?<= )(?:" + "|".join(sorted(map(re.escape, OPERATORS), key=len, reverse=True)) + r")(?= )",
                         shown):
        replace(f"{m[0]} → {OPERATORS[m[0]]}", *m.span(), OPERATORS[m[0]])
    for m in re.finditer(r"(?<![\w.'])(\d+|0x[\da-fA-F']+)(?![\w.'])", shown):
        for by in ("+", "-"):
            replace(f"{m[0]} {by} 1", *m.span(), f"({m[0]} {by} 1)")
    for word, by in WORDS.items():
        pattern = rf"(?<![\w.]){word}(?!\w)" if word.isidentifier() else re.escape(word)
        for m in re.finditer(pattern, shown):
            replace(f"{word} → {by}", *m.span(), by)
    for m in re.finditer(r"[\w>](\()", shown):
        parts = arguments(shown, m.start(1))
        for (a, b), (c, d) in zip(parts, parts[1:]):
            if shown[a:b].strip() != shown[c:d].strip():
                found.append(("swapped arguments", text[:a] + text[c:d].strip() + ", " + text[a:b].strip() + text[d:]))
    if kind == "condition":
        found.append(("negated", f"!({text.strip()})"))
    if kind == "statement":
        found.append(("removed", ""))
    return found


def rewritten(kind, number, old, new):
    """The site with both forms; as many lines as before, so that diagnostics name the lines of the original."""
    flat = re.sub(r"\s*\n\s*", " ", new)
    if kind in ("condition", "value"):
        return f"(fb_edit({number}) ? ({flat.strip()}) : ({old.strip()}))"
    return f"{{ if (fb_edit({number})) {{ {flat}; }} else {{ {old}; }} }}"


def draw(count, seed):
    rng, sites = random.Random(seed), []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            if path.suffix not in (".cpp", ".h") or APART.search(name):
                continue
            shown = blank_out(text := path.read_text())
            for kind, begin, end in find_sites(shown):
                edits = edits_of(kind, shown[begin:end], text[begin:end])
                if edits and "//" not in text[begin:end]:
                    sites.append((name, kind, begin, end, edits))
    drawn = []
    for number, (name, kind, begin, end, edits) in enumerate(rng.sample(sites, min(count, len(sites))), 1):
        what, new = rng.choice(edits)
        text = (ROOT / name).read_text()
        lines = [text.count("\n", 0, begin) + 1, text.count("\n", 0, end) + 1]
        drawn.append({"number": number, "file": name, "kind": kind, "begin": begin, "end": end, "lines": lines,
                      "what": what, "old": text[begin:end], "new": new})
    print(f"{len(sites)} places, {len(drawn)} edits drawn")
    return drawn


def write_file(name, edits):
    text = (ROOT / name).read_text()
    for e in sorted(edits, key=lambda e: -e["begin"]):
        text = text[:e["begin"]] + rewritten(e["kind"], e["number"], e["old"], e["new"]) + text[e["end"]:]
    write_changed(TREE / name, text)


def write_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def make_tree(edits):
    (TREE / "src").mkdir(parents=True, exist_ok=True)
    for entry in ROOT.iterdir():
        if entry.name not in ("build", "src", ".git") and not (TREE / entry.name).exists():
            (TREE / entry.name).symlink_to(entry)
    write_changed(WORK / "fb_edit.h", HEADER)
    kept = set()
    for path in (ROOT / "src").rglob("*"):
        name = str(path.relative_to(ROOT))
        kept.add(TREE / name)
        if path.is_dir():
            (TREE / name).mkdir(exist_ok=True)
        elif path.suffix in (".cpp", ".h", ".def", ".txt"):
            write_file(name, [e for e in edits if e["file"] == name])
        elif not (TREE / name).exists():
            shutil.copy(path, TREE / name)
    for path in sorted(set((TREE / "src").rglob("*")) - kept, reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def compile_all(programs, jobs):
    """The compiler's output, or none if all programs are built."""
    ninja = subprocess.run(["ninja", "-C", BUILD, "-k0", f"-j{jobs}", *programs], capture_output=True, text=True)
    return None if ninja.returncode == 0 else ninja.stdout + ninja.stderr


def blamed(output, edits):
    """Numbers of edits that an error is at, or failing that those that a note after it is at."""
    at = {}
    for e in edits:
        for line in range(e["lines"][0], e["lines"][1] + 1):
            at.setdefault((e["file"], line), set()).add(e["number"])
    found, error_known = set(), True
    lines = re.findall(r"(?m)^(?:\S*/tree/)?(\S+):(\d+):\d+: (error|note|fatal error)", output)
    for name, line, kind in lines:
        here = at.get((name, int(line)), set())
        if "error" in kind:
            error_known = bool(here)
            found |= here
        elif not error_known and here:
            found |= here
            error_known = True
    # What an edit breaks may stand below it.
    for name, line, kind in lines if not found else []:
        above = [e for e in edits if e["file"] == name and e["lines"][0] <= int(line)]
        if "error" in kind and above:
            found.add(max(above, key=lambda e: e["lines"][0])["number"])
    return found


def prepare(args):
    edits = draw(args.edits, args.seed)
    if EDITS.exists():
        # Those of the last time that compiled, if the draw is the same.
        last = json.loads(EDITS.read_text())
        if all(e in edits for e in last):
            edits = last
    make_tree(edits)
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-GNinja", "-DCMAKE_BUILD_TYPE=Release", "-DFB_STATIC_SIMD=ON",
                    "-DFB_PCH=ON", "-DFB_UNITY=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
                    "-DCMAKE_CXX_COMPILER=clang++-19", "-DFB_COMMIT=OFF",
                    f"-DCMAKE_CXX_FLAGS=-include {WORK}/fb_edit.h -w -Wno-invalid-constexpr -ferror-limit=0"],
                   check=True, stdout=subprocess.DEVNULL)
    for attempt in range(12):
        output = compile_all(PROGRAMS, args.jobs)
        if output is None:
            break
        wrong = blamed(output, edits)
        print(f"attempt {attempt + 1}: {len(wrong)} edits do not compile", flush=True)
        if not wrong:
            sys.exit(output[-6000:])
        files = {e["file"] for e in edits if e["number"] in wrong}
        edits = [e for e in edits if e["number"] not in wrong]
        EDITS.write_text(json.dumps(edits, indent=1))
        for name in files:
            write_file(name, [e for e in edits if e["file"] == name])
    else:
        sys.exit("some edits do not compile still")
    EDITS.write_text(json.dumps(edits, indent=1))
    print(f"{len(edits)} edits compile")


def start(program, number, seconds):
    """None if the program passes, else how it ended; and its processor seconds, which `seconds` limits."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    path = next(p for p in BUILD.rglob(program) if p.is_file())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([path], capture_output=True, text=True, errors="replace", timeout=60 * seconds + 600,
                              cwd=WORK, preexec_fn=limit, env=os.environ | SETTINGS | {"FB_EDIT": str(number)})
        failed = re.search(r"\[  FAILED  \] (\S+?),? ", done.stdout)
        how = None if done.returncode == 0 else failed[1] if failed else f"ends with {done.returncode}"
    except subprocess.TimeoutExpired:
        how = "sleeps"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return how, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(args):
    programs = args.programs or list(PROGRAMS)
    if output := compile_all(programs, args.jobs):
        sys.exit(output[-6000:])
    seconds = {}
    for program in programs:
        how, took = start(program, 0, 3600)
        if how:
            sys.exit(f"{program} fails without an edit: {how}")
        seconds[program] = int(3 * took) + 10
        print(f"{program}: {took:.1f} processor seconds", flush=True)
    rows = []
    for e in json.loads(EDITS.read_text()):
        noticed = "-"
        for program in programs:
            how = start(program, e["number"], seconds[program])[0] if e["file"].startswith(PROGRAMS[program]) else None
            if how:
                noticed = f"{program}: {how}"
                break
        rows.append("\t".join([str(e["number"]), f"{e['file']}:{e['lines'][0]}", e["kind"], e["what"], noticed]))
        args.out.write_text("\n".join(rows) + "\n")
    by = [row.split("\t")[4] for row in rows]
    for program in programs:
        print(f"{program}: notices {sum(program in b for b in by)}")
    count = sum(b != "-" for b in by)
    print(f"{count} of {len(rows)} edits are noticed, {100 * count / max(1, len(rows)):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    p = commands.add_parser("prepare")
    p.add_argument("--edits", type=int, default=440)
    p.add_argument("--seed", type=int, default=1)
    p.set_defaults(run=prepare)
    p = commands.add_parser("run")
    p.add_argument("--out", type=Path, default=WORK / "noticed.tsv")
    p.add_argument("programs", nargs="*")
    p.set_defaults(run=run)
    for p in commands.choices.values():
        p.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()

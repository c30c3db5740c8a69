"""A candidate with what its header says of it, and what becomes of it in `fabricbench check`.

The header is the comment lines `// key: value` at the top of the file; an answer that can't carry comments has them in
a file NAME.expect beside it, without the slashes; in an answer that is kept as edits (NAME.toml, edits.py) they are keys. Keys:
problem, expect (the class), mode (quick or full), seconds (it must end within), about, and exploit or generate where they apply;
explains: words that the verdict's summary and explanation must contain, separated by " | "; such a candidate is judged with a
fixed seed.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import edits
from generated import GENERATED

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../../../src/common/record/verdict_classes.def"), encoding="utf-8") as table:
    CLASSES = set(re.findall(r"^VERDICT_CLASS\((\w+), true,", table.read(), re.MULTILINE))  # those that are not ours to fix
SECONDS = 60  # unless the header says less


class Candidate:
    def __init__(self, path):
        stem, extension = os.path.splitext(path)
        if extension == ".expect":  # the answer beside it, if it is kept as a file
            path = next((stem + e for e in (".cu", ".md") if os.path.exists(stem + e)), path)
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.make = None  # the bytes of an answer that is not kept as a file
        if extension == ".toml":
            self.header, text = edits.read(path)
            self.make = text.encode
        else:
            self.header = self.header_in_comments(stem + ".expect")
        if "generate" in self.header:
            self.make = GENERATED[self.header["generate"]]
        self.problem = self.header["problem"]
        self.expected = self.header["expect"]
        self.seconds = float(self.header.get("seconds", SECONDS))
        self.options = ["--full"] if self.header.get("mode") == "full" else ["--quick"]
        if self.expected not in CLASSES:
            raise ValueError(f"{path}: no class: {self.expected}")

    def header_in_comments(self, beside):
        header = {}
        with open(beside if os.path.exists(beside) else self.path, encoding="utf-8") as file:
            for line in file:
                match = re.match(r"(?://\s*)?(\w+): (.*)$", line)
                if not match:
                    break
                header[match[1]] = match[2].strip()
        return header

    def answer(self):
        """The bytes that are judged."""
        if self.make:
            return self.make()
        with open(self.path, "rb") as file:
            return file.read()


def candidates_in(folder):
    """One for each answer; a generated answer has only its .expect."""
    names = {}
    for name in sorted(os.listdir(folder)):
        stem, extension = os.path.splitext(name)
        if extension in (".cu", ".md", ".toml", ".expect") and name != "README.md":
            if extension == ".toml" and stem in names:
                raise ValueError(f"{os.path.join(folder, stem)}: there are two answers of this name")
            if extension != ".expect" or stem not in names:
                names[stem] = os.path.join(folder, name)
    return [Candidate(path) for path in names.values()]


def show(folder, name):
    """Prints the answer of this name as it is judged."""
    for candidate in candidates_in(folder):
        if candidate.name == name:
            sys.stdout.buffer.write(candidate.answer())
            return
    sys.exit(f"{folder} has no answer {name}")


class Judged:
    """verdict: the JSON object, or None where there was none; code: None if it had to be stopped."""

    def __init__(self, verdict, code, seconds, output, errors, leaked):
        self.verdict, self.code, self.seconds = verdict, code, seconds
        self.output, self.errors = output, errors
        self.leaked = leaked  # bytes from a descriptor that no candidate may reach

    @property
    def verdict_class(self):
        return self.verdict.get("class") if self.verdict else None

    def text(self):
        """What a replay must reproduce."""
        return {key: self.verdict.get(key) for key in ("class", "summary", "explanation")}


def what_came(descriptor):
    """Bytes of a pipe. Its other end must be closed by now; the kernel may still be cleaning up."""
    end = time.monotonic() + 30
    while True:
        try:
            return os.read(descriptor, 100)
        except BlockingIOError:
            if time.monotonic() > end:
                return b"?"  # the other end is still open
            time.sleep(0.05)


def check(tool, candidate, seed=None, environment=None, limit=None):
    """Judges the file itself, or what is made for it in a folder of its own."""
    if candidate.make is None:
        return check_file(tool, candidate, candidate.path, seed, environment, limit)
    with tempfile.TemporaryDirectory(prefix="answer") as folder:
        path = os.path.join(folder, candidate.name + ".cu")
        with open(path, "wb") as file:
            file.write(candidate.answer())
        return check_file(tool, candidate, path, seed, environment, limit)


def check_file(tool, candidate, path, seed, environment, limit):
    command = [tool, "check", candidate.problem, path, "--json", *candidate.options]
    if seed is None and "explains" in candidate.header:  # words depend on the values that are drawn
        seed = 1
    if seed is not None:
        command += ["--seed", str(seed)]
    limit = limit or 10 * candidate.seconds + 60  # ends a hang; run.py --timed compares the time
    begun = time.monotonic()
    # A careless caller's descriptor, which no candidate may reach.
    callers_end, inherited = os.pipe()
    os.set_blocking(callers_end, False)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment, pass_fds=[inherited])
    os.close(inherited)
    try:
        output, errors = process.communicate(timeout=limit)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            output, errors = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
        code = None
    seconds = time.monotonic() - begun
    leaked = what_came(callers_end)
    os.close(callers_end)
    try:
        verdict = json.loads(output)
    except ValueError:
        verdict = None
    return Judged(verdict, code, seconds, output.decode(errors="replace"), errors.decode(errors="replace"), leaked)


def complaints(candidate, judged):
    """What is not as the header says, apart from what the attempt has left behind."""
    found = []
    if judged.code is None:
        found.append(f"had to be stopped after {judged.seconds:.1f} s")
    if judged.leaked:
        found.append(f"a descriptor of the caller was used, or is still open: {judged.leaked!r}")
    if judged.verdict is None:
        found.append("there is no verdict: stdout is no JSON object")
        found += [f"stderr: {line}" for line in judged.errors.splitlines()[-5:]]
        return found
    if judged.verdict_class != candidate.expected:
        found.append(f"class {judged.verdict_class}, expected {candidate.expected}")
        found += [f"explanation: {line}" for line in str(judged.verdict.get("explanation", "")).splitlines()[:12]]
    if judged.code is not None and judged.code != (0 if judged.verdict_class == "pass" else 1):
        found.append(f"exit code {judged.code} with class {judged.verdict_class}")
    said = " ".join(f"{judged.verdict.get('summary', '')} {judged.verdict.get('explanation', '')}".split())
    missing = [words for words in candidate.header.get("explains", "").split(" | ") if words and words not in said]
    found += [f"the explanation lacks {words!r}" for words in missing]
    if missing:
        found += [f"explanation: {line}" for line in str(judged.verdict.get("explanation", "")).splitlines()[:20]]
    for key in ("summary", "seed", "problem"):
        if not judged.verdict.get(key):
            found.append(f"the verdict has no {key}")
    return found


def report(candidate, judged, found):
    """One line, and one for each complaint. True: none."""
    summary = judged.verdict.get("summary", "") if judged.verdict else ""
    mark = "FAIL" if found else "ok  "
    print(f"{mark} {candidate.name:32} {judged.verdict_class or '-':15} {judged.seconds:6.2f} s  {summary}")
    for complaint in found:
        print(f"     {complaint}")
    return not found


def save(folder, candidate, judged):
    """For replay.py."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, candidate.name + ".json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"path": os.path.abspath(candidate.path), "verdict": judged.verdict}, file)
    os.replace(path + ".new", path)

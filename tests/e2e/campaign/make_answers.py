#!/usr/bin/env python3
"""Makes the recorded answers of the test campaign: OUT/<model>/<problem>/<sample>.<round>.md, and beside each the call as JSON.

Usage: make_answers.py OUT

answers.toml lists the answers of each model. Right answers are references and alternatives of problems, others are made of them by small changes as
programmers make them, of tests/e2e/exploits, tests/e2e/candidates and tests/e2e/second_solutions, and of a few texts in pieces/. OUT/expected.json lists all
answers with their recipes and the outcomes that the table expects.
"""
import json
import os
import pathlib
import re
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SAMPLE = 1
sys.path.insert(0, os.path.join(HERE, "..", "candidates"))
import edits  # noqa: E402

# One change that makes a reference wrong for every seed, by problem.
MISTAKES = {
    # the last words, which fill no vector, stay behind
    "put_with_signal": ("  if (const int64_t last = 4 * vectors + lane; last < n) to[last] = from[last];\n", ""),
    # the second word of each line is not stored
    "all_gather_ll": ("    if (2 * line + 1 < n) to[1] = data.y;\n", ""),
    # numbers of experts of all ranks where those of this rank are asked for
    "moe_dispatch": ("owned ? expert - to * local : -1", "owned ? expert : -1"),
    # rank 0 is left out of the sum
    "moe_combine": ("for (int r = 0; r < kMostWorld; ++r) add(sum, part[r]);",
                    "for (int r = 1; r < kMostWorld; ++r) add(sum, part[r]);"),
    # the right neighbour is left out of the sum
    "gemm_reduce_scatter": ("    for (int step = 1; step < world; ++step) {\n      const float4* from",
                            "    for (int step = 2; step < world; ++step) {\n      const float4* from"),
}

RUN = "  void run(const Args& args, cudaStream_t stream) {\n"
# Waits that end for one value more, which is never written.
WAITS = [
    (r"(\.load\(cuda::memory_order_acquire\) )< (call|epoch|number)\)", r"\1<= \2)"),
    (r"(\bwait\([^;]*), (call|epoch|number)\)", r"\1, \2 + 1)"),
    (r"(  rank_barrier\(flags, rank, world, 2 \* epoch\);)", r"\1\n  fabricbench::wait(flags.of[rank]->from[blockIdx.x][rank], 2 * epoch + 1);"),
    (r"number < known\.load\(cuda::memory_order_acquire\) \+ capacity_", "number > known.load(cuda::memory_order_acquire) + capacity_"),
]


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def replace_once(text, old, new):
    if text.count(old) != 1:
        raise ValueError(f"stands {text.count(old)} times: {old!r}")
    return text.replace(old, new)


class Problem:
    def __init__(self, folder, name):
        self.folder = folder
        whole = folder.split("/variants/")[0]  # a variant has the tensors of its problem
        tensors = tomllib.loads(read(whole, "problem.toml"))["tensor"]
        self.input = next(t["name"] for t in tensors if t["role"] == "in")
        self.output = next(t["name"] for t in tensors if t["role"] == "out")
        self.name = name
        expert = os.path.exists(os.path.join(ROOT, self.folder, "reference.cu"))
        text = read(self.folder, "reference.cu" if expert else "baseline.cu")
        # Between its markers the reference has the solution, then, behind [template], what the solver sees instead.
        self.reference = re.sub(r"^// \[template\]\n(//\|.*\n)*", "", text, flags=re.M)
        self.skeleton = re.sub(r"^(// \[solution[^\n]*\n).*?^// \[template\]\n", r"\1", text, flags=re.M | re.S)
        self.skeleton = re.sub(r"^//\|( |$)", "", self.skeleton, flags=re.M)
        self.alternative = read(self.folder, "alternative.cu")

    def in_run(self, statement):
        """The reference with a statement at the beginning of run."""
        return replace_once(self.reference, RUN, RUN + f"    {statement}\n")


def endless_wait(problem):
    for pattern, replacement in WAITS:
        text, count = re.subn(pattern, replacement, problem.reference)
        if count:
            return text
    raise ValueError(f"{problem.name} has no wait that could be wrong")


def past_the_end(problem):
    kernel = ("__global__ void clear_padding(char* out, size_t bytes) {\n"
              "  for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) out[i + (size_t{1} << 30)] = 0;\n}\n\n")
    text = problem.in_run(f"clear_padding<<<1, 256, 0, stream>>>(reinterpret_cast<char*>(args.{problem.output}), 4096);")
    return replace_once(text, "class Solution {\n", kernel + "class Solution {\n")


def one_block(problem):
    text, count = re.subn(r"(constexpr int kBlocks = )\d+;", r"\g<1>1;", problem.reference)
    if count != 1:
        raise ValueError(f"{problem.name} has no kBlocks")
    return text


def copy_in_run(problem):
    return problem.in_run(f"cudaMemcpyAsync(args.{problem.output}, args.{problem.input}, sizeof(*args.{problem.output}), "
                          "cudaMemcpyDeviceToDevice, stream);")


# Sources; each is answered as a code block.
SOURCES = {
    "reference": lambda p: p.reference,
    "alternative": lambda p: p.alternative,
    "one_block": one_block,                       # right, and slow
    "mistake": lambda p: replace_once(p.reference, *MISTAKES[p.name]),
    "first_call_only": lambda p: p.in_run("static int calls = 0;\n    if (calls++ > 0) return;  // already done"),
    "without_release": lambda p: p.reference.replace("memory_order_release", "memory_order_relaxed"),
    "without_acquire": lambda p: p.reference.replace("memory_order_acquire", "memory_order_relaxed"),
    "skeleton": lambda p: p.skeleton,
    "endless_wait": endless_wait,
    "past_the_end": past_the_end,
    "host_store": lambda p: p.in_run(f"args.{p.output}[0] = 0;  // start from a clean output"),
    "copy_in_run": copy_in_run,
    "unknown_type": lambda p: replace_once(p.reference, RUN, RUN.replace("cudaStream_t", "CudaStream")),
    "invented_call": lambda p: p.in_run("cudaPeerBarrier(stream);"),
    "unclosed": lambda p: re.sub(r"^};\n(?=// \[/solution\])", "", p.reference, flags=re.M),
}
# Whole answers.
PIECES = {"prose": "prose.md", "sketch": "sketch.md", "refused": "refusal.md"}

OPENINGS = {
    "atlas": ["Each block works on its own part and waits only for the blocks that it exchanges data with; flags count the calls.",
              "The verdict points at a real mistake of mine. Corrected:"],
    "borealis": ["Here is a solution. It maps the peers' buffers in the constructor and does everything else in one kernel.",
                 "Thanks for the feedback! I have changed the code accordingly."],
    "cirrus": ["Sure! Here is the complete code:", "You're right, I apologize for the confusion. Here is the fixed version:"],
}
CLOSINGS = {
    "atlas": "",
    "borealis": "\nThe accesses are 16 bytes wide where the alignment allows it.\n",
    "cirrus": "\nLet me know if you have any other questions!\n",
}


def borrowed(folder, name):
    """An answer of another suite, without the header that says what must become of it."""
    edited = os.path.join(ROOT, "tests", "e2e", folder, name + ".toml")
    text = edits.read(edited)[1] if os.path.exists(edited) else read("tests", "e2e", folder, name + ".cu")
    lines = text.splitlines(keepends=True)
    while re.match(r"// (\w+: |  )", lines[0]):
        del lines[0]
    return "".join(lines)


def second(problem, slip=None):
    """A solution that was written from the prompt alone, or with one of its mistakes."""
    folder = ("tests", "e2e", "second_solutions", problem.name)
    text = read(*folder, "solution.cu")
    if slip is None:
        return text
    mistake = tomllib.loads(read(*folder, "mistakes.toml"))["mistake"][slip - 1]
    return edits.apply(text, [mistake], f"{problem.name}, mistake {slip}")


def answer_of(recipe, problem, model, number):
    """The text that the model answers with."""
    if recipe == "empty":
        return ""
    if recipe in PIECES:
        return read("tests", "e2e", "campaign", "pieces", PIECES[recipe])
    if recipe.startswith(("exploit ", "candidate ")):
        suite, name = recipe.split()
        source = borrowed(suite + "s", name)
    elif recipe == "second":
        source = second(problem)
    elif recipe.startswith("slip "):
        source = second(problem, int(recipe.split()[1]))
    else:
        source = SOURCES["reference" if recipe == "truncated" else recipe](problem)
    text = f"{OPENINGS[model][number - 1]}\n\n```cuda\n{source}```\n{CLOSINGS[model]}"
    if recipe == "truncated":
        lines = text.splitlines(keepends=True)
        text = "".join(lines[:len(lines) * 3 // 5])[:-5]
    return text


def call_of(recipe, model, usage):
    ends = {"truncated": ("truncated", "max_tokens"), "refused": ("refused", "refusal"), "empty": ("empty", "end_turn")}
    end, reason = ends.get(recipe, ("complete", "end_turn"))
    tokens = {key: usage[key] for key in ("input_tokens", "output_tokens")}
    return {"end": end, "stop_reason": reason, "model": model, "usage": tokens, "usd": usage["usd"], "seconds": 1.0, "tries": 1}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def all_problems():
    found = {}
    for file in sorted(pathlib.Path(ROOT, "problems").glob("*/*/*/problem.toml")):
        found[file.parent.name] = Problem(str(file.parent.relative_to(ROOT)), file.parent.name)
    for file in sorted(pathlib.Path(ROOT, "problems").glob("*/*/*/variants/*/variant.toml")):
        name = tomllib.loads(file.read_text())["name"]
        found[name] = Problem(str(file.parent.relative_to(ROOT)), name)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = sys.argv[1]
    table = tomllib.loads(read("tests", "e2e", "campaign", "answers.toml"))
    calls = table.pop("calls")
    problems = all_problems()
    expected = []
    for model, rows in table.items():
        if missing := set(rows) - set(problems):
            sys.exit(f"answers.toml: {model} answers problems that the pack lacks: {sorted(missing)}")
        for problem, rounds in rows.items():
            for number, (recipe, outcome) in enumerate(rounds, start=1):
                path = os.path.join(out, model, problem, f"{SAMPLE}.{number}")
                write(path + ".md", answer_of(recipe, problems[problem], model, number))
                write(path + ".json", json.dumps(call_of(recipe, model, calls[model][number - 1]), indent=2) + "\n")
                expected.append({"model": model, "problem": problem, "sample": SAMPLE, "round": number, "recipe": recipe,
                                 "outcome": outcome})
    write(os.path.join(out, "expected.json"), json.dumps(expected, indent=1) + "\n")
    print(f"{len(expected)} answers in {out}")


main()

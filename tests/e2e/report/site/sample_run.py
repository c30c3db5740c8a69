#!/usr/bin/env python3
"""Writes a run folder that looks like a real campaign and is none: three made-up models at all problems of the pack, the same
each time. Code comes from the references, changed here and there; verdicts say what the judge says in such cases.

  sample_run.py FABRICBENCH OUT [--seed 7] [--hostile]

--hostile: one answer tries to break out of its page."""

import argparse
import hashlib
import json
import pathlib
import random
import re
import subprocess

MODELS = [
    # label, provider, how often a round passes at levels 1 to 3, spread of speeds, $ per million tokens, seconds, tokens
    {"label": "made-up-large", "model": "made-up-large-2", "effort": "high", "pass": (0.9, 0.52, 0.3), "speed": (0.97, 0.12),
     "usd": 15.0, "seconds": 95, "tokens": 14000},
    {"label": "made-up-small", "model": "made-up-small-2", "effort": "", "pass": (0.6, 0.24, 0.08), "speed": (0.82, 0.2),
     "usd": 1.2, "seconds": 24, "tokens": 5200},
    {"label": "made-up-open-70b", "model": "made-up/open-70b", "effort": "", "pass": (0.45, 0.16, 0.04), "speed": (0.7, 0.25),
     "usd": 0.6, "seconds": 38, "tokens": 4300},
]
FAILURES = [("wrong", 26), ("deadlock", 22), ("compile_error", 22), ("fault", 11), ("rule_violation", 5), ("budget", 4), ("race", 4),
            ("truncated", 3), ("cheat", 1), ("refused", 1), ("empty", 1), ("infra", 1), ("failed", 1)]
SAMPLES, ROUNDS = 2, 3

HOSTILE = """<script>window.hacked = 1</script> said <b>"this"</b> & 'that' ]]> </script><img src=x onerror="window.hacked=1">

[a link](javascript:window.hacked=1) and `</code><script>window.hacked=1</script>` \u2028 \u2029 \u202e reversed

```cuda
// [solution]
// </span></code></pre><script>window.hacked = 1</script> ]]> "quotes" 'more' \u2028
class Solution { const char* text = "</script><svg onload='window.hacked=1'>"; };
// [/solution]
```
"""


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2) + "\n", encoding="utf-8")


def run_tool(tool, *arguments):
    return subprocess.run([tool, *arguments], check=True, capture_output=True, text=True).stdout


def solution_of(reference):
    """What a model would write: the reference without the part that only makes the template."""
    return re.sub(r"// \[template\].*?(?=// \[/solution\])", "", reference, flags=re.S)


def changed(rng, code, outcome, speed):
    """The code with a change that fits its fate, and the line that the verdict names (0: none)."""
    lines = code.split("\n")
    if outcome == "pass":
        if speed < 0.9:
            code = re.sub(r"kBatch = \d+", "kBatch = 1", code)
            code = re.sub(r"kThreads = \d+", f"kThreads = {rng.choice([64, 128])}", code)
        return code.replace("// [solution]", "// [solution]\n// " + rng.choice([
            "Flags carry the number of the call, so they never have to be reset.",
            "One kernel: wait for the peers, move the data, signal them.",
            "Every block waits for its own part only."])), 0
    inside = [i for i, line in enumerate(lines) if "{" in line and "//" not in line and "namespace" not in line]
    if outcome == "compile_error":
        at = rng.choice([i for i in inside if "cudaStream_t" in lines[i]] or inside)
        lines[at] = lines[at].replace("cudaStream_t", "Stream")
        if "Stream" not in lines[at]:
            lines[at] = "  Stream " + lines[at].strip()
    elif outcome in ("deadlock", "race", "wrong"):
        waits = [i for i, line in enumerate(lines) if "while (" in line or "wait(" in line or "__syncthreads" in line]
        at = rng.choice(waits or inside)
        lines[at] = lines[at].replace("acquire", "relaxed").replace("< call", "!= call") + "  // spin until the peer is there"
    elif outcome == "fault":
        loads = [i for i, line in enumerate(lines) if re.search(r"\w\[[^\]]+\]", line) and "#" not in line and "asm" not in line]
        at = rng.choice(loads or inside)
        lines[at] = re.sub(r"\[([^\]]+)\]", r"[\1 + blockDim.x]", lines[at], count=1)
    else:
        at = rng.choice(inside)
    return "\n".join(lines), at + 1


def kernel_of(code):
    found = re.search(r"__global__[^(]*?(\w+)\((?!k)", code) or re.search(r"(\w+)<<<", code)
    return f"{found[1]}(unsigned int const*, unsigned int*, long)" if found else "kernel(float const*, float*, long)"


def finding(rng, outcome, code, line, problem):
    """Summary, explanation and place, as the judge words them."""
    size = rng.choice(problem["sizes"])["name"]
    place = {"size": size, "world": rng.choice(problem["worlds"]), "rank": -1, "call": rng.randrange(3),
             "schedule": rng.choice(["0", str(rng.getrandbits(63))])}
    here, kernel = f"solution.cu:{line}", kernel_of(code)
    rank, element = rng.randrange(place["world"]), rng.randrange(100000)
    if outcome == "compile_error":
        column = rng.randrange(5, 40)
        summary = f"{here}:{column}: unknown type name 'Stream'; did you mean 'cudaStream_t'?"
        return summary, f"{summary}\n{here}:{column + 24}: expected ';' at end of declaration\n", \
            {"size": "", "world": -1, "rank": -1, "call": -1, "schedule": "0"}
    if outcome == "wrong":
        place["rank"] = rank
        out = [t["name"] for t in problem["tensors"] if t["role"] == "out"][0]
        summary = f"{out}[{element}] on rank {rank} is {rng.uniform(-9, 9):.6g}, expected {rng.uniform(-9, 9):.6g}"
        why = rng.choice([
            f"{rng.randrange(2, 4000)} of {rng.randrange(4000, 90000)} elements are wrong, the first at {element}. They look like those of "
            "the call before.\nLook at: flags that are still set from the call before, and data that is read before it has arrived.",
            f"Rank {rank} never wrote `{out}`: it holds what was there before the call. Look at: whether the work is enqueued on `stream`, or "
            "on a stream that `stream` does not wait for.",
            "The element holds the rank's own input. Look at: the index of the peer."])
        return summary, f"{summary}.\n{why}\n", place
    if outcome == "deadlock":
        parts = []
        for r in range(min(place["world"], 4)):
            parts.append(f"rank {r}, device {r}: kernel {kernel}, launch 1; blocks: 1 resident, 0 finished\n"
                         f"  block 0, warp 0, lanes 0x00000001, at {here} [PTX line {rng.randrange(20, 300)}: ld.acquire.sys.b32 %r1, [%rd2];]\n"
                         f"    sees {(seen := rng.randrange(2))} in 4 bytes at 0x1000000800: byte 0 of cudaMalloc #3 of rank {r}, device {r} "
                         f"(64 bytes); needs 2 or more\n"
                         f"    last written by rank {r}, a fill: {seen}, 250.26 us before the last load\n"
                         f"    no remaining writer\n")
        summary = (f"never signalled: rank 0, device 0, kernel {kernel}, block 0, warp 0 needs 2 or more and sees 0 at {here}; the last to write "
                   "there was rank 0, a fill.")
        look = "Look at: which rank should write this value, in which call, and why it did not."
        return summary, f"{summary}\n{look}\n\n" + "\n".join(parts), place
    if outcome == "fault":
        place["rank"] = rank
        summary = (f"rank {rank}, device {rank}: out_of_bounds: 4 bytes at 0x1000010400: {rng.randrange(1, 400) * 4} bytes past the end of "
                   f"tensor #2 (65536 bytes at 0x1000000400)")
        return summary, f"{summary}\n  in {kernel} at {here} [PTX line {rng.randrange(20, 300)}: st.global.u32 [%rd3], %r1;]\n" \
            f"  block ({rng.randrange(64)},0,0) thread ({rng.randrange(256)},0,0)\n", place
    if outcome == "race":
        other = (rank + 1) % place["world"]
        summary = "published without release: two accesses to the same bytes, and nothing orders them"
        return summary, f"{summary}\n  first:  rank {other} (device {other}), {kernel}, block 0, thread 0 writes: {here}\n" \
            f"  then:   rank {rank} (device {rank}), {kernel}, block 0, thread 0 reads: solution.cu:{line + 4}\n" \
            "  bytes:  byte 0 of tensor in of rank 0 (65536 bytes), address m3+0x0\n" \
            f"  last synchronisation: rank {other} set a flag, which rank {rank} saw, but nothing before that store releases what was written " \
            "earlier\n" \
            "  smallest change: make the store a release (st.release.sys), or put __threadfence_system() before it\n", place
    if outcome == "budget":
        summary = "The run has used up its budget of instructions: a kernel that does not end."
        return summary, summary + "\n", place
    if outcome == "cheat":
        summary = "size 1MiB: 1.94 us are less than the links need (2.80 us)"
        return summary, summary + ".\nNo code can be faster than the links: it did not move the data.\n", place
    if outcome == "rule_violation":
        summary = "run makes copies, which the problem forbids"
        return summary, summary + ": cudaMemcpyPeerAsync, 7 times in call 1.\n", place
    return "the machine did not start", "the machine did not start within 20 s.\n", place


def timings_of(rng, problem, speed):
    timings = []
    world = max(problem["worlds"])
    for cost in problem["cost"]["timed"]:
        if cost["world"] != world:
            continue
        limit = max(cost["link_bytes"] / 374e9, cost["memory_bytes"] / 3.0e12, 2e-8)
        reference = 5.2e-6 + 1.35 * limit
        timings.append({"size": cost["size"], "world": world, "seconds": reference / (speed * rng.uniform(0.95, 1.05)),
                        "reference_seconds": reference, "limit_seconds": limit})
        if problem["track"] == "kernel":
            timings[-1]["baseline_seconds"] = 9e-6 + 1.9 * limit
    return timings


def geometric_mean(values):
    product = 1.0
    for value in values:
        product *= value
    return product ** (1 / len(values))


def profile_of(rng, code, seconds):
    """Where the time of its first kernel goes: flags, loads and stores, as far as the code has them."""
    causes = [(r"wait_flag|wait\(|while \(", "flag wait", 0.4), (r"__syncthreads", "barrier", 0.05), (r"post_flag|release|fence", "fence", 0.15),
              (r"multimem|peer|\bto\[|store", "link", 0.3), (r"=.*\w\[[^\]]+\];", "memory", 0.25), (r"for \(", "issue", 0.05)]
    entries = []
    for number, line in enumerate(code.split("\n"), 1):
        for pattern, cause, share in causes:
            if re.search(pattern, line) and "//" not in line and "#" not in line and len(entries) < 24:
                entries += [{"file": "/build/answer.md", "line": number, "cause": cause, "nanoseconds": 1e9 * seconds * share * rng.uniform(0.2, 1)},
                            {"file": "/build/answer.md", "line": number, "cause": "issue", "nanoseconds": 1e7 * seconds}]
                break
    entries.append({"file": "/sdk/include/cuda/atomic", "line": 212, "cause": "flag wait", "nanoseconds": 1e8 * seconds})
    whole = sum(e["nanoseconds"] for e in entries)
    for entry in entries:
        entry["nanoseconds"] *= 0.9e9 * seconds / whole
    everywhere = [{**e, "nanoseconds": e["nanoseconds"] * rng.uniform(200, 500)} for e in entries]
    return {"kernels": [{"kernel": kernel_of(code), "launches": 6, "warps": 512, "longest_ns": 0.9e9 * seconds, "device": 1, "block": 7, "warp": 3,
                         "critical": entries, "all": everywhere}]}


def verdict_of(rng, outcome, problem, code, line, speed):
    passed = outcome == "pass"
    summary, explanation, place = ("pass", "", {"size": "", "world": -1, "rank": -1, "call": -1, "schedule": "0"}) if passed \
        else finding(rng, outcome, code, line, problem)
    timings = timings_of(rng, problem, speed) if passed else []
    early = outcome in ("compile_error", "infra")
    return {
        "class": outcome, "problem": problem["name"], "summary": summary, "explanation": explanation,
        "notes": ["text outside the regions was not used: the judge has its own"] if rng.random() < 0.15 else [], "place": place,
        "seed": str(rng.getrandbits(64)), "replayable": True, "thoroughness": "full",
        "speed": geometric_mean([t.get("baseline_seconds", t["reference_seconds"]) / t["seconds"] for t in timings]) if timings else None,
        "sol": geometric_mean([t["limit_seconds"] / t["seconds"] for t in timings]) if timings else None, "timings": timings,
        "peaks": {"link_bytes_per_second": 374e9, "memory_bytes_per_second": 3.35e12, "tensor_flops_per_second": 989e12} if timings else {},
        "problem_hash": problem["hash"], "pack": "fabricbench", "pack_version": "0.1.0",
        "candidate_hash": hashlib.sha256(code.encode()).hexdigest()[:32], "backend": "virtual", "platform": "h100x8",
        "sandbox": "bubblewrap", "version": "0.1.0", "sessions": 0 if early else rng.randrange(1, 16), "schedules": 0 if early else 10,
        "calls": 0 if early else rng.randrange(3, 130), "values": 0 if early else rng.randrange(1000, 26_000_000),
        "instructions": 0 if early else rng.randrange(10_000, 9_000_000),
        "wall_seconds": {"all": rng.uniform(0.4, 1.2) if early else rng.uniform(1.5, 6), "build": 0.4},
    }


def answer_text(rng, outcome, code, round_number, problem):
    if outcome == "refused":
        return "I can't help with that.\n"
    if outcome == "empty":
        return ""
    opening = rng.choice([
        f"Here is my solution for **{problem['title']}**.",
        "The main difficulty is that `run` is called back to back, so every flag must survive reuse.",
    ]) if round_number == 1 else rng.choice([
        "You are right, the wait was wrong. I now compare with the number of the call:",
        "The verdict shows that a rank waits for a flag that is never set again. *The fix* is to use **epochs**:"])
    points = "\n".join(f"- {text}" for text in rng.sample([
        "each rank writes into its peer's memory with 16-byte stores", "flags carry the call's number, so they are never reset",
        "a release of system scope follows the last store", "the kernel waits at its exit, so the input may be overwritten",
        "blocks are few enough to be resident at once"], 3))
    text = f"{opening}\n\nHow it works:\n\n{points}\n\n```cuda\n{code}\n```\n\nThe kernel needs `O(n)` time; see [the manual](https://example.com).\n"
    return text[:len(text) * 2 // 3] if outcome == "truncated" else text


def judged_lines(answer):
    """The lines of the first fenced block, as the judge records them."""
    fences = [number for number, line in enumerate(answer.split("\n"), 1) if line.startswith("```")]
    return {"first": fences[0] + 1, "last": fences[1] - 1}


def write_attempt(folder, attempt, answer):
    base = folder / "samples" / attempt["model"] / attempt["problem"] / str(attempt["sample"])
    if answer is not None:
        write(base / f"{attempt['round']}.answer.md", answer)
    write(base / f"{attempt['round']}.attempt.json", attempt)


def play_sample(rng, folder, model, problem, reference, sample, hostile):
    chance = model["pass"][problem["level"] - 1]
    for round_number in range(1, ROUNDS + 1):
        passed = rng.random() < min(0.97, chance * (0.75 + 0.3 * round_number) / 1.3)
        outcome = "pass" if passed else rng.choices([name for name, _ in FAILURES], [weight for _, weight in FAILURES])[0]
        speed = max(0.25, rng.gauss(*model["speed"])) if passed else 0
        code, line = changed(rng, solution_of(reference), outcome, speed)
        answer = answer_text(rng, outcome, code, round_number, problem)
        if hostile:
            answer = HOSTILE
        if answer and line:  # lines count from the answer's beginning
            line += answer[:max(answer.find("```"), 0)].count("\n") + 1
        judged = outcome not in ("truncated", "refused", "empty", "failed")
        verdict = verdict_of(rng, outcome, problem, code, line, speed) if judged else None
        if verdict:
            verdict["judged_lines"] = judged_lines(answer)
            if verdict["timings"] and "__global__" in code:  # calls of libraries alone have no profile
                # A generator of its own, so that profiles change nothing else; lines count from the answer's beginning.
                own = random.Random(f"{model['label']} {problem['name']} {sample} {round_number}")
                verdict["profile"] = profile_of(own, code, max(t["seconds"] for t in verdict["timings"]))
                for entry in [e for k in verdict["profile"]["kernels"] for e in k["critical"] + k["all"]]:
                    entry["line"] += judged_lines(answer)["first"] - 1 if entry["file"].endswith(".md") else 0
        if hostile and verdict:
            verdict["summary"] = "<script>window.hacked=1</script> solution.cu:7: \"quotes\" & ]]>"
            verdict["explanation"] = verdict["summary"] + "\nsolution.cu:7:3: </pre><script>window.hacked=1</script>\n"
        output = int(model["tokens"] * rng.uniform(0.5, 1.6))
        prompt = 3200 + 2500 * (round_number - 1)
        end = outcome if outcome in ("truncated", "refused", "empty", "failed") else "complete"
        call = {"end": end, "stop_reason": {"truncated": "max_tokens", "failed": "", "refused": "refusal"}.get(end, "stop"),
                "error": "the provider answered 503 five times" if end == "failed" else "", "model": model["model"],
                "usage": {"input_tokens": prompt, "cached_tokens": 2800 if round_number > 1 else 0, "cache_write_tokens": 0,
                          "output_tokens": output, "reasoning_tokens": output // 2 if model["effort"] else 0},
                "usd": (prompt * model["usd"] / 5 + output * model["usd"]) / 1e6 if end != "failed" else None,
                "seconds": model["seconds"] * rng.uniform(0.4, 1.7), "tries": 5 if end == "failed" else rng.choice([1, 1, 1, 1, 2]), "lost": 0}
        write_attempt(folder, {"model": model["label"], "problem": problem["name"], "sample": sample, "round": round_number, "for_speed": False,
                               "outcome": outcome, "call": call, "verdict": verdict, "cached": judged and rng.random() < 0.03},
                      None if end == "failed" else answer)
        if passed:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--hostile", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    names = [line.split()[0] for line in run_tool(options.tool, "list").splitlines()[1:] if line.strip()]
    problems = [json.loads(run_tool(options.tool, "show", name, "--json")) for name in names]
    for model in MODELS:
        for problem in problems:
            root = pathlib.Path(problem["pack"]["root"])
            folder = root / problem["folder"]
            solution = "reference.cu" if problem["has_expert"] else "baseline.cu"
            reference = (folder / solution).read_text(encoding="utf-8")
            for sample in range(1, SAMPLES + 1):
                hostile = options.hostile and model is MODELS[0] and problem["name"] == "push_copy" and sample == 1
                play_sample(rng, options.out, model, problem, reference, sample, hostile)
    for problem in problems:
        problem["pack"].pop("root")
        write(options.out / "problems" / f"{problem['name']}.json", problem)
    write(options.out / "campaign.json", {
        "name": "Made-up models on one node", "created": "2026-11-15T10:00:00Z",
        "models": [{"label": m["label"], "provider": "made-up", "model": m["model"], "base_url": "", "effort": m["effort"], "temperature": None,
                    "max_output_tokens": None} for m in MODELS],
        "problems": names, "pack": "fabricbench", "pack_version": "0.1.0", "samples": SAMPLES, "rounds": ROUNDS, "speed_rounds": 0,
        "prompt": "zero_shot", "thoroughness": "full", "backend": "virtual", "platform": "h100x8", "seed": "1", "version": "0.1.0"})


if __name__ == "__main__":
    main()

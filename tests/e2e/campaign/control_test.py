#!/usr/bin/env python3
"""What people do to campaigns and what happens to them: Ctrl-C, two at once, a budget, failing providers and judges, other
options on the way, keys.

Usage: control_test.py FABRICBENCH [NAME…]
"""
import json
import signal
import subprocess
import sys
import time

import harness

TOOL, CHECKS = sys.argv[1], harness.Checks()


def answers(folder, texts):
    """Problem → text, or a list of one for each round."""
    for problem, text in texts.items():
        place = folder / "answers" / problem
        place.mkdir(parents=True)
        for number, one in enumerate([text] if isinstance(text, str) else text, 1):
            (place / f"{number}.md").write_text(one)
            (folder / "answers" / f"{place.name}.md").write_text(one)  # for all later rounds
    return folder / "answers"


def recorded(folder, texts):
    for problem, text in texts.items():
        (folder / "recorded").mkdir(exist_ok=True)
        (folder / "recorded" / f"{problem}.md").write_text(text)
    return f"recorded:{folder / 'recorded'},label=recorded"


def loopback(url, label="m"):
    return f"openai-compatible:m,url={url},label={label}"


def run(*words, **more):
    return harness.run(TOOL, "--worker", harness.STUB, *words, **more)


def log_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def ctrl_c(folder):
    """Ends at once, loses nothing that was asked, leaves nothing behind, and goes on later."""
    texts = answers(folder, {"push_copy": "STUB pass", "pull_copy": "STUB pass"})
    with harness.provider(texts, folder / "log", delay_ms=1500) as url:
        words = ["--model", loopback(url), "push_copy", "pull_copy", "--samples", 4, "--out", folder / "run"]
        process = harness.start(TOOL, "--worker", harness.STUB, *words, env=harness.environment(STUB_SECONDS=0.4))
        for _ in range(600):  # until a call is in flight
            if list((folder / "run").rglob("*.calling.1")):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        CHECKS.same(process.returncode, -signal.SIGINT, "how it ended")
        CHECKS.that("Resume with: fabricbench run --out" in err, f"does not say how to resume: {err[-300:]}")
        CHECKS.that("in flight will finish and be recorded" in err, f"does not mention calls in flight: {err[-300:]}")
        for _ in range(50):
            if not harness.processes_about(str(folder / "run")):
                break
            time.sleep(0.1)
        CHECKS.same(harness.processes_about(str(folder / "run")), [], "processes left behind")
        code, _, _ = run("--out", folder / "run")
        CHECKS.same(code, 0, "exit code of the second life")
        CHECKS.same(len(harness.records(folder / "run")), 8, "attempts")
        keys = [entry["idempotency_key"] for entry in log_of(folder / "log")]
        CHECKS.same(len(keys), len(set(keys)), "calls, and different ones")


def two_at_once(folder):
    """Two campaigns on one folder share the work."""
    texts = answers(folder, {"push_copy": "STUB pass", "pull_copy": ["STUB wrong", "STUB pass"]})
    with harness.provider(texts, folder / "log", delay_ms=400) as url:
        words = ["--worker", harness.STUB, "--model", loopback(url), "push_copy", "pull_copy", "--samples", 10,
                 "--rounds", 2, "--seed", 3, "--out", folder / "run"]
        both = [harness.start(TOOL, *words, env=harness.environment(STUB_SECONDS=0.05)) for _ in range(2)]
        outputs = [process.communicate(timeout=120) for process in both]
        CHECKS.same([process.returncode for process in both], [0, 0], f"exit codes ({outputs[0][1][-200:]}{outputs[1][1][-200:]})")
        CHECKS.same(len(harness.records(folder / "run")), 30, "attempts")
        CHECKS.same(len(log_of(folder / "log")), 30, "calls")
        shares = [err.count("round 1:") for _, err in outputs]
        CHECKS.same(sum(shares), 20, f"first rounds of both ({shares})")
        CHECKS.that(min(shares) > 0, f"one did all of it: {shares}")


def growing(folder):
    """Models, problems and samples may be added; the rest must stay."""
    model = recorded(folder, {"push_copy": "STUB pass", "pull_copy": "STUB wrong"})
    words = ["--model", model, "--out", folder / "run"]
    CHECKS.same(run(*words, "push_copy")[0], 0, "exit code")
    CHECKS.same(len(harness.records(folder / "run")), 1, "attempts at first")
    CHECKS.same(run(*words, "pull_copy", "--samples", 2)[0], 0, "exit code with more")
    CHECKS.same(len(harness.records(folder / "run")), 4, "attempts with a problem and a sample more")
    for option, named in {("--rounds", 2): "--rounds was 1, is 2", ("--seed", 5): "--seed was", ("--quick",): "thoroughness"}.items():
        code, _, err = run(*words, *option)
        CHECKS.same(code, 2, f"exit code with {option}")
        CHECKS.that(named in err, f"{option}: {err}")
    code, _, err = run("--model", "command:true,label=recorded", "--out", folder / "run")
    CHECKS.that(code == 2 and "give this one another label" in err, f"another way to ask the same model: {code} {err}")
    code, _, err = run("--model", model, "--model", model, "--out", folder / "other")
    CHECKS.that(code == 2 and "two models are called recorded" in err, f"the same label twice: {code} {err}")
    code, _, err = run("--model", model, "--out", folder)
    CHECKS.that(code == 2 and "neither empty nor the folder of a run" in err, f"another folder: {code} {err}")


def budget(folder):
    """No call is begun that might cost too much; what is there stays."""
    texts = answers(folder, {"push_copy": "STUB pass", "pull_copy": "STUB pass"})
    prices = folder / "prices.toml"
    prices.write_text('as_of = 2026-11-15\n[[price]]\nprovider = "openai-compatible"\nmodel = "m"\n'
                      'input = 1000.0\ncached_input = 1000.0\noutput = 1000.0\n')
    with harness.provider(texts, folder / "log") as url:
        words = ["--model", loopback(url) + ",max_tokens=300", "--prices", prices, "push_copy", "pull_copy",
                 "--samples", 10, "--calls", 2, "--out", folder / "run"]
        limit = 20.0
        code, _, err = run(*words, "--max-usd", limit)
        CHECKS.same(code, 1, f"exit code ({err[-300:]})")
        CHECKS.that(f"--max-usd {limit:.0f} does not allow another call" in err, f"does not say why it stops: {err[-400:]}")
        spent = sum(record["call"]["usd"] or 0 for record in harness.records(folder / "run").values())
        CHECKS.that(0 < spent <= limit, f"spent {spent}")
        done = len(harness.records(folder / "run"))
        CHECKS.that(0 < done < 20, f"{done} attempts")
        CHECKS.that("To go on, give it a higher --max-usd" in err and "Resume with" not in err, f"the hint: {err[-400:]}")
        asked = len(log_of(folder / "log"))
        (folder / "cheap.toml").write_text(prices.read_text().replace("1000.0", "0.001"))
        prices.unlink()  # the run has its own
        for again in ([], ["--max-usd", limit]):  # the command of the hint spends nothing
            code, _, err = run("--out", folder / "run", *again, env=harness.environment(FABRICBENCH_PRICES=folder / "cheap.toml"))
            CHECKS.same((code, len(harness.records(folder / "run"))), (1, done), f"attempts after another try with {again}")
        CHECKS.same(len(log_of(folder / "log")), asked, "calls")
        code, _, err = run("--out", folder / "run", "--max-usd", 1.5 * limit)
        more = len(harness.records(folder / "run"))
        CHECKS.that(done < more < 20, f"{more} attempts with a higher limit, {done} before")
        code, _, err = run("--out", folder / "run", "--max-usd", "none")
        CHECKS.same((code, len(harness.records(folder / "run"))), (0, 20), "without a limit")
        for bad in ("much", "-1", "1e999", "nan", "3x"):
            code, _, err = run("--out", folder / "run", "--max-usd", bad)
            CHECKS.that(code == 2 and "an amount in USD, or none" in err, f"--max-usd {bad}: {code} {err[-200:]}")


def unknown_price(folder):
    with harness.provider(answers(folder, {"push_copy": "STUB pass"}), folder / "log") as url:
        code, _, err = run("--model", loopback(url), "push_copy", "--max-usd", 1, "--out", folder / "run")
        CHECKS.that(code == 2 and "the price of m is not known" in err, f"{code} {err[-300:]}")
        CHECKS.same(log_of(folder / "log") if (folder / "log").exists() else [], [], "calls")
        code, _, err = run("--model", loopback(url), "push_copy", "--out", folder / "run")
        CHECKS.that(code == 0 and "cost unknown (1 call without a price)" in err and "$0.00" not in err, f"{code} {err[-300:]}")


def failing_provider(folder):
    """A model that can't be asked is left alone after a few calls; others go on; a later life asks it again."""
    texts = answers(folder, {"push_copy": "STUB pass", "pull_copy": "STUB pass"})
    with harness.provider(texts, folder / "log") as url:
        words = ["--model", loopback(url, "good"), "--model", f"openai-compatible:play-not_found,url={url},label=gone",
                 "push_copy", "pull_copy", "--samples", 5, "--calls", 1, "--out", folder / "run"]
        code, _, err = run(*words)
        CHECKS.same(code, 1, "exit code")
        CHECKS.that("calls of gone in a row have failed" in err, f"{err[-300:]}")
        CHECKS.same(len(harness.records(folder / "run")), 10, "attempts of the other")
        CHECKS.that(all("/gone/" not in name for name in harness.records(folder / "run")), "failed calls are no attempts")


def failing_judge(folder):
    """Workers that die or fail are replaced, the job is tried three times, and the model is not blamed."""
    model = recorded(folder, {"push_copy": "STUB kills the worker", "pull_copy": "STUB fails", "all_to_all": "STUB pass"})
    code, _, err = run("--model", model, "push_copy", "pull_copy", "all_to_all", "--out", folder / "run")
    CHECKS.same(code, 1, "exit code")
    CHECKS.that("no verdict: the worker was ended by SIGKILL" in err, f"{err[-400:]}")
    CHECKS.that("no verdict: failed by order" in err, f"{err[-400:]}")
    CHECKS.same(sorted(harness.records(folder / "run")), ["recorded/all_to_all/1/1.attempt.json"], "attempts")
    recorded(folder, {"push_copy": "STUB pass"})  # the response is there: it is not asked for again
    run("--out", folder / "run")
    CHECKS.same(len(harness.records(folder / "run")), 1, "attempts after a second life")


def speed_rounds(folder):
    """After a pass, more rounds ask for speed; the first pass ends the others."""
    texts = answers(folder, {"push_copy": ["STUB wrong", "STUB pass", "STUB wrong", "STUB pass"]})
    with harness.provider(texts, folder / "log") as url:
        code, _, err = run("--model", loopback(url), "push_copy", "--rounds", 3, "--speed-rounds", 2, "--out",
                           folder / "run")
    found = harness.records(folder / "run")
    CHECKS.same(code, 0, f"exit code ({err[-200:]})")
    CHECKS.same([(r["round"], r["outcome"], r["for_speed"]) for r in found.values()],
                [(1, "wrong", False), (2, "pass", False), (3, "wrong", True), (4, "pass", True)], "rounds")


def full_disk(folder):
    """No call is made whose answer could not be kept, and later it goes on."""
    if subprocess.run(["unshare", "-Urm", "true"]).returncode != 0:
        print("  not tried: no file system may be mounted here")
        return
    texts = answers(folder, {"push_copy": "STUB pass"})
    (folder / "small").mkdir()
    with harness.provider(texts, folder / "log") as url:
        words = [TOOL, "run", "--plain", "--worker", harness.STUB, "--model", loopback(url), "push_copy", "--out", folder / "small" / "run"]
        script = 'mount -t tmpfs -o size=8m none "$0" && exec "$@"'
        ran = subprocess.run(["unshare", "-Urm", "sh", "-c", script, folder / "small", *map(str, words)], env=harness.environment(),
                             capture_output=True, text=True, timeout=60)
        CHECKS.that(ran.returncode == 1 and "the disk is almost full" in ran.stderr, f"{ran.returncode} {ran.stderr[-300:]}")
        CHECKS.same(log_of(folder / "log") if (folder / "log").exists() else [], [], "calls")


def keys(folder):
    """A key is in no file, no output and no command line."""
    texts = answers(folder, {"push_copy": ["STUB wrong", "STUB pass"]})
    with harness.provider(texts, folder / "log", delay_ms=300) as url:
        process = harness.start(TOOL, "--worker", harness.STUB, "--model", loopback(url), "--model",
                                f"openai-compatible:play-wrong_key,url={url},label=wrong", "push_copy", "--rounds", 2, "--out",
                                folder / "run")
        seen = set()
        while process.poll() is None:
            seen.update(harness.processes_about(harness.KEY))
            time.sleep(0.05)
        out, err = process.communicate()
    CHECKS.same(seen, set(), "processes that show the key")
    CHECKS.that(harness.KEY not in out + err, "the key is in the output")
    holding = subprocess.run(["grep", "-rl", harness.KEY, str(folder)], capture_output=True, text=True).stdout
    CHECKS.same(holding, "", "files that hold the key")


def main():
    tests = [ctrl_c, two_at_once, growing, budget, unknown_price, failing_provider, failing_judge, speed_rounds, full_disk, keys]
    for test in tests:
        if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
            continue
        print(test.__name__, flush=True)
        with harness.folder() as folder:
            test(folder)
    CHECKS.close()


if __name__ == "__main__":
    main()

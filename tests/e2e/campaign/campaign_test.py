#!/usr/bin/env python3
"""A whole campaign: three models with recorded answers of all kinds, judged in full, two rounds, reported. Every outcome is the one
that answers.toml expects. The leaderboard's figures are counted from that table, by the functions that answers_test.py compares with
figures worked out by hand; speeds, which depend on the machine's model of time, are computed here from the records alone.

Usage: campaign_test.py FABRICBENCH WORK_FOLDER [--part K/LAST]
--part: not the problems below, but those of answers.toml with remainder K by LAST + 1, in the order of their names
The run stays in WORK_FOLDER/run.
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys

import figures
import harness

TOOL, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
PART = sys.argv[4] if sys.argv[3:4] == ["--part"] else None
# In parts without the model that mostly answers with references: `prove` judges those.
MODELS = ["borealis", "cirrus"] if PART else ["atlas", "borealis", "cirrus"]
# A frozen pack: new problems change nothing here. All outcomes, slow answers, two levels, five categories, both tracks. Problems whose
# answers are judged in little time.
PROBLEMS = ["push_copy", "all_reduce_one_shot", "moe_count_exchange", "gemm_reduce_scatter", "all_gather_gemm", "fifo_device_to_host"]
CHECKS = harness.Checks()


# 0 of none: a model may pass nothing in a part.
def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def has_baseline(problem):
    return any(pathlib.Path(figures.ROOT, "problems").glob(f"*/*/{problem}/baseline.cu"))


def near(got, expected, text):
    CHECKS.that(got is not None and math.isclose(got, expected, rel_tol=1e-6), f"{text}: expected {expected}, got {got}")


def run_campaign():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    subprocess.run([sys.executable, harness.HERE / "make_answers.py", WORK / "answers"], check=True)
    expected = json.loads((WORK / "answers" / "expected.json").read_text())
    problems = PROBLEMS
    if PART:
        number, last = map(int, PART.split("/"))
        problems = sorted({answer["problem"] for answer in expected})[number::last + 1]
    expected = [answer for answer in expected if answer["problem"] in problems and answer["model"] in MODELS]
    problems = sorted({answer["problem"] for answer in expected})
    models = [word for name in MODELS for word in ("--model", f"recorded:{WORK / 'answers' / name},label={name}")]
    code, out, err = harness.run(TOOL, *models, *problems, "--rounds", 2, "--seed", 20261115, "--name", "Recorded answers", "--out", WORK / "run",
                                 timeout=3000)
    CHECKS.same(code, 0, f"exit code ({err[-500:]})")
    CHECKS.that("fabricbench report" in out, "does not say how to see the report")
    return expected


def check_outcomes(expected):
    found = {(r["model"], r["problem"], r["sample"], r["round"]): r for r in harness.records(WORK / "run").values()}
    CHECKS.same(len(found), len(expected), "attempts")
    for answer in expected:
        record = found.get((answer["model"], answer["problem"], answer["sample"], answer["round"]))
        got = record and record["outcome"]
        summary = ((record or {}).get("verdict") or {}).get("summary", "")
        CHECKS.same(got, answer["outcome"], f"{answer['model']} {answer['problem']} round {answer['round']} ({summary})")


def speeds_of(model):
    """By problem, of the passing attempt."""
    return {r["problem"]: r["verdict"]["speed"] for r in harness.records(WORK / "run").values()
            if r["model"] == model and r["outcome"] == "pass"}


def check_model(model, name, figures, problems):
    scores, price = model["scores"], model["price"]
    CHECKS.same(scores["samples_passed"], figures["passed"], f"{name}: passed")
    near(scores["pass_rate"]["value"], figures["pass_rate"], f"{name}: pass rate")
    near(model["pass_at"][0]["rate"]["value"], figures["pass_rate"], f"{name}: pass@1")
    near(model["by_round"][0]["pass_rate"]["value"], figures["pass_rate_round_1"], f"{name}: pass rate after round 1")
    CHECKS.same(model["by_round"][0]["new_passes"], figures["passed_in_round_1"], f"{name}: passed in round 1")
    near(model["by_round"][1]["gain"], figures["pass_rate"] - figures["pass_rate_round_1"], f"{name}: gain of round 2")
    CHECKS.same(model["attempts"], figures["attempts"], f"{name}: attempts")
    CHECKS.same({o["outcome"]: o["attempts"] for o in model["outcomes"] if o["attempts"]}, figures["attempts_by_outcome"],
                f"{name}: attempts by outcome")
    for kind in ("level", "category"):
        got = {part["name"]: part["scores"]["samples_passed"] for part in model[f"by_{kind}"]}
        CHECKS.same(got, figures[f"passed_by_{kind}"], f"{name}: passed by {kind}")
    near(price["usd"], figures["usd"], f"{name}: price")
    CHECKS.same((price["input_tokens"], price["output_tokens"]), (figures["input_tokens"], figures["output_tokens"]), f"{name}: tokens")
    speeds = speeds_of(name)
    mean = geometric_mean(speeds.values())
    if speeds:
        near(scores["gm_speedup"]["value"], mean, f"{name}: GM-speedup")
    else:
        CHECKS.same(scores["gm_speedup"]["value"], None, f"{name}: GM-speedup without a pass")
    near(scores["pass_gm"]["value"], figures["pass_rate"] * mean, f"{name}: Pass×GM")
    near(scores["pass_good"]["value"] + 1, sum(s >= 0.95 for s in speeds.values()) / problems + 1, f"{name}: PASS+Good")
    return speeds


def check_report(expected):
    summary = json.loads(subprocess.run([TOOL, "report", WORK / "run", "--json"], capture_output=True, check=True, text=True).stdout)
    known = figures.facts({answer["problem"] for answer in expected})
    CHECKS.same(summary["attempts"], len(expected), "all attempts")
    # Pass×GM, from the records and not from the report.
    score = {name: len(speeds_of(name)) / len(known) * geometric_mean(speeds_of(name).values()) for name in MODELS}
    CHECKS.same([model["label"] for model in summary["models"]], sorted(MODELS, key=score.get, reverse=True),
                "order of the leaderboard")
    if not PART:
        CHECKS.same(summary["models"][0]["label"], "atlas", "the model with references leads")
    speeds = {}
    for model in summary["models"]:
        name = model["label"]
        counted = figures.figures_of([a for a in expected if a["model"] == name], WORK / "answers", known)
        speeds[name] = check_model(model, name, counted, len(known))
    slow = [a for a in expected if a["recipe"] == "one_block"]
    CHECKS.that(slow or PART, "no answer is slow")
    for answer in slow:
        speed = speeds[answer["model"]].get(answer["problem"], 9)
        CHECKS.that(speed < 0.8, f"{answer['model']} {answer['problem']} is not slow: {speed}")
    for model in MODELS:
        references = [a["problem"] for a in expected if a["model"] == model and a["recipe"] == "reference"]
        # Other inputs, other orders: modelled times are not quite the same.
        for problem in references:
            speed = speeds[model].get(problem, 0)
            if has_baseline(problem):  # which speeds are relative to
                CHECKS.that(speed > 1, f"{model} {problem}: the reference's speed is {speed} of the baseline")
            else:
                CHECKS.that(0.95 < speed < 1.05, f"{model} {problem}: the reference's own speed is {speed}")


def main():
    expected = run_campaign()
    check_outcomes(expected)
    check_report(expected)
    CHECKS.close()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A campaign of 200 attempts on a Slurm cluster of four nodes, one of which dies in mid-run: the same records as with the
executor of this machine, and nothing is left behind.

Usage: slurm_campaign_test.py FABRICBENCH          exit code 77: Slurm is not installed
"""
import collections
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "campaign"), str(HERE.parent / "candidates")]
import cluster as slurm  # noqa: E402
import edits  # noqa: E402
import harness  # noqa: E402

SOURCE = HERE.parents[2]
PROBLEM = "all_reduce_one_shot"
REFERENCE = SOURCE / "problems" / "comm" / "collective" / PROBLEM / "reference.cu"
CANDIDATES = SOURCE / "tests" / "e2e" / "candidates"


class Edited:
    """An answer that is kept as edits."""
    def __init__(self, path):
        self.path = path

    def read_bytes(self):
        return edits.read(self.path)[1].encode()


# First answers in turn; six of ten do not pass and are followed by the reference.
FIRST = [REFERENCE, CANDIDATES / "deadlock_flag.cu", CANDIDATES / "not_compiling.cu", REFERENCE, CANDIDATES / "crash_device.cu",
         REFERENCE, CANDIDATES / "template_unchanged.cu", CANDIDATES / "prose.md", REFERENCE, Edited(CANDIDATES / "exits_in_run.toml")]
SAMPLES = 125
ATTEMPTS = SAMPLES + sum(FIRST[sample % 10] != REFERENCE for sample in range(1, SAMPLES + 1))


def write_answers(folder):
    (folder / PROBLEM).mkdir(parents=True)
    for sample in range(1, SAMPLES + 1):
        (folder / PROBLEM / f"{sample}.1.md").write_bytes(FIRST[sample % 10].read_bytes())
        (folder / PROBLEM / f"{sample}.2.md").write_bytes(REFERENCE.read_bytes())


def arguments(answers, out):
    return ["--model", f"recorded:{answers},label=m", PROBLEM, "--samples", SAMPLES, "--rounds", 2, "--quick",
            "--no-cache", "--seed", 11, "--out", out]


def attempts(run):
    return len(list(run.glob("samples/m/*/*/*.attempt.json")))


def run_on_cluster(tool, cluster, answers, out, checks):
    """One node dies when a third of the attempts is done and it has work. That Slurm calls a task running is not enough: it may have just
    ended."""
    process = harness.start(tool, *arguments(answers, out), "--executor", "slurm", "--slurm-batch", 6, "--slurm-tasks", 8,
                            env={**harness.environment(), "SLURM_CONF": cluster.configuration})
    end = time.monotonic() + 240
    victim = None
    while victim is None and process.poll() is None and time.monotonic() < end:
        if attempts(out) > ATTEMPTS // 3:
            running = cluster.command("squeue", "-h", "-t", "running", "-o", "%N").split()
            killed = cluster.kill_node(running[0], doing="worker") if running else []
            victim = running[0] if killed else None
        time.sleep(0.1)
    if victim is not None:
        print(f"{victim} dies after {attempts(out)} attempts, with {len(killed)} processes", flush=True)
    try:
        _, errors = process.communicate(timeout=max(10, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
    checks.same(process.returncode, 0, f"exit code with Slurm ({errors[-2000:]})")
    checks.that(victim is not None, "a node had work when it was to die")
    again = [line.split() for line in
             cluster.command("squeue", "-h", "-r", "-t", "all", "-O", "ArrayJobID,ArrayTaskID,RestartCnt,NodeList,StateCompact").splitlines()]
    again = [fields for fields in again if fields[2] != "0"]
    print(f"started again by Slurm: {again}", flush=True)
    checks.that(again and all(victim not in fields[3:] for fields in again), f"lost tasks were started again elsewhere: {again}")
    checks.same(cluster.command("squeue", "-h", "-o", "%i %T"), "", "nothing is left in the queue")


def main():
    tool = os.path.abspath(sys.argv[1])
    if slurm.missing():
        print(slurm.missing())
        sys.exit(77)
    checks = harness.Checks()
    with harness.folder() as folder:
        os.chmod(folder, 0o755)
        write_answers(folder / "answers")
        began = time.monotonic()
        code, _, errors = harness.run(tool, *arguments(folder / "answers", folder / "local"), timeout=240)
        checks.same(code, 0, f"exit code without Slurm ({errors[-2000:]})")
        print(f"this machine: {attempts(folder / 'local')} attempts in {time.monotonic() - began:.1f} s", flush=True)
        began = time.monotonic()
        with slurm.Cluster() as cluster:
            run_on_cluster(tool, cluster, folder / "answers", folder / "slurm", checks)
        print(f"four nodes: {attempts(folder / 'slurm')} attempts in {time.monotonic() - began:.1f} s", flush=True)

        expected, got = harness.records(folder / "local"), harness.records(folder / "slurm")
        checks.same(len(expected), ATTEMPTS, "attempts")
        checks.same(sorted(got), sorted(expected), "the same attempts")
        different = [name for name in expected if got.get(name) != expected[name]]
        for name in different[:3]:
            print(f"{name}:\n  {expected[name]}\n  {got.get(name)}")
        checks.same(different, [], "attempts that differ")
        print(collections.Counter(record["verdict"]["class"] for record in got.values() if record.get("verdict")))
        checks.same(harness.processes_about(str(folder)), [], "processes that are left")
    checks.close()


if __name__ == "__main__":
    main()

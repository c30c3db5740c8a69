#!/usr/bin/env python3
"""The Slurm executor on a real cluster of four nodes on this host, with a stub instead of the judge.

Usage: executor_test.py DRIVER CASE          exit code 77: Slurm is not installed
"""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cluster as slurm  # noqa: E402

STUB = str(HERE / "list_worker_stub.py")
KEY = "sk-driver-0123456789abcdef"


class Driver:
    """slurm_driver as a process; its lines end up in a file."""

    def __init__(self, cluster, run, count, *options, program=STUB):
        self.path = run.parent / f"driver-{time.monotonic_ns()}"
        with open(self.path, "wb") as output:
            self.process = subprocess.Popen([DRIVER, str(run), program, str(count), *options], stdout=output, stderr=output,
                                            env={**cluster.environment, "OPENAI_API_KEY": KEY, "FABRICBENCH_API_KEY": KEY})

    def lines(self):
        return self.path.read_text().splitlines()

    def some(self, word):
        return [line for line in self.lines() if line.startswith(word + " ") or line == word]

    def wait(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("it takes too long:\n" + "\n".join(self.lines())) from None

    def wait_for(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end, "\n".join(self.lines())
            time.sleep(0.05)


def make_run(folder, **stub):
    run = pathlib.Path(folder, "run")
    run.mkdir()
    (run / "stub.json").write_text(json.dumps({"seconds": 0.3, **stub}))
    return run


def journal(run):
    """(sample, node, restarts) of each judgement that began."""
    path = run / "journal"
    if not path.exists():
        return []
    return [(int(sample), node, int(restarts)) for sample, node, restarts in map(str.split, path.read_text().splitlines())]


def verdicts(run):
    return {int(path.parent.name) for path in run.glob("samples/model/problem/*/*.verdict.json")}


def alive(cluster):
    shown = cluster.command("squeue", "-h", "-r", "-o", "%i %T")
    return shown.splitlines()


def check_all_done(driver, run, count):
    assert driver.wait(150) == 0, driver.lines()
    done = collections.Counter(int(line.split()[1]) for line in driver.some("done"))
    assert done == collections.Counter(range(1, count + 1)), (done, driver.lines())
    assert not driver.some("failed") and not driver.some("twice"), driver.lines()
    assert verdicts(run) == set(range(1, count + 1))


def all_well(cluster, folder):
    """Without trouble every job is judged once, all nodes work, and nothing of the run is left in the queue."""
    run = make_run(folder)
    began = time.monotonic()
    driver = Driver(cluster, run, 40, "--batch", "5", "--tasks", "8")
    check_all_done(driver, run, 40)
    print(f"40 jobs of 0.3 s on 4 nodes: {time.monotonic() - began:.1f} s")
    assert sorted(sample for sample, _, _ in journal(run)) == list(range(1, 41))
    assert {node for _, node, _ in journal(run)} == {"n1", "n2", "n3", "n4"}
    for top in (cluster.folder, folder):
        held = [path for path in pathlib.Path(top).rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        assert not held, f"the key was handed to Slurm: {held}"
    assert any(b"SLURM_CONF=" in path.read_bytes() for path in pathlib.Path(cluster.folder, "state").rglob("environment")), \
        "Slurm does not keep environments where this test looks for them"
    assert alive(cluster) == []


def node_dies(cluster, folder):
    """A node and all that runs on it dies: Slurm starts its task again elsewhere, nothing is lost or told twice."""
    run = make_run(folder)
    driver = Driver(cluster, run, 60, "--batch", "6", "--tasks", "12")
    driver.wait_for(lambda: len(verdicts(run)) >= 8, 60)
    victim = None

    def dies_at_work():
        nonlocal victim
        victim = next(node for _, node, _ in reversed(journal(run)))
        return cluster.kill_node(victim, doing="worker")

    driver.wait_for(dies_at_work, 60)
    check_all_done(driver, run, 60)
    again = [entry for entry in journal(run) if entry[2] > 0]
    assert again and all(node != victim for _, node, _ in again), journal(run)
    assert cluster.states()[victim].startswith("down"), cluster.states()


def daemon_dies(cluster, folder):
    """slurmd alone dies: its task goes on and may be done twice; the result is the same."""
    run = make_run(folder)
    driver = Driver(cluster, run, 40, "--batch", "5", "--tasks", "8")
    driver.wait_for(lambda: len(verdicts(run)) >= 4, 60)
    cluster.kill_slurmd(journal(run)[-1][1])
    check_all_done(driver, run, 40)


def director_dies(cluster, folder):
    """The director that submitted the jobs is killed: the next one finds the tasks in the queue and waits for them."""
    run = make_run(folder, seconds=0.5)
    first = Driver(cluster, run, 40, "--batch", "5", "--tasks", "8")
    first.wait_for(lambda: len(verdicts(run)) >= 6, 60)
    first.process.kill()
    first.process.wait()
    seen = len(verdicts(run))
    second = Driver(cluster, run, 40, "--batch", "5", "--tasks", "8")
    assert second.wait(150) == 0, second.lines()
    assert second.some("note") and "in Slurm's queue already" in second.some("note")[0], second.lines()
    assert verdicts(run) == set(range(1, 41)) and 0 < seen < 40
    assert sorted(sample for sample, _, _ in journal(run)) == list(range(1, 41)), "something was judged twice"


def two_directors(cluster, folder):
    """Two work on the same run, and the first is stopped: the tasks of the second go on."""
    run = make_run(folder, seconds=0.5)
    # It leaves two nodes free, and has work for longer than the second needs to begin.
    first = Driver(cluster, run, 100, "--batch", "5", "--tasks", "2")
    first.wait_for(lambda: len(verdicts(run)) >= 2, 60)
    second = Driver(cluster, run, 120, "--batch", "5", "--tasks", "8", "--from", "101")
    second.wait_for(lambda: any(sample > 100 for sample, _, _ in journal(run)), 60)
    first.process.send_signal(signal.SIGINT)
    assert first.wait(30) == -signal.SIGINT, first.lines()
    assert second.wait(150) == 0, second.lines()
    assert len(second.some("done")) == 20 and set(range(101, 121)) <= verdicts(run), second.lines()
    assert not any("missing" in line for line in second.some("note")), second.lines()
    tries = collections.Counter(sample for sample, _, _ in journal(run))
    assert all(tries[sample] == 1 for sample in range(101, 121)), tries


def interrupted(cluster, folder):
    """Ctrl-C: the jobs are cancelled, and the next run does what is left."""
    run = make_run(folder, seconds=0.5)
    first = Driver(cluster, run, 40, "--batch", "5", "--tasks", "8")
    first.wait_for(lambda: len(verdicts(run)) >= 4, 60)
    first.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert first.wait(30) == -signal.SIGINT, first.lines()
    print(f"stopped after {time.monotonic() - began:.1f} s")
    assert first.some("stopped") and alive(cluster) == [], (first.lines(), alive(cluster))
    assert len(verdicts(run)) < 40
    second = Driver(cluster, run, 40, "--batch", "5", "--tasks", "8")
    assert second.wait(150) == 0, second.lines()
    assert verdicts(run) == set(range(1, 41))


def worker_fails(cluster, folder):
    """Jobs that fail, or take their worker with them, are tried three times; the others of their tasks are done."""
    run = make_run(folder, seconds=0.1, fail=[3], die=[6])
    driver = Driver(cluster, run, 12, "--batch", "4", "--tasks", "3")
    assert driver.wait(150) == 0, driver.lines()
    assert verdicts(run) == set(range(1, 13)) - {3, 6}
    tries = collections.Counter(sample for sample, _, _ in journal(run))
    assert tries[3] == 3 and tries[6] == 3, tries
    failed = {int(line.split()[1]): line for line in driver.some("failed")}
    assert set(failed) == {3, 6}, driver.lines()
    for sample, words in ((3, "sample 3 fails"), (6, "sample 6 takes the worker with it")):
        line = failed[sample]
        assert "no verdict after 3 tries: Slurm job " in line and " on n" in line and ".out ends with: " in line, line
        assert "ended as FAILED" in line and words in line, line


def program_missing(cluster, folder):
    """A program that the nodes don't see is named in the failure."""
    run = make_run(folder)
    driver = Driver(cluster, run, 2, program="/nowhere/fabricbench")
    assert driver.wait(120) == 0, driver.lines()
    assert len(driver.some("failed")) == 2 and all("/nowhere/fabricbench" in line for line in driver.some("failed")), driver.lines()


def wrong_options(cluster, folder):
    """Options that sbatch does not take end it soon, in sbatch's words."""
    run = make_run(folder)
    driver = Driver(cluster, run, 5, "--options", "--partition=nope")
    assert driver.wait(60) == 1, driver.lines()
    assert "Invalid partition name specified" in driver.some("error")[0], driver.lines()


def controller_restarts(cluster, folder):
    """The controller goes for a while: tasks go on, verdicts are seen, the queue is asked until it answers."""
    run = make_run(folder, seconds=0.5)
    driver = Driver(cluster, run, 40, "--batch", "5", "--tasks", "8")
    driver.wait_for(lambda: len(verdicts(run)) >= 4, 60)
    seen = len(driver.some("done"))
    cluster.stop_controller()
    driver.wait_for(lambda: driver.some("note"), 60)
    assert "squeue failed" in driver.some("note")[0] or "sbatch failed" in driver.some("note")[0], driver.lines()
    assert len(driver.some("done")) > seen, "verdicts are not looked for without the controller"
    cluster.start_controller()
    check_all_done(driver, run, 40)


def controller_missing(cluster, folder):
    """Without a controller nothing begins; the reason is squeue's."""
    run = make_run(folder)
    cluster.stop_controller()
    driver = Driver(cluster, run, 1)
    assert driver.wait(110) == 1, driver.lines()
    assert "squeue failed" in driver.some("error")[0] and "Unable to contact" in driver.some("error")[0], driver.lines()


def forgotten(cluster, folder):
    """A cluster that forgets jobs as soon as they have ended: the verdicts alone tell."""
    run = make_run(folder, seconds=0.1)
    driver = Driver(cluster, run, 24, "--batch", "3", "--tasks", "4")
    check_all_done(driver, run, 24)
    assert sorted(sample for sample, _, _ in journal(run)) == list(range(1, 25))


CASES = {case.__name__: case for case in (all_well, node_dies, daemon_dies, director_dies, two_directors, interrupted, worker_fails,
                                          program_missing, wrong_options, controller_restarts, controller_missing, forgotten)}


def main():
    global DRIVER
    if slurm.missing():
        print(slurm.missing())
        return 77
    DRIVER, case = os.path.abspath(sys.argv[1]), CASES[sys.argv[2]]
    began = time.monotonic()
    forget = 2 if case is forgotten else 300
    with slurm.Cluster(forget_seconds=forget) as cluster, tempfile.TemporaryDirectory(prefix="fb-run-") as folder:
        os.chmod(folder, 0o755)
        case(cluster, folder)
    print(f"{case.__name__}: ok, {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""An exported folder is started by Open MPI, by Slurm, by itself, and on two nodes. 77: the launcher is not installed.

Usage: launchers.py FABRICBENCH CASE
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The second crosses nodes.
PROBLEMS = {"alone": "all_gather_push", "mpi": "all_gather_push", "slurm": "all_gather_push", "nodes": "all_gather_nccl"}
SECONDS, SKIPPED = 300, 77
# As `fabricbench exec` sets them; here another launcher's must be read.
OURS = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"]
WITHOUT_OURS = [word for name in OURS for word in ("-u", name)]


class Folder:
    def __init__(self, fabricbench, scratch, problem):
        self.fabricbench, self.path = fabricbench, Path(scratch) / "folder"
        subprocess.run([fabricbench, "export", problem, "-o", self.path], check=True, stdout=subprocess.DEVNULL)
        for other in ("solution.cu", "baseline.cu", "alternative.cu"):
            (self.path / other).unlink(missing_ok=True)
        subprocess.run(["make", "-C", self.path, f"NVCC={fabricbench}-nvcc"], check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)

    def exec(self, *words, world, env=None):
        ran = subprocess.run([self.fabricbench, "exec", *words], cwd=self.path, capture_output=True, text=True, timeout=SECONDS, check=False,
                             env=env)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        results = json.loads((self.path / "results.json").read_text())
        assert results["world"] == world and all(row["right"] for row in results["rows"]), results
        return results


def case_alone(folder):
    folder.exec("--ranks", "1", "/usr/bin/env", "--", *WITHOUT_OURS, "./run", "-n", "3", "--quick", world=3)
    # As many as the problem and the node's 8 GPUs allow.
    folder.exec("--ranks", "1", "/usr/bin/env", "--", *WITHOUT_OURS, "./run", "--quick", "--sizes", "one", world=8)


def case_mpi(folder):
    if not shutil.which("mpirun"):
        sys.exit(SKIPPED)
    folder.exec("--mpi", "--ranks", "4", "/usr/bin/env", "--", *WITHOUT_OURS, "./run", "--quick", world=4)


def case_slurm(folder):
    sys.path.insert(0, str(HERE.parent / "slurm"))
    import cluster as slurm  # noqa: PLC0415
    if slurm.missing():
        sys.exit(SKIPPED)
    with slurm.Cluster() as cluster:
        folder.exec("--ranks", "1", "/usr/bin/env", "--", *WITHOUT_OURS, "srun", "-N", "1", "-n", "4", "--overcommit", "./run", "--quick",
                    world=4, env=cluster.environment)


def case_nodes(folder):
    results = folder.exec("--platform", "h100x8_2nodes", "--ranks", "16", "./run", "--", "--quick", "--sizes", "one", world=16)
    assert results["nodes"] == 2, results


def main():
    with tempfile.TemporaryDirectory() as scratch:
        globals()[f"case_{sys.argv[2]}"](Folder(os.path.abspath(sys.argv[1]), scratch, PROBLEMS[sys.argv[2]]))
    print("launched OK")


main()

"""NVIDIA's compiler, for the tests of this folder."""
import os
import shutil
from pathlib import Path


def find():
    """Whether there is nvcc. One in build/nvcc is made known to programs that are started from here."""
    if "FABRICBENCH_CUDA" in os.environ or shutil.which("nvcc"):
        return True
    installed = sorted(Path(__file__).resolve().parents[3].glob("build/nvcc/lib/python3*/site-packages/nvidia/cu*/bin/nvcc"))
    if not installed:
        print("nvcc not found (tools/fetch_nvcc.sh build/nvcc build/release)")
        return False
    os.environ["FABRICBENCH_CUDA"] = str(installed[-1].parents[1])
    return True

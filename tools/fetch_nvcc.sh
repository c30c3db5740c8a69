#!/usr/bin/env bash
# NVIDIA's compiler and its headers from Python wheels (130 MB), into FOLDER; prints the path of nvcc. What it links finds
# the libcuda of BUILD.
#
# Usage: NVCC=$(tools/fetch_nvcc.sh FOLDER BUILD) tools/check_cuda.sh FILE…
set -euo pipefail
folder=$(realpath -m "${1:?usage: fetch_nvcc.sh FOLDER BUILD}")
build=$(realpath "${2:?usage: fetch_nvcc.sh FOLDER BUILD}")
[[ -x $folder/bin/pip ]] || /usr/bin/python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-{nvcc,runtime,crt,profiler-api}==13.4.* \
  nvidia-nvvm==13.4.* nvidia-cuda-cccl==13.3.* >&2
toolkit=$(echo "$folder"/lib/python3*/site-packages/nvidia/cu13)
# The layout of NVIDIA's installer.
ln -sfn lib "$toolkit/lib64"
mkdir -p "$toolkit/lib/stubs"
ln -sf "$build/lib/fabricbench/libcuda.so.1" "$toolkit/lib/stubs/libcuda.so"
ln -sf libcudart.so.13 "$toolkit/lib/libcudart.so"
echo "$toolkit/bin/nvcc"

#!/bin/sh
# Compiles every tests/unit/machine/kernels/*.cu: with clang and our SDK, device and host side, and with nvcc where there is one.
# One line per file and compiler, and a closing count. Exit code 1 where anything failed.
# Usage: tools/check_kernels.sh [FILE…]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
clang=${FABRICBENCH_CLANG:-clang++-19}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

[ $# -gt 0 ] || set -- "$root"/tests/unit/machine/kernels/*.cu
passed=0
failed=0

# check LABEL FILE COMMAND…: runs the command, prints its output only where it failed.
check() {
  label=$1
  file=$2
  shift 2
  if "$@" >"$scratch/log" 2>&1; then
    passed=$((passed + 1))
    printf 'ok    %-12s %s\n' "$label" "${file#"$root"/}"
  else
    failed=$((failed + 1))
    printf 'FAIL  %-12s %s\n' "$label" "${file#"$root"/}"
    head -40 "$scratch/log"
  fi
}

# As fb::toolchain calls it. Warnings count on the device side; an unused n is the price of one signature for all.
common="-x cuda -std=c++20 -nocudainc -nocudalib --cuda-path=/nonexistent -Xclang -target-sdk-version=12.5
  -isystem $root/sdk/include -include cuda_runtime.h"
device="--cuda-device-only --cuda-gpu-arch=sm_90 --cuda-feature=+ptx85 -O2 -gline-tables-only"
warnings="-Wall -Wextra -Werror -Wno-unused-parameter"
host="--cuda-host-only -O1 -fPIC -Wall -Xclang -fcuda-include-gpubinary -Xclang $scratch/kernel.ptx"
for file in "$@"; do
  rm -f "$scratch/kernel.ptx"
  check clang-device "$file" "$clang" $common $device $warnings -S "$file" -o "$scratch/kernel.ptx"
  check clang-host "$file" "$clang" $common $host -c "$file" -o "$scratch/kernel.o"
  if [ -x "$nvcc" ]; then
    check nvcc "$file" "$nvcc" -c -arch=sm_90 -std=c++20 --expt-relaxed-constexpr --extended-lambda "$file" -o "$scratch/nvcc.o"
  fi
done

[ -x "$nvcc" ] || echo "nvcc not found: the nvcc half of this check was SKIPPED"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

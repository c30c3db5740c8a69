#!/bin/sh
# Compiles and links every example (and the programs of tests/e2e/node) with nvcc, against NVIDIA's libraries, and with clang
# and our SDK. One line per file and compiler, and a closing count. Exit code 1 where anything failed.
# Usage: tools/check_examples.sh [FILE…]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
clang=${FABRICBENCH_CLANG:-clang++-19}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

[ $# -gt 0 ] || set -- "$root"/examples/*.cu "$root"/tests/e2e/node/*.cu "$root"/tests/e2e/node/hostile/*.cu
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

common="-x cuda -std=c++17 -nocudainc -nocudalib --cuda-path=/nonexistent -Xclang -target-sdk-version=12.5
  -isystem $root/sdk/include -include cuda_runtime.h -Wall -Wextra -Werror"
device="--cuda-device-only --cuda-gpu-arch=sm_90 --cuda-feature=+ptx85 -O2 -gline-tables-only"
host="--cuda-host-only -O1 -fPIC -Xclang -fcuda-include-gpubinary -Xclang $scratch/kernel.ptx"
for file in "$@"; do
  compile_flags=""
  link_flags=""
  if grep -q '<mpi.h>' "$file"; then
    if ! command -v mpicxx >/dev/null; then
      echo "SKIPPED ${file#"$root"/}: mpicxx not found"
      continue
    fi
    # -isystem: the warnings of MPI's own headers are not ours.
    compile_flags=$(mpicxx --showme:compile | sed 's/-I/-isystem /g; s/-pthread//')
    link_flags=$(mpicxx --showme:link | sed 's/-pthread//; s/-Wl,[^ ]*//g')
  fi
  rm -f "$scratch/kernel.ptx"
  check clang-device "$file" "$clang" $common $compile_flags $device -S "$file" -o "$scratch/kernel.ptx"
  check clang-host "$file" "$clang" $common $compile_flags $host -c "$file" -o "$scratch/kernel.o"
  if [ -x "$nvcc" ]; then
    check nvcc "$file" "$nvcc" -arch=sm_90 -std=c++17 $compile_flags "$file" -o "$scratch/program" $link_flags -lcuda \
      -L"$(dirname "$nvcc")/../lib64/stubs"
  fi
done

[ -x "$nvcc" ] || echo "nvcc not found: the nvcc half of this check was SKIPPED"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/bin/sh
# Compiles CUDA files with clang and our SDK, device and host side, and with nvcc if it is installed: kernels of the unit
# tests (C++20, objects only), examples and programs of tests/e2e/node (C++17, linked with NVIDIA's libraries by nvcc).
# One line per file and compiler, and a closing count. Exit code 1 if anything failed.
# Usage: tools/check_cuda.sh [FILE…]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
clang=${FABRICBENCH_CLANG:-clang++-19}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

[ $# -gt 0 ] || set -- "$root"/tests/unit/machine/kernels/*.cu "$root"/examples/*.cu "$root"/tests/e2e/node/*.cu \
  "$root"/tests/e2e/node/hostile/*.cu
passed=0
failed=0

# check LABEL FILE COMMAND…: runs the command, prints its output only if it failed.
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

# As fb::toolchain calls clang.
common="-x cuda -nocudainc -nocudalib --cuda-path=/nonexistent -Xclang -target-sdk-version=12.5
  -isystem $root/sdk/include -include cuda_runtime.h"
device="--cuda-device-only --cuda-gpu-arch=sm_90 --cuda-feature=+ptx85 -O2 -gline-tables-only"
host="--cuda-host-only -O1 -fPIC -Xclang -fcuda-include-gpubinary -Xclang $scratch/kernel.ptx"
for file in "$@"; do
  link=""
  case $file in
    */machine/kernels/*)
      # All kernels have one signature, so that some parameters are unused. Warnings of the host side do not count.
      flags="-std=c++20"
      device_warnings="-Wall -Wextra -Werror -Wno-unused-parameter"
      host_warnings="-Wall"
      nvcc_flags="-c --expt-relaxed-constexpr --extended-lambda"
      ;;
    *)
      flags="-std=c++17"
      device_warnings="-Wall -Wextra -Werror"
      host_warnings=$device_warnings
      nvcc_flags=""
      link="-lcuda -L$(dirname "$nvcc")/../lib64/stubs"
      ;;
  esac
  if [ -n "$link" ] && grep -q '<cublas_v2.h>' "$file"; then link="$link -lcublas"; fi
  by_nvcc=$nvcc
  for header in cublas_v2.h nccl.h; do
    if [ -x "$nvcc" ] && grep -q "<$header>\|communicator.h" "$file" && [ ! -e "$(dirname "$nvcc")/../include/$header" ]; then
      echo "SKIPPED nvcc ${file#"$root"/}: $header not found"
      by_nvcc=""
    fi
  done
  if grep -q '<mpi.h>' "$file"; then
    if ! command -v mpicxx >/dev/null; then
      echo "SKIPPED ${file#"$root"/}: mpicxx not found"
      continue
    fi
    # -isystem: no warnings from MPI's own headers.
    flags="$flags $(mpicxx --showme:compile | sed 's/-I/-isystem /g; s/-pthread//')"
    link="$(mpicxx --showme:link | sed 's/-pthread//; s/-Wl,[^ ]*//g') $link"
  fi
  if grep -q 'communicator.h\|<nccl.h>' "$file"; then link="-lnccl $link"; fi
  rm -f "$scratch/kernel.ptx"
  # shellcheck disable=SC2086  # lists of flags
  {
    check clang-device "$file" "$clang" $common $flags $device $device_warnings -S "$file" -o "$scratch/kernel.ptx"
    check clang-host "$file" "$clang" $common $flags $host $host_warnings -c "$file" -o "$scratch/kernel.o"
    [ ! -x "$by_nvcc" ] || check nvcc "$file" "$nvcc" -arch=sm_90 $nvcc_flags $flags "$file" -o "$scratch/nvcc.out" $link
  }
done

[ -x "$nvcc" ] || echo "nvcc not found: the nvcc half of this check was SKIPPED"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/usr/bin/env bash
# Runs every fuzz target for SECONDS (default 300) each, starting from the kept corpus and the golden files.
#   cmake --preset fuzz && cmake --build --preset fuzz && tools/fuzz.sh [SECONDS [BUILD_FOLDER]]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
build=${2:-build/fuzz}
for target in parse execute node fatbin; do
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  echo "fuzz: $target for $seconds s"
  case $target in
    fatbin) options=(-max_len=20000) ;;
    node) options=(-max_len=4000 -len_control=0) ;;  # requests, not text
    *) options=(tests/unit/machine/ptx -max_len=20000 -dict=fuzz/parse.dict) ;;
  esac
  # New inputs go to a scratch folder; a finding stays in the build folder, for study.
  if ! "$build/fuzz/${target}_fuzzer" "$work" "fuzz/corpus/$target" "${options[@]}" -max_total_time="$seconds" \
    -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/$target-" -print_final_stats=1 >"$work/log" 2>&1; then
    tail -40 "$work/log"
    echo "fuzz: $target FAILED, input in $build/$target-*"
    exit 1
  fi
  grep -E 'stat::number_of_executed_units' "$work/log"
  rm -rf "$work"
done

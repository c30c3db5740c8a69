#!/usr/bin/env bash
# Runs every fuzz target for SECONDS (default 300) each, starting from the kept corpus.
#   cmake --preset fuzz && cmake --build --preset fuzz && tools/fuzz.sh 300
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
for target in parse execute; do
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  echo "fuzz: $target for $seconds s"
  # New inputs go to a scratch folder; findings stay in build/fuzz for study.
  build/fuzz/fuzz/${target}_fuzzer "$work" "fuzz/corpus/$target" tests/ptx_run -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2048 -max_len=20000 -artifact_prefix="build/fuzz/$target-" -print_final_stats=1 2>&1 |
    grep -E 'stat::number_of_executed_units|SUMMARY|ERROR|cov:' | tail -3
  rm -rf "$work"
done

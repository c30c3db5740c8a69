#!/usr/bin/env bash
# Runs fuzz targets for SECONDS (default 300) each, starting from the kept corpus and the golden files; as many at a time as
# there are processors.
#   cmake --preset fuzz && cmake --build --preset fuzz && tools/fuzz.sh [SECONDS [BUILD_FOLDER [TARGET…]]]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
build=${2:-build/fuzz}
targets=("${@:3}")
[[ ${#targets[@]} -gt 0 ]] || targets=(parse execute node fatbin)

# The words of PTX, quoted as a dictionary has them.
words() {
  cd src/common/ptx
  grep -oE '"[a-z][a-z0-9_]*' forms.def | sed 's/$/"/'
  sed -nE 's/^MOD\([^"]*"([^"]+)".*/".\1"/p' mods.def
  sed -nE 's/^TYPE\((\w+),.*/".\1"/p' types.def
  sed -nE 's/^SREG\([^"]*"([^"]+)".*/"\1"/p' special_regs.def
  grep -ohE '"[.@]?[a-zA-Z_]{2,}"' parse*.cpp
}

# New inputs go to a scratch folder; a finding stays in the build folder, for study.
fuzz() {
  local target=$1 work options
  work=$(mktemp -d)
  case $target in
    fatbin) options=(-max_len=20000) ;;
    node) options=(-max_len=4000 -len_control=0) ;;  # requests, not text
    *) options=(tests/unit/machine/ptx -max_len=20000 -dict="$work/words") ;;
  esac
  (words | sort -u) >"$work/words"
  mkdir "$work/new"
  if ! "$build/tests/fuzz/${target}_fuzzer" "$work/new" "tests/fuzz/corpus/$target" "${options[@]}" -max_total_time="$seconds" \
    -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/$target-" -print_final_stats=1 >"$work/log" 2>&1; then
    tail -40 "$work/log"
    echo "fuzz: $target FAILED, input in $build/$target-*"
    rm -rf "$work"
    return 1
  fi
  echo "fuzz: $target, $seconds s, $(sed -n 's/^stat::number_of_executed_units: */units: /p' "$work/log")"
  rm -rf "$work"
}

export -f fuzz words
export seconds build
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I '{}' bash -euo pipefail -c 'fuzz {}'

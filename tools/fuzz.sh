#!/usr/bin/env bash
# Runs fuzz targets, as many at a time as there are processors.
#   cmake --preset fuzz && cmake --build --preset fuzz
#   tools/fuzz.sh [SECONDS [BUILD_FOLDER [TARGET…]]]  300 seconds each, from the corpus, the golden files, and what earlier runs
#                                                   of this build have found
#   tools/fuzz.sh --keep [BUILD_FOLDER [TARGET…]]     takes what runs have found into tests/fuzz/corpus: the fewest and smallest
#                                                   inputs that reach more, and findings that are mended. A finding that
#                                                   still fails is made small, and stays in the build folder
set -euo pipefail
cd "$(dirname "$0")/.."
act=fuzz
seconds=${1:-300}
if [[ $seconds == --keep ]]; then act=keep; fi
build=${2:-build/fuzz}
targets=("${@:3}")
[[ ${#targets[@]} -gt 0 ]] || targets=(parse execute node fatbin elf cached replies)

# The words of PTX, quoted as a dictionary has them.
words() {
  cd src/common/ptx
  grep -oE '"[a-z][a-z0-9_]*' forms.def | sed 's/$/"/'
  sed -nE 's/^MOD\([^"]*"([^"]+)".*/".\1"/p' mods.def
  sed -nE 's/^TYPE\((\w+),.*/".\1"/p' types.def
  sed -nE 's/^SREG\([^"]*"([^"]+)".*/"\1"/p' special_regs.def
  grep -ohE '"[.@]?[a-zA-Z_]{2,}"' parse/parse*.cpp
}

# What there is to begin with beside the corpus, and options.
set_up() {
  seeds=()
  options=(-timeout=10 -rss_limit_mb=2048)
  case $1 in
    parse | execute)
      seeds=(tests/unit/machine/ptx)
      (words | sort -u) >"$build/words.$1"
      options+=(-max_len=20000 -dict="$build/words.$1")
      ;;
    node) options+=(-max_len=4000 -len_control=0) ;;  # requests, not text
    fatbin | elf) options+=(-max_len=20000) ;;
    *) options+=(-max_len=4000) ;;
  esac
}

# New inputs and findings stay in the build folder.
fuzz() {
  local target=$1 seeds options work
  set_up "$target"
  work=$(mktemp -d)
  mkdir -p "$build/inputs/$target"
  if ! "$build/tests/fuzz/${target}_fuzzer" "$build/inputs/$target" "tests/fuzz/corpus/$target" "${seeds[@]}" "${options[@]}" \
    -max_total_time="$seconds" -artifact_prefix="$build/$target-" -print_final_stats=1 >"$work/log" 2>&1; then
    tail -40 "$work/log"
    echo "fuzz: $target FAILED, input in $build/$target-*"
    rm -rf "$work"
    return 1
  fi
  echo "fuzz: $target, $seconds s, $(sed -n 's/^stat::number_of_executed_units: */units: /p' "$work/log")"
  rm -rf "$work"
}

# A finding that still fails is made small; one that is mended must go on to pass.
keep() {
  local target=$1 seeds options work file folder program="$build/tests/fuzz/${1}_fuzzer" corpus="tests/fuzz/corpus/$1"
  set_up "$target"
  work=$(mktemp -d)
  mkdir -p "$build/inputs/$target" "$work/all"
  for file in "$build/$target"-{crash,leak,oom,timeout}-*; do
    [[ -f $file ]] || continue
    if "$program" "${options[@]}" "$file" >"$work/log" 2>&1; then
      mv "$file" "$corpus/$(basename "${file:0:-28}")"
    else
      "$program" "${options[@]}" -minimize_crash=1 -max_total_time=60 -exact_artifact_path="$work/small" "$file" >"$work/log" 2>&1 || true
      if [[ -s $work/small ]]; then mv "$work/small" "$file"; fi
      echo "fuzz: $target still fails with $file, $(stat -c %s "$file") bytes"
    fi
  done
  # What these reach is not needed twice; how often a line is reached makes no input new.
  for folder in "$corpus" "${seeds[@]}"; do cp "$folder"/* "$work/all/"; done
  find "$work/all" -type f -printf '%f\n' | sort >"$work/before"
  "$program" -set_cover_merge=1 -use_counters=0 "${options[@]}" "$work/all" "$build/inputs/$target" >"$work/log" 2>&1 || { tail -20 "$work/log"; rm -rf "$work"; return 1; }
  find "$work/all" -type f -printf '%f\n' | sort | comm -13 "$work/before" - >"$work/new"
  while read -r file; do cp "$work/all/$file" "$corpus/${file:0:12}"; done <"$work/new"
  echo "fuzz: $target, $(wc -l <"$work/new") new inputs in $corpus"
  rm -rf "$build/inputs/$target" "$work"
}

export -f fuzz keep set_up words
export seconds build
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I '{}' bash -euo pipefail -c "$act {}"

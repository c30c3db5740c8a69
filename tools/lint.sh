#!/usr/bin/env bash
# Format, static analysis and layers. `tools/lint.sh --fix` formats in place.
# clang-tidy reads the files given in LINT_FILES, those that the last LINT_COMMITS commits have touched (at most
# LINT_MOST of them, chosen by hash), or all of src/; never the instructions in src/simt/exec: those are thousands of
# template instances and would take longer than everything else together.
set -euo pipefail
cd "$(dirname "$0")/.."
clang_format=$(command -v clang-format-19 || true)
clang_tidy=$(command -v clang-tidy-19 || true)
if [[ -z $clang_format || -z $clang_tidy ]]; then
  echo "lint: needs clang-format-19 and clang-tidy-19 (apt-get install -y clang-format-19 clang-tidy-19)" >&2
  exit 2
fi

mapfile -t files < <(git ls-files --cached --others --exclude-standard \
  'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp' 'bench/*.cpp' 'fuzz/*.cpp')
if [[ ${1:-} == --fix ]]; then
  "$clang_format" -i "${files[@]}"
  exit 0
fi
"$clang_format" --dry-run --Werror "${files[@]}"
echo "format: ${#files[@]} files"
python3 tools/check_layers.py
python3 tools/check_words.py
# ruff is not in Debian 12: pyflakes finds unused and undefined names.
mapfile -t scripts < <(git ls-files '*.py')
pyflakes3 "${scripts[@]}"
mapfile -t shells < <(git ls-files '*.sh' .ci/run)
shellcheck -S warning "${shells[@]}"
echo "scripts: ${#scripts[@]} in Python, ${#shells[@]} in shell"

build=${LINT_BUILD:-build/dev}
if [[ ! -f $build/compile_commands.json ]]; then
  cmake --preset dev >/dev/null
fi
all_sources() { printf '%s\n' "${files[@]}" | grep -E '^src/.*\.cpp$' | grep -v '/exec/'; }
# A history that is shorter than asked for (a shallow clone) tells too little.
touched_sources() {
  [[ $(git rev-list --count --max-count="$((LINT_COMMITS + 1))" HEAD) -gt $LINT_COMMITS ]] || { all_sources; return; }
  comm -12 <(all_sources | sort) <(git diff --name-only "HEAD~$LINT_COMMITS" | sort)
}
# Another sample with every commit, the same one for the same commit.
sample() {
  local head
  head=$(git rev-parse HEAD)
  while read -r file; do printf '%s %s\n' "$(sha256sum <<<"$head$file" | cut -c1-16)" "$file"; done |
    sort | head -n "$1" | cut -d' ' -f2
}
if [[ -n ${LINT_FILES:-} ]]; then
  mapfile -t sources < <(printf '%s\n' $LINT_FILES)
elif [[ -n ${LINT_COMMITS:-} ]]; then
  mapfile -t sources < <(touched_sources | sample "${LINT_MOST:-100000}")
else
  mapfile -t sources < <(all_sources)
fi
# xargs -r: after commits that touch no source there is nothing to read.
printf '%s\n' "${sources[@]}" |
  xargs -r -P "$(nproc)" -n 4 "$clang_tidy" -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null
echo "clang-tidy: ${#sources[@]} files"

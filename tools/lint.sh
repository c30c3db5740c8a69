#!/usr/bin/env bash
# Format, layers, words, sizes, scripts, and clang-tidy. `tools/lint.sh --fix` formats in place.
# clang-tidy reads the files given in LINT_FILES, this run's part of the suite LINT_SUITE (.ci/rotation.toml), or all of src/.
set -euo pipefail
cd "$(dirname "$0")/.."
clang_format=$(command -v clang-format-19 || true)
clang_tidy=$(command -v clang-tidy-19 || true)
if [[ -z $clang_format || -z $clang_tidy ]]; then
  echo "lint: needs clang-format-19 and clang-tidy-19 (apt-get install -y clang-format-19 clang-tidy-19)" >&2
  exit 2
fi

mapfile -t files < <(git ls-files --cached --others --exclude-standard \
  'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp')
if [[ ${1:-} == --fix ]]; then
  "$clang_format" -i "${files[@]}"
  exit 0
fi
"$clang_format" --dry-run --Werror "${files[@]}"
echo "format: ${#files[@]} files"
python3 tools/check_layers.py
python3 tools/check_words.py
python3 tools/figures.py >/dev/null
# ruff is not in Debian 12: pyflakes finds unused and undefined names.
mapfile -t scripts < <(git ls-files '*.py')
pyflakes3 "${scripts[@]}"
mapfile -t shells < <(git ls-files '*.sh' .ci/run)
shellcheck -S warning "${shells[@]}"
echo "scripts: ${#scripts[@]} in Python, ${#shells[@]} in shell"

build=build/lint
cmake --preset dev -B "$build" -DFB_UNITY=ON >/dev/null
if [[ -n ${LINT_SUITE:-} ]]; then
  mapfile -t units < <(tools/choose_tests.py items "$LINT_SUITE")
  # Commits that touch no source may leave a part without any.
  [[ ${#units[@]} -gt 0 ]] || { echo "clang-tidy: nothing in this part"; exit 0; }
else
  read -r -a units <<<"${LINT_FILES:-}"
fi
python3 tools/tidy.py "$build" "${units[@]}"

#!/usr/bin/env bash
# Lines and branches of src/ that tests execute, by layer. Builds the preset `coverage` first.
#   tools/coverage.sh                  the unit tests
#   tools/coverage.sh -R Deadlock      tests that ctest selects by these options; e2e tests count their programs too
#   FILES=race tools/coverage.sh       the files of one layer instead of all layers
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/coverage
profiles=$PWD/$build/profiles
[[ $# -gt 0 ]] || set -- -L unit
targets=(unit_tests)
[[ "$*" == "-L unit" ]] || targets=(all)
cmake --preset coverage >/dev/null
cmake --build --preset coverage --target "${targets[@]}"
rm -rf "$profiles"
mkdir -p "$profiles"
# %m: one file for each binary, merged by its processes. A failing test still counts what it executed.
LLVM_PROFILE_FILE="$profiles/%m.profraw" FABRICBENCH_RANDOM_PROGRAMS=1000 \
  ctest --preset coverage -j "$(nproc)" "$@" || echo "coverage: some tests failed" >&2
llvm-profdata-19 merge -sparse "$profiles"/*.profraw -o "$build/all.profdata"
mapfile -t programs < <(find "$build/bin" "$build/lib" "$build/tests" -type f -executable ! -name '*.cmake' \
  \( -name '*test*' -o -name 'fabricbench*' -o -name 'litmus_run' -o -name '*.so*' \))
objects=()
for program in "${programs[@]:1}"; do objects+=(-object "$program"); done
llvm-cov-19 export -summary-only -instr-profile "$build/all.profdata" "${programs[0]}" "${objects[@]}" \
  >"$build/summary.json" 2>"$build/llvm-cov.log" || { tail -5 "$build/llvm-cov.log"; exit 1; }
python3 - "$build/summary.json" "$PWD/src/" "${FILES:-}" <<'PY'
import collections
import json
import pathlib
import sys

summary, source, layer = sys.argv[1:4]
totals = collections.defaultdict(lambda: [0, 0, 0, 0])
layers = [str(file.parent.relative_to(source)) for file in pathlib.Path(source).rglob("CMakeLists.txt") if "fb_layer(" in file.read_text()]
with open(summary, encoding="utf-8") as file:
    files = json.load(file)["data"][0]["files"]
for entry in files:
    name = entry["filename"]
    if not name.startswith(source):
        continue
    path = name[len(source):]
    folder = max((name for name in layers if path.startswith(name + "/")), key=len, default="")
    if layer and layer != folder.split("/")[-1]:
        continue
    row = totals[path if layer else folder]
    lines, branches = entry["summary"]["lines"], entry["summary"]["branches"]
    for column, value in enumerate((lines["covered"], lines["count"], branches["covered"], branches["count"])):
        row[column] += value
totals["all"] = [sum(column) for column in zip(*totals.values())]
width = max(map(len, totals))
print(f"{'file' if layer else 'layer':<{width}}   lines            branches")
for name, row in sorted(totals.items(), key=lambda item: (item[0] == "all", item[0])):
    lines, branches = (100 * part / max(whole, 1) for part, whole in (row[:2], row[2:]))
    print(f"{name:<{width}}   {lines:5.1f} % of {row[1]:<6} {branches:5.1f} % of {row[3]}")
PY

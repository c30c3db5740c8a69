#!/usr/bin/env python3
"""Fails on an include that the layers do not allow.

A layer is a folder of src/ with a line `fb_layer(NAME … DEPS a b c)` in its CMakeLists.txt; shim/cuda is the layer shim_cuda. A file may include headers of
its own layer and of the layers named there or below those. Tests may include everything. The table of layers in
ARCHITECTURE.md must state the same DEPS. Layers of the program `fabricbench` print by base/output.h and write files by
write_file, where nothing is lost in silence."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src"
# Not in fabricbench: the program fabricbench-confine has a main of its own in sandbox.
UNCHECKED = re.compile(r"\bfmt::print\(|\bstd::(cout|cerr|printf|puts|ofstream)\b")
KEYWORDS = {"SOURCES", "DEPS", "LIBS", "HEADERS", "APART", "GUEST_VALUES", "COLD"}


def read_dependencies():
    layers = {}
    for cmake in sorted([*SOURCE.glob("*/CMakeLists.txt"), *SOURCE.glob("shim/*/CMakeLists.txt")]):
        if cmake.parent == SOURCE / "shim":
            continue
        text = re.sub(r"#.*", "", cmake.read_text())
        found = re.search(r"fb_layer\((\w+)(.*?)\)", text, re.S)
        if not found:
            sys.exit(f"{cmake}: no fb_layer()")
        words = found[2].split()
        deps, reading = [], False
        for word in words:
            if word in KEYWORDS:
                reading = word == "DEPS"
            elif reading:
                deps.append(word)
        folder = cmake.parent.relative_to(SOURCE).as_posix()
        if found[1] != folder.replace("/", "_"):
            sys.exit(f"{cmake}: the layer is called {found[1]}, its folder {folder}")
        layers[found[1]] = deps
    return layers


def reachable(layer, layers, path=()):
    if layer in path:
        sys.exit(f"layers depend on each other: {' -> '.join(path + (layer,))}")
    allowed = {layer}
    for dep in layers[layer]:
        allowed |= reachable(dep, layers, path + (layer,))
    return allowed


def compare_with_page(layers):
    """Rows `| `a`, `b` | `deps …` (why) |` of ARCHITECTURE.md; the number of those that differ from CMake's."""
    stated = {}
    for line in (SOURCE.parent / "ARCHITECTURE.md").read_text().splitlines():
        row = re.match(r"\| (`[\w`, ]+`) \| `([\w ]+)`", line)
        if row:
            for name in re.findall(r"`(\w+)`", row[1]):
                stated[name] = set(row[2].split())
    bad = 0
    for layer, deps in layers.items():
        if layer != "base" and stated.get(layer) != set(deps):
            print(f"ARCHITECTURE.md: layer {layer}: the table says {sorted(stated.get(layer, []))}, CMake {sorted(deps)}")
            bad += 1
    return bad


def main():
    layers = read_dependencies()
    bad = compare_with_page(layers)
    ours = reachable("cli", layers)
    for layer in layers:
        allowed = reachable(layer, layers)
        for path in sorted((SOURCE / layer.replace("shim_", "shim/")).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".in"}:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if layer in ours and path.stem not in {"output", "confine_main"} and (found := UNCHECKED.search(line.split("//")[0])):
                    print(f"{path.relative_to(SOURCE.parent)}:{number}: {found[0]}: print by base/output.h, write by write_file")
                    bad += 1
                include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                if not include:
                    continue
                target = re.sub(r"^shim/", "shim_", include[1]).split("/")[0]
                where = f"{path.relative_to(SOURCE.parent)}:{number}"
                if "/" not in include[1] or target not in layers:
                    print(f'{where}: include "{include[1]}" does not start with a layer')
                    bad += 1
                elif target not in allowed:
                    print(f"{where}: layer {layer} must not include {include[1]} (it may use: {' '.join(sorted(allowed))})")
                    bad += 1
    print(f"layers: {len(layers)} checked, {bad} forbidden includes, wrong rows or unchecked outputs")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

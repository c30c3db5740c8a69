#!/usr/bin/env python3
"""Fails on an include, or a forward declaration, that wings and layers do not allow.

A wing is a folder of src/; a layer is a folder of a wing, or a wing itself, with a line `fb_layer(NAME … DEPS a b c)` in its
CMakeLists.txt; ranks/shim/cuda is the layer shim_cuda. A file may include headers of its own layer and of the layers named
there or below those, by their whole path from src, and may declare types of these layers alone. Floors of a layer, a line
`FLOORS top a|b bottom`, are folders of it: a file may use its own folder's and those of lower floors, and what stands in no
floor's folder is above them all. Process borders are borders
of wings: what is on one side includes nothing of the other, but for the rows of ACROSS. Tests may include everything. The
table of layers in ARCHITECTURE.md must state the same DEPS. Layers of the program `fabricbench` print by
common/base/output.h and write files by write_file, where nothing is lost in silence.

A room is a .cpp with its .h (and NAME_fields.h, the JSON of what NAME.h defines): rooms of a layer include each other in
no circle, but for the rows of CIRCLES. A folder holds at most MOST_FILES files, but for those of LISTS.

Usage: check_layers.py [ROOT]                      ROOT: another tree than that of this file
       check_layers.py --objects BUILD [ROOT]      the object files of a build: a layer uses no symbol that is defined only
                                                   where it may not look; of floors, where files are compiled one by one
"""

import collections
import pathlib
import re
import subprocess
import sys

JUDGING = {"cli", "campaign", "audit", "judge", "toolchain", "launcher"}
# Wing → the wings that it may include besides itself.
WINGS = {**{wing: JUDGING | {"common"} for wing in JUDGING}, "virtual_node": {"common"}, "ranks": {"common"}, "common": set()}
# They look at the machine's tables from outside any run, and execute no guest.
ACROSS = {
    ("cli/command_cublas_model.cpp", "virtual_node/fabric/cublas_model.h"),
    ("cli/command_nccl_model.cpp", "virtual_node/fabric/nccl_model.h"),
    ("audit/inspect/coverage.cpp", "virtual_node/simt/exec/select.h"),
    ("audit/inspect/ptx_view.cpp", "virtual_node/simt/calls/builtins.h"),
}
# (file, type): it owns such objects and knows nothing of them.
OPAQUE = {("virtual_node/machine/process/process.h", "fb::machine::CommHandle")}
# Rooms that include each other, and why that is right.
CIRCLES = {
    frozenset({"virtual_node/simt/block", "virtual_node/simt/warp"}): "a block owns its warps, and a warp tells its block what its lanes do",
}
MOST_FILES = 45
# Lists of cases, and headers under the names that CUDA prescribes.
LISTS = {"tests/unit/machine/ptx", "tests/e2e/exploits", "tests/e2e/candidates", "tests/fuzz/corpus/elf", "tests/fuzz/corpus/replies",
         "sdk/include"}
FOLDERS = ("src", "tests", "tools", "sdk", "docs", "examples", "platforms", "problems", "prompts", "python")
# Not in fabricbench: the program fabricbench-confine has a main of its own in sandbox.
UNCHECKED = re.compile(r"\bfmt::print\(|\bstd::(cout|cerr|ofstream)\b")
KEYWORDS = {"SOURCES", "DEPS", "LIBS", "HEADERS", "APART", "GUEST_VALUES", "COLD", "FLOORS"}
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
# A comment, a literal, the rest of a directive, a namespace, a type that is declared or defined, a brace.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*'
                   r"|\bnamespace\s+(?P<space>[\w:]*)\s*\{|\b(?:class|struct|union|enum(?:\s+class)?)\s+(?P<type>\w+)(?P<rest>[^;{}()=]*)(?P<end>[;{])|[{}]",
                   re.S | re.M)


class Tree:
    def __init__(self, root):
        self.root, self.source = root, root / "src"
        self.layers, self.folders = {}, {}  # name → DEPS; folder → name
        self.floors = {}  # folder → its height
        for cmake in sorted(self.source.rglob("CMakeLists.txt")):
            text = re.sub(r"#.*", "", cmake.read_text())
            found = re.search(r"fb_layer\((\w+)(.*?)\)", text, re.S)
            if found:
                self.add(cmake.parent.relative_to(self.source).as_posix(), found[1], found[2].split())
        self.files = sorted(path for path in self.source.rglob("*") if path.suffix in {".h", ".cpp", ".in"})

    def add(self, folder, name, words):
        wing, _, below = folder.partition("/")
        if name != (below or wing).replace("/", "_"):
            sys.exit(f"{folder}: the layer is called {name}")
        if wing not in WINGS:
            sys.exit(f"{folder}: {wing} is no wing")
        lists, reading = {"DEPS": [], "FLOORS": []}, None
        for word in words:
            reading = word if word in KEYWORDS else reading
            if reading in lists and word != reading:
                lists[reading].append(word)
        self.layers[name], self.folders[folder] = lists["DEPS"], name
        for height, floor in enumerate(reversed(lists["FLOORS"])):
            for part in floor.split("|"):
                if not (self.source / folder / part).is_dir():
                    sys.exit(f"{folder}: {part}, a floor, is no folder")
                self.floors[f"{folder}/{part}"] = height

    def layer_of(self, path):
        """Of a path below src; None: it is in no layer's folder."""
        parts = path.split("/")
        return next((self.folders[folder] for k in range(len(parts) - 1, 0, -1) if (folder := "/".join(parts[:k])) in self.folders), None)

    def floor_of(self, path):
        """The folder and its height; None: above all floors."""
        parts = path.split("/")
        return next(((folder, self.floors[folder]) for k in range(len(parts) - 1, 0, -1) if (folder := "/".join(parts[:k])) in self.floors), None)

    def reachable(self, layer, path=()):
        if layer in path:
            sys.exit(f"layers depend on each other: {' -> '.join(path + (layer,))}")
        allowed = {layer}
        for dep in self.layers[layer]:
            allowed |= self.reachable(dep, path + (layer,))
        return allowed


def compare_with_page(tree):
    """Rows `| `a`, `b` | `deps …` (why) |` of ARCHITECTURE.md; those that differ from CMake's."""
    stated = {}
    for line in (tree.root / "ARCHITECTURE.md").read_text().splitlines():
        row = re.match(r"\| (`[\w`, ]+`) \| `([\w ]+)`", line)
        if row:
            for name in re.findall(r"`(\w+)`", row[1]):
                stated[name] = set(row[2].split())
    return [f"ARCHITECTURE.md: layer {layer}: the table says {sorted(stated.get(layer, []))}, CMake {sorted(deps)}"
            for layer, deps in tree.layers.items() if layer != "base" and stated.get(layer) != set(deps)]


def types_in(text):
    """(line, namespace, name, is it defined) of each type that stands directly in a namespace."""
    scopes = []  # of a namespace its name, of other braces None
    for token in TOKEN.finditer(text):
        if token["space"] is not None:
            scopes.append(token["space"])
        elif token["type"]:
            if None not in scopes:
                yield text.count("\n", 0, token.start()) + 1, "::".join(filter(None, scopes)), token["type"], token["end"] == "{"
            if token["end"] == "{":
                scopes.append(None)
        elif token[0] == "{":
            scopes.append(None)
        elif token[0] == "}" and scopes:
            scopes.pop()


def may_use(tree, file, target):
    """None, or why a file may not know what stands in another; both are paths below src."""
    layer, other = tree.layer_of(file), tree.layer_of(target)
    wing, to = file.split("/")[0], target.split("/")[0]
    if to != wing and to not in WINGS[wing] and (file, target) not in ACROSS:
        return f"{wing} and {to} are on two sides of a process border"
    if layer == other:
        here, there = tree.floor_of(file), tree.floor_of(target)
        if here is None or here == there or (there is not None and there[1] < here[1]):
            return None
        return f"{there[0] if there else 'what is in no floor'} is not below {here[0]}"
    allowed = tree.reachable(layer)
    return None if other in allowed else f"layer {layer} may use: {' '.join(sorted(allowed))}"


def room_of(name):
    return re.sub(r"(_fields)?\.\w+$", "", name)


def circles(edges):
    """The sets of two or more rooms that reach each other; edges: room → the rooms that it includes."""
    number, lowest, open_rooms, found = {}, {}, [], []

    def visit(room):
        number[room] = lowest[room] = len(number)
        open_rooms.append(room)
        for other in sorted(edges.get(room, ())):
            if other not in number:
                visit(other)
                lowest[room] = min(lowest[room], lowest[other])
            elif other in open_rooms:
                lowest[room] = min(lowest[room], number[other])
        if lowest[room] == number[room]:
            at = open_rooms.index(room)
            if len(open_rooms) > at + 1:
                found.append(frozenset(open_rooms[at:]))
            del open_rooms[at:]

    for room in sorted(edges):
        if room not in number:
            visit(room)
    return found


def check_rooms(included):
    """included: (room, room of the same layer) → where it is included, "FILE:LINE"."""
    edges = collections.defaultdict(set)
    for room, other in included:
        edges[room].add(other)
    found, bad = circles(edges), []
    for circle in found:
        if circle not in CIRCLES:
            places = [where for (room, other), where in sorted(included.items()) if room in circle and other in circle]
            bad.append(f"rooms include each other: {' '.join(sorted(circle))} ({', '.join(places)})")
    return bad + [f"no circle of {' '.join(sorted(circle))}: its row of CIRCLES goes" for circle in CIRCLES if circle not in found]


def full_folders(root):
    for top in FOLDERS:
        for folder in sorted({path.parent for path in (root / top).rglob("*") if path.is_file() and "__pycache__" not in path.parts}):
            name, count = folder.relative_to(root).as_posix(), sum(path.is_file() for path in folder.iterdir())
            if count > MOST_FILES and name not in LISTS:
                yield f"{name}: {count} files, more than {MOST_FILES}: make folders that mean something"


def symbols_of(objects):
    """Paths of object files → (path, is it defined there, symbol) of each of their symbols that linkers see."""
    for first in range(0, len(objects), 100):
        some = objects[first:first + 100]
        lines = subprocess.run(["nm", "-A", "-P", "-g", *some], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in lines:
            path, _, rest = line.rpartition(": ") if ": " in line else line.partition(":")
            symbol, kind = rest.split()[:2]
            yield path, kind not in "Uvw", symbol


def check_objects(tree, build):
    """Symbols that a layer uses and that only others define, on which it does not depend."""
    sources = {}  # object file → a path below src; of a batch of several files the layer's folder with a slash
    for path in sorted((build / "src").rglob("*.o")):
        folder, _, rest = path.relative_to(build / "src").as_posix().partition("/CMakeFiles/")
        source = f"{folder}/{rest.partition('/')[2].removesuffix('.o')}"
        sources[str(path)] = source if (tree.source / source).is_file() else f"{folder}/"
    if not sources:
        sys.exit(f"{build}: no object files in src/")
    across = {(tree.layer_of(file), tree.layer_of(target)) for file, target in ACROSS}
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    for path, is_defined, symbol in symbols_of(list(sources)):
        # Functions of C are the interfaces of libraries, which programs load.
        if symbol.startswith("_Z"):
            (defined if is_defined else used)[symbol].add(sources[path])
    bad = []
    for symbol, files in sorted(used.items()):
        for file in sorted(files):
            homes = sorted(defined.get(symbol, ()))
            if not homes or any(tree.layer_of(home) is None for home in homes) or tree.layer_of(file) is None:
                continue
            reasons = [None if (tree.layer_of(file), tree.layer_of(home)) in across or
                       (tree.layer_of(file) == tree.layer_of(home) and (file.endswith("/") or home.endswith("/")))
                       else may_use(tree, file, home) for home in homes]
            if all(reasons):
                bad.append(f"src/{file}: must not use {symbol} of src/{homes[0]}: {reasons[0]}")
    return bad, len(sources)


def check(tree):
    """What is wrong, a line each."""
    bad = compare_with_page(tree) + list(full_folders(tree.root))
    included = {}
    ours = tree.reachable("cli")
    crossed, declared, defined = set(), [], {}
    for path in tree.files:
        name = path.relative_to(tree.source).as_posix()
        layer, text = tree.layer_of(name), path.read_text()
        lines = text.splitlines()
        if layer is None:
            if any(INCLUDE.match(line) for line in lines):
                bad.append(f"src/{name}: belongs to no layer")
            continue
        for number, line in enumerate(lines, 1):
            where = f"src/{name}:{number}"
            if layer in ours and path.stem not in {"output", "confine_main"} and (found := UNCHECKED.search(line.split("//")[0])):
                bad.append(f"{where}: {found[0]}: print by common/base/output.h, write by write_file")
            include = INCLUDE.match(line)
            if not include:
                continue
            if include[1].split("/")[0] not in WINGS or not (tree.source / include[1]).exists():
                bad.append(f'{where}: include "{include[1]}" is no path from src')
            elif why := may_use(tree, name, include[1]):
                bad.append(f"{where}: must not include {include[1]}: {why}")
            crossed.add((name, include[1]))
            room, other = room_of(name), room_of(include[1])
            if room != other and include[1].endswith(".h") and layer == tree.layer_of(include[1]):
                included.setdefault((room, other), f"{name}:{number}")
        for number, space, type_name, is_defined in types_in(text):
            if is_defined:
                defined.setdefault((space, type_name), []).append(name)
            else:
                declared.append((name, number, space, type_name))
    for name, number, space, type_name in declared:
        reasons = [may_use(tree, name, home) for home in defined.get((space, type_name), [])]
        if reasons and all(reasons) and (name, f"{space}::{type_name}") not in OPAQUE:
            bad.append(f"src/{name}:{number}: must not declare {space}::{type_name}: {reasons[0]}")
    bad += check_rooms(included)
    bad += [f"src/{file} does not declare {known}: its row of OPAQUE goes"
            for file, known in sorted(OPAQUE - {(name, f"{space}::{type_name}") for name, _, space, type_name in declared})]
    bad += [f"{file} does not include {target}: its row of ACROSS goes" for file, target in sorted(ACROSS - crossed)]
    return bad


def main():
    arguments = sys.argv[1:]
    build = None
    if arguments[:1] == ["--objects"] and len(arguments) > 1:
        build, arguments = pathlib.Path(arguments[1]).resolve(), arguments[2:]
    root = pathlib.Path(arguments[0] if arguments else __file__).resolve()
    tree = Tree(root if arguments else root.parent.parent)
    if build:
        bad, count = check_objects(tree, build)
        print("\n".join([*bad, f"layers: {count} object files, {len(bad)} forbidden symbols"]))
    else:
        bad = check(tree)
        print("\n".join([*bad, f"layers: {len(tree.layers)} in {len(WINGS)} wings, {len(bad)} forbidden includes and declarations, circles, "
                               "full folders, wrong rows or unchecked outputs"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

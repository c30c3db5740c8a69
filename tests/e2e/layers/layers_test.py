#!/usr/bin/env python3
"""tools/check_layers.py on a small tree: it is right as it is, and each include, declaration or symbol that wings and layers
do not allow is refused.

Usage: layers_test.py COMPILER
"""
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)

# Layer → DEPS, by folder.
LAYERS = {"common/base": "", "common/wire": "base", "virtual_node/mem": "base", "virtual_node/machine": "mem wire", "ranks/shim/cuda": "wire",
          "judge/catalog": "base", "judge": "catalog wire", "cli": "judge mem"}
FLOORS = {"virtual_node/machine": "server time|process engine"}
FILES = {
    "virtual_node/machine/server/secret.h": "namespace fb::machine {\nstruct Secret {};\n}\n",
    "virtual_node/machine/server/server.h": '#include "virtual_node/machine/process/process.h"\n#include "virtual_node/machine/time/clock.h"\n',
    "virtual_node/machine/process/process.h": '#include "virtual_node/machine/engine/engine.h"\nnamespace fb::machine {\nstruct Engine;\nstruct Secret;\nstruct Process {};\n}\n',
    "virtual_node/machine/time/clock.h": '#include "virtual_node/machine/engine/policies/policy.h"\nnamespace fb::machine {\nstruct Clock {};\n}\n',
    "virtual_node/machine/engine/engine.h": '#include "virtual_node/machine/engine/policies/policy.h"\nnamespace fb::machine {\nstruct Engine {};\n}\n',
    "virtual_node/machine/engine/policies/policy.h": "namespace fb::machine {\nstruct Engine;\n}\n",
    "common/base/result.h": "namespace fb {\ntemplate <class T>\nclass Result {};\nstruct Errors {\n  struct Line { int n; };\n};\n}  // namespace fb\n",
    "common/wire/messages.h": '#include "common/base/result.h"\nnamespace fb::wire {\nenum class Kind : int { hello };\nstruct Hello { Kind kind; };\n}\n',
    "virtual_node/mem/space.h": "namespace fb::mem {\nclass Space final {\n public:\n  int size = 0;\n};\n}\n",
    "virtual_node/machine/node.h": '#include "virtual_node/mem/space.h"\nnamespace fb::mem {\nclass Space;\n}\nnamespace fb::machine {\nstruct Node;\nstruct Node {};\n}\n',
    "ranks/shim/cuda/call.cpp": '#include "common/wire/messages.h"\n',
    "judge/catalog/problem.h": "namespace fb::catalog {\nstruct Problem { int n; };\n}\n",
    "judge/judge.h": '#include "judge/catalog/problem.h"\nnamespace fb::wire {\nstruct Hello;\n}\nnamespace fb::judge {\nstruct Verdict {};\n}\n',
    "cli/main.cpp": '#include "judge/judge.h"\n#include "virtual_node/mem/space.h"\n',
}
ACROSS = {("cli/main.cpp", "virtual_node/mem/space.h")}
OPAQUE = {("virtual_node/machine/process/process.h", "fb::machine::Secret")}


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, rows in (("ACROSS", ACROSS), ("OPAQUE", OPAQUE), ("CIRCLES", {})):
            self.set_rows(name, rows)
        rows = []
        for place, deps in LAYERS.items():
            wing, _, below = place.partition("/")
            name = (below or wing).replace("/", "_")
            self.write(f"src/{place}/CMakeLists.txt", f"fb_layer({name}\n  SOURCES a.cpp  # DEPS nothing\n  DEPS {deps}\n"
                                                        f"  FLOORS {FLOORS.get(place, '')}\n  COLD)\n")
            rows.append(f"| `{name}` | `{deps}` |")
        self.write("ARCHITECTURE.md", "\n".join(rows) + "\n")
        for path, text in FILES.items():
            self.write(f"src/{path}", text)

    def set_rows(self, name, rows):
        self.addCleanup(setattr, check_layers, name, getattr(check_layers, name))
        setattr(check_layers, name, rows)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def add(self, path, text):
        self.write(f"src/{path}", FILES.get(path, "") + text)

    def found(self):
        return check_layers.check(check_layers.Tree(self.root))

    def refused(self, *words):
        found = self.found()
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_the_tree_is_right(self):
        self.assertEqual(self.found(), [])

    def test_the_node_is_not_included_from_above(self):
        self.add("judge/judge.h", '#include "virtual_node/mem/space.h"\n')
        self.refused("src/judge/judge.h:8", "virtual_node/mem/space.h", "process border")

    def test_nor_where_deps_allow_it(self):
        self.write("src/cli/list.cpp", '#include "virtual_node/mem/space.h"\n')
        self.refused("src/cli/list.cpp:1", "process border")

    def test_ranks_are_not_included_from_above(self):
        self.write("src/ranks/shim/cuda/call.h", "")
        self.add("judge/catalog/problem.h", '#include "ranks/shim/cuda/call.h"\n')
        self.refused("src/judge/catalog/problem.h:4", "process border")

    def test_nor_is_the_judge_from_below(self):
        self.add("virtual_node/machine/node.h", '#include "judge/catalog/problem.h"\n')
        self.refused("src/virtual_node/machine/node.h:9", "process border")

    def test_ranks_and_node_do_not_meet(self):
        self.add("ranks/shim/cuda/call.cpp", '#include "virtual_node/mem/space.h"\n')
        self.refused("src/ranks/shim/cuda/call.cpp:2", "process border")

    def test_a_layer_includes_nothing_above(self):
        self.add("virtual_node/mem/space.h", '  #  include "virtual_node/machine/node.h"\n')
        self.refused("src/virtual_node/mem/space.h:7", "layer mem may use: base mem")

    def test_a_layer_inside_another_is_another(self):
        self.add("judge/catalog/problem.h", '#include "judge/judge.h"\n')
        self.refused("src/judge/catalog/problem.h:4", "layer catalog")

    def test_an_include_is_a_whole_path(self):
        self.add("judge/judge.h", '#include "catalog/problem.h"\n#include "judge/catalog/gone.h"\n')
        found = self.found()
        self.assertEqual(len(found), 2, found)
        self.assertIn("src/judge/judge.h:8", found[0])
        self.assertIn("judge/catalog/gone.h", found[1])

    def test_the_nodes_types_are_not_declared_from_above(self):
        self.add("judge/judge.h", "namespace fb::mem { class Space; }\n")
        self.refused("src/judge/judge.h:8", "fb::mem::Space", "process border")

    def test_nor_where_deps_allow_it_for_an_include(self):
        self.write("src/cli/list.h", "namespace fb {\nnamespace mem {\nclass Space;\n}\n}\n")
        self.refused("src/cli/list.h:3", "fb::mem::Space", "process border")

    def test_a_layer_declares_nothing_above(self):
        self.add("virtual_node/mem/space.h", "namespace fb::machine {\nstruct Node;\n}\n")
        self.refused("src/virtual_node/mem/space.h:8", "fb::machine::Node", "layer mem")

    def test_a_floor_includes_nothing_above(self):
        self.write("src/virtual_node/machine/process/call.h", "")
        self.add("virtual_node/machine/engine/policies/policy.h", '#include "virtual_node/machine/process/call.h"\n')
        self.refused("src/virtual_node/machine/engine/policies/policy.h:4", "machine/process is not below virtual_node/machine/engine")

    def test_nor_beside_itself(self):
        self.add("virtual_node/machine/process/process.h", '#include "virtual_node/machine/time/clock.h"\n')
        self.refused("src/virtual_node/machine/process/process.h:7", "machine/time is not below")

    def test_a_row_for_an_opaque_type_is_needed(self):
        text = FILES["virtual_node/machine/process/process.h"]
        self.write("src/virtual_node/machine/process/process.h", text.replace("struct Secret;", ""))
        self.refused("process.h does not declare fb::machine::Secret")

    def test_nor_what_is_above_all(self):
        self.add("virtual_node/machine/server/server.h", '#include "virtual_node/machine/node.h"\n')
        self.refused("src/virtual_node/machine/server/server.h:3", "in no floor")

    def test_a_floor_declares_nothing_above(self):
        self.add("virtual_node/machine/engine/engine.h", "namespace fb::machine {\nclass Process;\n}\n")
        self.refused("src/virtual_node/machine/engine/engine.h:6", "fb::machine::Process")

    def test_a_floor_is_a_folder(self):
        self.write("src/virtual_node/machine/CMakeLists.txt", "fb_layer(machine SOURCES a.cpp DEPS mem wire FLOORS cellar)\n")
        with self.assertRaisesRegex(SystemExit, "cellar"):
            self.found()

    def test_comments_and_literals_declare_nothing(self):
        self.add("virtual_node/mem/space.h",
                 'namespace fb::machine {\n// struct Node;\n/* struct Node; */\nconst char* text = "struct Node; {";\nconst char* raw = R"x(struct Node; { )x";\n}\n')
        self.assertEqual(self.found(), [])

    def test_a_row_across_the_border_is_needed(self):
        self.write("src/cli/main.cpp", '#include "judge/judge.h"\n')
        self.refused("cli/main.cpp does not include virtual_node/mem/space.h")

    def test_the_page_states_the_same(self):
        self.write("src/judge/catalog/CMakeLists.txt", "fb_layer(catalog SOURCES a.cpp DEPS base wire)\n")
        self.refused("ARCHITECTURE.md: layer catalog", "'wire'")

    def test_layers_do_not_depend_on_each_other(self):
        self.write("src/common/base/CMakeLists.txt", "fb_layer(base SOURCES a.cpp DEPS wire)\n")
        with self.assertRaisesRegex(SystemExit, "depend on each other"):
            self.found()

    def test_a_layer_has_the_name_of_its_folder(self):
        self.write("src/judge/catalog/CMakeLists.txt", "fb_layer(problems SOURCES a.cpp DEPS base)\n")
        with self.assertRaisesRegex(SystemExit, "the layer is called problems"):
            self.found()

    def test_what_the_program_writes_is_checked(self):
        self.add("judge/judge.h", "std::ofstream file;\n")
        self.refused("src/judge/judge.h:8", "write_file")

    def make_circle(self):
        self.write("src/judge/plan.h", '#include "judge/score.h"\n')
        self.write("src/judge/score.h", "")
        self.write("src/judge/score_fields.h", '#include "judge/score.h"\n#include "judge/judge.h"\n')
        self.write("src/judge/judge.cpp", '#include "judge/judge.h"\n#include "judge/plan.h"\n')

    def test_rooms_do_not_include_each_other(self):
        self.make_circle()
        self.refused("judge/judge judge/plan judge/score (judge/judge.cpp:2, judge/plan.h:1, judge/score_fields.h:2)")

    def test_a_room_and_its_fields_are_one(self):
        self.write("src/judge/score.h", "")
        self.write("src/judge/score_fields.h", '#include "judge/score.h"\n')
        self.write("src/judge/score.cpp", '#include "judge/score_fields.h"\n')
        self.assertEqual(self.found(), [])

    def test_a_row_for_a_circle_is_needed(self):
        circle = frozenset({"judge/judge", "judge/plan", "judge/score"})
        self.set_rows("CIRCLES", {circle: "why"})
        self.refused("no circle of judge/judge judge/plan judge/score")
        self.make_circle()
        self.assertEqual(self.found(), [])

    def test_a_folder_is_no_heap(self):
        for k in range(46):
            self.write(f"src/judge/data/file_{k}.h", "")
            self.write(f"tests/e2e/exploits/file_{k}.cu", "")
        self.refused("src/judge/data: 46 files")
        (self.root / "src/judge/data/file_0.h").unlink()
        self.assertEqual(self.found(), [])

    def compile(self, source, text, unity=False):
        """Text stands in for what the file says: declarations alone, as if there were an include."""
        folder = next(place for place in sorted(LAYERS, key=len, reverse=True) if source.startswith(place + "/"))
        if not unity:
            self.write(f"src/{source}", "")
        name = "Unity/unity_0_cxx.cxx" if unity else source.removeprefix(folder + "/")
        made = self.root / "build/src" / folder / "CMakeFiles" / "fb_layer.dir" / f"{name}.o"
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.argv[1], "-x", "c++", "-c", "-o", made, "-"], input=text, text=True, check=True)

    def symbols(self):
        return check_layers.check_objects(check_layers.Tree(self.root), self.root / "build")[0]

    def test_symbols_go_where_includes_may(self):
        self.compile("virtual_node/mem/space.cpp", "namespace fb::mem { int size() { return 1; } }")
        self.compile("virtual_node/machine/node.cpp", "namespace fb::mem { int size(); }\nnamespace fb::machine { int size() { return mem::size(); } }")
        self.assertEqual(self.symbols(), [])
        for unity in (False, True):
            self.compile("virtual_node/mem/other.cpp", "namespace fb::machine { int size(); }\nint other() { return fb::machine::size(); }", unity)
            found = self.symbols()
            self.assertEqual(len(found), 1, found)
            self.assertIn("_ZN2fb7machine4sizeEv of src/virtual_node/machine/node.cpp: layer mem may use: base mem", found[0])
            self.compile("virtual_node/mem/other.cpp", "", unity)

    def test_nor_over_a_process_border(self):
        self.compile("virtual_node/mem/space.cpp", "namespace fb::mem { int size() { return 1; } }")
        self.compile("judge/judge.cpp", "namespace fb::mem { int size(); }\nint judge() { return fb::mem::size(); }")
        self.assertIn("process border", self.symbols()[0])

    def test_nor_up_a_floor(self):
        uses = "namespace fb::machine { int now(); int then() { return now(); } }"
        self.compile("virtual_node/machine/time/clock.cpp", "namespace fb::machine { int now() { return 1; } }")
        self.compile("virtual_node/machine/server/server.cpp", uses)
        self.assertEqual(self.symbols(), [])
        self.compile("virtual_node/machine/engine/engine.cpp", uses.replace("then", "next"))
        self.assertIn("machine/time is not below virtual_node/machine/engine", self.symbols()[0])

    def test_functions_of_c_and_what_several_define_are_free(self):
        inline = "namespace fb { inline int size() { return 1; }\nint (*f)() = size; }"
        self.compile("virtual_node/machine/node.cpp", inline + 'extern "C" int machine_size() { return 1; }')
        self.compile("common/base/size.cpp", "namespace fb { inline int size() { return 1; }\nint (*g)() = size; }")
        self.compile("common/wire/size.cpp", 'namespace fb { int size(); }\nextern "C" int machine_size();\nint all() { return fb::size() + machine_size(); }')
        self.assertEqual(self.symbols(), [])

    def test_a_build_without_objects_says_so(self):
        with self.assertRaisesRegex(SystemExit, "no object files"):
            self.symbols()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

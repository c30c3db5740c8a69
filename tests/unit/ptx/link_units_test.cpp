// Device code of several files as one module: what a name means, and which mistakes are named.

#include "common/ptx/link/link_units.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/ptx/parse/parser.h"
#include "common/ptx/print/printer.h"

namespace fb::ptx {
namespace {

LinkUnit unit(const std::string& name, std::string_view body) {
  auto module = parse(".version 8.5\n.target sm_90\n.address_size 64\n.file 1 \"" + name + "\"\n" + std::string(body));
  EXPECT_TRUE(module) << to_string(module.error(), name);
  return {.name = "", .module = module ? std::move(*module) : Module()};
}

bool supplied(std::string_view name) { return name == "vprintf"; }

Module linked(std::vector<LinkUnit> units) {
  auto whole = link_units(std::move(units), supplied);
  EXPECT_TRUE(whole) << to_string(whole.error(), "link");
  return whole ? std::move(*whole) : Module();
}

std::string errors_of(std::vector<LinkUnit> units) {
  const auto whole = link_units(std::move(units), supplied);
  return whole ? "" : to_string(whole.error(), "link");
}

const Function& callee_of(const Module& module, std::string_view caller) {
  const Function* f = module.find_function(caller);
  const auto call = std::ranges::find(f->body, Form::call, &Instruction::form);
  return module.functions[call->operands[1].index];
}

TEST(LinkUnits, AFunctionOfAnotherFileIsCalled) {
  const Module whole = linked({unit("a.cu", ".extern .func f();\n.visible .entry k() { call f; ret; }\n"),
                               unit("b.cu", ".visible .func f() { .loc 1 7 0\n ret; }\n")});
  ASSERT_EQ(whole.functions.size(), 2u);
  const Function& f = callee_of(whole, "k");
  EXPECT_TRUE(f.defined);
  ASSERT_FALSE(f.body.empty());
  EXPECT_EQ(whole.files[f.body[0].source.file], "b.cu");
  EXPECT_EQ(f.body[0].source.line, 7u);
}

TEST(LinkUnits, AVariableOfAnotherFileIsRead) {
  const Module whole =
      linked({unit("a.cu",
                   ".visible .global .u32 other = 1;\n.extern .global .u32 word;\n"
                   ".visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [word]; ret; }\n"),
              unit("b.cu", ".visible .global .u32 word = 5;\n.visible .global .u64 where = generic(word);\n")});
  ASSERT_EQ(whole.variables.size(), 3u);
  const Operand& symbol = whole.find_function("k")->body[0].operands[1].elements[0];
  EXPECT_EQ(whole.variables[symbol.index].init[0], 5);
  const Variable* where = whole.find_variable("where");
  EXPECT_EQ(whole.variables[where->relocations[0].symbol.index].name, "word");
}

// The declaration comes first in one unit and has the number that the definition has in the other.
TEST(LinkUnits, ADeclarationNeverTakesThePlaceOfItsDefinition) {
  const Module whole = linked({unit("a.cu", ".extern .func f();\n.extern .const .b8 t[4];\n"),
                               unit("b.cu", ".visible .func f() { ret; }\n.visible .const .b8 t[4] = {1, 2};\n"),
                               unit("c.cu", ".extern .func f();\n.visible .entry k() { call f; ret; }\n")});
  ASSERT_EQ(whole.functions.size(), 2u);
  EXPECT_TRUE(callee_of(whole, "k").defined);
  ASSERT_EQ(whole.variables.size(), 1u);
  EXPECT_EQ(whole.variables[0].init[1], 2);
}

TEST(LinkUnits, WeakDefinitionsAreOneAndAVisibleOneWins) {
  const Module whole = linked(
      {unit("a.cu", ".weak .func f() { ret; }\n.visible .entry k() { call f; ret; }\n.weak .global .u32 v = 1;\n"),
       unit("b.cu", ".weak .func f() { .loc 1 3 0\n ret; }\n.visible .global .u32 v = 2;\n"),
       unit("c.cu", ".weak .func f() { ret; }\n.visible .entry l() { call f; ret; }\n")});
  EXPECT_EQ(std::ranges::count(whole.functions, "f", &Function::name), 1);
  EXPECT_EQ(&callee_of(whole, "k"), &callee_of(whole, "l"));
  ASSERT_EQ(whole.variables.size(), 1u);
  EXPECT_EQ(whole.variables[0].init[0], 2);
}

TEST(LinkUnits, TheLargestCommonVariableIsTaken) {
  const Module whole =
      linked({unit("a.cu", ".common .global .b8 v[4];\n"), unit("b.cu", ".common .global .b8 v[16];\n")});
  ASSERT_EQ(whole.variables.size(), 1u);
  EXPECT_EQ(whole.variables[0].bytes, 16u);
}

TEST(LinkUnits, StaticNamesStayWithTheirFile) {
  const Module whole =
      linked({unit("a.cu", ".global .u32 v = 1;\n.func f() { ret; }\n.visible .entry k() { call f; ret; }\n"),
              unit("b.cu", ".global .u32 v = 2;\n.func f() { ret; }\n.visible .entry l() { call f; ret; }\n")});
  EXPECT_EQ(whole.variables.size(), 2u);
  EXPECT_NE(&callee_of(whole, "k"), &callee_of(whole, "l"));
}

// A static function does not answer what another file declares.
TEST(LinkUnits, AStaticFunctionIsNoDefinitionForOthers) {
  EXPECT_NE(errors_of({unit("a.cu", ".extern .func f();\n.visible .entry k() { call f; ret; }\n"),
                       unit("b.cu", ".func f() { ret; }\n")})
                .find("undefined symbol f: a.cu uses it"),
            std::string::npos);
}

TEST(LinkUnits, DynamicSharedMemoryNeedsNoDefinitionAndOtherSharedMemoryDoes) {
  const std::string_view use = ".extern .shared .b8 s[];\n.extern .shared .b8 d[8];\n";
  const Module whole =
      linked({unit("a.cu", use), unit("b.cu", ".visible .shared .b8 d[8];\n.extern .shared .b8 s[];\n")});
  EXPECT_EQ(std::ranges::count(whole.variables, "d", &Variable::name), 1);
  EXPECT_NE(whole.find_variable("d")->linkage, Linkage::external);
  const std::string reads = ".visible .entry k() { .reg .b32 %r; ld.shared.u8 %r, [d]; ld.shared.u8 %r, [s]; ret; }\n";
  const std::string said = errors_of({unit("a.cu", std::string(use) + reads)});
  EXPECT_NE(said.find("undefined symbol d: a.cu"), std::string::npos) << said;
  EXPECT_EQ(said.find("undefined symbol s"), std::string::npos) << said;
}

TEST(LinkUnits, FunctionsOfTheMachineNeedNoDefinition) {
  EXPECT_EQ(errors_of({unit("a.cu", ".extern .func vprintf();\n.visible .entry k() { call vprintf; ret; }\n")}), "");
}

// As clang declares a kernel that the host launches; narrow parameters of functions have other types.
TEST(LinkUnits, AKernelOfAnotherFileMayBeDeclaredAsAFunction) {
  const Module whole = linked({unit("a.cu", ".extern .func k(.param .b32 x);\n.global .u64 address = k;\n"),
                               unit("b.cu", ".visible .entry k(.param .u8 x) { ret; }\n")});
  ASSERT_EQ(whole.functions.size(), 1u);
  EXPECT_TRUE(whole.functions[0].entry);
  const std::string text = errors_of({unit("a.cu", ".extern .func k();\n.global .u64 address = k;\n"),
                                      unit("b.cu", ".visible .entry k(.param .u8 x) { ret; }\n")});
  EXPECT_NE(text.find("k has other parameters in a.cu than in b.cu"), std::string::npos) << text;
}

TEST(LinkUnits, EveryMistakeIsNamedWithItsFiles) {
  const std::string text =
      errors_of({unit("a.cu", ".visible .func _Z1fi(.param .b32 x) { ret; }\n.visible .global .u32 v;\n"),
                 unit("b.cu", ".visible .func _Z1fi(.param .b32 x) { ret; }\n.visible .func v() { ret; }\n"),
                 unit("c.cu", ".extern .func _Z1fi(.param .b64 x);\n")});
  EXPECT_NE(text.find("duplicate symbol _Z1fi (f(int)): defined in a.cu and in b.cu"), std::string::npos) << text;
  EXPECT_NE(text.find("v is a variable in a.cu and a function in b.cu"), std::string::npos) << text;
  EXPECT_NE(text.find("_Z1fi (f(int)) has other parameters in c.cu than in a.cu"), std::string::npos) << text;
}

TEST(LinkUnits, WhatIsMissingIsNamedForEachFile) {
  const std::string use = ".extern .global .u32 gone;\n.extern .func away();\n";
  const std::string text =
      errors_of({unit("a.cu", use + ".visible .entry k() { call away; call away; ret; }\n.global .u64 where = gone;\n"),
                 unit("b.cu", use + ".visible .func f() { call away; ret; }\n.visible .global .u64 pointer = f;\n")});
  EXPECT_NE(text.find("undefined symbol gone: a.cu"), std::string::npos) << text;
  EXPECT_NE(text.find("undefined symbol away: a.cu"), std::string::npos) << text;
  EXPECT_NE(text.find("undefined symbol away: b.cu"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << text;
}

TEST(LinkUnits, WhatNoKernelReachesMayLackThingsAndIsDropped) {
  const Module whole =
      linked({unit("library.cu",
                   ".extern .func away();\n.extern .global .u32 gone;\n.visible .func f() { call away; ret; }\n"),
              unit("b.cu",
                   ".visible .func g() { ret; }\n.visible .entry k() { call g; ret; }\n"
                   ".func h() { ret; }\n.visible .global .u64 pointer = h;\n")});
  ASSERT_EQ(whole.functions.size(), 3u);
  EXPECT_EQ(callee_of(whole, "k").name, "g");
  ASSERT_EQ(whole.variables.size(), 1u);
  EXPECT_EQ(whole.functions[whole.variables[0].relocations[0].symbol.index].name, "h");
}

TEST(LinkUnits, SizesAndSpacesMustAgree) {
  EXPECT_NE(errors_of({unit("a.cu", ".extern .global .b8 v[4];\n"), unit("b.cu", ".visible .global .b8 v[8];\n")})
                .find("v has 4 bytes in a.cu and 8 in b.cu"),
            std::string::npos);
  EXPECT_EQ(errors_of({unit("a.cu", ".extern .global .b8 v[];\n"), unit("b.cu", ".visible .global .b8 v[8];\n")}), "");
  EXPECT_NE(errors_of({unit("a.cu", ".extern .global .b8 v[4];\n"), unit("b.cu", ".visible .const .b8 v[4];\n")})
                .find("v is a .global variable in a.cu and a .const one in b.cu"),
            std::string::npos);
}

TEST(LinkUnits, TheWholeCanBeReadAgain) {
  const Module whole = linked({unit("a.cu", ".extern .func f();\n.visible .entry k() { call f; ret; }\n"),
                               unit("b.cu", ".visible .func f() { ret; }\n")});
  EXPECT_TRUE(parse(print(whole)));
}

}  // namespace
}  // namespace fb::ptx

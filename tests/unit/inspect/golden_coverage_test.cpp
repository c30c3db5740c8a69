// That a form executes is shown by running it: the golden files, cases and drawn programs of tests/unit/machine
// together must hold every spelling of the kept list that is said to execute, and every form that the engine has.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <tuple>

#include "audit/inspect/coverage.h"
#include "common/base/strings.h"
#include "common/ptx/parse/match_form.h"
#include "common/ptx/parse/parser.h"
#include "machine/exact/accesses.h"
#include "machine/exact/cases.h"
#include "machine/exact/products.h"
#include "machine/exact/reductions.h"
#include "virtual_node/simt/exec/select.h"

namespace fb::inspect {
namespace {

constexpr ptx::Type kEveryType[] = {
#define TYPE(name, bits, kind) ptx::Type::name,
#include "common/ptx/types.def"
#undef TYPE
};

// What tells spellings apart once the order of modifiers is taken away.
using Key = std::tuple<ptx::Form, std::string, std::vector<ptx::Type>, std::vector<ptx::Space>>;

Key key_of(ptx::Form form, const ptx::ModSet& mods, const std::vector<ptx::Type>& types,
           const std::vector<ptx::Space>& spaces) {
  return {form, mods.to_string(), types, spaces};
}

struct Executed {
  std::set<Key> spellings;
  std::set<ptx::Form> forms;
};

const Executed& executed() {
  static const Executed all = [] {
    Executed e;
    const auto add = [&](const std::string& text, const std::string& name) {
      const auto module = ptx::parse(text);
      if (!module) throw std::runtime_error(to_string(module.error(), name));
      for (const ptx::Function& f : module->functions) {
        for (const ptx::Instruction& i : f.body) {
          e.spellings.insert(key_of(i.form, i.mods, i.types, i.spaces));
          e.forms.insert(i.form);
        }
      }
    };
    const std::string folder = std::string(FB_SOURCE_DIR) + "/tests/unit/machine/";
    for (const auto& entry : std::filesystem::directory_iterator(folder + "ptx")) {
      if (entry.path().extension() == ".ptx") add(read_file(entry.path()), entry.path());
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder + "cases")) {
      if (entry.path().extension() == ".txt")
        add(cases::make_kernel(cases::read_cases(read_file(entry.path()))), entry.path());
    }
    Rng rng(1);
    std::vector<accesses::Drawn> drawn;
    for (const auto& a : accesses::read_accesses(read_file(folder + "cases/accesses.lst")))
      drawn.push_back(accesses::draw(a, rng));
    add(accesses::make_program(drawn, rng).ptx, "accesses");
    const auto list = reductions::read_list(read_file(folder + "cases/reductions.lst"));
    for (const bool multimem : {false, true}) add(reductions::make_program(list, multimem, rng).ptx, "reductions");
    for (const products::Drawn& product : products::kDrawn) {
      for (uint64_t seed = 1; seed <= product.count; ++seed) {
        Rng of_product(seed);
        const products::Product p = product.draw(of_product, products::is_exact(seed));
        add(p.ptx, p.about);
      }
    }
    return e;
  }();
  return all;
}

TEST(GoldenFiles, HoldEverySpellingThatIsSaidToExecute) {
  for (const Spelling& s : measure_coverage().spellings) {
    if (!s.executes) continue;
    const ptx::OpcodeMatch match = ptx::match_opcode(s.text);
    bool found = false;
    for (const ptx::FormSpec* spec : match.forms) {
      found |= executed().spellings.contains(key_of(spec->form, match.mods, match.types, match.spaces));
    }
    EXPECT_TRUE(found) << s.text << " is in no file of tests/unit/machine/{ptx,cases}";
  }
}

TEST(GoldenFiles, HoldEveryFormOfTheEngine) {
  for (uint16_t k = 0; k < static_cast<uint16_t>(ptx::Form::count_); ++k) {
    const auto form = static_cast<ptx::Form>(k);
    if (executed().forms.contains(form)) continue;
    // A form may be absent only if no engine function exists for it: probed with every single type and space.
    bool supported = false;
    for (const ptx::Type type : kEveryType) {
      ptx::Instruction inst;
      inst.form = form;
      inst.operands.resize(ptx::spec_of(form).operands.size());
      inst.types = {type, type};
      supported |= simt::select({inst}) != nullptr;
    }
    EXPECT_FALSE(supported) << ptx::to_string(form) << " is in no file of tests/unit/machine/{ptx,cases}";
  }
}

TEST(Coverage, EverySpellingExecutes) {
  for (const Spelling& s : measure_coverage().spellings) EXPECT_TRUE(s.executes) << s.text;
}

}  // namespace
}  // namespace fb::inspect

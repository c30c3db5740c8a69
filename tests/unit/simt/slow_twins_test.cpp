// Which instructions both engines share. In reference mode a form without a slow twin runs its fast function, and a
// comparison of the engines says nothing about it: such forms are listed here, each with its reason.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>

#include "common/ptx/parse/parser.h"
#include "common/ptx/traits.h"
#include "ptx/form_instances.h"
#include "virtual_node/simt/exec/select.h"
#include "virtual_node/simt/reference/reference.h"

namespace fb::simt {
namespace {

using ptx::Form;

struct WithoutTwin {
  Form form;
  const char* reason;
};

constexpr WithoutTwin kWithoutTwin[] = {
    {Form::st_bulk, "writes zeros"},
    {Form::tex, "texels are found lane by lane, outside the SIMD targets; tests/e2e/textures has the oracle"},
    {Form::tex_level, "as tex"},
    {Form::tex_grad, "as tex"},
    {Form::tld4, "as tex"},
    {Form::suld, "as tex"},
    {Form::sust, "as tex"},
    {Form::tensormap_replace, "sets a field of a tensor map"},
    {Form::tensormap_replace_dim, "sets a field of a tensor map"},
    {Form::tensormap_replace_mode, "sets a field of a tensor map"},
    {Form::tensormap_cp_fenceproxy, "copies a tensor map"},
    {Form::tcgen05_alloc, "tells which columns of tensor memory are free"},
};

// What has a value to get wrong. Asynchronous copies are performed by the machine, the same in both modes.
bool needs_twin(Form form) {
  const ptx::Traits& t = ptx::traits(form);
  return t.computes || ((t.reads || t.writes) && !t.asynchronous);
}

// Spellings that the fast engine executes and the slow one leaves to it, by form; one for each form.
std::map<Form, std::string> find_forms_without_twin() {
  std::map<Form, std::string> found;
  for (size_t k = 0; k < static_cast<size_t>(Form::count_); ++k) {
    const auto form = static_cast<Form>(k);
    if (!needs_twin(form)) continue;
    for (const ptx::FormInstance& instance : ptx::make_instances(form)) {
      const auto module = ptx::parse(ptx::wrap_instances(instance.text + "\n"));
      if (!module) continue;  // breaks a rule
      const auto& body = module->functions.back().body;
      const auto inst = std::ranges::find(body, form, &ptx::Instruction::form);
      if (inst == body.end()) continue;
      const Selection selection{*inst};
      if (select(selection) && !select_reference(selection)) found.try_emplace(form, instance.text);
    }
  }
  return found;
}

TEST(SlowTwins, exist_for_all_forms_that_compute_but_the_listed_ones) {
  const auto found = find_forms_without_twin();
  for (const auto& [form, text] : found) {
    const auto listed = std::ranges::find(kWithoutTwin, form, &WithoutTwin::form);
    EXPECT_NE(listed, std::end(kWithoutTwin))
        << ptx::to_string(form) << " has no slow twin, e.g. for " << text
        << ": add a case to src/virtual_node/simt/reference, or a row with a reason to kWithoutTwin";
    if (listed != std::end(kWithoutTwin))
      std::cout << "no slow twin: " << ptx::to_string(form) << " (" << listed->reason << ")\n";
  }
  for (const WithoutTwin& row : kWithoutTwin)
    EXPECT_TRUE(found.contains(row.form)) << ptx::to_string(row.form) << " has a slow twin: remove its row";
}

}  // namespace
}  // namespace fb::simt

#include "audit/inspect/ptx_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "audit/inspect/coverage.h"
#include "common/ptx/parse/parser.h"
#include "common/ptx/print/printer.h"
#include "virtual_node/simt/calls/builtins.h"

namespace fb::inspect {
namespace {

// The opcode with its modifiers, as the printer writes it.
std::string spelling_of(const ptx::Module& module, const ptx::Function& function, const ptx::Instruction& inst) {
  std::string text = ptx::print(module, function, inst);
  if (text.starts_with('@')) text.erase(0, text.find(' ') + 1);
  return text.substr(0, text.find_first_of(" \t;"));
}

void append_names(std::string& text, std::string_view title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  text += std::string(title) + ":";
  for (const std::string& name : names) text += " " + name;
  text += "\n";
}

}  // namespace

Result<PtxView> view_ptx(std::string_view text) {
  const auto module = ptx::parse(text);
  if (!module) return std::unexpected(module.error());
  PtxView view;
  std::map<std::string, FormUse> uses;
  for (const ptx::Function& f : module->functions) {
    if (!f.defined) {
      view.external_functions.push_back(f.name);
      if (!simt::find_builtin(f.name)) view.missing_functions.push_back(f.name);
      continue;
    }
    (f.entry ? view.kernels : view.device_functions).push_back(f.name);
    view.instructions += f.body.size();
    for (const ptx::Instruction& inst : f.body) {
      const std::string spelling = spelling_of(*module, f, inst);
      FormUse& use = uses[spelling];
      if (use.count++ != 0) continue;
      use.spelling = spelling;
      use.form = ptx::to_string(inst.form);
      use.tier = "T" + std::to_string(ptx::tier_of(inst.form));
      use.executes = executes(use.spelling);
      use.first_line = inst.at.line;
    }
  }
  for (auto& [spelling, use] : uses) view.forms.push_back(std::move(use));
  std::ranges::sort(view.forms, [](const FormUse& a, const FormUse& b) {
    return std::tie(b.count, a.spelling) < std::tie(a.count, b.spelling);
  });
  return view;
}

std::string to_text(const PtxView& v) {
  std::string text;
  append_names(text, "kernels", v.kernels);
  append_names(text, "device functions", v.device_functions);
  append_names(text, "external functions", v.external_functions);
  text += fmt::format("{} instructions, {} spellings\n\n", v.instructions, v.forms.size());
  for (const FormUse& f : v.forms) text += fmt::format("{:>7}  {}  {}\n", f.count, f.tier, f.spelling);
  std::string missing;
  for (const FormUse& f : v.forms) {
    if (!f.executes) missing += fmt::format("  {} (first at PTX line {})\n", f.spelling, f.first_line);
  }
  for (const std::string& name : v.missing_functions) missing += fmt::format("  function {}: defined nowhere\n", name);
  text += missing.empty() ? "\nEverything is supported.\n" : "\nNot supported:\n" + missing;
  return text;
}

std::string to_json(const PtxView& v) {
  nlohmann::ordered_json forms = nlohmann::ordered_json::array();
  for (const FormUse& f : v.forms) {
    forms.push_back({{"spelling", f.spelling},
                     {"form", f.form},
                     {"tier", f.tier},
                     {"count", f.count},
                     {"executes", f.executes},
                     {"first_line", f.first_line}});
  }
  nlohmann::ordered_json j = {{"kernels", v.kernels},
                              {"device_functions", v.device_functions},
                              {"external_functions", v.external_functions},
                              {"missing_functions", v.missing_functions},
                              {"instructions", v.instructions},
                              {"forms", forms}};
  return j.dump(2) + "\n";
}

}  // namespace fb::inspect

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "campaign/prompts/capped_text.h"
#include "campaign/prompts/machine_facts.h"
#include "campaign/prompts/problem_facts.h"
#include "campaign/prompts/prompt.h"
#include "campaign/prompts/prompt_files.h"
#include "campaign/prompts/worked_examples.h"
#include "common/base/strings.h"
#include "common/platform/platform.h"
#include "judge/catalog/source.h"

namespace fb::prompts {
namespace {

// Collects values, and the errors of all of them.
class Gathering {
 public:
  void add(const std::string& name, Result<std::string> value) {
    if (value) {
      values_[name] = std::move(*value);
    } else {
      errors_.list.insert(errors_.list.end(), value.error().list.begin(), value.error().list.end());
    }
  }
  Result<Values> values() && {
    if (!errors_.list.empty()) return std::unexpected(std::move(errors_));
    return std::move(values_);
  }

 private:
  Values values_;
  Errors errors_;
};

Result<std::string> template_of(const catalog::Problem& problem) {
  const auto text = catalog::make_template(problem);
  if (!text) return std::unexpected(text.error());
  return fenced(*text, "cuda");
}

Result<std::string> machine_of(const catalog::Problem& problem) {
  const auto facts = machine_facts(problem);
  if (!facts) return std::unexpected(facts.error());
  return fill_prompt_file("parts/machine.md", *facts);
}

Result<std::string> toolchain_of(const catalog::Problem& problem) {
  const std::string libraries = describe_libraries(problem);
  const auto allowed = [&](std::string_view library) { return problem.rules.allows(library) ? "yes" : ""; };
  return fill_prompt_file("parts/toolchain.md", {{"libraries", libraries},
                                                 {"no_libraries", libraries.empty() ? "yes" : ""},
                                                 {"nccl", allowed("nccl")},
                                                 {"verbs", allowed("verbs")}});
}

Result<std::string> judging_of(const catalog::Problem& problem) {
  const auto platform = platform::load_platform(problem.platform);
  if (!platform) return std::unexpected(platform.error());
  const uint32_t nodes = platform->node.nodes;
  return fill_prompt_file(
      "parts/judging.md",
      {{"yardstick", problem.baseline.empty() ? "an expert's solution" : "a plain solution (the baseline)"},
       {"one_node", nodes == 1 ? "yes" : ""},
       {"nodes", nodes == 1 ? "" : fmt::format("{}", nodes)}});
}

Result<std::string> answer_form(const catalog::Problem& problem) {
  const auto markers = describe_markers(problem);
  if (!markers) return std::unexpected(markers.error());
  return fill_prompt_file("parts/answer.md", {{"markers", *markers}});
}

}  // namespace

Result<Prompt> first_prompt(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options) {
  const auto known = variants();
  if (std::ranges::find(known, options.variant) == known.end()) {
    return error(fmt::format("there is no prompt variant '{}'; there are: {}", options.variant, fmt::join(known, " ")));
  }
  Gathering gathering;
  gathering.add("statement", std::string(trim(problem.statement)));
  gathering.add("template", template_of(problem));
  gathering.add("driver", problem.driver.empty() ? "" : fenced(problem.driver, "cuda"));
  gathering.add("data", describe_data(problem));
  gathering.add("tolerances", describe_tolerances(problem));
  gathering.add("rules", describe_rules(problem));
  gathering.add("judging", judging_of(problem));
  gathering.add("machine", machine_of(problem));
  gathering.add("toolchain", toolchain_of(problem));
  gathering.add("answer", answer_form(problem));
  gathering.add("example", options.worked_example ? worked_examples(pack, problem, 1) : std::string());
  gathering.add("examples", worked_examples(pack, problem, 2));
  const auto values = std::move(gathering).values();
  if (!values) return std::unexpected(values.error());
  auto system = fill_prompt_file("system.md", {});
  if (!system) return std::unexpected(system.error());
  auto user = fill_prompt_file(fmt::format("variants/{}.md", options.variant), *values);
  if (!user) return std::unexpected(user.error());
  return Prompt{.system = *system + "\n", .user = *user + "\n"};
}

}  // namespace fb::prompts

#include "judge/standalone/problem_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/content_hash.h"
#include "common/base/strings.h"
#include "judge/catalog/collectives.h"
#include "judge/catalog/source.h"

namespace fb::standalone {
namespace {

using catalog::Expression;
using catalog::Problem;

// What a text with these words in it needs.
constexpr auto kNeeds = std::to_array<std::pair<std::string_view, int>>({
    {"multimem", 90},
    {"CU_MULTICAST", 90},
    {"cuMulticast", 90},
    {"cp.async.bulk", 90},
    {"wgmma", 90},
    {"st.async", 90},
    {"fence.proxy.async", 90},
    {"cluster", 90},
    {"griddepcontrol", 90},
    {"elect.sync", 90},
    {"mapa", 90},
    {"fp8", 89},
    {"cp.async", 80},
    {"bfloat16", 80},
    {"__reduce_", 80},
    {"mma.sync", 80},
});

}  // namespace

int least_capability(const Problem& problem) {
  int least = kLeastCapability;
  for (const auto& [word, needs] : kNeeds) {
    for (const std::string* text : {&problem.reference, &problem.driver}) {
      if (text->find(word) != std::string::npos) least = std::max(least, needs);
    }
  }
  return least;
}

namespace {

// All that problem.cpp says but the hash itself.
std::string facts(const Problem& problem) {
  std::string text;
  const auto line = [&]<class... Values>(fmt::format_string<Values...> format, Values&&... values) {
    text += fmt::format(format, std::forward<Values>(values)...) + '\n';
  };
  // A function of a size's values, in the order of the parameters.
  const auto function = [&](const Expression& expression) {
    std::string names;
    const auto used = expression.names();
    for (size_t k = 0; k < problem.parameters.size(); ++k) {
      const std::string& name = problem.parameters[k].first;
      if (used.contains(name)) names += fmt::format("const int64_t {} = w.values[{}]; ", name, k);
    }
    for (const std::string name : {"world", "rank"}) {
      if (used.contains(name)) names += fmt::format("const int64_t {0} = w.{0}; ", name);
    }
    return fmt::format("[]([[maybe_unused]] const Where& w) -> int64_t {{ {}return {}; }}", names, expression.cxx());
  };

  line("const char* const name = \"{}\";", problem.name);
  line("const std::vector<int> worlds = {{{}}};", fmt::join(problem.worlds, ", "));
  std::vector<std::string> parameters;
  for (const auto& [name, about] : problem.parameters) parameters.push_back(fmt::format("\"{}\"", name));
  line("const std::vector<const char*> parameters = {{{}}};\n", fmt::join(parameters, ", "));

  line("const std::vector<Tensor> tensors = {{");
  for (const catalog::Tensor& tensor : problem.tensors) {
    line("    {{\"{}\", DType::{}, {}, {}, Fill::{},", tensor.name, catalog::name_of(tensor.dtype), tensor.output,
         tensor.replicated, tensor.output || tensor.fill.empty() ? "none" : tensor.fill);
    line("     {{");
    for (const Expression& extent : tensor.shape) line("         {},", function(extent));
    line("     }},\n     {}}},", tensor.device ? function(*tensor.device) : "nullptr");
  }
  line("}};\n");

  line("const std::vector<Size> sizes = {{");
  for (const catalog::SizeClass& size : problem.sizes) {
    std::vector<int64_t> values;
    for (const auto& [name, about] : problem.parameters) values.push_back(size.values.find(name)->second);
    line("    {{\"{}\", {}, {}, {{{}}}}},", size.name, size.quick, size.timed, fmt::join(values, ", "));
  }
  line("}};\n");

  line("int64_t link_bytes(const Where& where) {{\n  const auto of = {};\n  return of(where);\n}}",
       function(problem.cost.link_bytes));
  line("double bus_factor([[maybe_unused]] double world) {{ return {}; }}",
       problem.collective.empty() ? "0" : catalog::find_collective(problem.collective)->bus_factor);
  return text;
}

}  // namespace

std::string task_hash(const Problem& problem) {
  return hash_words({facts(problem), catalog::args_header(problem), read_file(problem.oracle), problem.mathematics,
                     problem.driver})
      .substr(0, 32);
}

std::string problem_source(const Problem& problem) {
  constexpr std::string_view kHead = R"(
#include <algorithm>

namespace problem {

// Division rounds down, and the rest has the divisor's sign.
[[maybe_unused]] static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
[[maybe_unused]] static int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
[[maybe_unused]] static int64_t ceil_div(int64_t a, int64_t b) { return floor_div(a, b) + (a % b != 0 ? 1 : 0); }

)";
  return fmt::format(
      "// Made from problem.toml.\n\n#include \"harness/problem.h\"\n{}const char* const task_hash = \"{}\";\n"
      "const int least_capability = {};\n{}\n}}  // namespace problem\n",
      kHead, task_hash(problem), least_capability(problem), facts(problem));
}

}  // namespace fb::standalone

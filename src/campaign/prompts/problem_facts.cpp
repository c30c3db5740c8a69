#include "campaign/prompts/problem_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "common/base/strings.h"
#include "judge/catalog/dtype.h"
#include "judge/catalog/libraries.h"
#include "judge/catalog/markers.h"
#include "judge/catalog/rules.h"
#include "judge/catalog/source.h"

namespace fb::prompts {
namespace {

using catalog::DType;
using catalog::Problem;
using catalog::SizeClass;
using catalog::Tensor;
using Row = std::vector<std::string>;

std::string table(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("| {} |\n", fmt::join(row, " | "));
    if (&row == &rows.front()) text += fmt::format("|{}\n", fmt::join(Row(row.size(), "---|"), ""));
  }
  return text;
}

std::string_view describe_fill(std::string_view fill) {
  if (fill == "spread") return "random sign, magnitude 2^-4 to 2^4";
  if (fill == "unit") return "random, -1 to 1";
  if (fill == "integers") return "random whole numbers, -8 to 8";
  if (fill == "bits") return "random bits";
  return "see the statement";
}

std::string describe_shape(const Tensor& tensor) {
  Row extents;
  for (const auto& extent : tensor.shape) extents.emplace_back(extent.text());
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::string tensors(const Problem& problem) {
  std::vector<Row> rows = {{"tensor", "", "format", "shape", "contents", "what it is"}};
  for (const Tensor& tensor : problem.tensors) {
    std::string contents(tensor.output ? "written by you" : describe_fill(tensor.fill));
    if (tensor.device) contents += fmt::format("; on GPU {}", tensor.device->text());
    rows.push_back({fmt::format("`{}`", tensor.name), tensor.output ? "out" : "in",
                    std::string(catalog::name_of(tensor.dtype)), describe_shape(tensor), contents, tensor.about});
  }
  return table(rows);
}

std::string sizes(const Problem& problem) {
  std::vector<Row> rows = {{"size"}};
  for (const auto& [name, about] : problem.parameters) rows[0].push_back(fmt::format("`{}`", name));
  rows[0].emplace_back("timed");
  for (const SizeClass& size : problem.sizes) {
    Row row = {size.name};
    for (const auto& [name, about] : problem.parameters) row.push_back(fmt::format("{}", size.values.at(name)));
    row.emplace_back(size.timed ? "yes" : "");
    rows.push_back(std::move(row));
  }
  return table(rows);
}

Result<std::string> cost(const Problem& problem) {
  const int world = std::ranges::max(problem.worlds);
  std::vector<Row> rows = {{"timed size", "bytes over links", "bytes of memory", "floating-point operations"}};
  std::vector<const catalog::Expression*> columns = {&problem.cost.link_bytes, &problem.cost.memory_bytes,
                                                     &problem.cost.flops};
  if (problem.uses_network()) {
    rows[0].emplace_back("bytes through a network card");
    columns.push_back(&problem.cost.network_bytes);
  }
  for (const SizeClass& size : problem.sizes) {
    if (!size.timed) continue;
    const catalog::Values values = problem.values(size, world, 0);
    Row row = {size.name};
    for (const auto* expression : columns) {
      const auto value = expression->evaluate(values);
      if (!value) return std::unexpected(value.error());
      row.push_back(fmt::format("{}", *value));
    }
    rows.push_back(std::move(row));
  }
  const std::string where = world == 1 ? "" : fmt::format(", on the busiest of {} ranks", world);
  return fmt::format("What a call of our own solution does{} (another algorithm may do with less):\n\n{}", where,
                     table(rows));
}

// The error of one rounding, relative to the value.
std::string_view roundoff(DType type) {
  switch (type) {
    case DType::f64:
      return "2^-53";
    case DType::f16:
      return "2^-11";
    case DType::bf16:
      return "2^-8";
    default:
      return "2^-24";
  }
}

}  // namespace

Result<std::string> describe_data(const Problem& problem) {
  std::string text =
      "Tensors are device memory of the rank, dense, the last extent varies fastest, and each begins at a "
      "multiple of 256 bytes. What the statement says of contents goes before this table.\n\n" +
      tensors(problem);
  if (!problem.parameters.empty()) text += "\nParameters:\n";
  for (const auto& [name, about] : problem.parameters) text += fmt::format("- `{}`: {}\n", name, about);
  text +=
      fmt::format("\nNumbers of ranks (`world`): {}. Sizes:\n\n{}\n", fmt::join(problem.worlds, ", "), sizes(problem));
  const auto bytes = cost(problem);
  if (!bytes) return std::unexpected(bytes.error());
  text += *bytes;
  return std::string(trim(text));
}

std::string describe_tolerances(const Problem& problem) {
  std::string text;
  bool floats = false;
  for (const Tensor& tensor : problem.tensors) {
    if (!tensor.output) continue;
    const auto name = catalog::name_of(tensor.dtype);
    floats = floats || catalog::is_float(tensor.dtype);
    text +=
        catalog::is_float(tensor.dtype)
            ? fmt::format(
                  "- `{}` ({}): within the error bound of each element, which is 0 where the statement says exactly\n",
                  tensor.name, name)
            : fmt::format("- `{}` ({}): exactly\n", tensor.name, name);
  }
  if (floats) {
    std::vector<std::string> roundings;
    for (const Tensor& tensor : problem.tensors) {
      if (!tensor.output) continue;
      auto rounding = fmt::format("{} ({})", roundoff(tensor.dtype), catalog::name_of(tensor.dtype));
      if (catalog::is_float(tensor.dtype) && std::ranges::find(roundings, rounding) == roundings.end())
        roundings.push_back(std::move(rounding));
    }
    text += fmt::format(
        "\nThe bound of an element comes from its own terms: it allows any order of operations in the precision that "
        "the\n"
        "statement names, and the rounding to the output's format (off by at most {} of the value). Where a\n"
        "value is only moved, the bound is 0. Sums in a narrower format, and terms that are rounded or left out, are "
        "outside "
        "of it.\nThe sign of a zero does not matter. NaN is never right.",
        fmt::join(roundings, ", "));
  }
  return std::string(trim(text));
}

std::string describe_libraries(const Problem& problem) {
  std::vector<std::string> all;
  for (const std::string& name : problem.rules.libraries) {
    const catalog::Library* library = catalog::find_library(name);
    all.push_back(fmt::format("{} (`<{}>`)", library->about, library->header));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

std::string describe_rules(const Problem& problem) {
  std::string text;
  for (const std::string& kind : problem.rules.forbid_in_run) {
    const catalog::Rule* rule = catalog::find_rule(kind);
    if (rule == nullptr) continue;
    text += fmt::format("- `run` must do without {}:", rule->about);
    for (const std::string_view word : split(rule->words, ' ')) text += fmt::format(" `{}…`", word);
    text += "\n";
  }
  for (const std::string& symbol : problem.rules.forbid_symbols)
    text += fmt::format("- `{}` must not be used.\n", symbol);
  text += "- `run` must not exchange data by `fabricbench/rank.h`: that is for set-up.\n";
  // What a network card does, no stream waits for.
  text +=
      problem.rules.allows("verbs")
          ? "- All work of a call is done in `run`, or enqueued there on `stream` or on streams that `stream` waits "
            "for. Nothing goes on after the return: no host threads that work later, no work requests that are not "
            "complete.\n"
          : "- All work of a call is enqueued in `run`, on `stream` or on streams that `stream` waits for. Nothing "
            "goes on after the return: no host threads that work later.\n";
  for (const std::string& name : problem.rules.libraries) {
    const catalog::Library* library = catalog::find_library(name);
    text += fmt::format("- {} may be called (`#include <{}>`; it is linked).\n", library->about, library->header);
  }
  const bool communicates = problem.rules.allows("nccl") || problem.rules.allows("verbs");
  text += fmt::format(
      "- No {}communication libraries, no {}BLAS; no `dlopen`, processes, sockets or shared memory of the host.\n",
      communicates ? "other " : "", problem.rules.allows("cublas") ? "other " : "");
  return std::string(trim(text));
}

Result<std::string> describe_markers(const Problem& problem) {
  const auto regions = catalog::regions_of(problem.reference);
  if (!regions) return std::unexpected(regions.error());
  Row pairs;
  for (const auto& region : *regions) {
    pairs.push_back(fmt::format("`{}` and `// [/solution]`", catalog::marker_text(region.name)));
  }
  return fmt::format("{}", fmt::join(pairs, ", between "));
}

}  // namespace fb::prompts

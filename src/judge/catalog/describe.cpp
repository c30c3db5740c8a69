#include "judge/catalog/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "common/base/strings.h"
#include "common/base/terminal.h"
#include "judge/catalog/libraries.h"
#include "judge/catalog/rules.h"
#include "judge/catalog/source.h"

namespace fb::catalog {
namespace {

using Json = nlohmann::ordered_json;

using Rows = std::vector<std::vector<std::string>>;

std::vector<size_t> widths_of(const Rows& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], columns_of(row[k]));
  }
  return widths;
}

constexpr size_t kGap = 2;  // between columns

// Columns as wide as their widest cell; the last one ends the line.
std::string table(const Rows& rows) {
  const std::vector<size_t> widths = widths_of(rows);
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t k = 0; k < row.size(); ++k) line += pad_to_columns(row[k], widths[k] + kGap);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

void leave_out(Rows& rows, size_t column) {
  for (auto& row : rows) row.erase(row.begin() + static_cast<ptrdiff_t>(column));
}

// Makes a table fit: leaves out columns that are in `dispensable`, by their titles, until there is room for the last
// column, which is cut. The first one stays whole.
void fit(Rows& rows, size_t columns, const std::vector<std::string>& dispensable) {
  constexpr size_t kLeast = 16;  // of the last one
  const auto others = [&] {
    size_t used = 0;
    const auto widths = widths_of(rows);
    for (size_t k = 0; k + 1 < widths.size(); ++k) used += widths[k] + kGap;
    return used;
  };
  for (const std::string& title : dispensable) {
    if (others() + kLeast <= columns) break;
    leave_out(rows, static_cast<size_t>(std::ranges::find(rows[0], title) - rows[0].begin()));
  }
  const size_t used = others();
  for (auto& row : rows) row.back() = cut_to_columns(row.back(), columns > used ? columns - used : 0);
}

std::string human(int64_t count, double base, const std::array<const char*, 5>& units) {
  auto value = static_cast<double>(count);
  size_t unit = 0;
  while (value >= base && unit + 1 < units.size()) {
    value /= base;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} {}", count, units[0]) : fmt::format("{:.4g} {}", value, units[unit]);
}
std::string bytes(int64_t count) { return human(count, 1024, {"B", "KiB", "MiB", "GiB", "TiB"}); }
std::string flops(int64_t count) { return human(count, 1000, {"flop", "kflop", "Mflop", "Gflop", "Tflop"}); }

// The loader has evaluated all of them.
int64_t value_of(const Expression& cost, const Values& values) { return cost.evaluate(values).value(); }

std::string used_for(const SizeClass& size) {
  if (!size.is_sampled())
    return std::string("check") + (size.quick ? ", quick check" : "") + (size.timed ? ", time" : "");
  std::string values;
  for (const SizeClass& sample : size.samples)
    values += fmt::format("{}{}", values.empty() ? "" : ", ", sample.values.at(size.scale));
  return fmt::format("time, from {} = {}", size.scale, values);
}

std::string sizes_as_text(const Problem& problem) {
  std::vector<std::vector<std::string>> rows = {{"size"}};
  for (const auto& [name, about] : problem.parameters) rows[0].push_back(name);
  rows[0].emplace_back("used for");
  for (const SizeClass& size : problem.sizes) {
    auto& row = rows.emplace_back();
    row.push_back(size.name);
    for (const auto& [name, about] : problem.parameters) row.push_back(fmt::format("{}", size.values.at(name)));
    row.push_back(used_for(size));
  }
  return table(rows);
}

std::string rules_as_text(const Problem& problem) {
  std::string text = "- `run` must not exchange data by fabricbench/rank.h: that is for set-up\n";
  for (const std::string& kind : problem.rules.forbid_in_run) {
    const Rule* rule = find_rule(kind);
    text += fmt::format("- `run` must do without {} ({}…)\n", rule->about, split(rule->words, ' ')[0]);
  }
  for (const std::string& symbol : problem.rules.forbid_symbols) text += fmt::format("- must not use {}\n", symbol);
  for (const std::string& name : problem.rules.libraries) {
    const Library* library = find_library(name);
    text += fmt::format("- may call {} (<{}>)\n", library->about, library->header);
  }
  return text;
}

std::string cost_as_text(const Problem& problem) {
  std::vector<std::vector<std::string>> rows = {{"size", "world", "over links", "of memory", "arithmetic"}};
  if (problem.uses_network()) rows[0].emplace_back("through a network card");
  for (const SizeClass& size : problem.sizes) {
    if (!size.timed) continue;
    for (const int world : problem.worlds) {
      const Values values = problem.values(size, world, 0);
      rows.push_back({size.name, fmt::format("{}", world), bytes(value_of(problem.cost.link_bytes, values)),
                      bytes(value_of(problem.cost.memory_bytes, values)), flops(value_of(problem.cost.flops, values))});
      if (problem.uses_network()) rows.back().push_back(bytes(value_of(problem.cost.network_bytes, values)));
    }
  }
  return table(rows);
}

Json facts_as_json(const Problem& p) {
  return {{"name", p.name},
          {"title", p.title},
          {"track", p.track},
          {"category", p.category},
          {"library", p.library},
          {"parallelism", p.parallelism},
          {"level", p.level},
          {"tags", p.tags},
          {"worlds", p.worlds},
          {"platform", p.platform},
          {"has_expert", p.has_expert},
          {"has_baseline", !p.baseline.empty()},
          {"hash", p.hash}};
}

Json tensors_as_json(const Problem& problem) {
  Json all = Json::array();
  for (const Tensor& tensor : problem.tensors) {
    Json shape = Json::array();
    for (const Expression& extent : tensor.shape) shape.push_back(extent.text());
    Json one = {{"name", tensor.name},
                {"role", tensor.output ? "out" : "in"},
                {"dtype", name_of(tensor.dtype)},
                {"shape", shape}};
    if (tensor.output) {
      one["replicated"] = tensor.replicated;
    } else {
      one["fill"] = tensor.fill;
    }
    if (tensor.device) one["device"] = tensor.device->text();
    one["about"] = tensor.about;
    all.push_back(std::move(one));
  }
  return all;
}

Json sizes_as_json(const Problem& problem) {
  Json all = Json::array();
  for (const SizeClass& size : problem.sizes) {
    Json values = Json::object();
    for (const auto& [name, about] : problem.parameters) values[name] = size.values.at(name);
    Json one = {{"name", size.name}, {"values", values}, {"quick", size.quick}, {"timed", size.timed}};
    if (size.is_sampled()) {
      one["scale"] = size.scale;
      for (const SizeClass& sample : size.samples) one["samples"].push_back(sample.values.at(size.scale));
    }
    all.push_back(std::move(one));
  }
  return all;
}

Json cost_as_json(const Problem& problem) {
  Json cost = {{"link_bytes", problem.cost.link_bytes.text()},
               {"memory_bytes", problem.cost.memory_bytes.text()},
               {"flops", problem.cost.flops.text()},
               {"tensor_flops", problem.cost.tensor_flops.text()},
               {"network_bytes", problem.cost.network_bytes.text()},
               {"timed", Json::array()}};
  for (const SizeClass& size : problem.sizes) {
    if (!size.timed) continue;
    for (const int world : problem.worlds) {
      const Values values = problem.values(size, world, 0);
      cost["timed"].push_back({{"size", size.name},
                               {"world", world},
                               {"link_bytes", value_of(problem.cost.link_bytes, values)},
                               {"memory_bytes", value_of(problem.cost.memory_bytes, values)},
                               {"flops", value_of(problem.cost.flops, values)},
                               {"tensor_flops", value_of(problem.cost.tensor_flops, values)},
                               {"network_bytes", value_of(problem.cost.network_bytes, values)}});
    }
  }
  return cost;
}

Json pack_as_json(const Pack& pack) { return {{"name", pack.name}, {"version", pack.version}, {"root", pack.root}}; }

}  // namespace

std::string list_as_text(const std::vector<const Problem*>& problems, std::optional<size_t> columns) {
  Rows rows = {{"name", "category", "level", "library", "worlds", "title"}};
  for (const Problem* p : problems)
    rows.push_back({p->name, p->category, fmt::format("{}", p->level), p->library,
                    fmt::format("{}", fmt::join(p->worlds, " ")), p->title});
  if (columns) fit(rows, *columns, {"library", "worlds", "level", "category"});
  return table(rows);
}

std::string list_as_json(const Pack& pack, const std::vector<const Problem*>& problems) {
  Json all = {{"pack", pack_as_json(pack)}, {"problems", Json::array()}};
  for (const Problem* problem : problems) all["problems"].push_back(facts_as_json(*problem));
  return all.dump(2) + "\n";
}

std::string show_as_text(const Pack& pack, const Problem& p) {
  std::string text(trim(p.statement));
  text += fmt::format("\n\n--- Args ---\n{}", args_struct(p));
  if (!p.driver.empty()) text += fmt::format("\n--- How the class is used (driver.cu) ---\n{}\n", trim(p.driver));
  text += fmt::format("\n--- Sizes ---\nworlds: {}\n{}", fmt::join(p.worlds, ", "), sizes_as_text(p));
  text += fmt::format("\n--- Rules ---\n{}", rules_as_text(p));
  text += fmt::format("\n--- Cost: what a call must move and compute at least, on the busiest rank ---\n{}",
                      cost_as_text(p));
  text += "\n--- Facts ---\n";
  text += table({{"name", p.name},
                 {"category", p.category},
                 {"level", fmt::format("{}: {}", p.level, p.level_reason)},
                 {"track", p.track},
                 {"library", p.library},
                 {"parallelism", p.parallelism.empty() ? "" : fmt::format("{}", fmt::join(p.parallelism, " x "))},
                 {"speed", p.baseline.empty() ? "relative to the reference" : "relative to the baseline"},
                 {"tags", fmt::format("{}", fmt::join(p.tags, " "))},
                 {"platform", p.platform},
                 {"provenance", p.provenance},
                 {"pack", fmt::format("{} {}", pack.name, pack.version)},
                 {"hash", p.hash}});
  return text;
}

std::string show_as_json(const Pack& pack, const Problem& p) {
  Json all = facts_as_json(p);
  all["pack"] = pack_as_json(pack);
  all["folder"] = p.folder.substr(std::min(p.folder.size(), p.root.size() + 1));  // in the pack
  all["level_reason"] = p.level_reason;
  all["provenance"] = p.provenance;
  all["statement"] = p.statement;
  all["args"] = args_struct(p);
  all["driver"] = p.driver;
  Json parameters = Json::array();
  for (const auto& [name, about] : p.parameters) parameters.push_back({{"name", name}, {"about", about}});
  all["parameters"] = std::move(parameters);
  all["tensors"] = tensors_as_json(p);
  all["sizes"] = sizes_as_json(p);
  all["rules"] = {{"forbid_in_run", p.rules.forbid_in_run},
                  {"forbid_symbols", p.rules.forbid_symbols},
                  {"libraries", p.rules.libraries}};
  all["cost"] = cost_as_json(p);
  return all.dump(2) + "\n";
}

}  // namespace fb::catalog

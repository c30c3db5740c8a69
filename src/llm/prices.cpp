#include "llm/prices.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/strings.h"
#include "llm/data_files.h"

namespace fb::llm {
namespace {

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*')
    return !name.empty() && pattern.front() == name.front() && fits(pattern.substr(1), name.substr(1));
  for (size_t i = 0; i <= name.size(); ++i) {
    if (fits(pattern.substr(1), name.substr(i))) return true;
  }
  return false;
}

Result<PriceRow> read_row(const toml::table& row) {
  const Location at = {row.source().begin.line, row.source().begin.column};
  constexpr std::array<std::string_view, 6> kKnown = {"provider", "model",        "input",
                                                      "output",   "cached_input", "cache_write"};
  for (const auto& [key, value] : row) {
    if (std::ranges::find(kKnown, key.str()) == kKnown.end())
      return error(fmt::format("unknown key '{}'", key.str()), at);
  }
  const auto provider = row["provider"].value<std::string>();
  const auto model = row["model"].value<std::string>();
  const auto input = row["input"].value<double>();
  const auto output = row["output"].value<double>();
  if (!provider || !model || !input || !output)
    return error("a price has 'provider', 'model', 'input' and 'output'", at);
  PriceRow read{.provider = *provider, .model = *model, .price = {.input = *input, .output = *output}};
  read.price.cached_input = row["cached_input"].value_or(*input);
  read.price.cache_write = row["cache_write"].value_or(*input);
  const Price& p = read.price;
  if (!(p.input >= 0 && p.output >= 0 && p.cached_input >= 0 && p.cache_write >= 0))
    return error("a price is not below 0", at);
  return read;
}

}  // namespace

std::optional<Price> PriceTable::find(std::string_view provider, std::string_view model) const {
  for (const PriceRow& row : rows) {
    if (row.provider == provider && fits(row.model, model)) return row.price;
  }
  return {};
}

double usd(const record::Usage& usage, const Price& price) {
  const uint64_t cached = std::min(usage.cached_tokens, usage.input_tokens);
  const uint64_t written = std::min(usage.cache_write_tokens, usage.input_tokens - cached);
  const uint64_t fresh = usage.input_tokens - cached - written;
  const auto count = [](uint64_t tokens) { return static_cast<double>(tokens); };
  return (count(fresh) * price.input + count(cached) * price.cached_input + count(written) * price.cache_write +
          count(usage.output_tokens) * price.output) /
         1e6;
}

Result<PriceTable> parse_prices(std::string_view text) {
  try {
    const toml::table file = toml::parse(text);
    PriceTable table;
    if (const auto date = file["as_of"].value<toml::date>()) {
      table.as_of = fmt::format("{:04}-{:02}-{:02}", date->year, date->month, date->day);
    } else {
      return error("'as_of' is missing: the date of the prices");
    }
    if (const auto* rows = file["price"].as_array()) {
      for (const auto& node : *rows) {
        if (!node.is_table()) return error("[[price]] is a table");
        auto row = read_row(*node.as_table());
        if (!row) return std::unexpected(row.error());
        table.rows.push_back(std::move(*row));
      }
    }
    return table;
  } catch (const toml::parse_error& e) {
    return error(std::string(e.description()), {e.source().begin.line, e.source().begin.column});
  }
}

Result<std::shared_ptr<const PriceTable>> load_prices(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const PriceTable>> read;
  std::string path = file;
  if (const char* chosen = std::getenv("FABRICBENCH_PRICES"); path.empty() && chosen != nullptr) path = chosen;
  if (path.empty()) {
    const auto found = find_data_file("prices.toml");
    if (!found) return std::unexpected(found.error());
    path = *found;
  }
  const std::scoped_lock lock(mutex);
  if (const auto known = read.find(path); known != read.end()) return known->second;
  try {
    auto table = parse_prices(read_file(path));
    if (!table) return error(std::string(trim(to_string(table.error(), path))));
    return read[path] = std::make_shared<const PriceTable>(std::move(*table));
  } catch (const std::exception& e) {
    return error(e.what());
  }
}

}  // namespace fb::llm

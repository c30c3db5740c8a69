#include "campaign/llm/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "campaign/llm/data_files.h"
#include "common/base/strings.h"
#include "common/base/toml_reader.h"

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

class PriceReader {
 public:
  explicit PriceReader(Errors& errors) : reader_(errors) {}

  void read(std::string_view text, PriceTable& table) {
    const auto file = reader_.parse(text);
    if (!file) return;
    reader_.refuse_unknown(*file, {"as_of", "price"});
    if (const auto date = (*file)["as_of"].value<toml::date>()) {
      table.as_of = fmt::format("{:04}-{:02}-{:02}", date->year, date->month, date->day);
    } else {
      reader_.complain(Location(), "'as_of' is missing: the date of the prices");
    }
    if (!file->contains("price")) return;
    for (const toml::table* row : reader_.tables(*file, "price")) table.rows.push_back(read_row(*row));
  }

 private:
  PriceRow read_row(const toml::table& row) {
    reader_.refuse_unknown(row, {"provider", "model", "input", "output", "cached_input", "cache_write"});
    PriceRow read{.provider = reader_.text(row, "provider"), .model = reader_.text(row, "model"), .price = {}};
    Price& p = read.price;
    p.input = reader_.number(row, "input").value_or(0);
    p.output = reader_.number(row, "output").value_or(0);
    p.cached_input = reader_.optional_number(row, "cached_input").value_or(p.input);
    p.cache_write = reader_.optional_number(row, "cache_write").value_or(p.input);
    if (std::min({p.input, p.output, p.cached_input, p.cache_write}) < 0)
      reader_.complain(row, "a price must not be below 0");
    return read;
  }

  TomlReader reader_;
};

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
  PriceTable table;
  Errors errors;
  PriceReader(errors).read(text, table);
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return table;
}

Result<std::string> locate_prices(const std::string& file) {
  if (!file.empty()) return file;
  if (const char* chosen = std::getenv("FABRICBENCH_PRICES"); chosen != nullptr) return chosen;
  return find_data_file("prices.toml");
}

Result<std::shared_ptr<const PriceTable>> load_prices(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const PriceTable>> read;
  const auto found = locate_prices(file);
  if (!found) return std::unexpected(found.error());
  const std::string& path = *found;
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

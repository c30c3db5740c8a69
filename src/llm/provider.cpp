#include "llm/provider.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>

#include "base/strings.h"
#include "llm/data_files.h"

namespace fb::llm {
namespace {

constexpr std::array<std::pair<std::string_view, DialectName>, 3> kDialects = {
    {{"openai", DialectName::openai}, {"anthropic", DialectName::anthropic}, {"gemini", DialectName::gemini}}};

Location place(const toml::node& node) { return {node.source().begin.line, node.source().begin.column}; }

// TOML's tables as JSON: a row can say any piece of a body.
Json to_value(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = to_value(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const auto& value : *array) list.push_back(to_value(value));
    return list;
  }
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (const auto whole = node.value_exact<int64_t>()) return *whole;
  return node.value_or(0.0);
}

// Reads one row; what is wrong is collected.
class RowReader {
 public:
  RowReader(const toml::table& row, Errors& errors) : row_(row), errors_(errors) {}

  Provider read() {
    refuse_unknown();
    Provider p;
    p.name = text("name");
    const std::string wanted = text("dialect");
    const auto* known = std::ranges::find(kDialects, wanted, &std::pair<std::string_view, DialectName>::first);
    if (known != kDialects.end()) {
      p.dialect = known->second;
    } else {
      complain(fmt::format("'{}' is no dialect", wanted));
    }
    p.base_url = text("base_url", "");
    p.key_variables = texts("key");
    p.key_optional = row_["key_optional"].value_or(false);
    p.key_header = text("key_header");
    if (!p.key_header.contains("$key") || !p.key_header.contains(": ")) complain("'key_header' is 'Name: … $key'");
    p.headers = texts("headers");
    p.token_limit = text("token_limit");
    p.temperature = text("temperature");
    p.max_output_tokens = number("max_output_tokens");
    p.stall = std::chrono::seconds(number("stall_seconds"));
    if (const auto* efforts = row_["effort"].as_table()) {
      for (const auto& [word, fragment] : *efforts) p.effort[std::string(word.str())] = to_value(fragment);
    }
    if (const auto* extra = row_["extra"].as_table()) p.extra = to_value(*extra);
    if (const auto* extra = row_["stream_extra"].as_table()) p.stream_extra = to_value(*extra);
    p.cache_marks = row_["cache_marks"].value_or(false);
    p.think_tags = row_["think_tags"].value_or(false);
    p.reports_cost = row_["reports_cost"].value_or(false);
    return p;
  }

 private:
  void complain(std::string message) { errors_.list.push_back({place(row_), std::move(message)}); }

  void refuse_unknown() {
    constexpr std::array<std::string_view, 17> kKnown = {
        "name",    "dialect",      "base_url",    "key",         "key_optional",      "key_header",
        "headers", "token_limit",  "effort",      "temperature", "max_output_tokens", "stall_seconds",
        "extra",   "stream_extra", "cache_marks", "think_tags",  "reports_cost"};
    for (const auto& [key, value] : row_) {
      if (std::ranges::find(kKnown, key.str()) == kKnown.end())
        errors_.list.push_back({place(value), fmt::format("unknown key '{}'", key.str())});
    }
  }

  std::string text(const char* key, const std::optional<std::string>& otherwise = {}) {
    if (const auto value = row_[key].value<std::string>()) return *value;
    if (!otherwise) complain(fmt::format("'{}' is missing, or no text", key));
    return otherwise.value_or("");
  }

  uint32_t number(const char* key) {
    const auto value = row_[key].value<uint32_t>();
    if (!value || *value == 0) complain(fmt::format("'{}' is missing, or no whole number above 0", key));
    return value.value_or(0);
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> list;
    if (const auto* array = row_[key].as_array()) {
      for (const auto& element : *array) list.push_back(element.value_or(std::string()));
    }
    return list;
  }

  const toml::table& row_;
  Errors& errors_;
};

void read_stop_reasons(const toml::table& file, ProviderTable& table, Errors& errors) {
  const auto* reasons = file["stop_reasons"].as_table();
  if (reasons == nullptr) {
    errors.list.push_back({{}, "[stop_reasons] is missing"});
    return;
  }
  for (const auto& [name, words] : *reasons) {
    const auto end = record::answer_end_from(name.str());
    if (!end || !words.is_array()) {
      errors.list.push_back(
          {place(words), fmt::format("'{}' is no end of an answer with a list of words", name.str())});
      continue;
    }
    for (const auto& word : *words.as_array()) table.stop_reasons[word.value_or(std::string())] = *end;
  }
}

}  // namespace

const Provider* ProviderTable::find(std::string_view name) const {
  const auto found = std::ranges::find(providers, name, &Provider::name);
  return found == providers.end() ? nullptr : &*found;
}

std::string ProviderTable::names() const {
  std::string all;
  for (const Provider& provider : providers) all += (all.empty() ? "" : " ") + provider.name;
  return all;
}

Result<ProviderTable> parse_providers(std::string_view text) {
  ProviderTable table;
  Errors errors;
  try {
    const toml::table file = toml::parse(text);
    read_stop_reasons(file, table, errors);
    if (const auto* rows = file["provider"].as_array()) {
      for (const auto& row : *rows) {
        if (const auto* fields = row.as_table()) table.providers.push_back(RowReader(*fields, errors).read());
      }
    }
  } catch (const toml::parse_error& e) {
    return error(std::string(e.description()), {e.source().begin.line, e.source().begin.column});
  }
  if (table.providers.empty()) errors.list.push_back({{}, "there is no [[provider]]"});
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return table;
}

Result<std::shared_ptr<const ProviderTable>> load_providers() {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const ProviderTable>> read;
  const auto file = find_data_file("providers.toml");
  if (!file) return std::unexpected(file.error());
  const std::scoped_lock lock(mutex);
  if (const auto known = read.find(*file); known != read.end()) return known->second;
  auto table = parse_providers(read_file(*file));
  if (!table) return error(std::string(trim(to_string(table.error(), *file))));
  return read[*file] = std::make_shared<const ProviderTable>(std::move(*table));
}

}  // namespace fb::llm

#include "campaign/llm/provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "campaign/llm/data_files.h"
#include "common/base/spelling.h"
#include "common/base/strings.h"
#include "common/base/toml_reader.h"

namespace fb::llm {
namespace {

constexpr std::array<std::pair<std::string_view, DialectName>, 3> kDialects = {
    {{"openai", DialectName::openai}, {"anthropic", DialectName::anthropic}, {"gemini", DialectName::gemini}}};

// TOML tables as JSON: a row can hold any piece of a request body.
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

class ProviderReader {
 public:
  explicit ProviderReader(Errors& errors) : reader_(errors) {}

  void read(std::string_view text, ProviderTable& table) {
    const auto file = reader_.parse(text);
    if (!file) return;
    reader_.refuse_unknown(*file, {"stop_reasons", "provider"});
    read_stop_reasons(*file, table);
    for (const toml::table* row : reader_.tables(*file, "provider")) table.providers.push_back(read_row(*row));
  }

 private:
  Provider read_row(const toml::table& row) {
    reader_.refuse_unknown(row, {"name", "dialect", "base_url", "key", "key_optional", "key_header", "headers",
                                 "token_limit", "effort", "temperature", "max_output_tokens", "stall_seconds", "extra",
                                 "stream_extra", "cache_marks", "think_tags", "reports_cost"});
    Provider p;
    p.name = reader_.text(row, "name");
    p.dialect = read_dialect(row);
    p.base_url = reader_.optional_text(row, "base_url").value_or("");
    p.key_variables = texts(row, "key");
    p.key_optional = reader_.flag(row, "key_optional");
    p.key_header = reader_.text(row, "key_header");
    if (!p.key_header.contains("$key") || !p.key_header.contains(": "))
      reader_.complain(row, "'key_header' must be 'Name: … $key'");
    p.headers = texts(row, "headers");
    p.token_limit = reader_.text(row, "token_limit");
    p.temperature = reader_.text(row, "temperature");
    p.max_output_tokens = count(row, "max_output_tokens");
    p.stall = std::chrono::seconds(count(row, "stall_seconds"));
    if (const toml::table* efforts = table(row, "effort")) {
      for (const auto& [word, fragment] : *efforts) p.effort[std::string(word.str())] = to_value(fragment);
    }
    if (const toml::table* extra = table(row, "extra")) p.extra = to_value(*extra);
    if (const toml::table* extra = table(row, "stream_extra")) p.stream_extra = to_value(*extra);
    p.cache_marks = reader_.flag(row, "cache_marks");
    p.think_tags = reader_.flag(row, "think_tags");
    p.reports_cost = reader_.flag(row, "reports_cost");
    return p;
  }

  DialectName read_dialect(const toml::table& row) {
    const std::string name = reader_.text(row, "dialect");
    const auto* known = std::ranges::find(kDialects, name, &std::pair<std::string_view, DialectName>::first);
    if (known != kDialects.end()) return known->second;
    std::vector<std::string> names;
    for (const auto& [each, dialect] : kDialects) names.emplace_back(each);
    if (!name.empty()) reader_.complain(row, fmt::format("unknown dialect '{}'{}", name, did_you_mean(name, names)));
    return {};
  }

  uint32_t count(const toml::table& row, std::string_view key) {
    const auto value = reader_.integer(row, key);
    if (!value) return 0;
    if (*value > 0 && *value <= UINT32_MAX) return static_cast<uint32_t>(*value);
    reader_.complain(*row.get(key), fmt::format("'{}' must be a whole number above 0", key));
    return 0;
  }

  std::vector<std::string> texts(const toml::table& row, std::string_view key) {
    std::vector<std::string> list;
    for (auto& [text, at] : reader_.texts(row, key)) list.push_back(std::move(text));
    return list;
  }

  // Null if the key is missing, or after an error.
  const toml::table* table(const toml::table& row, std::string_view key) {
    const toml::node* node = row.get(key);
    if (node != nullptr && !node->is_table()) reader_.complain(*node, fmt::format("'{}' must be a table", key));
    return node == nullptr ? nullptr : node->as_table();
  }

  void read_stop_reasons(const toml::table& file, ProviderTable& table) {
    const auto* reasons = file["stop_reasons"].as_table();
    if (reasons == nullptr) return reader_.complain(Location(), "[stop_reasons] is missing");
    for (const auto& [name, words] : *reasons) {
      const auto end = record::answer_end_from(name.str());
      if (!end) {
        reader_.complain(words, fmt::format("'{}' is not an end of an answer", name.str()));
        continue;
      }
      for (const auto& [word, at] : reader_.texts(*reasons, name.str())) table.stop_reasons[word] = *end;
    }
  }

  TomlReader reader_;
};

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
  ProviderReader(errors).read(text, table);
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

#include "common/base/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/base/spelling.h"
#include "common/base/strings.h"

namespace fb {

std::optional<toml::table> TomlReader::parse(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    complain(location(e.source()), std::string(e.description()));
    return std::nullopt;
  }
}

const toml::node* TomlReader::required(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) complain(table, fmt::format("'{}' is missing", key));
  return node;
}

std::string TomlReader::text_of(const toml::node& node, std::string_view key) {
  const auto* value = node.as_string();
  if (value == nullptr || trim(value->get()).empty()) {
    complain(node, fmt::format("'{}' must be {}", key, value == nullptr ? "text" : "text that is not empty"));
    return {};
  }
  if (value->get().contains('\n')) complain(node, fmt::format("'{}' must be one line", key));
  return value->get();
}

std::string TomlReader::text(const toml::table& table, std::string_view key) {
  const toml::node* node = required(table, key);
  return node == nullptr ? "" : text_of(*node, key);
}

std::optional<std::string> TomlReader::optional_text(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  return text_of(*node, key);
}

std::optional<int64_t> TomlReader::integer(const toml::table& table, std::string_view key) {
  const toml::node* node = required(table, key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_integer();
  if (value == nullptr) {
    complain(*node, fmt::format("'{}' must be a whole number", key));
    return std::nullopt;
  }
  return value->get();
}

std::optional<double> TomlReader::number(const toml::table& table, std::string_view key) {
  return required(table, key) == nullptr ? std::nullopt : optional_number(table, key);
}

std::optional<double> TomlReader::optional_number(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value<double>();
  if (!value || !std::isfinite(*value)) {
    complain(*node, fmt::format("'{}' must be a number", key));
    return std::nullopt;
  }
  return value;
}

bool TomlReader::flag(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return false;
  const auto* value = node->as_boolean();
  if (value == nullptr) complain(*node, fmt::format("'{}' must be true or false", key));
  return value != nullptr && value->get();
}

std::vector<const toml::node*> TomlReader::list(const toml::table& table, std::string_view key) {
  const toml::node* node = required(table, key);
  if (node == nullptr) return {};
  std::vector<const toml::node*> elements;
  if (const auto* array = node->as_array()) {
    for (const toml::node& element : *array) elements.push_back(&element);
  }
  if (elements.empty()) complain(*node, fmt::format("'{}' must be a list that is not empty", key));
  return elements;
}

std::vector<std::pair<std::string, Location>> TomlReader::texts(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  const auto* array = node->as_array();
  if (array == nullptr) {
    complain(*node, fmt::format("'{}' must be a list of texts", key));
    return {};
  }
  std::vector<std::pair<std::string, Location>> texts;
  for (const toml::node& element : *array) {
    std::string value = text_of(element, key);
    if (value.empty()) continue;
    if (std::ranges::find(texts, value, &std::pair<std::string, Location>::first) != texts.end())
      complain(element, fmt::format("'{}' appears twice in '{}'", value, key));
    texts.emplace_back(std::move(value), location(element));
  }
  return texts;
}

std::vector<const toml::table*> TomlReader::tables(const toml::table& table, std::string_view key) {
  std::vector<const toml::table*> found;
  for (const toml::node* element : list(table, key)) {
    if (const auto* each = element->as_table()) {
      found.push_back(each);
    } else {
      complain(*element, fmt::format("'{}' must be written as [[{}]]", key, key));
    }
  }
  return found;
}

void TomlReader::refuse_unknown(const toml::table& table, const std::vector<std::string>& known, std::string_view kind,
                                std::string_view owner) {
  const std::string of = owner.empty() ? "" : fmt::format(" of {}", owner);
  for (const auto& [key, node] : table) {
    if (std::ranges::find(known, key.str()) != known.end()) continue;
    complain(location(key.source()),
             fmt::format("unknown {} '{}'{}{}", kind, key.str(), of, did_you_mean(key.str(), known)));
  }
}

}  // namespace fb

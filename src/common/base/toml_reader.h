#pragma once

// Typed values from TOML. Errors are collected with line and column, and a harmless value is returned instead. Link
// fb_toml.

#include <toml++/toml.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb {

class TomlReader {
 public:
  explicit TomlReader(Errors& errors) : errors_(errors) {}

  static Location location(const toml::source_region& source) {
    return {static_cast<uint32_t>(source.begin.line), static_cast<uint32_t>(source.begin.column)};
  }
  static Location location(const toml::node& node) { return location(node.source()); }
  void complain(Location at, std::string message) { errors_.list.push_back({at, std::move(message)}); }
  void complain(const toml::node& at, std::string message) { complain(location(at), std::move(message)); }

  // Nothing after an error.
  std::optional<toml::table> parse(std::string_view text);

  // The node of a required key; null after an error.
  const toml::node* required(const toml::table& table, std::string_view key);

  // Not empty, and one line.
  std::string text(const toml::table& table, std::string_view key);
  std::optional<std::string> optional_text(const toml::table& table, std::string_view key);
  std::string text_of(const toml::node& node, std::string_view key);
  std::optional<int64_t> integer(const toml::table& table, std::string_view key);
  std::optional<double> number(const toml::table& table, std::string_view key);
  std::optional<double> optional_number(const toml::table& table, std::string_view key);
  bool flag(const toml::table& table, std::string_view key);  // false if the key is missing

  // The elements of a list with at least one; none after an error.
  std::vector<const toml::node*> list(const toml::table& table, std::string_view key);
  // A list of texts; may be missing or empty.
  std::vector<std::pair<std::string, Location>> texts(const toml::table& table, std::string_view key);
  // [[key]] …; none after an error.
  std::vector<const toml::table*> tables(const toml::table& table, std::string_view key);

  // "unknown KIND 'x' of OWNER; did you mean 'y'?" for each key that is not in `known`.
  void refuse_unknown(const toml::table& table, const std::vector<std::string>& known, std::string_view kind = "key",
                      std::string_view owner = "");

 private:
  Errors& errors_;
};

}  // namespace fb

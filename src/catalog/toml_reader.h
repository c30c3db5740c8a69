#pragma once

// Typed values out of TOML; what is wrong is collected with its place, and a harmless value comes back instead.

#include <toml++/toml.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fb::catalog {

class TomlReader {
 public:
  explicit TomlReader(Errors& errors) : errors_(errors) {}

  static Location place(const toml::node& node) {
    return {static_cast<uint32_t>(node.source().begin.line), static_cast<uint32_t>(node.source().begin.column)};
  }
  void complain(Location at, std::string message) { errors_.list.push_back({at, std::move(message)}); }
  void complain(const toml::node& at, std::string message) { complain(place(at), std::move(message)); }

  // Nothing after a complaint.
  std::optional<toml::table> parse(std::string_view text);

  // The node of a key that must be there; null after a complaint.
  const toml::node* required(const toml::table& table, std::string_view key);

  // Not empty.
  std::string text(const toml::table& table, std::string_view key);
  std::optional<std::string> optional_text(const toml::table& table, std::string_view key);
  std::string text_of(const toml::node& node, std::string_view key);
  std::optional<int64_t> integer(const toml::table& table, std::string_view key);
  bool flag(const toml::table& table, std::string_view key);  // false if it is not there

  // The elements of a list that has one or more; none after a complaint.
  std::vector<const toml::node*> list(const toml::table& table, std::string_view key);
  // A list of texts; may be missing or empty.
  std::vector<std::pair<std::string, Location>> texts(const toml::table& table, std::string_view key);
  // [[key]] …; none after a complaint.
  std::vector<const toml::table*> tables(const toml::table& table, std::string_view key);

  void refuse_unknown(const toml::table& table, const std::vector<std::string>& known);

 private:
  Errors& errors_;
};

}  // namespace fb::catalog

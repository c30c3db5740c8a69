// docs/reference/report.md and summary.json say the same: every documented field is there, with its type, and no other
// is.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "campaign/report/printers.h"
#include "common/base/strings.h"

namespace fb::report {
namespace {

using Json = nlohmann::json;
using Fields = std::map<std::string, std::string>;  // path → type

// The rows of the table below a heading: | `field` | type | … |
Fields fields_below(const std::string& text, const std::string& heading) {
  Fields fields;
  const size_t begin = text.find("\n### " + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << heading;
  const size_t end = text.find("\n### ", begin + 1);
  for (const std::string_view line : split(std::string_view(text).substr(begin, end - begin), '\n')) {
    const auto cells = split(line, '|');
    if (cells.size() < 4 || !trim(cells[1]).starts_with("`")) continue;
    const std::string_view name = trim(cells[1]);
    EXPECT_TRUE(fields.emplace(name.substr(1, name.size() - 2), trim(cells[2])).second) << name;
  }
  EXPECT_FALSE(fields.empty()) << heading;
  return fields;
}

// Types that are tables themselves are replaced by their fields.
Fields expanded(const Fields& fields, const std::map<std::string, Fields>& types) {
  Fields all;
  for (const auto& [path, type] : fields) {
    const auto found = types.find(type);
    if (found == types.end()) {
      all[path] = type;
    } else {
      for (const auto& [inner, inner_type] : expanded(found->second, types))
        all[fmt::format("{}.{}", path, inner)] = inner_type;
    }
  }
  return all;
}

void collect(const Json& json, const std::string& path, std::map<std::string, std::vector<Json>>& values) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items())
      collect(value, path.empty() ? name : fmt::format("{}.{}", path, name), values);
  } else if (json.is_array()) {
    for (const Json& element : json) collect(element, path + "[]", values);
  } else {
    values[path].push_back(json);
  }
}

bool is_of(const Json& value, std::string type) {
  if (type.ends_with('?')) {
    if (value.is_null()) return true;
    type.pop_back();
  }
  if (type == "text") return value.is_string();
  if (type == "count") return value.is_number_unsigned();
  return type == "number" && value.is_number();
}

TEST(Schema, TheDocumentedFieldsAreThoseOfTheFile) {
  const std::string text = read_file(std::string(FB_SOURCE_DIR) + "/docs/reference/report.md");
  const std::map<std::string, Fields> types = {{"estimate", fields_below(text, "Type `estimate`")},
                                               {"scores", fields_below(text, "Type `scores`")}};
  const Fields documented = expanded(fields_below(text, "Fields"), types);

  const auto run = record::read_run(std::string(FB_SOURCE_DIR) + "/tests/unit/report/runs/small");
  ASSERT_TRUE(run) << to_string(run.error(), "");
  const std::vector<record::Run> runs = {*run};
  std::map<std::string, std::vector<Json>> written;
  collect(Json::parse(to_json(summarise(runs).value())), "", written);

  for (const auto& [path, values] : written) {
    const auto found = documented.find(path);
    ASSERT_NE(found, documented.end()) << path << " is not documented";
    for (const Json& value : values) EXPECT_TRUE(is_of(value, found->second)) << path << " = " << value;
  }
  for (const auto& [path, type] : documented) EXPECT_TRUE(written.contains(path)) << path << " is documented only";
}

}  // namespace
}  // namespace fb::report

#pragma once

// Reading and writing the fields of a record. What is missing or null keeps its default: older records have fewer.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/attempt.h"
#include "record/verdict.h"

namespace fb::record {

using Json = nlohmann::ordered_json;

template <class T>
void take(const Json& json, const char* name, T& value) {
  if (const auto found = json.find(name); found != json.end() && !found->is_null()) value = found->get<T>();
}
template <class T>
void take(const Json& json, const char* name, std::optional<T>& value) {
  if (const auto found = json.find(name); found != json.end() && !found->is_null()) value = found->get<T>();
}
// Seeds use all 64 bits, which many readers of JSON do not have: they travel as text.
inline void take_seed(const Json& json, const char* name, uint64_t& value) {
  if (const auto found = json.find(name); found != json.end() && found->is_string())
    value = std::stoull(found->get<std::string>());
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// What guests, candidates and models write may be no UTF-8; JSON holds nothing else.
inline std::string dump(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Reads an object by `from`, which throws where something is not what it must be.
template <class From>
auto parse_object(std::string_view text, const char* what, const From& from) -> Result<decltype(from(Json()))> {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) return error(std::string(what) + " is a JSON object");
    return from(json);
  } catch (const std::exception& e) {
    return error(e.what());
  }
}

// Records inside other records.
Json to_value(const Verdict& verdict);
Verdict verdict_from(const Json& json);
Json to_value(const Call& call);
Call call_from(const Json& json);
Json to_value(const ModelSpec& model);
ModelSpec model_spec_from(const Json& json);

}  // namespace fb::record

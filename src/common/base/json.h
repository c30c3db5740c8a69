#pragma once

// Structs as JSON. The fields of a struct are listed once, in a function that is found beside the struct:
//
//   template <FieldsOf<Usage> T, class F>
//   void visit_fields(T& usage, F&& field) {
//     field("input_tokens", usage.input_tokens);
//     field("seed", as_text(usage.seed));
//     field("model", usage.model, kRequired);
//   }
//
// to_json_value() and read_json() both follow this list, in its order. Fields that are missing or null keep their
// defaults, because older files have fewer, unless they are kRequired. Values may be numbers, text, enumerations (with
// to_string() and read_name() beside them), structs, vectors, maps and optionals of these. A struct that has known() is
// written as null where nothing is known.

#include <concepts>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/base/result.h"

namespace fb {

using Json = nlohmann::ordered_json;

template <class T, class Struct>
concept FieldsOf = std::same_as<std::remove_const_t<T>, Struct>;

enum class Presence : uint8_t { optional, required };
inline constexpr Presence kRequired = Presence::required;

// Seeds use all 64 bits, which many readers of JSON do not have: they are written as text.
template <class T>
struct AsText {
  T& number;
};
template <class T>
AsText<T> as_text(T& number) {
  return {number};
}

// Text of guests, candidates and models may be no UTF-8, and JSON holds nothing else: invalid bytes are replaced.
inline std::string dump(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

namespace json_detail {

struct AnyField {
  template <class T>
  void operator()(const char*, const T&, Presence = Presence::optional) const {}
};
template <class T>
concept HasFields = requires(T& value) { visit_fields(value, AnyField()); };
template <class T>
concept HasKnown = requires(const T& value) {
  { value.known() } -> std::same_as<bool>;
};
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

}  // namespace json_detail

template <class T>
Json to_json_value(const T& value);

// Writes one field after the other.
class JsonWriter {
 public:
  template <class T>
  void operator()(const char* name, const T& value, Presence = Presence::optional) {
    json_[name] = to_json_value(value);
  }
  template <class T>
  void operator()(const char* name, const AsText<T>& value, Presence = Presence::optional) {
    json_[name] = std::to_string(value.number);
  }
  Json take() && { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

template <class T>
Json to_json_value(const T& value) {
  if constexpr (json_detail::kIsOptional<T>) {
    return value ? to_json_value(*value) : Json(nullptr);
  } else if constexpr (json_detail::kIsVector<T>) {
    Json list = Json::array();
    for (const auto& one : value) list.push_back(to_json_value(one));
    return list;
  } else if constexpr (json_detail::HasFields<const T>) {
    if constexpr (json_detail::HasKnown<T>) {
      if (!value.known()) return nullptr;
    }
    JsonWriter writer;
    visit_fields(value, writer);
    return std::move(writer).take();
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(to_string(value));
  } else {
    return value;
  }
}

// Throws std::exception where the value is of another kind.
template <class T>
void read_json(const Json& json, T& value);

// Reads one field after the other.
class JsonReader {
 public:
  explicit JsonReader(const Json& json) : json_(json) {}

  template <class T>
  void operator()(const char* name, T& value, Presence presence = Presence::optional) const {
    if (const Json* found = find(name, presence)) read_json(*found, value);
  }
  template <class T>
  void operator()(const char* name, AsText<T> value, Presence presence = Presence::optional) const {
    const Json* found = find(name, presence);
    if (!found) return;
    if (found->is_number_unsigned()) {  // as older files have it
      value.number = found->get<T>();
      return;
    }
    const auto text = found->get<std::string>();
    size_t used = 0;
    const uint64_t number = std::stoull(text, &used);
    if (used != text.size()) throw std::runtime_error("'" + text + "' is not a number");
    value.number = number;
  }

 private:
  const Json* find(const char* name, Presence presence) const {
    const auto found = json_.find(name);
    if (found != json_.end() && !found->is_null()) return &*found;
    if (presence == Presence::required) throw std::runtime_error(std::string(name) + " is missing");
    return nullptr;
  }

  const Json& json_;
};

template <class T>
void read_json(const Json& json, T& value) {
  if constexpr (json_detail::kIsOptional<T>) {
    read_json(json, value.emplace());
  } else if constexpr (json_detail::kIsVector<T>) {
    value.clear();
    for (const Json& one : json) read_json(one, value.emplace_back());
  } else if constexpr (json_detail::HasFields<T>) {
    if (!json.is_object()) throw std::runtime_error("an object is expected, not " + json.dump().substr(0, 40));
    visit_fields(value, JsonReader(json));
  } else if constexpr (std::is_enum_v<T>) {
    const auto name = json.get<std::string>();
    if (!read_name(name, value)) throw std::runtime_error("unknown name '" + name + "'");
  } else {
    value = json.get<T>();
  }
}

// One field, for readers that are written by hand.
template <class T>
void take(const Json& json, const char* name, T& value) {
  JsonReader reader(json);
  reader(name, value);
}

// Calls from(Json) with the object that the text holds; what it throws becomes an error.
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

// Reads a struct whose fields are listed.
template <class T>
Result<T> parse_fields(std::string_view text, const char* what) {
  return parse_object(text, what, [](const Json& json) {
    T value{};
    read_json(json, value);
    return value;
  });
}

}  // namespace fb

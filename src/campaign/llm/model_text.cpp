// "openai:gpt-5.1,effort=high": models on the command line.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <optional>

#include "campaign/llm/ask.h"
#include "campaign/llm/dialect.h"
#include "campaign/llm/provider.h"
#include "campaign/llm/transport.h"
#include "common/base/numbers.h"
#include "common/base/strings.h"

namespace fb::llm {
namespace {

bool is_local(std::string_view provider) { return provider == "command" || provider == "recorded"; }

// Makes a valid label from any text.
std::string label_from(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string label;
  for (const char c : text) {
    const std::string tried = label + c;
    if (record::is_label(tried)) {
      label = tried;
    } else if (!label.empty() && label.back() != '-' && label.size() < kLongest) {
      label += '-';
    }
  }
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "model" : label;
}

std::string default_label(const record::ModelSpec& model) {
  std::string_view name = model.model;
  if (model.provider == "command") name = name.substr(0, name.find(' '));
  while (name.ends_with('/')) name.remove_suffix(1);
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return label_from(model.effort.empty() ? std::string(name) : fmt::format("{}-{}", name, model.effort));
}

struct Setting {
  std::string_view name = {}, value = {};
};

// Takes ",name=value" off the end of a text; known names only, so that commands and folders may contain commas.
std::optional<Setting> take_setting(std::string_view& text, bool local) {
  constexpr std::array<std::string_view, 6> kNames = {"label",      "effort", "temperature",
                                                      "max_tokens", "url",    "allow_http"};
  const size_t comma = text.rfind(',');
  if (comma == std::string_view::npos) return {};
  const std::string_view last = text.substr(comma + 1);
  const size_t equals = last.find('=');
  if (equals == std::string_view::npos && local) return {};
  Setting setting{.name = last.substr(0, equals)};
  if (equals != std::string_view::npos) setting.value = last.substr(equals + 1);
  if (local && std::ranges::find(kNames, setting.name) == kNames.end()) return {};
  text = text.substr(0, comma);
  return setting;
}

Result<void> apply(record::ModelSpec& model, bool& allow_http, const Setting& setting) {
  const auto& [name, value] = setting;
  if (is_local(model.provider) && name != "label")
    return error(fmt::format("'{}' has no effect on a {} model; only 'label' has", name, model.provider));
  if (name == "label") {
    if (!record::is_label(value))
      return error(fmt::format("'{}' can't be a label: letters, digits and . _ - +, at most 80", value));
    model.label = value;
  } else if (name == "effort") {
    model.effort = value;
  } else if (name == "temperature") {
    const auto temperature = as_number<double>(value);
    if (!temperature || !(*temperature >= 0 && *temperature <= 2))
      return error(fmt::format("'{}' is not a temperature: a number from 0 to 2", value));
    model.temperature = temperature;
  } else if (name == "max_tokens") {
    const auto limit = as_number<uint32_t>(value);
    if (!limit || *limit == 0) return error(fmt::format("'{}' is not a number of tokens", value));
    model.max_output_tokens = limit;
  } else if (name == "url") {
    model.base_url = value;
  } else if (name == "allow_http") {
    if (value != "0" && value != "1") return error("allow_http is 0 or 1");
    allow_http = value == "1";
  } else {
    return error(fmt::format("unknown setting '{}'; known: label effort temperature max_tokens url allow_http", name));
  }
  return {};
}

Result<void> check_against_row(const record::ModelSpec& model) {
  const auto table = load_providers();
  if (!table) return std::unexpected(table.error());
  const Provider* provider = (*table)->find(model.provider);
  if (provider == nullptr)
    return error(
        fmt::format("there is no provider '{}'; known: {} command recorded", model.provider, (*table)->names()));
  if (model.base_url.empty() && provider->base_url.empty())
    return error(fmt::format("{} needs an address: {}:{},url=http://127.0.0.1:8000/v1", model.provider, model.provider,
                             model.model));
  if (const auto fragment = effort_fragment(*provider, model.effort); !fragment)
    return std::unexpected(fragment.error());
  return model.base_url.empty() ? Result<void>() : check_url(model.base_url);
}

}  // namespace

Result<record::ModelSpec> parse_model(std::string_view text) {
  text = trim(text);
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return error(fmt::format("'{}' is not a model: write PROVIDER:MODEL, such as openai:gpt-5.1", text));
  record::ModelSpec model;
  model.provider = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 1);
  bool allow_http = false;
  std::string seen = ",";
  while (const auto setting = take_setting(rest, is_local(model.provider))) {
    if (seen.contains(fmt::format(",{},", setting->name)))
      return error(fmt::format("'{}' is set twice", setting->name));
    seen += fmt::format("{},", setting->name);
    if (const auto done = apply(model, allow_http, *setting); !done) return std::unexpected(done.error());
  }
  model.model = trim(rest);
  if (model.model.empty()) return error(fmt::format("'{}' names no model after '{}:'", text, model.provider));
  while (model.base_url.ends_with('/')) model.base_url.pop_back();
  // The permission travels with the address.
  if (allow_http && !model.base_url.empty()) model.base_url += "#allow_http";
  if (!is_local(model.provider)) {
    if (const auto good = check_against_row(model); !good) return std::unexpected(good.error());
  }
  if (model.label.empty()) model.label = default_label(model);
  return model;
}

bool costs_money(const record::ModelSpec& model) { return !is_local(model.provider); }

}  // namespace fb::llm

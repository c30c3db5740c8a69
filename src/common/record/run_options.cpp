#include "common/record/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/record/run_options_fields.h"

namespace fb::record {
namespace {

constexpr std::string_view kAlways[] = {"platform", "ranks", "seed", "mode"};

// The value of an option as a word of a command line.
std::string word_of(const std::string& text) { return text; }
std::string word_of(uint64_t number) { return std::to_string(number); }
std::string word_of(AccessMode mode) { return std::string(to_string(mode)); }
std::string word_of(const std::optional<std::vector<uint32_t>>& choices) { return choices ? to_text(*choices) : ""; }

class WordWriter {
 public:
  template <class T>
  void operator()(std::string_view name, const T& value, const T& usual) {
    if (value == usual && std::ranges::find(kAlways, name) == std::ranges::end(kAlways)) return;
    words_.push_back(flag_of(name));
    if constexpr (std::is_same_v<T, int>) {
      words_.push_back(std::to_string(value));
    } else if constexpr (!std::is_same_v<T, bool>) {
      words_.push_back(word_of(value));
    }
  }
  std::vector<std::string> take() && { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::string_view to_string(AccessMode mode) { return mode == AccessMode::strict ? "strict" : "hardware"; }

std::optional<AccessMode> access_mode_from(std::string_view name) {
  for (const AccessMode mode : {AccessMode::hardware, AccessMode::strict}) {
    if (to_string(mode) == name) return mode;
  }
  return std::nullopt;
}

std::string to_json(const RunOptions& options) { return dump(to_json_value(options)) + "\n"; }

Result<RunOptions> parse_run_options(std::string_view text) { return parse_fields<RunOptions>(text, "run options"); }

std::string flag_of(std::string_view field) {
  std::string flag = "--" + std::string(field);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string to_text(const std::vector<uint32_t>& choices) {
  return choices.empty() ? "0" : fmt::format("{}", fmt::join(choices, ","));
}

std::vector<std::string> command_words(const RunOptions& options) {
  const RunOptions usual;
  WordWriter write;
#define RUN_OPTION(form, type, name, initial, help) \
  if constexpr (std::string_view(#form) != "internal") write(#name, options.name, usual.name);
#include "common/record/run_options.def"
  std::vector<std::string> words = std::move(write).take();
  // A list of choices is the schedule: no seed.
  if (options.choices) {
    const auto seed = std::ranges::find(words, "--seed");
    words.erase(seed, seed + 2);
  }
  return words;
}

}  // namespace fb::record

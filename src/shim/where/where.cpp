#include "shim/where/where.h"

#include <backtrace.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace fb::shim {
namespace {

int note_line(void* into, uintptr_t, const char* file, int line, const char*) {
  if (!file) return 0;
  std::string_view whole = file;
  if (whole.starts_with("./")) whole.remove_prefix(2);
  constexpr size_t kLongest = 40;
  const size_t slash = whole.size() > kLongest ? whole.rfind('/') : std::string_view::npos;
  const auto name = slash == std::string_view::npos ? whole : whole.substr(slash + 1);
  *static_cast<std::string*>(into) = std::string(name) + ":" + std::to_string(line);
  return 1;  // the innermost is enough
}

void ignore(void*, const char*, int) {}

}  // namespace

void line_of(const void* return_address, std::span<char> into) {
  static std::mutex mutex;
  static auto* const known = new std::map<const void*, std::string>;
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, &ignore, nullptr);
  const std::lock_guard lock(mutex);
  const auto [found, fresh] = known->try_emplace(return_address);
  if (fresh && state)
    backtrace_pcinfo(state, reinterpret_cast<uintptr_t>(return_address) - 1, &note_line, &ignore, &found->second);
  std::snprintf(into.data(), into.size(), "%s", found->second.c_str());
}

}  // namespace fb::shim

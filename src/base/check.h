#pragma once

#include <string_view>

namespace fb {

// Our own bug: prints file, line and what was expected, then aborts. Never for wrong input (that is Result) nor for
// what a guest does (that is a Trap).
[[noreturn]] void fail_check(const char* file, int line, const char* condition, std::string_view message);

}  // namespace fb

#define FB_CHECK(condition, ...)                                                         \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::fb::fail_check(__FILE__, __LINE__, #condition, ::std::string_view{__VA_ARGS__}); \
  } while (false)

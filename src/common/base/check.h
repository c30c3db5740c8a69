#pragma once

#include <string_view>

namespace fb {

// A bug in FabricBench: prints file, line and the condition, then aborts. Never for wrong input (Result) nor for the
// fault of a guest (Trap).
[[noreturn]] void fail_check(const char* file, int line, const char* condition, std::string_view message);

}  // namespace fb

#define FB_CHECK(condition, ...)                                                         \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::fb::fail_check(__FILE__, __LINE__, #condition, ::std::string_view{__VA_ARGS__}); \
  } while (false)

#include "common/base/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "common/base/output.h"

namespace fb {

void fail_check(const char* file, int line, const char* condition, std::string_view message) {
  print_error("{}:{}: internal error: expected {}{}{}\n", file, line, condition, message.empty() ? "" : ": ", message);
  std::abort();
}

}  // namespace fb

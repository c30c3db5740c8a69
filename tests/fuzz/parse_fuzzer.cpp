// Any text: parsing must not crash, hang or use much memory. Accepted text must print to text that is accepted again
// and prints the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/base/result.h"
#include "common/ptx/parse/parser.h"
#include "common/ptx/print/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = fb::ptx::parse({reinterpret_cast<const char*>(data), size});
  if (!module) return 0;
  const std::string printed = fb::ptx::print(*module);
  const auto again = fb::ptx::parse(printed);
  FB_CHECK(again.has_value(), fb::to_string(again.error(), "printed") + printed);
  const std::string twice = fb::ptx::print(*again);
  FB_CHECK(twice == printed, "printed:\n" + printed + "\nprinted again:\n" + twice);
  return 0;
}

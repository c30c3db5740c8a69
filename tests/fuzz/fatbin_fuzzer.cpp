// Any bytes as a container of device code: reading and expanding must not crash, hang or use much memory.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "common/base/check.h"
#include "ranks/fatbin/choose.h"
#include "ranks/fatbin/expand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto entries = fb::fatbin::read_container({reinterpret_cast<const std::byte*>(data), size});
  if (!entries) return 0;
  FB_CHECK(fb::fatbin::container_bytes(data) <= size, "a container that was read is longer than the input");
  for (const auto& entry : *entries) {
    (void)fb::fatbin::architecture_name(entry);
    // Large claims are tried by the unit tests: they would take all of the fuzzer's time.
    if (entry.expanded_bytes < 1 << 20) (void)fb::fatbin::expand_text(entry);
  }
  for (const uint32_t capability : {0u, 90u, 103u, 121u}) {
    const auto choice = fb::fatbin::choose_text(*entries, capability);
    FB_CHECK((choice.ptx == nullptr) == !choice.problem.empty(), "a choice without a reason");
  }
  return 0;
}

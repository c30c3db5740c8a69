// Any bytes as what the judge's cache keeps of a build: what is taken are files of a build, which pack again to what
// reads the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "judge/build/build_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto files = fb::judge::unpack(bytes);
  if (!files) return 0;
  size_t all = 0;
  for (const auto& [name, content] : *files) {
    FB_CHECK(name.starts_with("candidate.") || name.starts_with("driver.") || name == "unsupported.txt", name);
    all += content.size();
  }
  FB_CHECK(all <= size, "more than there was");
  const auto again = fb::judge::unpack(fb::judge::pack(*files));
  FB_CHECK(again == files, "packed again, it reads as something else");
  return 0;
}

#include "ranks/fatbin/expand.h"

#include <fmt/format.h>
#include <zstd.h>

#include "ranks/fatbin/lz4.h"

namespace fb::fatbin {
namespace {

constexpr uint64_t kLargestText = 256 << 20;

bool expand(const Entry& entry, std::string& text) {
  if (entry.compression == Compression::lz4) return expand_lz4(entry.data, std::as_writable_bytes(std::span(text)));
  return ZSTD_decompress(text.data(), text.size(), entry.data.data(), entry.data.size()) == text.size();
}

}  // namespace

Result<std::string> expand_text(const Entry& entry) {
  std::string text;
  if (entry.compression == Compression::none) {
    text.assign(reinterpret_cast<const char*>(entry.data.data()), entry.data.size());
  } else {
    if (entry.expanded_bytes > kLargestText)
      return error(fmt::format("{} says that it expands to {} bytes", architecture_name(entry), entry.expanded_bytes));
    text.resize(entry.expanded_bytes);
    if (!expand(entry, text))
      return error(fmt::format("{} is not {} bytes of {} data", architecture_name(entry), entry.expanded_bytes,
                               entry.compression == Compression::lz4 ? "LZ4" : "zstd"));
  }
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace fb::fatbin

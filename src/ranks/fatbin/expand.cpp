#include "ranks/fatbin/expand.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

namespace fb::fatbin {
namespace {

constexpr uint64_t kLargestText = 256 << 20;

// A block of LZ4 without a frame.
bool expand_lz4(std::span<const std::byte> block, std::string& text) {
  if (block.size() > LZ4_MAX_INPUT_SIZE) return false;
  const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), text.data(),
                                       static_cast<int>(block.size()), static_cast<int>(text.size()));
  return made >= 0 && static_cast<size_t>(made) == text.size();
}

bool expand(const Entry& entry, std::string& text) {
  if (entry.compression == Compression::lz4) return expand_lz4(entry.data, text);
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

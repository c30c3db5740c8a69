#pragma once

// Containers made field by field.

#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <string>
#include <string_view>

namespace fb::fatbin {

constexpr uint16_t kPtxKind = 1, kCodeKind = 2;
constexpr uint64_t kLz4Flag = 0x2000, kZstdFlag = 0x8000, kExactFlag = 0x100000, kFamilyFlag = 0x200000;

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct HandMadeEntry {
  uint16_t kind = kPtxKind;
  uint32_t architecture = 90;
  uint64_t flags = 0x11;
  std::string payload = {};
  uint64_t expanded_bytes = 0;
  std::string options = {};
  std::string name = {};
};

inline std::string entry_bytes(const HandMadeEntry& e) {
  constexpr uint32_t kFixed = 64;
  const auto name_bytes = static_cast<uint32_t>((e.name.size() + 7) / 8 * 8);
  const auto options_bytes = e.options.empty() ? 0 : static_cast<uint32_t>(8 + (e.options.size() + 7) / 8 * 8);
  const uint32_t options_at = kFixed + name_bytes;
  const bool compressed = (e.flags & (kLz4Flag | kZstdFlag)) != 0;
  std::string payload = e.payload;
  payload.resize((payload.size() + 7) / 8 * 8);
  std::string all;
  put<uint16_t>(all, e.kind);
  put<uint16_t>(all, 0x101);
  put<uint32_t>(all, options_at + options_bytes);
  put<uint64_t>(all, payload.size());
  put<uint32_t>(all, compressed ? static_cast<uint32_t>(e.payload.size()) : 0);
  put<uint32_t>(all, e.options.empty() ? 0 : options_at);
  put<uint16_t>(all, 0);
  put<uint16_t>(all, 9);
  put<uint32_t>(all, e.architecture);
  put<uint32_t>(all, e.name.empty() ? 0 : kFixed);
  put<uint32_t>(all, static_cast<uint32_t>(e.name.size()));
  put<uint64_t>(all, e.flags);
  put<uint64_t>(all, 0);
  put<uint64_t>(all, e.expanded_bytes);
  all += e.name;
  all.resize(options_at);
  if (!e.options.empty()) {
    put<uint32_t>(all, options_at + 8);
    put<uint32_t>(all, static_cast<uint32_t>(e.options.size()));
    all += e.options;
    all.resize(options_at + options_bytes);
  }
  return all + payload;
}

inline std::string container(const std::string& entries) {
  std::string all;
  put<uint32_t>(all, 0xba55ed50);
  put<uint16_t>(all, 1);
  put<uint16_t>(all, 16);
  put<uint64_t>(all, entries.size());
  return all + entries;
}

inline std::string lz4_of(std::string_view text) {
  std::string packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(text.size()))), '\0');
  packed.resize(static_cast<size_t>(LZ4_compress_default(text.data(), packed.data(), static_cast<int>(text.size()),
                                                         static_cast<int>(packed.size()))));
  return packed;
}

inline std::string zstd_of(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

}  // namespace fb::fatbin

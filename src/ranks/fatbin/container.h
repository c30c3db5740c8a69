#pragma once

// The container in which NVIDIA's tools embed device code: a header, then entries, each PTX text or machine code for
// one architecture. Entries may be compressed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::fatbin {

constexpr uint32_t kContainerMagic = 0xba55ed50;
constexpr size_t kContainerHeaderBytes = 16;

enum class Kind : uint8_t { ptx, machine_code, other };
enum class Compression : uint8_t { none, lz4, zstd };
// compute_90a runs on 9.0 alone, compute_100f on the later members of its family, too.
enum class Variant : uint8_t { plain, family, exact };

struct Entry {
  Kind kind = Kind::other;
  Compression compression = Compression::none;
  Variant variant = Variant::plain;
  uint32_t architecture = 0;        // 90: compute capability 9.0
  uint64_t expanded_bytes = 0;      // of compressed ones
  std::string_view options;         // of the assembler
  std::string_view name;            // of the source; often empty
  std::span<const std::byte> data;  // as it stands in the container
};

// Bytes of the container that begins with these; 0: it is none. At least kContainerHeaderBytes must be readable.
uint64_t container_bytes(const void* image);

// The entries of a container; they point into `bytes`. What follows the container is ignored.
Result<std::vector<Entry>> read_container(std::span<const std::byte> bytes);

// "compute_90a" of text, "sm_90a" of machine code.
std::string architecture_name(const Entry& entry);

}  // namespace fb::fatbin

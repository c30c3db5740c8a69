#pragma once

// Offsets of .shared variables in a kernel's shared memory.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/base/hash.h"
#include "common/ptx/module.h"

namespace fb::simt {

class SharedLayout {
 public:
  explicit SharedLayout(const ptx::Module& module);

  // Address (in the shared space) of a variable as `function` sees it.
  uint32_t address_of(uint32_t function, const ptx::Operand& symbol) const;
  // Bytes a kernel needs before its dynamic shared memory.
  uint32_t static_bytes(uint32_t kernel) const { return static_bytes_[kernel]; }

 private:
  struct Key {
    uint32_t function;  // kNoIndex: a module variable
    uint32_t variable;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const { return mix(k.function, k.variable); }
  };

  const ptx::Module& module_;
  std::vector<uint32_t> static_bytes_;                 // by function; kernels only
  std::unordered_map<Key, uint32_t, KeyHash> common_;  // reached by more than one kernel, or not by a kernel itself
  std::vector<std::unordered_map<Key, uint32_t, KeyHash>> own_;  // by kernel
};

}  // namespace fb::simt

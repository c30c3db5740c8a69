#pragma once

// Memory orders, scopes and proxies of the PTX memory model.

#include <cstdint>

namespace fb::ptx {

enum class MemoryOrder : uint8_t { weak, relaxed, acquire, release, acq_rel, sc, volatile_ };
enum class Scope : uint8_t { none, cta, cluster, gpu, sys };
enum class Proxy : uint8_t { generic, async, multimem, alias, tensormap };

// Strong operations can synchronise; weak ones may be torn, merged and reordered.
constexpr bool is_strong(MemoryOrder order) { return order != MemoryOrder::weak; }
constexpr bool releases(MemoryOrder order) {
  return order == MemoryOrder::release || order == MemoryOrder::acq_rel || order == MemoryOrder::sc;
}
constexpr bool acquires(MemoryOrder order) {
  return order == MemoryOrder::acquire || order == MemoryOrder::acq_rel || order == MemoryOrder::sc;
}

}  // namespace fb::ptx

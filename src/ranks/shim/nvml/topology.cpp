// How devices reach each other, and which processors are near them.

#include <algorithm>
#include <climits>
#include <span>

#include "ranks/shim/nvml/node.h"

using namespace fb::shim::nvml;
namespace wire = fb::wire;

namespace {

bool has_bit(const std::array<uint64_t, wire::kMostDevices / 64>& bits, size_t index) {
  return (bits[index / 64] >> (index % 64)) & 1;
}

template <class Body>
nvmlReturn_t with_pair(nvmlDevice_t one, nvmlDevice_t other, Body body) {
  return with_device(one,
                     [&](const Device& a) { return with_device(other, [&](const Device& b) { return body(a, b); }); });
}

nvmlGpuTopologyLevel_t common_ancestor(const Device& a, const Device& b) {
  if (a.index == b.index) return NVML_TOPOLOGY_INTERNAL;
  const wire::DeviceFacts &one = a.facts(), &other = b.facts();
  if (one.pci_switch != 0 && one.pci_switch == other.pci_switch) return NVML_TOPOLOGY_SINGLE;
  return one.numa_node == other.numa_node ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
}

// The caller's array may be null, to ask for the number.
template <class Condition>
nvmlReturn_t give_devices(unsigned int* count, nvmlDevice_t* list, size_t all, Condition belongs) {
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned int room = *count;
  unsigned int found = 0;
  for (size_t k = 0; k < all; ++k) {
    if (!belongs(k)) continue;
    if (list && found < room) list[found] = handle_of(k);
    ++found;
  }
  *count = found;
  return list && found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

void set_bits(std::span<unsigned long> words, size_t begin, size_t count) {
  constexpr size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::ranges::fill(words, 0ul);
  for (size_t k = begin; k < begin + count && k / kBits < words.size(); ++k) words[k / kBits] |= 1ul << (k % kBits);
}

}  // namespace

FB_API nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index,
                                           nvmlGpuP2PStatus_t* status) {
  return with_pair(one, other, [&](const Device& a, const Device& b) {
    if (!status || index < NVML_P2P_CAPS_INDEX_READ || index >= NVML_P2P_CAPS_INDEX_UNKNOWN)
      return NVML_ERROR_INVALID_ARGUMENT;
    const wire::DeviceFacts& f = a.facts();
    const bool peers = a.index == b.index || has_bit(f.peers, b.index);
    const bool can = index == NVML_P2P_CAPS_INDEX_NVLINK    ? peers && f.nvlinks != 0
                     : index == NVML_P2P_CAPS_INDEX_ATOMICS ? a.index == b.index || has_bit(f.peer_atomics, b.index)
                     : index == NVML_P2P_CAPS_INDEX_PCI     ? peers && f.nvlinks == 0
                                                            : peers;
    *status = can ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
  });
}

FB_API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                        nvmlGpuTopologyLevel_t* level) {
  return with_pair(one, other, [&](const Device& a, const Device& b) {
    if (!level) return NVML_ERROR_INVALID_ARGUMENT;
    *level = common_ancestor(a, b);
    return NVML_SUCCESS;
  });
}

FB_API nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t handle, nvmlGpuTopologyLevel_t level,
                                                     unsigned int* count, nvmlDevice_t* list) {
  return with_device(handle, [&](const Device& device) {
    return give_devices(count, list, device.all->size(), [&](size_t k) {
      return k != device.index && common_ancestor(device, {device.all, k}) == level;
    });
  });
}

FB_API nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t one, nvmlDevice_t other, int* same) {
  return with_pair(one, other, [&](const Device& a, const Device& b) {
    if (!same) return NVML_ERROR_INVALID_ARGUMENT;
    *same = a.index == b.index;
    return NVML_SUCCESS;
  });
}

FB_API nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpu, unsigned int* count, nvmlDevice_t* list) {
  const auto all = devices();
  if (!all) return NVML_ERROR_UNINITIALIZED;
  return give_devices(count, list, all->size(), [&](size_t k) {
    const wire::DeviceFacts& f = (*all)[k];
    return cpu >= f.first_cpu && cpu - f.first_cpu < f.cpus;
  });
}

FB_API nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t handle, unsigned int words, unsigned long* cpus,
                                                        nvmlAffinityScope_t scope) {
  return with_device(handle, [&](const Device& device) {
    if (!cpus || words == 0 || scope > NVML_AFFINITY_SCOPE_SOCKET) return NVML_ERROR_INVALID_ARGUMENT;
    set_bits({cpus, words}, device.facts().first_cpu, device.facts().cpus);
    return NVML_SUCCESS;
  });
}
FB_API nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t handle, unsigned int words, unsigned long* cpus) {
  return nvmlDeviceGetCpuAffinityWithinScope(handle, words, cpus, NVML_AFFINITY_SCOPE_NODE);
}
FB_API nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t handle, unsigned int words, unsigned long* nodes,
                                                nvmlAffinityScope_t scope) {
  return with_device(handle, [&](const Device& device) {
    if (!nodes || words == 0 || scope > NVML_AFFINITY_SCOPE_SOCKET) return NVML_ERROR_INVALID_ARGUMENT;
    set_bits({nodes, words}, device.facts().numa_node, 1);
    return NVML_SUCCESS;
  });
}
FB_API nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t handle, unsigned int* node) {
  return give_number(handle, node, [](const wire::DeviceFacts& f) { return f.numa_node; });
}

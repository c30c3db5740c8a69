#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/driver/physical.h"
#include "ranks/shim/cuda/memory/memory.h"

using namespace fb::shim;
using fb::wire::MemoryKind;
using fb::wire::PointerFacts;

namespace {

bool on_host(const PointerFacts& facts) {
  return facts.kind == MemoryKind::host || facts.kind == MemoryKind::registered;
}

// Host memory belongs to the context that it was allocated in; which one that was makes no difference here.
int device_of(const PointerFacts& facts) { return facts.device >= 0 ? facts.device : thread().device; }

unsigned long long handle_types(CUdeviceptr pointer, const PointerFacts& facts) {
  if (facts.kind != MemoryKind::physical) return 0;
  fb::wire::Handle physical;
  if (call<fb::wire::Kind::physical_retain>({.address = pointer}, &physical) != cudaSuccess) return 0;
  fb::wire::PhysicalFacts known;
  const Error e = call<fb::wire::Kind::physical_facts>({.handle = physical.handle}, &known);
  call<fb::wire::Kind::physical_release>({.handle = physical.handle});
  return e == cudaSuccess ? fb::shim::handle_types(known.shareable) : 0;
}

template <class T>
Error give(void* to, T value) {
  *static_cast<T*>(to) = value;
  return cudaSuccess;
}

Error read_attribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer, const PointerFacts& facts) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return give(value, context_of(device_of(facts)));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give<unsigned int>(value, on_host(facts) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return give(value, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!on_host(facts) && facts.kind != MemoryKind::managed) return cudaErrorInvalidValue;
      return give(value, pointer_of(pointer));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return give(value, 0u);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return give<unsigned long long>(value, facts.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return give(value, facts.kind == MemoryKind::managed ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(value, device_of(facts));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return give(value, facts.kind == MemoryKind::device ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return give<CUdeviceptr>(value, facts.begin);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return give<size_t>(value, facts.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return give(value, 1u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return give(value, handle_types(pointer, facts));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return give(value, on_host(facts) || facts.kind == MemoryKind::managed ? 0u : 1u);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return give<unsigned int>(value, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return give(value, CUmemoryPool{});
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return give(value, 0u);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return cudaErrorNotSupported;
  }
  return cudaErrorInvalidValue;
}

// What cuPointerGetAttributes says of memory that CUDA does not know.
Error read_nothing(void* value, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return give(value, uint64_t{0});
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(value, static_cast<int>(CU_DEVICE_INVALID));
    default:
      return give(value, 0u);
  }
}

}  // namespace

FB_API CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return with_init([&] {
    if (!value) return cudaErrorInvalidValue;
    const auto facts = describe(pointer_of(pointer));
    if (!facts) return facts.error();
    if (facts->kind == MemoryKind::unknown) return cudaErrorInvalidValue;
    return read_attribute(value, attribute, pointer, *facts);
  });
}

FB_API CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** values,
                                       CUdeviceptr pointer) {
  return with_init([&] {
    if (!attributes || !values) return cudaErrorInvalidValue;
    const auto facts = describe(pointer_of(pointer));
    if (!facts) return facts.error();
    for (unsigned int k = 0; k < count; ++k) {
      const bool known = facts->kind != MemoryKind::unknown;
      const Error e = known ? read_attribute(values[k], attributes[k], pointer, *facts) : cudaErrorInvalidValue;
      if (e != cudaSuccess) read_nothing(values[k], attributes[k]);
    }
    return cudaSuccess;
  });
}

FB_API CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return with_init([&] {
    // The one attribute that can be set is about copies being synchronous, which they are in the order of a stream.
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return cudaErrorInvalidValue;
    const auto facts = describe(pointer_of(pointer));
    if (!facts) return facts.error();
    return facts->kind == MemoryKind::unknown ? cudaErrorInvalidValue : cudaSuccess;
  });
}

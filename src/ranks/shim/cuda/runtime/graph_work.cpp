#include "ranks/shim/cuda/runtime/graph_work.h"

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/copy.h"
#include "ranks/shim/cuda/memory/send_copy.h"
#include "ranks/shim/cuda/modules/launch.h"
#include "ranks/shim/cuda/runtime/boxes.h"
#include "ranks/shim/cuda/streams/graph.h"
#include "ranks/shim/cuda/streams/graph_memory.h"

namespace fb::shim {

Expected<Work> to_work(const cudaKernelNodeParams* parameters) {
  if (!parameters) return failure(cudaErrorInvalidValue);
  const auto function = find_kernel(parameters->func);
  if (!function) return failure(function.error());
  const LaunchShape shape{
      .grid = parameters->gridDim, .block = parameters->blockDim, .shared_bytes = parameters->sharedMemBytes};
  auto work =
      make_kernel(*function, parameters->func, thread().device, shape, parameters->kernelParams, parameters->extra);
  if (!work) return failure(work.error());
  return std::move(*work);
}

Expected<Work> to_work(const cudaMemcpy3DParms* parameters) {
  if (!parameters) return failure(cudaErrorInvalidValue);
  auto box = to_box(*parameters);
  if (!box) return failure(box.error());
  return *box;
}

Expected<Work> to_work(const cudaMemsetParams* parameters) {
  if (!parameters) return failure(cudaErrorInvalidValue);
  const auto& p = *parameters;
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return failure(cudaErrorInvalidValue);
  if (!p.dst || p.width == 0 || p.height == 0 || (p.height > 1 && p.pitch < p.width * p.elementSize))
    return failure(cudaErrorInvalidValue);
  if (memory_type_of(p.dst) == MemoryType::pageable) return failure(cudaErrorInvalidValue);
  return MemsetWork{.to = p.dst,
                    .pitch = p.pitch,
                    .plane = p.pitch * p.height,
                    .width = p.width,
                    .height = p.height,
                    .depth = 1,
                    .value = p.value,
                    .element = p.elementSize};
}

Expected<Work> to_work(const cudaHostNodeParams* parameters) {
  if (!parameters || !parameters->fn) return failure(cudaErrorInvalidValue);
  return HostWork{.function = parameters->fn, .data = parameters->userData};
}

Expected<Work> copy_work(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return failure(cudaErrorInvalidMemcpyDirection);
  if (!to || !from || bytes == 0) return failure(cudaErrorInvalidValue);
  return line(to, from, bytes, kind);
}

namespace {

Expected<std::byte*> bytes_of_symbol(const void* symbol, size_t bytes, size_t offset) {
  void* begin = nullptr;
  size_t size = 0;
  if (const Error e = cudaGetSymbolAddress(&begin, symbol); e != cudaSuccess) return failure(e);
  if (const Error e = cudaGetSymbolSize(&size, symbol); e != cudaSuccess) return failure(e);
  if (offset > size || bytes > size - offset) return failure(cudaErrorInvalidValue);
  return static_cast<std::byte*>(begin) + offset;
}

}  // namespace

Expected<Work> copy_to_symbol_work(const void* symbol, const void* from, size_t bytes, size_t offset,
                                   cudaMemcpyKind kind) {
  const auto to = bytes_of_symbol(symbol, bytes, offset);
  return to ? copy_work(*to, from, bytes, kind) : failure(to.error());
}

Expected<Work> copy_from_symbol_work(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  const auto from = bytes_of_symbol(symbol, bytes, offset);
  return from ? copy_work(to, *from, bytes, kind) : failure(from.error());
}

Expected<Work> event_work(cudaEvent_t handle, bool record) {
  const auto event = find_event(handle);
  if (!event) return failure(event.error());
  return EventWork{.event = *event, .record = record};
}

Expected<Work> child_work(cudaGraph_t child) {
  const auto graph = find_graph(child);
  if (!graph) return failure(graph.error());
  return ChildWork{.graph = *graph};
}

Expected<Work> allocation_work(const cudaMemPoolProps& properties, size_t bytes) {
  if (properties.allocType != cudaMemAllocationTypePinned || properties.location.type != cudaMemLocationTypeDevice)
    return failure(cudaErrorInvalidValue);
  if (const Error e = check_device(properties.location.id); e != cudaSuccess) return failure(e);
  const auto memory = allocate_for_graph(properties.location.id, bytes);
  if (!memory) return failure(memory.error());
  return MemoryWork{.memory = *memory, .frees = false};
}

Expected<Work> release_work(void* pointer) {
  const auto memory = find_graph_memory(reinterpret_cast<uint64_t>(pointer));
  if (!memory) return failure(cudaErrorInvalidValue);
  return MemoryWork{.memory = memory, .frees = true};
}

Expected<Work> to_work(const cudaGraphNodeParams* parameters) {
  if (!parameters) return failure(cudaErrorInvalidValue);
  const auto& p = *parameters;
  switch (p.type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParams kernel{.func = p.kernel.func,
                                        .gridDim = p.kernel.gridDim,
                                        .blockDim = p.kernel.blockDim,
                                        .sharedMemBytes = p.kernel.sharedMemBytes,
                                        .kernelParams = p.kernel.kernelParams,
                                        .extra = p.kernel.extra};
      return to_work(&kernel);
    }
    case cudaGraphNodeTypeMemcpy:
      return to_work(&p.memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParams fill{.dst = p.memset.dst,
                                  .pitch = p.memset.pitch,
                                  .value = p.memset.value,
                                  .elementSize = p.memset.elementSize,
                                  .width = p.memset.width,
                                  .height = p.memset.height};
      return to_work(&fill);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host{.fn = p.host.fn, .userData = p.host.userData};
      return to_work(&host);
    }
    case cudaGraphNodeTypeGraph:
      return child_work(p.graph.graph);
    case cudaGraphNodeTypeEmpty:
      return EmptyWork{};
    case cudaGraphNodeTypeWaitEvent:
      return event_work(p.eventWait.event, false);
    case cudaGraphNodeTypeEventRecord:
      return event_work(p.eventRecord.event, true);
    case cudaGraphNodeTypeMemAlloc:
      return allocation_work(p.alloc.poolProps, p.alloc.bytesize);
    case cudaGraphNodeTypeMemFree:
      return release_work(p.free.dptr);
    case cudaGraphNodeTypeConditional:
      return conditional_work(p.conditional.handle, p.conditional.type, p.conditional.size);
    default:
      return failure(cudaErrorNotSupported);
  }
}

}  // namespace fb::shim

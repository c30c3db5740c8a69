#include "shim/cuda/runtime/graph_work.h"

#include "shim/cuda/core/copy.h"
#include "shim/cuda/core/graph.h"
#include "shim/cuda/core/launch.h"
#include "shim/cuda/core/session.h"
#include "shim/cuda/runtime/boxes.h"

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

}  // namespace fb::shim

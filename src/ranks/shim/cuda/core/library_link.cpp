#include "common/wire/library_link.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/dma_buffer.h"
#include "ranks/shim/cuda/memory/host_memory.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/stream.h"
#include "ranks/shim/cuda/streams/work.h"

namespace shim = fb::shim;
namespace wire = fb::wire;

namespace {

constexpr int kNoDevice = -1;  // an error of a device does not stop these requests

std::span<const std::byte> bytes_at(const void* at, size_t bytes) { return {static_cast<const std::byte*>(at), bytes}; }

}  // namespace

FB_API int fabricbench_request(uint16_t kind, const void* request, size_t request_bytes, void* reply,
                               size_t reply_bytes, const void* blob, size_t blob_bytes) {
  return shim::call_machine(kNoDevice, static_cast<wire::Kind>(kind), request, request_bytes, reply, reply_bytes,
                            bytes_at(blob, blob_bytes), nullptr, -1, nullptr);
}

FB_API int fabricbench_ask(uint16_t kind, const void* request, size_t request_bytes, void* reply, size_t reply_bytes,
                           const void* blob, size_t blob_bytes, void* reply_blob, size_t room, int* descriptor) {
  std::vector<std::byte> got;
  fb::UniqueFd got_descriptor;
  const int error = shim::call_machine(kNoDevice, static_cast<wire::Kind>(kind), request, request_bytes, reply,
                                       reply_bytes, bytes_at(blob, blob_bytes), &got, -1, &got_descriptor);
  if (reply_blob) std::memcpy(reply_blob, got.data(), std::min(room, got.size()));
  if (descriptor) *descriptor = got_descriptor ? got_descriptor.release() : -1;
  return error;
}

FB_API int fabricbench_share(void* address, size_t bytes, uint64_t* token) {
  return shim::share_memory(address, bytes, token);
}

FB_API void fabricbench_unshare(uint64_t token) { shim::unshare_memory(token); }

FB_API int fabricbench_dma_buffer(int descriptor, uint64_t* address, uint64_t* bytes) {
  return shim::find_dma_buffer(descriptor, *address, *bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

FB_API int fabricbench_stream(void* handle, uint64_t* id, uint32_t* device, int* captures) {
  const auto stream = shim::find_stream(static_cast<cudaStream_t>(handle));
  if (!stream) return stream.error();
  *id = (*stream)->id;
  *device = static_cast<uint32_t>((*stream)->device);
  const std::lock_guard lock(shim::graph_lock());
  *captures = !(*stream)->capture ? 0 : (*stream)->capture->invalidated ? 2 : 1;
  return *captures == 0 ? shim::check_default_stream(**stream) : cudaSuccess;
}

FB_API int fabricbench_capture_collective(void* const* handles, size_t count, const void* request, const void* blob,
                                          size_t blob_bytes) {
  shim::CollectiveWork work;
  std::memcpy(&work.request, request, sizeof work.request);
  const auto bytes = bytes_at(blob, blob_bytes);
  work.calls.assign(bytes.begin(), bytes.end());
  std::vector<shim::StreamPtr> streams;
  for (size_t k = 0; k < count; ++k) {
    const auto stream = shim::find_stream(static_cast<cudaStream_t>(handles[k]));
    if (!stream) return stream.error();
    if (std::ranges::find(streams, *stream) == streams.end()) streams.push_back(*stream);
  }
  if (streams.empty()) return cudaErrorInvalidValue;
  return shim::capture_joint_work(streams, std::move(work));
}

FB_API void fabricbench_work_failed(const char* what, const char* where) { shim::tell_work(what, where); }

FB_API int fabricbench_capture_blas(void* handle, const void* request) {
  const auto stream = shim::find_stream(static_cast<cudaStream_t>(handle));
  if (!stream) return stream.error();
  shim::BlasWork work;
  std::memcpy(&work.request, request, sizeof work.request);
  return shim::capture_joint_work({*stream}, work);
}

// Memory for windows, and what is registered with a communicator.

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "ranks/shim/nccl/export.h"
#include "ranks/shim/nccl/group.h"
#include "ranks/shim/nccl/window.h"

// What ncclWindow_t points to; programs see its name alone.
struct ncclWindow_vidmem {
  fb::wire::Id id = 0;
  fb::wire::Id comm = 0;
  void* user = nullptr;
  size_t bytes = 0;
  int flags = 0;
};

using namespace fb::shim::nccl;
namespace wire = fb::wire;

namespace {

struct Windows {
  std::mutex mutex;
  std::map<ncclWindow_t, std::unique_ptr<ncclWindow_vidmem>> live;
};
Windows& windows() {
  static auto* const made = new Windows;
  return *made;
}

// Where in its allocation a buffer begins; none: it is no memory of a device.
bool is_aligned(const void* buffer) {
  CUdeviceptr base = 0;
  size_t size = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(buffer);
  if (cuMemGetAddressRange(&base, &size, address) != CUDA_SUCCESS) return false;
  return (address - base) % NCCL_WIN_REQUIRED_ALIGNMENT == 0;
}

}  // namespace

namespace fb::shim::nccl {

wire::Id window_id(const Comm& comm, ncclWindow_t window) {
  const std::lock_guard lock(windows().mutex);
  const auto found = windows().live.find(window);
  return found == windows().live.end() || found->second->comm != comm.id ? 0 : found->second->id;
}

bool in_symmetric_window(const Comm& comm, const void* buffer, size_t bytes) {
  const std::lock_guard lock(windows().mutex);
  return std::ranges::any_of(windows().live, [&](const auto& entry) {
    const ncclWindow_vidmem& w = *entry.second;
    const auto begin = reinterpret_cast<uintptr_t>(w.user), at = reinterpret_cast<uintptr_t>(buffer);
    return w.comm == comm.id && (w.flags & NCCL_WIN_COLL_SYMMETRIC) != 0 && at >= begin && bytes <= w.bytes &&
           at - begin <= w.bytes - bytes;
  });
}

}  // namespace fb::shim::nccl

FB_NCCL(ncclResult_t, ncclMemAlloc, void** pointer, size_t bytes) {
  constexpr size_t kGranularity = wire::kGranularity;
  if (bytes > SIZE_MAX - kGranularity) return fail(ncclUnhandledCudaError, "ncclMemAlloc: too large");
  const cudaError_t e = cudaMalloc(pointer, (bytes + kGranularity - 1) / kGranularity * kGranularity);
  return e == cudaSuccess ? ncclSuccess : fail(ncclUnhandledCudaError, "ncclMemAlloc: cudaMalloc failed");
}

FB_NCCL(ncclResult_t, ncclMemFree, void* pointer) {
  const cudaError_t e = cudaFree(pointer);
  return e == cudaSuccess ? ncclSuccess : fail(ncclUnhandledCudaError, "ncclMemFree: cudaFree failed");
}

FB_NCCL(ncclResult_t, ncclCommRegister, const ncclComm_t handle, void* buffer, size_t bytes, void** registered) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommRegister", comm); r != ncclSuccess) return r;
  if (!buffer || bytes == 0 || !registered)
    return fail(ncclInvalidArgument, "ncclCommRegister: no buffer, no bytes, or handle is NULL");
  wire::Handle made;
  const int e = request<wire::Kind::comm_window>(
      {.comm = comm->id, .address = reinterpret_cast<uint64_t>(buffer), .bytes = bytes}, &made);
  if (e != 0) return from_cuda(e, "ncclCommRegister");
  *registered = reinterpret_cast<void*>(made.handle);
  return ncclSuccess;
}

FB_NCCL(ncclResult_t, ncclCommDeregister, const ncclComm_t handle, void* registered) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommDeregister", comm); r != ncclSuccess) return r;
  if (!registered) return ncclSuccess;
  const int e = request<wire::Kind::comm_window>({.comm = comm->id, .window = reinterpret_cast<uint64_t>(registered)});
  return from_cuda(e, "ncclCommDeregister");
}

FB_NCCL(ncclResult_t, ncclCommWindowRegister, ncclComm_t handle, void* buffer, size_t bytes, ncclWindow_t* window,
        int flags) {
  constexpr int kKnown = NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING;
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommWindowRegister", comm); r != ncclSuccess) return r;
  if (!buffer || bytes == 0 || !window || (flags & ~kKnown) != 0)
    return fail(ncclInvalidArgument, "ncclCommWindowRegister: no buffer, no bytes, no win, or unknown flags");
  *window = nullptr;
  if (!is_aligned(buffer))
    return fail(ncclInvalidArgument,
                "ncclCommWindowRegister: the buffer does not begin at a multiple of 4096 bytes of "
                "its allocation");
  wire::CommFacts facts;
  if (const int e = request<wire::Kind::comm_query>({.handle = comm->id}, &facts); e != 0)
    return from_cuda(e, "ncclCommWindowRegister");
  if (facts.symmetric == 0) return ncclSuccess;
  wire::Handle made;
  const int e = request<wire::Kind::comm_window>(
      {.comm = comm->id, .address = reinterpret_cast<uint64_t>(buffer), .bytes = bytes, .collective = 1}, &made);
  if (e != 0) return from_cuda(e, "ncclCommWindowRegister");
  auto kept = std::make_unique<ncclWindow_vidmem>();
  kept->id = made.handle;
  kept->comm = comm->id;
  kept->user = buffer;
  kept->bytes = bytes;
  kept->flags = flags;
  *window = kept.get();
  {
    const std::lock_guard lock(windows().mutex);
    windows().live[kept.get()] = std::move(kept);
  }
  Scope scope;
  add_job(comm);
  return scope.end(ncclSuccess);
}

FB_NCCL(ncclResult_t, ncclCommWindowDeregister, ncclComm_t handle, ncclWindow_t window) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommWindowDeregister", comm); r != ncclSuccess) return r;
  if (!window) return ncclSuccess;
  wire::Id id = 0;
  {
    const std::lock_guard lock(windows().mutex);
    const auto found = windows().live.find(window);
    if (found == windows().live.end() || found->second->comm != comm->id)
      return fail(ncclInvalidArgument,
                  "ncclCommWindowDeregister: win is no window of this communicator, or was deregistered");
    id = found->second->id;
    windows().live.erase(found);
  }
  return from_cuda(request<wire::Kind::comm_window>({.comm = comm->id, .window = id}), "ncclCommWindowDeregister");
}

FB_NCCL(ncclResult_t, ncclWinGetUserPtr, ncclComm_t handle, ncclWindow_t window, void** pointer) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclWinGetUserPtr", comm); r != ncclSuccess) return r;
  const std::lock_guard lock(windows().mutex);
  const auto found = windows().live.find(window);
  if (!pointer || found == windows().live.end())
    return fail(ncclInvalidArgument, "ncclWinGetUserPtr: win is no window, or outUserPtr is NULL");
  *pointer = found->second->user;
  return ncclSuccess;
}

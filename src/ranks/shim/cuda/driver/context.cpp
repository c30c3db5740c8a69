// Contexts: the thread's current one is its current device, with a stack below it.

#include <array>
#include <atomic>
#include <vector>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/memory/memory.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/stream.h"
#include "ranks/shim/cuda/streams/stream_calls.h"

namespace {

struct Context {
  std::atomic<int> retained = 0;
  std::atomic<unsigned int> flags = 0;
};
std::array<Context, fb::wire::kMostDevices> contexts;

constexpr int kNone = -1;

// What is current below the top of the stack: devices, or kNone.
std::vector<int>& stack_below() {
  static thread_local std::vector<int> stack;
  return stack;
}

int current() { return fb::shim::thread().has_context ? fb::shim::thread().device : kNone; }

void make_current(int device) {
  fb::shim::ThreadState& mine = fb::shim::thread();
  mine.has_context = device != kNone;
  if (device != kNone) mine.device = device;
}

}  // namespace

namespace fb::shim {

CUcontext context_of(int device) { return reinterpret_cast<CUcontext>(&contexts[static_cast<size_t>(device)]); }

int device_of(CUcontext context) {
  const auto* const wanted = reinterpret_cast<const Context*>(context);
  for (int device = 0; device < Session::get().device_count(); ++device) {
    if (wanted == &contexts[static_cast<size_t>(device)]) return device;
  }
  return kNone;
}

}  // namespace fb::shim

using namespace fb::shim;

FB_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return with_init([&] {
    if (!context) return cudaErrorInvalidValue;
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    ++contexts[static_cast<size_t>(device)].retained;
    *context = context_of(device);
    return cudaSuccess;
  });
}

FB_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return with_init([&] {
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    auto& retained = contexts[static_cast<size_t>(device)].retained;
    int count = retained;
    while (count > 0 && !retained.compare_exchange_weak(count, count - 1)) {
    }
    return count > 0 ? cudaSuccess : cudaErrorDeviceUninitialized;
  });
}

FB_API CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return with_init([&] { return reset_device(device); });
}

FB_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return with_init([&] {
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    if (flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) return cudaErrorInvalidValue;
    contexts[static_cast<size_t>(device)].flags = flags;
    return cudaSuccess;
  });
}

FB_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return with_init([&] {
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    const Context& context = contexts[static_cast<size_t>(device)];
    if (flags) *flags = context.flags;
    if (active) *active = context.retained > 0 || current() == device ? 1 : 0;
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams* parameters, unsigned int flags, CUdevice device) {
  return with_init([&] {
    if (!context || (flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK))) return cudaErrorInvalidValue;
    if (parameters && (parameters->numExecAffinityParams > 0 || parameters->cigParams)) return cudaErrorNotSupported;
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    contexts[static_cast<size_t>(device)].flags = flags;
    stack_below().push_back(current());
    make_current(device);
    *context = context_of(device);
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxDestroy(CUcontext context) {
  return with_init([&] {
    const int device = device_of(context);
    if (device == kNone) return cudaErrorDeviceUninitialized;
    if (current() != device) return cudaSuccess;
    auto& stack = stack_below();
    make_current(stack.empty() ? kNone : stack.back());
    if (!stack.empty()) stack.pop_back();
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxPushCurrent(CUcontext context) {
  return with_init([&] {
    const int device = device_of(context);
    if (device == kNone) return cudaErrorDeviceUninitialized;
    stack_below().push_back(current());
    make_current(device);
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxPopCurrent(CUcontext* context) {
  return in_context([&] {
    if (context) *context = context_of(current());
    auto& stack = stack_below();
    make_current(stack.empty() ? kNone : stack.back());
    if (!stack.empty()) stack.pop_back();
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxSetCurrent(CUcontext context) {
  return with_init([&] {
    const int device = context ? device_of(context) : kNone;
    if (context && device == kNone) return cudaErrorDeviceUninitialized;
    make_current(device);
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxGetCurrent(CUcontext* context) {
  return with_init([&] {
    if (!context) return cudaErrorInvalidValue;
    *context = current() == kNone ? nullptr : context_of(current());
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxGetDevice(CUdevice* device) {
  return in_context([&] {
    if (!device) return cudaErrorInvalidValue;
    *device = current();
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  if (!context) return cuCtxGetDevice(device);
  return with_init([&] {
    if (!device) return cudaErrorInvalidValue;
    const int found = device_of(context);
    if (found == kNone) return cudaErrorDeviceUninitialized;
    *device = found;
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  CUdevice device = 0;
  if (!id) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuCtxGetDevice_v2(&device, context);
  if (result == CUDA_SUCCESS) *id = static_cast<unsigned long long>(device) + 1;
  return result;
}

FB_API CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version) {
  CUdevice device = 0;
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuCtxGetDevice_v2(&device, context);
  if (result == CUDA_SUCCESS) *version = 3020;  // of every context since
  return result;
}

FB_API CUresult cuCtxGetFlags(unsigned int* flags) {
  return in_context([&] {
    if (!flags) return cudaErrorInvalidValue;
    *flags = contexts[static_cast<size_t>(current())].flags;
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxSetFlags(unsigned int flags) {
  return in_context([&] {
    if (flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) return cudaErrorInvalidValue;
    contexts[static_cast<size_t>(current())].flags = flags;
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return in_context(
      [&] { return as_runtime([&] { return cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)); }); });
}

FB_API CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return in_context(
      [&] { return as_runtime([&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value); }); });
}

FB_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return in_context([&] {
    if (!config) return cudaErrorInvalidValue;
    *config = CU_FUNC_CACHE_PREFER_NONE;
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  return in_context([] { return cudaSuccess; });
}

FB_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return in_context([&] {
    if (!config) return cudaErrorInvalidValue;
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
  return in_context([] { return cudaSuccess; });
}

FB_API CUresult cuCtxResetPersistingL2Cache() {
  return in_context([] { return cudaSuccess; });
}

FB_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return in_context([&] {
    if (least) *least = kLeastPriority;
    if (greatest) *greatest = kGreatestPriority;
    return cudaSuccess;
  });
}

FB_API CUresult cuCtxSynchronize() {
  return in_context([] { return wait_for_device(current()); });
}

FB_API CUresult cuCtxSynchronize_v2(CUcontext context) {
  CUdevice device = 0;
  const CUresult result = cuCtxGetDevice_v2(&device, context);
  return result == CUDA_SUCCESS ? to_result(wait_for_device(device)) : result;
}

FB_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  return in_context([&] {
    const int device = device_of(peer);
    return device == kNone ? cudaErrorDeviceUninitialized : enable_peer(device, flags);
  });
}

FB_API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return in_context([&] {
    const int device = device_of(peer);
    return device == kNone ? cudaErrorDeviceUninitialized : disable_peer(device);
  });
}

// What the name was before: without the parameters.
#undef cuCtxCreate
FB_API CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device);
FB_API CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}

#pragma once

// What every function of the driver API shares: the way in and the way out.

#include <cuda.h>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/thread_state.h"

namespace fb::shim {

// The APIs number most errors alike; where only the runtime has a number, the driver's word for it.
CUresult to_result(Error error);

// CUDA_ERROR_NOT_INITIALIZED before cuInit or a call of the runtime.
Error require_init();
// Also CUDA_ERROR_INVALID_CONTEXT when the thread has no current context.
Error require_context();

// A function that needs cuInit, and one that needs a current context.
template <class Body>
CUresult with_init(Body body) {
  if (const Error e = require_init(); e != cudaSuccess) return to_result(e);
  return to_result(body());
}
template <class Body>
CUresult in_context(Body body) {
  if (const Error e = require_context(); e != cudaSuccess) return to_result(e);
  return to_result(body());
}

// The same work as a function of the runtime API, which must not leave its error behind for cudaGetLastError.
template <class Body>
Error as_runtime(Body body) {
  const Error kept = thread().last_error;
  const Error e = body();
  thread().last_error = kept;
  return e;
}

// Gives the value to the program.
template <class To, class From>
Error put(To* to, const Expected<From>& from) {
  if (!from) return from.error();
  *to = static_cast<To>(*from);
  return cudaSuccess;
}

inline void* pointer_of(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// A context is a process on a device: there is one of each.
CUcontext context_of(int device);
// -1: no context of ours.
int device_of(CUcontext context);

// Another device than the thread's current one, for a while.
class OnDevice {
 public:
  explicit OnDevice(int device) : kept_(thread().device) { thread().device = device; }
  ~OnDevice() { thread().device = kept_; }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int kept_;
};

}  // namespace fb::shim

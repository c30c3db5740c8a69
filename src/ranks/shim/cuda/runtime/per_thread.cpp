// The functions of programs that were compiled with --default-stream per-thread: the same, with the thread's own stream
// for the default one.

#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/thread_state.h"

// What nvcc makes of <<<>>>; no header declares it.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
FB_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                      cudaStream_t stream);

namespace {

class OwnDefaultStream {
 public:
  OwnDefaultStream() : before_(std::exchange(fb::shim::thread().own_default_stream, true)) {}
  OwnDefaultStream(const OwnDefaultStream&) = delete;
  OwnDefaultStream& operator=(const OwnDefaultStream&) = delete;
  ~OwnDefaultStream() { fb::shim::thread().own_default_stream = before_; }

 private:
  bool before_;
};

template <auto kFunction>
struct OnOwnStream;
template <class Result, class... Arguments, Result (*kFunction)(Arguments...)>
struct OnOwnStream<kFunction> {
  static Result call(Arguments... arguments) {
    const OwnDefaultStream own;
    return kFunction(arguments...);
  }
};

}  // namespace

// A symbol for each, whose address the loader asks for: their arguments need not be written out again.
#define PER_THREAD(name, ending)                                                              \
  extern "C" __attribute__((no_sanitize("thread"))) auto fb_choose_##name()->decltype(&name); \
  extern "C" auto fb_choose_##name()->decltype(&name) { return &OnOwnStream<&name>::call; }   \
  extern "C" __attribute__((visibility("default"), ifunc("fb_choose_" #name))) decltype(name) name##ending;
#include "ranks/shim/cuda/per_thread.def"
